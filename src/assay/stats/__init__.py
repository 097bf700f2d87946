"""Statistics of evaluation: percentiles, the interquartile mean, and bootstrap intervals that name their unit.

Knows NumPy and `assay.types`, and nothing of events or conversations.
"""

from assay.stats.bootstrap import UNITS, Resampling, bootstrap, ratio_interval, sum_interval, value_intervals
from assay.stats.improvement import Profile, performance_profile, probability_of_improvement
from assay.stats.multiplicity import holm
from assay.stats.paired import Difference, difference
from assay.stats.quantiles import iqm, iqmpe, percentile

__all__ = [
    "UNITS",
    "Difference",
    "Profile",
    "Resampling",
    "bootstrap",
    "difference",
    "holm",
    "iqm",
    "iqmpe",
    "percentile",
    "performance_profile",
    "probability_of_improvement",
    "ratio_interval",
    "sum_interval",
    "value_intervals",
]
