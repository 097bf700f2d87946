"""Statistics of values with their intervals, the unit always stated.

Three units (docs/concepts/intervals.md):

- `reference` resamples single values in their order with NumPy's legacy generator: it reproduces published figures,
  draw for draw.
- `event` has the same distribution. Resampling n values is one multinomial draw over the distinct values, and a
  percentile of a resample is one order statistic, so the cost depends on how many values are distinct, not on n.
- `episode` takes whole groups (episodes, scenarios) within strata: events of one episode are not independent, and
  pretending that they are gives intervals far too narrow. A mean needs no resampling (`jackknife.py`); the
  interquartile mean and percentiles are resampled.

No global generator is touched; the same seed gives the same interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import UsageError
from assay.stats import by_episode, by_event
from assay.stats.by_episode import UnitValues
from assay.stats.indexed_values import IndexedValues
from assay.stats.jackknife import Strata
from assay.stats.plan import Resampling
from assay.stats.quantiles import percent_of, statistic_of
from assay.stats.sums import ONE_EPISODE, interval_of_replicates, mean_interval
from assay.types import Distribution, Estimate, Floats

EVERYWHERE = (-np.inf, np.inf)
AT_LEAST_0 = (0.0, np.inf)
ANGLES = (0.0, 180.0)
"""Bounds of values: of any, of absolute errors, of angles between two directions in degrees."""


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
    within: tuple[float, float] = EVERYWHERE,
) -> Estimate:
    """`statistic` of x with its interval.

    `statistic` is 'iqm', 'mean', 'median' or a percentile such as 'p95'. `groups` names the episode of each value
    and `strata` its stratum; both are used by `interval="episode"` only, and so is `within`, the bounds of x, which
    its interval does not leave. The interval says how much the statistic would change with other resampled units of
    the same kind.

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
    return value_intervals(parts, [statistic], plan, strata=part_strata, within=within)[statistic]


def value_intervals(
    parts: Iterable[Distribution] | Iterable[UnitValues] | IndexedValues,
    statistics: Sequence[str],
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
    in_order: Floats | None = None,
    whole: Distribution | None = None,
    within: tuple[float, float] = EVERYWHERE,
) -> dict[str, Estimate]:
    """Each of `statistics` over all `parts` (one per episode) with its interval, from the same resamples.

    Values can only lie `within` these bounds, and so can the ends of intervals.

    `in_order` holds the single values and is needed by the `reference` unit only. If the caller gives the sum of the
    parts as `whole`, and the stratum of each part, the parts are read once and need not all be in memory together;
    they may then also come several at a time, as `UnitValues`. Or all of them come as `IndexedValues`, with the strata.

    Example:
        >>> parts = [Distribution.of([1, 2, 3]), Distribution.of([2, 3, 4])]
        >>> value_intervals(parts, ["mean"], Resampling("episode"))["mean"].value
        2.5

    """
    if isinstance(parts, IndexedValues):
        whole = parts.whole
    elif whole is None or strata is None:
        known = [part for part in parts if isinstance(part, Distribution)]
        strata = [""] * len(known) if strata is None else strata
        whole = Distribution.merge(known) if whole is None else whole
        parts = known
    assert strata is not None, "indexed values need the strata of their units"
    by_jackknife = plan.unit == "episode" and "mean" in statistics  # it counts its own figure
    plan.count(len(statistics) - by_jackknife)
    n_units = len(strata) if plan.unit == "episode" else whole.n
    blank = Estimate(None, level=plan.level, unit=plan.unit, n=whole.n, n_units=n_units)
    if not len(whole.values):
        return dict.fromkeys(statistics, blank)
    points = {name: replace(blank, value=statistic_of(whole, name)) for name in statistics}
    if plan.unit == "episode":
        found = _by_episode(parts, whole, points, strata, plan)
        return {name: _cut(estimate, within) for name, estimate in found.items()}
    if plan.unit == "reference" and in_order is None:
        raise UsageError("'reference' resamples values in order", hint="Keep them, or use another interval")
    out = {}
    for name, point in points.items():
        if in_order is not None and plan.unit == "reference":
            replicates = _reference(in_order, name, plan)
        else:
            replicates = by_event.replicates(whole, name, reps=plan.reps, seed=plan.seed)
        out[name] = _with_percentiles(point, replicates, plan)
    return out


def _cut(estimate: Estimate, within: tuple[float, float]) -> Estimate:
    """The estimate with an interval inside these bounds: few episodes may give one that reaches beyond."""
    least, most = within
    if estimate.low is None or estimate.high is None or (least <= estimate.low and estimate.high <= most):
        return estimate
    return replace(estimate, low=max(least, estimate.low), high=min(most, estimate.high))


def _by_episode(
    parts: Iterable[Distribution] | Iterable[UnitValues] | IndexedValues,
    whole: Distribution,
    points: dict[str, Estimate],
    strata: Sequence[str],
    plan: Resampling,
) -> dict[str, Estimate]:
    """The points with their intervals: of the mean by the jackknife, of everything else by resampling episodes."""
    if len(strata) < 2:
        # One episode says nothing about others: resampling it would give an interval of zero width.
        return {name: replace(point, method=ONE_EPISODE) for name, point in points.items()}
    out: dict[str, Estimate] = {}
    if "mean" in points:
        if isinstance(parts, IndexedValues):
            sums, counts = parts.sums(len(strata))
        else:
            parts = kept = list(by_episode.together(parts))
            sums, counts = (np.concatenate(columns) for columns in zip(*(part.sums() for part in kept), strict=True))
        out["mean"] = replace(mean_interval(sums, counts, plan, strata=strata), value=points["mean"].value)
    resampled = [name for name in points if name != "mean"]
    if resampled:
        found, sizes = by_episode.replicates(parts, whole, resampled, strata, reps=plan.reps, seed=plan.seed)
        known = sizes > 0
        if known.sum() < 2:
            return out | {name: replace(points[name], method=ONE_EPISODE) for name in resampled}
        freedom = Strata.of(strata, len(strata)).where(known).freedom(sizes[known])
        out |= {name: interval_of_replicates(points[name], found[name], freedom, plan) for name in resampled}
    return {name: out[name] for name in points}


def _with_percentiles(point: Estimate, replicates: Floats, plan: Resampling) -> Estimate:
    """The estimate with a percentile interval. Resamples in which nothing could be measured are left out."""
    if plan.keep:
        point = replace(point, replicates=replicates)
    usable = replicates[~np.isnan(replicates)]
    if not len(usable) or point.value is None:
        return point
    tail = (1 - plan.level) / 2 * 100
    low, high = np.percentile(usable, [tail, 100 - tail])
    return replace(point, low=float(low), high=float(high), method=plan.method("percentile bootstrap"))


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
    return float((inside if len(inside) else values).mean())


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
