"""Figures of `assay@1` as functions of sums over episodes.

Each takes sums of shape (…, k) and gives values of shape (…), NaN if undefined, so that it can be computed over all
episodes and with any of them left out.
"""

from __future__ import annotations

import numpy as np

from assay.events.actions.states import TOLERANCES_MS
from assay.types import Floats

# Half the logarithmic distance to both neighbours, as a share of the whole: the trapezoid rule.
_LOG = np.log(TOLERANCES_MS)
_AREA = np.convolve(np.diff(_LOG, prepend=_LOG[0], append=_LOG[-1]), [0.5, 0.5], "valid") / (_LOG[-1] - _LOG[0])


def quotient(sums: Floats) -> Floats:
    """The first sum divided by the second."""
    return divided(sums[..., 0], sums[..., 1])


def divided(above: Floats, below: Floats) -> Floats:
    """`above` ÷ `below`; NaN if `below` is not above 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def macro_f1(sums: Floats) -> Floats:
    """Mean F1 over the labels that the truth has; `sums` has shape (…, labels · 3)."""
    matched, missed, extra = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3), -1, 0)
    known = matched + missed > 0
    f1 = np.where(known, 2 * matched / np.maximum(2 * matched + missed + extra, 1), 0)
    return divided(f1.sum(axis=-1), known.sum(axis=-1))


def curve_area(sums: Floats) -> Floats:
    """Area under F1 over the logarithm of the tolerance, as a share; `sums` are matches and the F1's denominator."""
    # From the missing part, so that a perfect curve is exactly 1.
    missing = 1 - divided(2 * sums[..., :-1], sums[..., -1:])
    return np.asarray(1 - (missing * _AREA).sum(axis=-1))


def error_rate(sums: Floats) -> Floats:
    """(S + D + I) ÷ N; `sums` are S, D, I, matched, missed."""
    return divided(sums[..., :3].sum(axis=-1), sums[..., 3] + sums[..., 4])


def victor_purpura(sums: Floats) -> Floats:
    """Victor–Purpura distance per true action; `sums` are its cost in ns of shifting and the true actions."""
    return divided(sums[..., 0] * 40 / 1e9, sums[..., 1])


def spread(sums: Floats) -> Floats:
    """Standard deviation from n, Σ and Σ²."""
    n, total, squares = np.moveaxis(sums, -1, 0)
    return np.sqrt(np.maximum(divided(squares, n) - divided(total, n) ** 2, 0))


def f1_skill(sums: Floats) -> Floats:
    """Skill of F1 over the best baseline; `sums` are those of `headline_f1` and then those of `baseline_f1`."""
    return skill_of(headline_f1(sums), baseline_f1(sums).max(axis=-1))


def headline_f1(sums: Floats) -> Floats:
    """F1; the first `sums` are matched, missed and extra actions."""
    matched, missed, extra = np.moveaxis(sums[..., :3], -1, 0)
    return divided(2 * matched, 2 * matched + missed + extra)


def baseline_f1(sums: Floats) -> Floats:
    """F1 of each baseline, shape (…, baselines): from the fourth of `sums` on, its matches and its denominator."""
    return divided(2 * sums[..., 3::2], sums[..., 4::2])


def skill_of(value: Floats, baseline: Floats) -> Floats:
    """The share of the way from the baseline to perfection; NaN if the baseline is perfect."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(baseline < 1, (value - baseline) / (1 - baseline), np.nan)


def nll(sums: Floats) -> Floats:
    """Loss per true event, from the sums of LIKELIHOOD."""
    return divided(sums[..., 11::2].sum(axis=-1) / 1e9, sums[..., 10::2].sum(axis=-1))


def calibration_error(sums: Floats) -> Floats:
    """Σ |hits − confidence| over tenths of confidence, per event."""
    n = sums[..., :10].sum(axis=-1)
    return divided(np.abs(sums[..., 10:20]).sum(axis=-1) / 1e9, n)
