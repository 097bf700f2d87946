"""Percentile bootstrap intervals, with the unit of resampling always stated.

Three units of resampling (docs/concepts/intervals.md):

- `reference` resamples single values in their order with NumPy's legacy generator: it reproduces published figures,
  draw for draw.
- `event` has the same distribution. Resampling n values is one multinomial draw over the distinct values, and a
  percentile of a resample is one order statistic, so the cost depends on how many values are distinct, not on n.
- `episode` resamples whole groups (episodes, scenarios) within strata: events of one episode are not independent, and
  pretending that they are gives intervals far too narrow.

No global generator is touched; the same seed gives the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import UsageError
from assay.stats import by_episode, by_event
from assay.stats.by_episode import UnitValues
from assay.stats.quantiles import percent_of, statistic_of
from assay.stats.sorted_values import SortedValues
from assay.types import Distribution, Estimate, Floats, Ratio

UNITS = ("reference", "event", "episode")


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are computed. The defaults: 95 %, 1000 resamples, seed 42."""

    unit: str = "event"
    """'reference', 'event' or 'episode'."""
    reps: int = 1000
    """Number of resamples."""
    level: float = 0.95
    """Confidence level."""
    seed: int = 42
    """Seed of the random generator; every interval starts again from it."""
    keep: bool = False
    """Keep the replicates in the estimate. With the same units, strata and seed, two estimates use the same
    resamples, so the difference of their replicates is a paired difference."""
    made: Callable[[int], None] | None = field(default=None, repr=False, compare=False)
    """Called with the number of figures each time some have been made, to show progress."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UsageError(f"there is no interval '{self.unit}'", hint=f"Use one of: {', '.join(UNITS)}")
        if self.reps < 1:
            raise UsageError(f"reps must be at least 1, got {self.reps}", hint="Use 1000 or more")
        if not 0 < self.level < 1:
            raise UsageError(f"level must be between 0 and 1, got {self.level}", hint="Use 0.95 for a 95 % interval")
        if not 0 <= self.seed < 2**32:  # the legacy generator of `reference` takes 32 bits
            raise UsageError(
                f"seed must be between 0 and 4294967295, got {self.seed}", hint="Give a whole number in that range"
            )

    def count(self, figures: int) -> None:
        """Tell that so many more figures are being made."""
        if self.made is not None:
            self.made(figures)

    @property
    def method(self) -> str:
        """The description of the method that an `Estimate` carries."""
        return f"percentile bootstrap, {self.reps} resamples, seed {self.seed}"


def bootstrap(
    x: ArrayLike | Distribution,
    *,
    statistic: str = "iqm",
    interval: str = "event",
    reps: int = 1000,
    level: float = 0.95,
    seed: int = 42,
    groups: ArrayLike | None = None,
    strata: ArrayLike | None = None,
) -> Estimate:
    """`statistic` of x with its interval.

    `statistic` is 'iqm', 'mean', 'median' or a percentile such as 'p95'. `groups` names the episode of each value
    and `strata` its stratum; both are used by `interval="episode"` only. The interval says how much the statistic
    would change with other resampled units of the same kind.

    Example:
        >>> estimate = bootstrap([3, 1, 4, 1, 5, 9, 2, 6], statistic="mean")
        >>> estimate.value, estimate.unit, estimate.low <= estimate.value <= estimate.high
        (3.875, 'event', True)

    """
    plan = Resampling(interval, reps, level, seed)
    if isinstance(x, Distribution):
        if plan.unit == "reference":
            raise UsageError("'reference' resamples values in order", hint="Give the values, or use interval='event'")
        if plan.unit == "episode":
            raise UsageError("'episode' needs the values and their groups", hint="Give x as values, and groups=")
        return value_intervals([x], [statistic], plan)[statistic]
    values = np.asarray(x, np.float64).ravel()
    if plan.unit != "episode":
        return value_intervals([Distribution.of(values)], [statistic], plan, in_order=values)[statistic]
    if groups is None:
        raise UsageError("interval='episode' needs groups", hint="Pass groups=, the episode of each value")
    parts, part_strata = _split(values, np.asarray(groups), None if strata is None else np.asarray(strata))
    return value_intervals(parts, [statistic], plan, strata=part_strata)[statistic]


def value_intervals(
    parts: Iterable[Distribution] | Iterable[UnitValues] | SortedValues,
    statistics: Sequence[str],
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
    in_order: Floats | None = None,
    whole: Distribution | None = None,
) -> dict[str, Estimate]:
    """Each of `statistics` over all `parts` (one per episode) with its interval, from the same resamples.

    `in_order` holds the single values and is needed by the `reference` unit only. If the caller gives the sum of the
    parts as `whole`, and the stratum of each part, the parts are read once and need not all be in memory together;
    they may then also come several at a time, as `UnitValues`. Or all of them come sorted, with the strata.

    Example:
        >>> parts = [Distribution.of([1, 2, 3]), Distribution.of([2, 3, 4])]
        >>> value_intervals(parts, ["mean"], Resampling("episode"))["mean"].value
        2.5

    """
    if isinstance(parts, SortedValues):
        whole = parts.whole
    elif whole is None or strata is None:
        known = [part for part in parts if isinstance(part, Distribution)]
        strata = [""] * len(known) if strata is None else strata
        whole = Distribution.merge(known) if whole is None else whole
        parts = known
    assert strata is not None, "sorted values need the strata of their units"
    plan.count(len(statistics))
    total = whole
    points = {name: statistic_of(total, name) for name in statistics}
    n_units = len(strata) if plan.unit == "episode" else total.n
    blank = Estimate(None, level=plan.level, method=plan.method, unit=plan.unit, n=total.n, n_units=n_units)
    if not len(total.values):
        return dict.fromkeys(statistics, blank)
    if plan.unit == "episode" and n_units < 2:
        # One episode says nothing about others: resampling it would give an interval of zero width.
        return {name: replace(blank, value=points[name]) for name in statistics}
    if plan.unit == "reference":
        if in_order is None:
            raise UsageError("'reference' resamples values in order", hint="Keep them, or use another interval")
        replicates = {name: _reference(in_order, name, plan) for name in statistics}
    elif plan.unit == "event":
        replicates = {name: by_event.replicates(total, name, reps=plan.reps, seed=plan.seed) for name in statistics}
    else:
        replicates = by_episode.replicates(parts, total, statistics, strata, reps=plan.reps, seed=plan.seed)
    return {
        name: blank if points[name] is None else _with_ends(replace(blank, value=points[name]), replicates[name], plan)
        for name in statistics
    }


def ratio_interval(parts: Sequence[Ratio], plan: Resampling, *, strata: Sequence[str] | None = None) -> Estimate:
    """Hits ÷ total over all `parts` (one per episode), with its interval.

    Example:
        >>> share = ratio_interval([Ratio(9, 10), Ratio(7, 10), Ratio(8, 10)], Resampling("episode"))
        >>> share.value, share.n_units
        (0.8, 3)

    """
    plan.count(1)
    total = sum(parts, Ratio())
    n_units = len(parts) if plan.unit == "episode" else total.total
    unit = "event" if plan.unit == "reference" else plan.unit
    blank = Estimate(total.value, level=plan.level, method=plan.method, unit=unit, n=total.total, n_units=n_units)
    if total.value is None or (unit == "episode" and len(parts) < 2):
        return blank
    if unit == "event":
        shares = np.random.default_rng(plan.seed).binomial(total.total, total.value, plan.reps) / total.total
    else:
        weights = by_episode.seeded_weights(len(parts), strata, plan.reps, plan.seed)
        hits, totals = (weights @ np.array([(part.hits, part.total) for part in parts], np.float64)).T
        with np.errstate(invalid="ignore"):
            shares = hits / totals
    return _with_ends(blank, shares, plan)


def sum_interval(
    parts: Sequence[Floats],
    function: Callable[[Floats], Floats],
    plan: Resampling,
    *,
    n: int,
    strata: Sequence[str] | None = None,
) -> Estimate:
    """`function` of the sum of all `parts`, one array of shape (k,) per episode, with its interval.

    `function` takes sums of shape (…, k) and returns values of shape (…), NaN if undefined. Sums do not keep single
    events, so only the `episode` unit has an interval here.

    Example:
        >>> parts = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]  # a sum and a count for each episode
        >>> sum_interval(parts, lambda sums: sums[..., 0] / sums[..., 1], Resampling("episode"), n=6).value
        0.6666666666666666

    """
    plan.count(1)
    if not len(parts):
        return Estimate(None, level=plan.level, n=n)
    table = np.array(list(parts), np.float64)
    value = float(function(table.sum(axis=0)))
    estimate = Estimate(None if math.isnan(value) else value, level=plan.level, n=n, n_units=len(parts))
    if plan.unit != "episode" or len(parts) < 2 or estimate.value is None:
        return estimate
    weights = by_episode.seeded_weights(len(parts), strata, plan.reps, plan.seed)
    return _with_ends(replace(estimate, method=plan.method, unit="episode"), function(weights @ table), plan)


def curve_intervals(
    parts: Sequence[Floats],
    function: Callable[[Floats], Floats],
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Like `sum_interval` for many values at once: values, lower and upper ends, each of shape (m,).

    `function` takes sums of shape (…, k) and gives values of shape (…, m). What is undefined is NaN, and so are the
    ends where there is no interval: with one episode, or another unit than episodes. All points share resamples.

    Example:
        >>> parts = [np.array([1.0, 3.0, 4.0]), np.array([2.0, 2.0, 4.0])]  # two sums and a count for each episode
        >>> share = lambda sums: sums[..., :2] / sums[..., 2:]
        >>> values, low, high = curve_intervals(parts, share, Resampling("episode"))
        >>> values.tolist(), low.tolist()
        ([0.375, 0.625], [0.25, 0.5])

    """
    table = np.array(list(parts), np.float64)
    values = np.asarray(function(table.sum(axis=0)), np.float64)
    unknown = np.full(len(values), np.nan)
    if plan.unit != "episode" or len(table) < 2:
        return values, unknown, unknown.copy()
    weights = by_episode.seeded_weights(len(table), strata, plan.reps, plan.seed)
    replicates = np.asarray(function(weights @ table), np.float64)
    tail = (1 - plan.level) / 2 * 100
    measured = ~np.isnan(replicates).all(axis=0)
    low, high = unknown, unknown.copy()
    low[measured], high[measured] = np.nanpercentile(replicates[:, measured], [tail, 100 - tail], axis=0)
    return values, low, high


def _with_ends(estimate: Estimate, replicates: Floats, plan: Resampling) -> Estimate:
    """The estimate with the two ends of its interval. Resamples in which nothing could be measured are left out."""
    if plan.keep:
        estimate = replace(estimate, replicates=replicates)
    usable = replicates[~np.isnan(replicates)]
    if not len(usable):
        return estimate
    tail = (1 - estimate.level) / 2 * 100
    low, high = np.percentile(usable, [tail, 100 - tail])
    return replace(estimate, low=float(low), high=float(high))


# --- reference: resample single values, in order -------------------------------------------------------------------


def _reference(values: Floats, name: str, plan: Resampling) -> Floats:
    legacy = np.random.RandomState(plan.seed)
    out = np.empty(plan.reps)
    for rep in range(plan.reps):
        out[rep] = _plain_statistic(legacy.choice(values, size=len(values), replace=True), name)
    return out


def _plain_statistic(values: Floats, name: str) -> float:
    if name == "mean":
        return float(values.mean())
    if name != "iqm":
        return float(np.percentile(values, percent_of(name)))
    q25, q75 = np.percentile(values, [25, 75])
    inside = values[(values >= q25) & (values <= q75)]
    return float(inside.mean()) if len(inside) else math.nan


def _split(
    values: Floats, groups: NDArray[np.generic], strata: NDArray[np.generic] | None
) -> tuple[list[Distribution], list[str] | None]:
    """One distribution per group, in the order of the groups' names, and the stratum of each."""
    if len(groups) != len(values) or (strata is not None and len(strata) != len(values)):
        raise UsageError(
            f"{len(values)} values, {len(groups)} groups, {len(strata) if strata is not None else 'no'} strata",
            hint="Give one group (and one stratum) for each value",
        )
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    parts = [Distribution.of(values[member == group]) for group in range(len(first))]
    if strata is None:
        return parts, None
    for group in range(len(first)):
        if len(np.unique(strata[member == group])) > 1:
            raise UsageError(
                f"group '{groups[first[group]]}' lies in more than one stratum", hint="A group has one stratum"
            )
    return parts, [str(strata[at]) for at in first]
