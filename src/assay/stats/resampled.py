"""Intervals from the values that a figure has in resamples of cases.

With few cases the interval is the hull of two. One is the percentile interval with levels widened from the normal to
Student's t distribution (Hesterberg 2015): values in coarse steps need it. The other is the t interval with the
standard error of the resamples, corrected for skewness like that of a mean: few cases tend to lack the long tail. From
40 cases on the first is enough. A difference of two figures is more symmetric and in finer steps than either, and has
the t interval corrected for skewness alone. docs/concepts/intervals.md has the measured coverage.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from assay.stats.jackknife import corrected_ends, hull, transformed
from assay.stats.tails import t_below, t_quantile
from assay.types import Floats

# Degrees of freedom from which on the percentile interval is enough.
_MANY = 39
# Less than for means, since the hull with the percentile interval is wider already (chosen by simulation).
_MOST_SKEWED = 0.2
_NORMAL = NormalDist()


def resampled_ends(value: float, replicates: Floats, freedom: float, level: float) -> tuple[float, float]:
    """Ends of the interval of a figure with this value and these replicates, shape (reps,), none of them NaN."""
    tail = 100 * _NORMAL.cdf(-t_quantile(1 - (1 - level) / 2, freedom))
    low, high = (float(end) for end in np.percentile(replicates, [tail, 100 - tail]))
    low, high = min(low, value), max(high, value)  # resamples of coarse values may all lie on one side
    if freedom >= _MANY:
        return low, high
    error, skewness = np.array([replicates.std()]), np.array([resampled_skewness(replicates, freedom)])
    others = hull(np.array([value]), error, skewness, freedom, level, most_skewed=_MOST_SKEWED)
    return min(low, float(others[0][0])), max(high, float(others[1][0]))


def resampled_difference(
    value: float, replicates: Floats, freedom: float, level: float, smallest: float
) -> tuple[float, float, float]:
    """Ends of the interval of a difference, and the two-sided p-value of a difference of 0, which agrees with it."""
    error, skewness = float(replicates.std()), resampled_skewness(replicates, freedom)
    if not error:
        return value, value, smallest if value else 1.0
    low, high = corrected_ends(value, error, skewness, freedom, level)
    score = transformed(value / error, skewness)
    return low, high, min(1.0, max(smallest, 2 * t_below(-abs(score), freedom)))


def resampled_skewness(replicates: Floats, freedom: float) -> float:
    """The skewness of a figure; that of its replicates is smaller by (n − 2) ÷ (n − 1), as with a mean."""
    centred = replicates - replicates.mean()
    spread = float(np.sqrt((centred**2).mean()))
    if not spread or freedom <= 1:
        return 0.0
    return float((centred**3).mean() / spread**3 * freedom / (freedom - 1))


def resampled_words(freedom: float) -> str:
    """The description of the method."""
    if freedom >= _MANY:
        return "expanded percentile bootstrap"
    return "hull of expanded percentile and skewness-corrected t bootstrap"
