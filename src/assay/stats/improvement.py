"""Scores of single cases, side by side: how likely one agent beats the other, and how many cases exceed a threshold.

Both follow Agarwal et al. (2021, "Deep reinforcement learning at the edge of the statistical precipice"): the
probability of improvement is averaged over strata, ties count half, and a performance profile is the share of cases
that score above a threshold. Intervals resample cases within strata, the same cases on both sides, with a given seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import UsageError
from assay.stats.bootstrap import Resampling
from assay.stats.by_episode import seeded_weights
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
    blank = Estimate(None, level=plan.level, method=plan.method, unit="episode", n=len(xs), n_units=len(xs))
    if not len(xs):
        return blank
    weights = seeded_weights(len(xs), labels, plan.reps, plan.seed)
    names = np.asarray(labels)
    values, replicates = [], np.zeros(plan.reps)
    for stratum in np.unique(names):
        chosen = names == stratum
        wins = _wins(xs[chosen], ys[chosen])
        size = len(wins)
        values.append(wins.mean())
        inner = weights[:, chosen]
        replicates += ((inner @ wins) * inner).sum(axis=1) / size**2
    value = float(np.mean(values))
    if len(xs) < 2:
        return Estimate(value, level=plan.level, method=plan.method, unit="episode", n=len(xs), n_units=len(xs))
    tail = (1 - plan.level) / 2 * 100
    low, high = np.percentile(replicates / len(values), [tail, 100 - tail])
    return Estimate(value, float(low), float(high), plan.level, plan.method, "episode", len(xs), len(xs))


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

    With one case there is no interval: both ends are the share itself.

    Example:
        >>> performance_profile([0.2, 0.6, 0.9], [0.5]).share.tolist()
        [0.6666666666666666]

    """
    plan = plan or Resampling("episode")
    values, marks = np.asarray(scores, np.float64).ravel(), np.asarray(thresholds, np.float64).ravel()
    if not len(values) or np.isnan(values).any():
        raise UsageError("a profile needs at least one score and no NaN", hint="Leave out undefined scores")
    above = (values[:, None] > marks[None, :]).astype(np.float64)
    weights = seeded_weights(len(values), strata, plan.reps, plan.seed)
    tail = (1 - plan.level) / 2 * 100
    low, high = np.percentile(weights @ above / len(values), [tail, 100 - tail], axis=0)
    return Profile(marks, above.mean(axis=0), low, high)


def _paired(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    xs, ys = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if len(xs) != len(ys):
        raise UsageError(f"{len(xs)} and {len(ys)} cases cannot be paired", hint="Give the same cases on both sides")
    if np.isnan(xs).any() or np.isnan(ys).any():
        raise UsageError("scores must not be NaN", hint="Leave out the cases that are undefined on either side")
    return xs, ys
