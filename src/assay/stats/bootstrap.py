"""Percentile bootstrap intervals, with the unit of resampling always stated.

Three units, as SPEC 1.4 defines them:

- `reference` resamples single values in their order with NumPy's legacy generator: published figures, draw for draw.
- `event` has the same distribution. Resampling n values is one multinomial draw over the distinct values, and a
  percentile of a resample is one order statistic, so the cost depends on how many values are distinct, not on n.
- `episode` resamples whole groups (episodes, scenarios) within strata: events of one episode are not independent, and
  pretending that they are gives intervals far too narrow.

No global generator is touched; the same seed gives the same interval.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import UsageError
from assay.stats.quantiles import interpolate, iqm, mean_of_counts, percentile, split_rank
from assay.types import Distribution, Estimate, Floats, Ints, Ratio

UNITS = ("reference", "event", "episode")

# A binomial draw costs about this many times a uniform draw with its counting (NumPy 2, measured).
_BINOMIAL_COST = 12
# Counts of this many cells at most are held at once (32 MB of float64).
_CELLS_AT_ONCE = 4_000_000
# Blocks of neighbouring values that an episode's counts are first summed in: at most this many, and at most this many
# for all episodes together (16 MB).
_BLOCKS = 2048
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made. The defaults are those of SPEC 1.4."""

    unit: str = "event"
    """'reference', 'event' or 'episode'."""
    reps: int = 1000
    """Number of resamples."""
    level: float = 0.95
    """Confidence level."""
    seed: int = 42
    """Seed of the generator; every interval starts from it anew."""
    keep: bool = False
    """Keep the replicates in the estimate. With the same units, strata and seed, two estimates rest on the same
    resamples, so the difference of their replicates is a paired one."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UsageError(f"there is no interval '{self.unit}'", hint=f"Use one of: {', '.join(UNITS)}")
        if self.reps < 1 or not 0 < self.level < 1:
            raise UsageError(
                f"cannot make an interval from {self.reps} resamples at level {self.level}",
                hint="Use at least 1 resample and a level between 0 and 1",
            )
        if not 0 <= self.seed < 2**32:  # the legacy generator of `reference` takes 32 bits
            raise UsageError(f"{self.seed} is no seed", hint="Give a whole number from 0 to 4294967295")

    @property
    def method(self) -> str:
        """The words that an Estimate carries."""
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
    would move if the resampled units had been other ones of the same kind.
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
    parts: Iterable[Distribution],
    statistics: Sequence[str],
    plan: Resampling,
    *,
    strata: Sequence[str] | None = None,
    in_order: Floats | None = None,
    whole: Distribution | None = None,
) -> dict[str, Estimate]:
    """Each of `statistics` over all `parts` (one per episode) with its interval, from the same resamples.

    `in_order` holds the single values and is needed by the `reference` unit only. Where the caller has the sum of the
    parts, as `whole`, and one stratum for each, the parts are read once and need not all exist at a time.
    """
    if whole is None or strata is None:
        parts = list(parts)
        strata = [""] * len(parts) if strata is None else strata
    total = Distribution.merge(parts) if whole is None else whole
    points = {name: statistic_of(total, name) for name in statistics}
    n_units = len(strata) if plan.unit == "episode" else total.n
    blank = Estimate(None, level=plan.level, method=plan.method, unit=plan.unit, n=total.n, n_units=n_units)
    if not len(total.values):
        return dict.fromkeys(statistics, blank)
    if plan.unit == "episode" and n_units < 2:
        # One episode says nothing about others: resampling it would give an interval of no width.
        return {name: replace(blank, value=points[name]) for name in statistics}
    if plan.unit == "reference":
        if in_order is None:
            raise UsageError("'reference' resamples values in order", hint="Keep them, or use another interval")
        replicates = {name: _reference(in_order, name, plan) for name in statistics}
    elif plan.unit == "event":
        replicates = {name: _event(total, name, plan) for name in statistics}
    else:
        replicates = _episode(parts, total, statistics, plan, strata)
    return {
        name: blank if points[name] is None else _with_ends(replace(blank, value=points[name]), replicates[name], plan)
        for name in statistics
    }


def ratio_interval(parts: Sequence[Ratio], plan: Resampling, *, strata: Sequence[str] | None = None) -> Estimate:
    """Hits ÷ total over all `parts` (one per episode), with its interval."""
    total = sum(parts, Ratio())
    n_units = len(parts) if plan.unit == "episode" else total.total
    unit = "event" if plan.unit == "reference" else plan.unit
    blank = Estimate(total.value, level=plan.level, method=plan.method, unit=unit, n=total.total, n_units=n_units)
    if total.value is None or (unit == "episode" and len(parts) < 2):
        return blank
    rng = np.random.default_rng(plan.seed)
    if unit == "event":
        shares = rng.binomial(total.total, total.value, plan.reps) / total.total
    else:
        weights = resample_weights(len(parts), strata, plan.reps, rng)
        hits = weights @ np.array([part.hits for part in parts], np.float64)
        totals = weights @ np.array([part.total for part in parts], np.float64)
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

    `function` takes sums of shape (…, k) and gives values of shape (…), NaN where undefined. Sums do not say what
    single events were, so only the `episode` unit has an interval here.
    """
    if not len(parts):
        return Estimate(None, level=plan.level, n=n)
    table = np.array(list(parts), np.float64)
    value = float(function(table.sum(axis=0)))
    estimate = Estimate(None if math.isnan(value) else value, level=plan.level, n=n, n_units=len(parts))
    if plan.unit != "episode" or len(parts) < 2 or estimate.value is None:
        return estimate
    weights = resample_weights(len(parts), strata, plan.reps, np.random.default_rng(plan.seed))
    return _with_ends(replace(estimate, method=plan.method, unit="episode"), function(weights @ table), plan)


def resample_weights(
    n_units: int, strata: Sequence[str] | None, reps: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """How often each unit occurs in each resample, shape (reps, n_units): units are drawn within their stratum."""
    weights = np.zeros((reps, n_units), np.float64)
    labels = np.zeros(n_units, np.int64) if strata is None else np.unique(list(strata), return_inverse=True)[1]
    for label in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == label)
        weights[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=reps)
    return weights


def statistic_of(d: Distribution, name: str) -> float | None:
    """The statistic called `name` of a distribution, or None where it is empty."""
    if not len(d.values):
        return None
    if name == "iqm":
        return iqm(d)
    if name == "mean":
        return mean_of_counts(d.values, d.counts)
    return percentile(d, _percent(name))


def _percent(name: str) -> float:
    if name == "median":
        return 50.0
    match = re.fullmatch(r"p(\d+(?:\.\d+)?)", name)
    if match is None or float(match[1]) > 100:
        raise UsageError(f"there is no statistic '{name}'", hint="Use iqm, mean, median, or a percentile like p95")
    return float(match[1])


def _with_ends(estimate: Estimate, replicates: Floats, plan: Resampling) -> Estimate:
    """The estimate with its interval's two ends. Resamples in which nothing could be measured are left out."""
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
        return float(np.percentile(values, _percent(name)))
    q25, q75 = np.percentile(values, [25, 75])
    inside = values[(values >= q25) & (values <= q75)]
    return float(inside.mean()) if len(inside) else math.nan


# --- event: one multinomial draw over the distinct values ----------------------------------------------------------


def _event(d: Distribution, name: str, plan: Resampling) -> Floats:
    rng = np.random.default_rng(plan.seed)
    if name not in ("iqm", "mean"):
        return _percentile_of_resamples(d, _percent(name), plan.reps, rng)
    # Only the middle half of a resample enters its interquartile mean, so the tails may be counted in lumps.
    chunks = _resample_counts(d, plan.reps, rng, lump_tails=name == "iqm")
    return np.concatenate([_reduce_counts(d.values, counts, name) for counts in chunks])


def _percentile_of_resamples(d: Distribution, q: float, reps: int, rng: np.random.Generator) -> Floats:
    """The q-th percentile of `reps` resamples of n values, exactly distributed, without drawing them.

    Resampling maps n independent uniforms through the sample's quantile function, so the two ranks that the percentile
    lies between are two neighbouring order statistics of n uniforms: a Beta draw, and the least of the remaining ones.
    """
    n = d.n
    below, share = split_rank(q, n)
    first = rng.beta(below + 1, n - below, size=reps)
    cumulative = np.cumsum(d.counts)
    at = np.minimum(np.searchsorted(cumulative, first * n, "right"), len(d.values) - 1)
    if share == 0 or below + 1 >= n:
        return d.values[at]
    second = first + (1 - first) * rng.beta(1, n - below - 1, size=reps)
    then = np.minimum(np.searchsorted(cumulative, second * n, "right"), len(d.values) - 1)
    return np.asarray(interpolate(d.values[at], d.values[then], share))


def _resample_counts(
    d: Distribution, reps: int, rng: np.random.Generator, *, lump_tails: bool
) -> Iterator[NDArray[np.int64]]:
    """Counts of each distinct value in each resample, shape (some, k), in chunks of bounded size."""
    k, n = len(d.values), d.n
    step = max(1, min(reps, _CELLS_AT_ONCE // k))
    by_value = k * _BINOMIAL_COST <= n
    # With nearly all values distinct, drawing n ranks and counting them is cheaper than k binomials.
    value_of_rank = None if by_value or k == n else np.repeat(np.arange(k), d.counts)
    for start in range(0, reps, step):
        size = min(step, reps - start)
        if by_value:
            yield _blockwise_multinomial(d, size, rng) if lump_tails and k > 64 else _multinomial(d, size, rng)
            continue
        counts = np.empty((size, k), np.int64)
        for row in counts:
            ranks = rng.integers(0, n, size=n)
            row[:] = np.bincount(ranks if value_of_rank is None else value_of_rank[ranks], minlength=k)
        yield counts


def _multinomial(d: Distribution, reps: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.multinomial(d.n, d.counts / d.n, size=reps)


def _blockwise_multinomial(d: Distribution, reps: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """As `_multinomial`, but blocks of values wholly outside the quartiles keep their sum on one value.

    A multinomial over blocks, then one inside each block, has the same distribution as one over all values. A block
    that lies below Q25 or above Q75 only matters by its size, so its inner draw is left out.
    """
    n, k = d.n, len(d.values)
    edges = _equal_mass_edges(d.counts, max(8, math.isqrt(k)))
    masses = np.add.reduceat(d.counts, edges[:-1])
    block_counts = rng.multinomial(n, masses / n, size=reps)
    cumulative = np.cumsum(block_counts, axis=1)
    low_rank, high_rank = split_rank(25, n)[0], split_rank(75, n)[0] + 1
    first = (cumulative <= low_rank).sum(axis=1)
    last = (cumulative <= high_rank).sum(axis=1)
    counts = np.zeros((reps, k), np.int64)
    for block, (start, stop) in enumerate(itertools.pairwise(edges)):
        needed = (first <= block) & (block <= last)
        if stop - start == 1 or not needed.any():
            counts[:, start] = block_counts[:, block]
            continue
        counts[~needed, start] = block_counts[~needed, block]
        inner = d.counts[start:stop] / masses[block]
        counts[needed, start:stop] = rng.multinomial(block_counts[needed, block], inner)
    return counts


def _equal_mass_edges(counts: Ints, blocks: int) -> Ints:
    """Where to cut a run of counts into at most `blocks` parts of about equal sum; first 0, last its length."""
    cumulative = np.cumsum(counts)
    targets = cumulative[-1] * np.arange(1, blocks) / blocks
    return np.unique(np.concatenate([[0], np.searchsorted(cumulative, targets, "left") + 1, [len(counts)]])).astype(
        np.int64
    )


def _reduce_counts(values: Floats, counts: NDArray[np.int64] | Floats, name: str) -> Floats:
    """The statistic of each row of `counts`, shape (some, k), over `values`, shape (k,). NaN for an empty row."""
    if name == "mean":
        return np.array([mean_of_counts(values, row) for row in counts])
    rows, k = counts.shape
    # One running sum over all rows keeps the ranks of all rows ascending: one search serves them all.
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
        return np.where(sizes > 0, quantile(_percent(name)), np.nan)
    lows = np.searchsorted(values, quantile(25), "left")
    highs = np.searchsorted(values, quantile(75), "right")
    return np.array([mean_of_counts(values[a:b], row[a:b]) for row, a, b in zip(counts, lows, highs, strict=True)])


# --- episode: resample whole groups --------------------------------------------------------------------------------


def _episode(
    parts: Iterable[Distribution],
    total: Distribution,
    statistics: Sequence[str],
    plan: Resampling,
    strata: Sequence[str],
) -> dict[str, Floats]:
    rng = np.random.default_rng(plan.seed)
    weights = resample_weights(len(strata), strata, plan.reps, rng)
    cells = _Cells.of(parts, len(strata), total)
    out: dict[str, list[Floats]] = {name: [] for name in statistics}
    step = max(1, min(plan.reps, _CELLS_AT_ONCE // cells.blocks))
    for start in range(0, plan.reps, step):
        chunk = weights[start : start + step]
        for name, values in cells.reduce(chunk, statistics).items():
            out[name].append(values)
    return {name: np.concatenate(chunks) for name, chunks in out.items()}


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts by episode and value, summed in blocks of neighbouring values.

    Resampling episodes weighs each one's counts, which is a matrix product over the blocks. Only the blocks that a
    quartile falls in are then looked into, so the cost does not grow with the number of distinct values.
    """

    values: Floats
    """Distinct values of all episodes, shape (k,)."""
    edges: Ints
    """Block b holds values edges[b] … edges[b+1]-1."""
    block_counts: Floats
    """Counts, shape (episodes, blocks)."""
    block_sums: Floats
    """Sums of values, shape (episodes, blocks)."""
    unit: NDArray[np.int32]
    """Episode of each cell; cells are sorted by value."""
    index: NDArray[np.int32]
    """Value of each cell, as an index into `values`."""
    count: NDArray[np.int32]
    """Count of each cell."""
    cell_edges: Ints
    """Cells of block b are cell_edges[b] … cell_edges[b+1]-1."""

    @property
    def blocks(self) -> int:
        return len(self.edges) - 1

    @classmethod
    def of(cls, parts: Iterable[Distribution], n_units: int, total: Distribution) -> _Cells:
        # 32 bits suffice for everything here, and with thousands of episodes they are what takes the memory.
        indices, counts = [], []
        for part in parts:
            indices.append(np.searchsorted(total.values, part.values).astype(np.int32))
            counts.append(part.counts.astype(np.int32))
        unit = np.repeat(np.arange(n_units, dtype=np.int32), [len(index) for index in indices])
        index, count = np.concatenate(indices), np.concatenate(counts)
        del indices, counts
        order = np.argsort(index, kind="stable")
        unit, index, count = unit[order], index[order], count[order]
        del order
        k = len(total.values)
        most = min(_BLOCKS, max(64, _BLOCK_CELLS // n_units))
        edges = np.arange(k + 1) if k <= most else _equal_mass_edges(total.counts, most)
        blocks = len(edges) - 1
        flat = unit * np.int64(blocks) + np.searchsorted(edges, index, "right") - 1
        shape, size = (n_units, blocks), n_units * blocks
        return cls(
            values=total.values,
            edges=edges.astype(np.int64),
            block_counts=_weighed(flat, count, size).reshape(shape),
            block_sums=_weighed(flat, count * total.values[index], size).reshape(shape),
            unit=unit,
            index=index,
            count=count,
            cell_edges=np.searchsorted(index, edges),
        )

    def reduce(self, weights: Floats, statistics: Sequence[str]) -> Mapping[str, Floats]:
        """Each statistic of each resample; `weights` has shape (resamples, episodes)."""
        counts = weights @ self.block_counts
        if self.blocks == len(self.values):
            return {name: _reduce_counts(self.values, counts, name) for name in statistics}
        sums = weights @ self.block_sums
        rows = [_WeighedRow(self, *row) for row in zip(weights, counts, sums, strict=True)]
        return {name: np.array([row.statistic(name) for row in rows]) for name in statistics}


class _WeighedRow:
    """One resample of episodes: block totals, and the values of a block once it has been looked into."""

    def __init__(self, cells: _Cells, weights: Floats, counts: Floats, sums: Floats) -> None:
        self.cells, self.weights, self.counts, self.sums = cells, weights, counts, sums
        self.cumulative = np.cumsum(counts)
        self.n = int(self.cumulative[-1])
        self.opened: dict[int, Floats] = {}

    def statistic(self, name: str) -> float:
        if not self.n:
            return math.nan
        if name == "mean":
            return float(self.sums.sum() / self.n)
        if name != "iqm":
            return self.quantile(_percent(name))
        start = int(np.searchsorted(self.cells.values, self.quantile(25), "left"))
        stop = int(np.searchsorted(self.cells.values, self.quantile(75), "right"))
        first, last = (int(np.searchsorted(self.cells.edges, at, "right")) - 1 for at in (start, stop - 1))
        total, size = float(self.sums[first + 1 : last].sum()), float(self.counts[first + 1 : last].sum())
        for block in {first, last}:
            low, high = self.cells.edges[block], self.cells.edges[block + 1]
            inside = slice(max(start, low) - low, min(stop, high) - low)
            counts = self.open(block)[inside]
            total += float((self.cells.values[low:high][inside] * counts).sum())
            size += float(counts.sum())
        return total / size if size else math.nan

    def quantile(self, q: float) -> float:
        below, share = split_rank(q, self.n)
        return float(interpolate(self.at_rank(below), self.at_rank(min(below + 1, self.n - 1)), share))

    def at_rank(self, rank: int) -> float:
        block = int(np.searchsorted(self.cumulative, rank, "right"))
        before = self.cumulative[block - 1] if block else 0.0
        inside = int(np.searchsorted(np.cumsum(self.open(block)), rank - before, "right"))
        return float(self.cells.values[self.cells.edges[block] + inside])

    def open(self, block: int) -> Floats:
        """Counts of the single values of a block."""
        if block not in self.opened:
            cells = slice(self.cells.cell_edges[block], self.cells.cell_edges[block + 1])
            low, high = self.cells.edges[block], self.cells.edges[block + 1]
            weighed = self.weights[self.cells.unit[cells]] * self.cells.count[cells]
            self.opened[block] = _weighed(self.cells.index[cells] - low, weighed, int(high - low))
        return self.opened[block]


def _weighed(index: NDArray[np.integer[Any]], weights: NDArray[Any], size: int) -> Floats:
    """Sum of the weights at each index, shape (size,)."""
    return np.asarray(np.bincount(index, weights, size), np.float64)


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
