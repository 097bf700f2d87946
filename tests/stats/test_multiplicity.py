"""Holm's correction, checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import holm


def test_each_p_is_multiplied_by_the_number_of_remaining_tests() -> None:
    # Sorted 0.01 ×4, 0.02 ×3, 0.03 ×2, 0.04 ×1; none may fall below the one before it.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_one_test_needs_no_correction_and_no_tests_give_no_p_values() -> None:
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).tolist() == []


def test_values_that_are_not_probabilities_are_refused() -> None:
    for wrong in ([0.1, float("nan")], [-0.1], [1.1]):
        with pytest.raises(UsageError):
            holm(wrong)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_correction_never_lowers_a_p_value_and_keeps_the_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= np.minimum(1, len(p) * np.array(p))).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
