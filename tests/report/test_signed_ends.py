"""Ends of intervals of differences: what is not 0 does not look as if it were."""

from __future__ import annotations

import pytest

from assay.report.overall import signed_ends


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.0, 0.063, "[0.000, +0.063]"),
        (0.0001, 0.063, "[+0.0001, +0.063]"),
        (-0.00004, 0.0004, "[−0.00004, +0.0004]"),
        (-0.0005, 0.00049, "[−0.001, +0.0005]"),
        (1e-9, 1.0, "[0.000, +1.000]"),
    ],
)
def test_an_end_that_is_not_0_keeps_its_sign(low: float, high: float, shown: str) -> None:
    assert signed_ends(low, high) == shown
