"""Statistics of evaluation: percentiles, the interquartile mean, and bootstrap intervals that name their unit.

Knows NumPy and `assay.types`, and nothing of events or conversations.
"""

from assay.stats.bootstrap import UNITS, Resampling, bootstrap, ratio_interval, sum_interval, value_intervals
from assay.stats.quantiles import iqm, iqmpe, percentile

__all__ = [
    "UNITS",
    "Resampling",
    "bootstrap",
    "iqm",
    "iqmpe",
    "percentile",
    "ratio_interval",
    "sum_interval",
    "value_intervals",
]
