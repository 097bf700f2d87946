"""Resampling of hundreds of units in a few blocks gives what resampling every single value gives."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from assay.stats import IndexedValues, Resampling, UnitRows, value_intervals
from assay.types import Distribution, Floats, Joint

UNITS = 240
STATISTICS = ["p25", "median", "p95", "iqm"]


def units_of(kind: str) -> list[Floats]:
    """Units of unequal size whose values are correlated; `kind` is how they are spread."""
    rng = np.random.default_rng(17)
    sizes, levels = rng.integers(1, 60, UNITS), rng.normal(0, 0.5, UNITS)
    parts = [rng.normal(level, 1.0, size) for level, size in zip(levels, sizes, strict=True)]
    # Steps of 0.01 are small against a standard error of about 0.04, steps of 0.2 are large.
    steps = {"continuous": None, "fine steps": 0.01, "coarse steps": 0.2, "skewed": None}[kind]
    if kind == "skewed":
        return [np.exp(part) for part in parts]
    return parts if steps is None else [np.concatenate([(part / steps).round() * steps, [9.5, -9.5]]) for part in parts]


@pytest.mark.parametrize("kind", ["continuous", "fine steps", "coarse steps", "skewed"])
def test_intervals_of_many_units_are_those_of_resampling_every_value(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [Distribution.of(part) for part in units_of(kind)]
    strata = ["a" if at % 3 else "b" for at in range(UNITS)]
    plan = Resampling("episode", 400, keep=True)
    by_episode = sys.modules["assay.stats.by_episode"]
    monkeypatch.setattr(by_episode, "MANY", 10**9)
    exact = value_intervals(parts, STATISTICS, plan, strata=strata)
    monkeypatch.setattr(by_episode, "MANY", 20)
    found = value_intervals(parts, STATISTICS, plan, strata=strata)
    for name in STATISTICS:
        a, b = exact[name], found[name]
        assert a.low is not None
        assert a.high is not None
        assert b.value == a.value
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.02 * (a.high - a.low))
        # Resample by resample, too: comparisons subtract them.
        assert a.replicates is not None
        assert b.replicates is not None
        assert np.abs(a.replicates - b.replicates).mean() < 0.05 * a.replicates.std()


def test_weights_of_one_give_the_statistics_of_the_values() -> None:
    """Within a block too: if nothing is resampled, no value is moved."""
    from assay.stats.many_units import replicates_of_many
    from assay.stats.resamples import Resamples

    values = np.random.default_rng(5).exponential(size=900)
    indexed = IndexedValues.of(values, np.ones(900, np.int64), np.repeat(np.arange(300, dtype=np.int32), 3))
    found, of_unit = replicates_of_many(
        indexed, indexed.whole, ["p10", "median", "p99"], Resamples(np.ones((2, 300)), np.ones(300))
    )
    assert of_unit.tolist() == [3] * 300
    for name, q in (("p10", 10), ("median", 50), ("p99", 99)):
        assert found[name] == pytest.approx(np.percentile(values, q), rel=1e-12)


def test_values_are_counted_and_added_by_unit_and_group(monkeypatch: pytest.MonkeyPatch) -> None:
    # Unit 0 has 10 twice and 20, unit 1 nothing, unit 2 has 20 three times and 30; 10 and 20 are group 0, 30 group 1.
    units, counts = np.array([0, 0, 2, 2], np.int32), np.array([2, 1, 3, 1], np.int8)
    values = IndexedValues.of(np.array([10.0, 20.0, 20.0, 30.0]), counts, units)
    for rows in (1, 2, 100):  # however many are looked at together
        monkeypatch.setattr("assay.stats.indexed_values._AT_ONCE", rows)
        found, sums = values.by_group(np.array([0, 0, 1]), 2, 3, with_sums=True)
        assert found.tolist() == [[3, 0], [0, 0], [3, 1]]
        assert sums.tolist() == [[40, 0], [0, 0], [60, 30]]


def test_equal_numbers_get_one_number_whether_or_not_they_fit_beside_their_places() -> None:
    from assay.stats.indexed_values import _numbered

    for unit in (1, 2**60, -1):
        values = np.array([5, 0, 5, 7, 0], np.int64) * unit
        distinct, index = _numbered(values)
        assert distinct.tolist() == sorted({0, 5 * unit, 7 * unit})
        assert distinct[index].tolist() == values.tolist()


def test_values_are_derived_from_combinations_or_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of unit 0: 6 ÷ 3 twice, and 0 ÷ 0, which is undefined. Of unit 1: 4 ÷ 2 and 1 ÷ 2.
    units = [np.array([[0, 6, 3], [1, 0, 0]]), np.array([[1, 4, 2], [0, 1, 2]])]

    def quotient(a: Floats, b: Floats) -> Floats:
        return np.where(b != 0, a / np.where(b != 0, b, 1), np.nan)

    # In a table of all combinations, by sorting those that occur, and row by row if they do not fit into 63 bits.
    for table, unit in ((1 << 22, 1), (0, 1), (0, 2**60)):
        parts = [
            Joint.of(*(part * [1, unit, unit]).T, counts=np.array(counts))
            for part, counts in zip(units, ([2, 1], [1, 1]), strict=True)
        ]
        rows = UnitRows.of(parts)
        monkeypatch.setattr(sys.modules["assay.stats.indexed_values"], "_TABLE", table)
        found = rows.values(quotient, [1, 2], label=0)
        assert found.distinct.tolist() == [0.5, 2.0]
        assert found.whole == Distribution.of([0.5, 2.0, 2.0, 2.0])
        assert found.sums(2)[0].tolist() == [4.0, 2.5]
        assert found.where(1).whole == Distribution.of([2.0])
    assert UnitRows.of([Joint(), Joint()]).values(quotient, [1, 2]).whole == Distribution()
