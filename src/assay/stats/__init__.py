"""Statistics of evaluation: percentiles, the interquartile mean, and intervals that name their unit.

Uses NumPy and `assay.types`; knows nothing about events or conversations.
"""

from assay.stats.agreement import corrected_mean, kappa, slope
from assay.stats.bootstrap import ANGLES, AT_LEAST_0, EVERYWHERE, bootstrap, value_intervals
from assay.stats.by_episode import UnitValues
from assay.stats.improvement import Profile, performance_profile, probability_of_improvement
from assay.stats.indexed_values import IndexedValues, UnitRows
from assay.stats.jackknife import CORRELATION, PLAIN, POSITIVE, RATE, SHARE, SKILL, Scale
from assay.stats.multiplicity import holm
from assay.stats.paired import Changes, Difference, difference
from assay.stats.passk import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
from assay.stats.plan import UNITS, Resampling
from assay.stats.quantiles import iqm, iqmpe, percentile
from assay.stats.sums import (
    choice_shares,
    curve_intervals,
    mean_interval,
    ratio_interval,
    resampled_sum_interval,
    share_interval,
    sum_interval,
)

__all__ = [
    "ANGLES",
    "AT_LEAST_0",
    "CORRELATION",
    "EVERYWHERE",
    "PLAIN",
    "POSITIVE",
    "RATE",
    "SHARE",
    "SKILL",
    "UNITS",
    "Changes",
    "Difference",
    "IndexedValues",
    "Profile",
    "Resampling",
    "Scale",
    "UnitRows",
    "UnitValues",
    "bootstrap",
    "choice_shares",
    "corrected_mean",
    "curve_intervals",
    "difference",
    "holm",
    "iqm",
    "iqmpe",
    "kappa",
    "mean_interval",
    "mean_pass_at_k",
    "mean_pass_hat_k",
    "pass_at_k",
    "pass_hat_k",
    "percentile",
    "performance_profile",
    "probability_of_improvement",
    "ratio_interval",
    "resampled_sum_interval",
    "share_interval",
    "slope",
    "sum_interval",
    "value_intervals",
]
