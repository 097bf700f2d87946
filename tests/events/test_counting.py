"""Compiled counts of rows and positions, against the same with NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from assay.events import synthetic
from assay.events.align import Pair
from assay.events.counting import count_rows
from assay.events.protocols import PROTOCOLS, _position_counts
from assay.events.protocols.owa import PREDICTED
from assay.events.stream import CATEGORIES, Kind, Problem
from assay.types import Joint, Moments


@pytest.mark.parametrize("n", [0, 1, 7, 500])
@pytest.mark.parametrize("largest", [1, 5, 10**6, 2**62])
def test_rows_are_counted_as_by_joints(n: int, largest: int) -> None:
    rows = np.random.default_rng(n).integers(-largest, largest, (3, n))
    found, expected = count_rows(rows), Joint.of(*rows)
    assert found == expected
    assert [column.dtype for column in found.columns] == [column.dtype for column in expected.columns]
    assert found.occurrences.dtype == expected.occurrences.dtype


def test_the_numbers_of_kinds_and_problems_are_those_of_streams() -> None:
    counts = _position_counts
    assert (counts._KEYBOARD, counts._MOUSE, counts._SCREEN) == (Kind.KEYBOARD, Kind.MOUSE, Kind.SCREEN)
    assert counts._MISSING == Problem.MISSING
    assert (len(CATEGORIES), len(PREDICTED)) == (counts._CATEGORIES, counts._ANSWERS)


def test_very_long_slices_are_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = synthetic.recording(episodes=1, seed=3)
    pair = Pair(truth.episodes[0], synthetic.prediction(truth, synthetic.GOOD, seed=4), truth)
    owa = PROTOCOLS.get("owa")
    whole = owa.score(pair, in_order=True)
    monkeypatch.setattr(sys.modules["assay.events.protocols.owa"], "_AT_ONCE", 100)
    parts = owa.score(pair, in_order=True)
    assert list(parts) == list(whole)
    for name, state in whole.items():
        if name.startswith("in_order"):
            assert np.array_equal(parts[name].values, state.values)  # type: ignore[union-attr]
        else:
            assert parts[name] == state


def test_moments_of_times_are_exact() -> None:
    truth = synthetic.recording(episodes=1, seed=3)
    truth.time_ns[:] += 2**61  # three limbs are needed
    states = PROTOCOLS.get("owa").score(Pair(truth.episodes[0], truth, truth))
    for code, name in enumerate(CATEGORIES):
        assert states[f"{name}_truth_times"] == Moments.of(truth.time_ns[truth.category == code])
    assert states["truth_times"] == Moments.of(truth.time_ns)
