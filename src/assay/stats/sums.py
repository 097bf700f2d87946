"""Shares, means and other functions of sums over episodes, with intervals from the jackknife.

Nothing is resampled, except for functions that jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.stats.jackknife import PLAIN, SHARE, Scale, Strata, ends, share_contributions, unit_contributions
from assay.stats.plan import Resampling
from assay.stats.resampled import resampled_ends, resampled_words
from assay.stats.resamples import Resamples
from assay.types import Estimate, Floats, Ratio

ONE_EPISODE = "none: one episode only"
"""The method of an estimate that has no interval because there is only one episode."""


def ratio_interval(parts: Sequence[Ratio], plan: Resampling, *, strata: Sequence[str] | None = None) -> Estimate:
    """Hits ÷ total over all `parts` (one per episode), with its interval.

    Example:
        >>> share = ratio_interval([Ratio(9, 10), Ratio(7, 10), Ratio(8, 10)], Resampling("episode"))
        >>> share.value, share.n_units
        (0.8, 3)

    """
    table = np.array([(part.hits, part.total) for part in parts], np.float64).reshape(-1, 2)
    return share_interval(table[:, 0], table[:, 1], plan, strata=strata)


def share_interval(
    hits: ArrayLike, totals: ArrayLike, plan: Resampling, *, strata: Sequence[str] | None = None
) -> Estimate:
    """Σ hits ÷ Σ totals, one of each for an episode, with its interval.

    If every episode has the same share, as with a share of 0 or 1, the interval reaches as far as the part of all
    episodes that so many can have missed by chance.

    Example:
        >>> share = share_interval([10, 10, 10, 10, 10], [10, 10, 10, 10, 10], Resampling("episode"))
        >>> share.value, round(share.low, 3), share.high
        (1.0, 0.478, 1.0)

    """
    if plan.unit == "episode":
        return mean_interval(hits, totals, plan, strata=strata, scale=SHARE)
    plan.count(1)
    total = float(np.sum(totals))
    return _of_events(float(np.sum(hits)) / total if total else None, round(total), plan)


def mean_interval(
    sums: ArrayLike,
    counts: ArrayLike,
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
    scale: Scale = PLAIN,
    unit: str = "episode",
) -> Estimate:
    """The mean of values of which each episode has a sum and a count, with its interval by episode.

    `unit` is what the groups are called: 'episode' or 'scenario'.

    Example:
        >>> mean_interval([3.0, 4.0, 8.0], [2, 2, 2], Resampling("episode")).value
        2.5

    """
    plan.count(1)
    h, t = np.asarray(sums, np.float64), np.asarray(counts, np.float64)
    total = float(t.sum())
    value = float(h.sum()) / total if total else None
    blank = Estimate(value, level=plan.level, unit=unit, n=round(total), n_units=len(h))
    if value is None:
        return blank
    known = t > 0
    within = Strata.of(strata, len(h)).where(known)
    return _jackknifed(
        blank, lambda strata: share_contributions(h[known], t[known], strata), known, within, t[known], scale, plan
    )


def _of_events(value: float | None, n: int, plan: Resampling) -> Estimate:
    """A share of independent events."""
    blank = Estimate(value, level=plan.level, unit="event", n=n, n_units=n)
    if value is None:
        return blank
    error = math.sqrt(max(value * (1 - value), 0.0) / max(n - 1, 1))
    low, high = ends(
        np.array([value]), np.array([error]), np.zeros(1), max(n - 1, 1), level=plan.level, scale=SHARE, n=max(n, 1)
    )
    found = replace(blank, low=float(low[0]), high=float(high[0]), method=_words(SHARE, error > 0, "events"))
    if not plan.keep:
        return found
    return replace(found, replicates=np.random.default_rng(plan.seed).binomial(n, min(value, 1.0), plan.reps) / n)


def sum_interval(
    parts: Sequence[Floats] | NDArray[Any],
    function: Callable[[Floats], Floats],
    plan: Resampling,
    *,
    n: int,
    strata: Sequence[str] | None = None,
    scale: Scale = PLAIN,
    sizes: ArrayLike | None = None,
    unit: str = "episode",
    smooth: Callable[[Floats], Floats] | None = None,
) -> Estimate:
    """`function` of the sum of all `parts`, one array of shape (k,) per episode, with its interval.

    `function` takes sums of shape (…, k) and returns values of shape (…), NaN if undefined. It must be smooth (see
    `resampled_sum_interval`) and must not change if all sums are multiplied by the same number. `sizes` is how much
    each episode weighs, shape (episodes,), by default the same, and `unit` is what they are called. Sums do not keep
    single events, so only the `episode` unit of a plan has an interval here.

    If `function` chooses, as the best of several does, `smooth` is its mean over the choices that other episodes would
    have made, each with its share: how much a choice varies is not seen by leaving out one episode (Efron 2014).

    Example:
        >>> parts = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]  # a sum and a count for each episode
        >>> sum_interval(parts, lambda sums: sums[..., 0] / sums[..., 1], Resampling("episode"), n=6).value
        0.6666666666666666

    """
    blank, table = _of_sums(parts, function, plan, n)
    if blank.unit == "none" or blank.value is None:
        return blank
    blank = replace(blank, unit=unit)
    known = np.asarray(table.any(axis=1))
    within = Strata.of(strata, len(table)).where(known)
    weights = None if sizes is None else np.asarray(sizes, np.float64)[known]
    figure = function if smooth is None else smooth
    value = np.array([blank.value if smooth is None else float(smooth(table.sum(axis=0)))])
    return _jackknifed(
        blank,
        lambda strata: unit_contributions(table[known], figure, value, strata),
        known,
        within,
        weights,
        scale,
        plan,
    )


def resampled_sum_interval(
    parts: Sequence[Floats] | NDArray[Any],
    function: Callable[[Floats], Floats],
    plan: Resampling,
    *,
    n: int,
    strata: Sequence[str] | None = None,
    step: float = 0.0,
) -> Estimate:
    """As `sum_interval` for a function that jumps, such as the place of a maximum: episodes are resampled.

    Values are multiples of `step`, so what lies within half a step of the interval rounds to one of its values.

    Example:
        >>> parts = [np.array([0.0, 2.0, 1.0]), np.array([0.0, 3.0, 1.0])]
        >>> place = lambda sums: sums.argmax(axis=-1)
        >>> found = resampled_sum_interval(parts, place, Resampling("episode"), n=7, step=1.0)
        >>> found.value, found.low, found.high
        (1.0, 0.5, 1.5)

    """
    blank, table = _of_sums(parts, function, plan, n)
    if blank.unit == "none" or blank.value is None or int(table.any(axis=1).sum()) < 2:
        return blank
    within = Strata.of(strata, len(table))
    resamples = Resamples.seeded(len(table), strata, plan.reps, plan.seed)
    found = interval_of_replicates(blank, function(resamples.sums(table)), within.freedom(), plan)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=found.low - step / 2, high=found.high + step / 2)


def choice_shares(
    parts: Floats, function: Callable[[Floats], Floats], plan: Resampling, *, strata: Sequence[str] | None = None
) -> Floats:
    """How often each of m options is chosen in resamples of the episodes, shape (m,): the one with the largest value.

    `parts` has shape (episodes, k). `function` takes sums of shape (…, k) and gives the options' values, shape (…, m).

    Example:
        >>> parts = np.array([[1.0, 3.0], [2.0, 3.0]])
        >>> choice_shares(parts, lambda sums: sums, Resampling("episode")).tolist()
        [0.0, 1.0]

    """
    resamples = Resamples.seeded(len(parts), strata, plan.reps, plan.seed)
    values = function(resamples.sums(parts))
    chosen = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=-1)
    return np.bincount(chosen, minlength=values.shape[-1]) / len(chosen)


def curve_intervals(
    parts: Sequence[Floats] | NDArray[Any],
    function: Callable[[Floats], Floats],
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
    sizes: ArrayLike | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Like `sum_interval` for many shares at once: values, lower and upper ends, each of shape (m,).

    `function` takes sums of shape (…, k) and gives values from 0 to 1 of shape (…, m). What is undefined is NaN, and so
    are the ends if there is no interval: with one episode, or another unit than episodes.

    Example:
        >>> parts = [np.array([1.0, 3.0, 4.0]), np.array([2.0, 2.0, 4.0])]  # two sums and a count for each episode
        >>> share = lambda sums: sums[..., :2] / sums[..., 2:]
        >>> values, low, high = curve_intervals(parts, share, Resampling("episode"))
        >>> values.tolist(), bool((low < values).all())
        ([0.375, 0.625], True)

    """
    table = np.asarray(parts, np.float64)
    values = np.asarray(function(table.sum(axis=0)), np.float64)
    unknown = np.full(len(values), np.nan)
    known = np.asarray(table.any(axis=1))
    if plan.unit != "episode" or int(known.sum()) < 2:
        return values, unknown, unknown.copy()
    within = Strata.of(strata, len(table)).where(known)
    contributions = unit_contributions(table[known], function, values, within)
    error, skewness = within.spread(contributions)
    most = within.freedom(None if sizes is None else np.asarray(sizes, np.float64)[known])
    freedom = within.freedom_seen(contributions, most)
    low, high = ends(values, error, skewness, freedom, level=plan.level, scale=SHARE, n=int(known.sum()))
    return values, low, high


def _of_sums(
    parts: Sequence[Floats] | NDArray[Any], function: Callable[[Floats], Floats], plan: Resampling, n: int
) -> tuple[Estimate, Floats]:
    """The value, and the table of all parts; the unit is 'none' if there can be no interval."""
    plan.count(1)
    table = np.asarray(parts, np.float64)
    if not len(table):
        return Estimate(None, level=plan.level, n=n), table
    value = float(function(table.sum(axis=0)))
    unit = "episode" if plan.unit == "episode" else "none"
    blank = Estimate(None if math.isnan(value) else value, level=plan.level, unit=unit, n=n, n_units=len(table))
    return blank, table


def _jackknifed(
    blank: Estimate,
    contributions: Callable[[Strata], Floats],
    known: NDArray[np.bool_],
    within: Strata,
    sizes: Floats | None,
    scale: Scale,
    plan: Resampling,
) -> Estimate:
    """The estimate with its interval.

    `contributions` gives those of the units that are `known`, shape (known, 1), if they are in certain strata.
    """
    parts = contributions(within)
    if len(parts) < 2 or np.isnan(parts).any():
        # One episode says nothing about others, nor does a figure that is undefined without one of them.
        return replace(blank, method=f"none: one {blank.unit} only")
    error, skewness = within.spread(parts)
    if scale.skewed and not within.show_skewness:
        together = Strata.of(None, len(parts))
        _, skewness = together.spread(contributions(together))
    freedom = within.freedom(sizes)
    seen = within.freedom_seen(parts, freedom)
    low, high = ends(np.array([blank.value]), error, skewness, seen, level=plan.level, scale=scale, n=len(parts))
    if plan.keep:
        each = np.zeros(len(known))
        each[known] = parts[:, 0]
        blank = replace(blank, contributions=each, freedom=freedom)
    if math.isnan(low[0]) or math.isnan(high[0]):
        return replace(blank, method=f"none: no {blank.unit} differs")
    method = _words(scale, bool(error[0] > 0), f"{len(parts)} {blank.unit}s")
    return replace(blank, low=float(low[0]), high=float(high[0]), method=method)


def _words(scale: Scale, varies: bool, units: str) -> str:
    """The description of the method."""
    if not varies:
        return f"exact bound of what {units} can have missed"
    skew = ", corrected for skewness" if scale.skewed else ""
    return f"t interval{scale.words}{skew}, jackknife of {units}"


def interval_of_replicates(point: Estimate, replicates: Floats, freedom: float, plan: Resampling) -> Estimate:
    """The estimate with its interval from resamples of episodes, shape (reps,).

    Resamples in which nothing could be measured are left out.
    """
    if plan.keep:
        point = replace(point, replicates=replicates, freedom=freedom)
    usable = replicates[~np.isnan(replicates)]
    if not len(usable) or point.value is None:
        return point
    low, high = resampled_ends(point.value, usable, freedom, plan.level)
    return replace(point, low=low, high=high, method=plan.method(resampled_words(freedom)))
