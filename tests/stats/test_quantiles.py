"""Percentiles equal NumPy's to the last bit, and interquartile means follow their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import stats
from assay.stats.quantiles import mean_of_counts, statistic_of_rows
from assay.types import Distribution

quantised = st.integers(-50, 50).map(lambda unit: unit * 0.1)
values = st.lists(st.one_of(quantised, st.floats(-1e9, 1e9, allow_nan=False)), min_size=1, max_size=60)
percents = st.one_of(st.sampled_from([0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 97.5, 100.0]), st.floats(0, 100))


@given(values, percents)
def test_percentile_is_numpys_bit_for_bit(x: list[float], q: float) -> None:
    assert stats.percentile(x, q) == np.percentile(np.array(x), q)


@given(values, percents)
def test_percentile_of_counts_is_the_percentile_of_the_values(x: list[float], q: float) -> None:
    assert stats.percentile(Distribution.of(x), q) == stats.percentile(x, q)


def test_percentile_of_large_samples_is_numpys_bit_for_bit() -> None:
    rng = np.random.default_rng(1)
    for sample in (rng.normal(size=10_001), rng.integers(-300, 300, 50_000) / 7, rng.exponential(size=2)):
        for q in (0, 2.5, 25, 33.3, 50, 75, 95, 97.5, 99.99, 100):
            assert stats.percentile(sample, q) == np.percentile(sample, q)


def test_iqm_by_hand() -> None:
    # Q25 = 2.75 and Q75 = 6.25 of 1 … 8 by linear interpolation; 3, 4, 5, 6 lie between, their mean is 4.5.
    assert stats.iqm([1, 2, 3, 4, 5, 6, 7, 8]) == 4.5


def test_iqm_is_not_moved_by_an_outlier() -> None:
    assert stats.iqm([1, 2, 3, 4, 5, 6, 7, 1e9]) == 4.5


def test_iqm_includes_both_ends() -> None:
    # Of 0, 10, 20, 30, 100: Q25 is exactly 10 and Q75 exactly 30, and both are included: (10 + 20 + 30) ÷ 3.
    assert stats.iqm([0, 10, 20, 30, 100]) == 20.0
    # All values that equal a quartile are included. Q25 = Q75 = 1.
    assert stats.iqm([0, 1, 1, 1, 1, 1, 9]) == 1.0


@given(values)
def test_iqm_is_the_mean_of_the_values_between_the_quartiles(x: list[float]) -> None:
    array = np.array(x)
    low, high = np.percentile(array, [25, 75])
    inside = array[(array >= low) & (array <= high)]
    expected = (inside if len(inside) else array).mean()  # of two values that differ, none lies between
    # A mean of values with counts is summed in another order than a mean of single values.
    assert stats.iqm(x) == pytest.approx(expected, rel=1e-12, abs=1e-6)


def test_iqm_of_one_value_is_that_value() -> None:
    assert stats.iqm([7.25]) == 7.25


def test_the_interquartile_mean_of_two_values_is_their_mean() -> None:
    # Q25 = 0.25 and Q75 = 0.75 of 0 and 1: no value lies between them.
    assert stats.iqm([0, 1]) == 0.5
    assert stats.iqm([1, 1]) == 1.0


def test_statistics_of_no_values_are_none() -> None:
    assert stats.iqm([]) is None
    assert stats.percentile([], 50) is None
    assert stats.iqmpe([], []) is None


def test_iqmpe_by_hand() -> None:
    # 110 for 100 is 10 % off, 80 for 100 is 20 %, −15 for −10 is 50 %; a truth of 0 has no percentage.
    # Of 10, 20, 50: Q25 = 15, Q75 = 35, and only 20 lies between.
    assert stats.iqmpe([110, 80, -15, 3], [100, 100, -10, 0]) == 20.0


def test_iqmpe_of_zero_truths_only_is_none() -> None:
    assert stats.iqmpe([1, 2], [0, 0]) is None


@pytest.mark.parametrize("k", [1, 2, 7, 40, 300])
def test_the_interquartile_means_of_many_rows_are_those_of_each_row_bit_for_bit(k: int) -> None:
    rng = np.random.default_rng(k)
    values = np.sort(rng.normal(size=k))
    counts = rng.integers(0, 9, (200, k)).astype(np.float64)
    counts[3] = 0
    found = statistic_of_rows(values, counts, "iqm")
    assert np.isnan(found[3])
    for row, mean in zip(counts, found.tolist(), strict=True):
        if row.sum():
            low, high = np.percentile(np.repeat(values, row.astype(int)), [25, 75])
            inside = slice(np.searchsorted(values, low, "left"), np.searchsorted(values, high, "right"))
            expected = mean_of_counts(values[inside], row[inside])
            assert mean == (mean_of_counts(values, row) if np.isnan(expected) else expected)
