"""Percentiles and the interquartile mean, from distinct values and counts.

Percentiles interpolate linearly, as NumPy's default does, to the last bit. The interquartile mean is the mean of all
x with Q25 ≤ x ≤ Q75, both ends included; of exactly two values, which both lie outside, it is their mean. Everything
is None if there are no values.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import UsageError
from assay.types import Distribution, Floats, Ints


def percentile(x: ArrayLike | Distribution, q: float) -> float | None:
    """The q-th percentile of x (0 ≤ q ≤ 100), or None if x is empty.

    Example:
        >>> percentile([1, 2, 3, 4], 50)
        2.5

    """
    d = _distribution(x)
    if not len(d.values):
        return None
    below, share = split_rank(q, d.n)
    cumulative = np.cumsum(d.counts)
    ends = [_at_rank(d.values, cumulative, rank) for rank in (below, below + 1)]
    return float(interpolate(ends[0], ends[1], share))


def iqm(x: ArrayLike | Distribution) -> float | None:
    """The interquartile mean of x, or None if x is empty.

    Example:
        >>> iqm([1, 2, 3, 4, 100]), iqm([1, 2])
        (3.0, 1.5)

    """
    d = _distribution(x)
    q25, q75 = percentile(d, 25), percentile(d, 75)
    if q25 is None or q75 is None:
        return None
    inside = slice(np.searchsorted(d.values, q25, "left"), np.searchsorted(d.values, q75, "right"))
    mean = mean_of_counts(d.values[inside], d.counts[inside])
    return mean_of_counts(d.values, d.counts) if math.isnan(mean) else mean


def iqmpe(predicted: ArrayLike, truth: ArrayLike) -> float | None:
    """The interquartile mean of |predicted − truth| ÷ |truth| · 100; truths of 0 are left out.

    Example:
        >>> iqmpe([110, 90, 5], [100, 100, 0])  # 10 % off twice; the truth of 0 is left out
        10.0

    """
    p, t = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    kept = t != 0
    return iqm(np.abs(p[kept] - t[kept]) / np.abs(t[kept]) * 100)


def statistic_of(d: Distribution, name: str) -> float | None:
    """The statistic called `name` of a distribution, or None if it is empty."""
    if not len(d.values):
        return None
    if name == "iqm":
        return iqm(d)
    if name == "mean":
        return mean_of_counts(d.values, d.counts)
    return percentile(d, percent_of(name))


def percent_of(name: str) -> float:
    """The percentile that 'median' or a name such as 'p95' stands for."""
    if name == "median":
        return 50.0
    match = re.fullmatch(r"p(\d+(?:\.\d+)?)", name)
    if match is None or float(match[1]) > 100:
        raise UsageError(f"there is no statistic '{name}'", hint="Use iqm, mean, median, or a percentile like p95")
    return float(match[1])


def split_rank(q: float, n: int) -> tuple[int, float]:
    """Position of the q-th percentile of n values: the rank below it (from 0) and the fraction towards the next."""
    virtual = (q / 100) * (n - 1)
    below = math.floor(virtual)
    return below, virtual - below


def interpolate(a: float | Floats, b: float | Floats, share: float | Floats) -> float | Floats:
    """The point `share` of the way from a to b, computed exactly as in `numpy.percentile`, so that all bits agree."""
    gap = np.subtract(b, a)
    forward, backward = a + gap * share, b - gap * (1 - np.asarray(share))
    result: Floats = np.where(np.asarray(share) >= 0.5, backward, forward)
    return np.where(gap == 0, a, result)


def mean_of_counts(values: Floats, counts: Ints | Floats) -> float:
    """The mean of `values`, each counted `counts` times; NaN if all counts are 0."""
    total = counts.sum()
    return float((values * counts).sum() / total) if total else math.nan


def statistic_of_rows(values: Floats, counts: NDArray[np.int64] | Floats, name: str) -> Floats:
    """The statistic of each row of `counts`, shape (some, k), over `values`, shape (k,). NaN for an empty row."""
    if name == "mean":
        return np.array([mean_of_counts(values, row) for row in counts])
    rows, k = counts.shape
    # One running sum over all rows keeps the ranks of all rows ascending, so one search serves all rows.
    cumulative = np.cumsum(counts.ravel())
    ends = cumulative[k - 1 :: k]
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    offsets = np.arange(rows) * k

    def quantile(q: float) -> Floats:
        virtual = (q / 100) * np.maximum(sizes - 1, 0)
        below = np.floor(virtual)
        pair = [
            values[np.clip(np.searchsorted(cumulative, starts + rank, "right") - offsets, 0, k - 1)]
            for rank in (below, np.minimum(below + 1, np.maximum(sizes - 1, 0)))
        ]
        return np.asarray(interpolate(pair[0], pair[1], virtual - below))

    if name != "iqm":
        return np.where(sizes > 0, quantile(percent_of(name)), np.nan)
    lows = np.searchsorted(values, quantile(25), "left")
    highs = np.searchsorted(values, quantile(75), "right")
    means = _means_between(values, counts, lows, highs)
    for row in np.flatnonzero(np.isnan(means)).tolist():  # two values that differ, or none
        means[row] = mean_of_counts(values, counts[row])
    return means


def _means_between(values: Floats, counts: NDArray[np.int64] | Floats, lows: Ints, highs: Ints) -> Floats:
    """`mean_of_counts` of each row from `lows` to `highs`, to the last bit; rows with the same ends in one call."""
    means = np.empty(len(counts))
    order = np.lexsort((highs, lows))
    changes = (np.diff(lows[order]) != 0) | (np.diff(highs[order]) != 0)
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        inside = slice(int(lows[rows[0]]), int(highs[rows[0]]))
        chosen = np.ascontiguousarray(counts[rows, inside])  # a sum along rows in memory adds as that of one row does
        totals = chosen.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means[rows] = np.where(totals > 0, (values[inside] * chosen).sum(axis=1) / totals, np.nan)
    return means


def _at_rank(values: Floats, cumulative: Ints, rank: int) -> float:
    """The value at `rank` (from 0) of the expanded sample; a rank past the end is the last value."""
    return float(values[min(int(np.searchsorted(cumulative, rank, "right")), len(values) - 1)])


def _distribution(x: ArrayLike | Distribution) -> Distribution:
    return x if isinstance(x, Distribution) else Distribution.of(x)
