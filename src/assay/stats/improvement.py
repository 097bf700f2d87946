"""Scores of single cases, side by side: how likely one agent beats the other, and how many cases exceed a threshold.

Both follow Agarwal et al. (2021, "Deep reinforcement learning at the edge of the statistical precipice"): the
probability of improvement is averaged over strata, ties count half, and a performance profile is the share of cases
that score above a threshold. Intervals are those of shares, from the jackknife over cases within strata; a case is left
out on both sides at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import UsageError
from assay.stats.jackknife import SHARE, Strata, ends
from assay.stats.plan import Resampling
from assay.types import Estimate, Floats


def probability_of_improvement(
    x: ArrayLike, y: ArrayLike, *, strata: Sequence[str] | None = None, plan: Resampling | None = None
) -> Estimate:
    """P(X > Y): the probability that a case of x, shape (n,), scores above a case of y, shape (n,), in its stratum.

    Every case of x is compared with every case of y in its stratum, ties count ½, and all strata have equal weight
    whatever their size. 0.5 means that neither is ahead. Undefined without cases.

    Example:
        >>> probability_of_improvement([0.9, 0.8], [0.5, 0.6]).value
        1.0

    """
    plan = plan or Resampling("episode")
    xs, ys = _paired(x, y)
    labels = [""] * len(xs) if strata is None else list(strata)
    if len(labels) != len(xs):
        raise UsageError(f"got {len(labels)} strata for {len(xs)} cases", hint="Give one stratum for each case")
    blank = Estimate(None, level=plan.level, unit="episode", n=len(xs), n_units=len(xs))
    if not len(xs):
        return blank
    names = np.asarray(labels)
    parts, values = np.zeros(len(xs)), []
    for stratum in np.unique(names):
        chosen = names == stratum
        wins = _wins(xs[chosen], ys[chosen])
        size, total = len(wins), wins.sum()
        values.append(total / size**2)
        if size > 1:
            without = (total - wins.sum(axis=0) - wins.sum(axis=1) + wins.diagonal()) / (size - 1) ** 2
            parts[chosen] = (values[-1] - without) * (size - 1) / size
        else:
            parts[chosen] = values[-1]
    value = float(np.mean(values))
    if len(xs) < 2:
        return replace(blank, value=value, method="none: one case only")
    within = Strata.of(labels, len(xs))
    error, _ = within.spread(parts[:, None] / len(values))
    freedom = within.freedom()
    low, high = ends(np.array([value]), error, np.zeros(1), freedom, level=plan.level, scale=SHARE, n=len(xs))
    method = f"t interval{SHARE.words}, jackknife of {len(xs)} cases"
    return replace(blank, value=value, low=float(low[0]), high=float(high[0]), method=method)


def _wins(x: Floats, y: Floats) -> Floats:
    """1 if the x of the row is above the y of the column, ½ if they are equal; shape (n, n)."""
    return np.asarray((x[:, None] > y[None, :]) + 0.5 * (x[:, None] == y[None, :]), np.float64)


@dataclass(frozen=True, slots=True)
class Profile:
    """The share of cases above each threshold."""

    thresholds: Floats
    """Shape (t,)."""
    share: Floats
    """Shape (t,), between 0 and 1, not increasing."""
    low: Floats
    """Lower ends of the intervals, threshold by threshold, shape (t,)."""
    high: Floats


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike,
    *,
    strata: Sequence[str] | None = None,
    plan: Resampling | None = None,
) -> Profile:
    """The share of `scores`, shape (n,), above each of `thresholds`, shape (t,), each with its interval.

    With one case there is no interval: both ends are NaN.

    Example:
        >>> performance_profile([0.2, 0.6, 0.9], [0.5]).share.tolist()
        [0.6666666666666666]

    """
    plan = plan or Resampling("episode")
    values, marks = np.asarray(scores, np.float64).ravel(), np.asarray(thresholds, np.float64).ravel()
    if not len(values) or np.isnan(values).any():
        raise UsageError("a profile needs at least one score and no NaN", hint="Leave out undefined scores")
    above = (values[:, None] > marks[None, :]).astype(np.float64)
    share = above.mean(axis=0)
    if len(values) < 2:
        return Profile(marks, share, np.full(len(marks), np.nan), np.full(len(marks), np.nan))
    within = Strata.of(strata, len(values))
    error, skewness = within.spread(above / len(values))
    low, high = ends(share, error, skewness, within.freedom(), level=plan.level, scale=SHARE, n=len(values))
    return Profile(marks, share, low, high)


def _paired(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    xs, ys = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if len(xs) != len(ys):
        raise UsageError(f"{len(xs)} and {len(ys)} cases cannot be paired", hint="Give the same cases on both sides")
    if np.isnan(xs).any() or np.isnan(ys).any():
        raise UsageError("scores must not be NaN", hint="Leave out the cases that are undefined on either side")
    return xs, ys
