"""Resampling whole groups of values: episodes, scenarios.

Values of one group are not independent, so whole groups are drawn. The counts of a resample are the sum of those of its
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.stats.by_event import CELLS_AT_ONCE, equal_mass_edges
from assay.stats.indexed_values import IndexedValues
from assay.stats.many_units import MANY, replicates_of_many
from assay.stats.quantiles import interpolate, percent_of, statistic_of_rows
from assay.stats.resamples import Resamples
from assay.types import Distribution, Floats, Ints

# Blocks of neighbouring values that an episode's counts are first summed in: at most this many, and at most this many
# for all episodes together (16 MB).
_BLOCKS = 2048
_BLOCK_CELLS = 2_000_000
# Resamples whose cells of one block are laid out at once, and values that are looked up at once.
_ROWS_AT_ONCE = 256
VALUES_AT_ONCE = 30_000


@dataclass(frozen=True, slots=True)
class UnitValues:
    """The values of several neighbouring units, one unit after the other; within a unit in any order."""

    values: Floats
    """Shape (n,), no NaN."""
    counts: Ints
    """How often each occurred, shape (n,)."""
    sizes: Ints
    """How many of the values each unit has, shape (units,)."""

    @classmethod
    def of(cls, values: Floats, counts: Ints, sizes: Sequence[int] | Ints) -> UnitValues:
        """The values without NaN."""
        sizes = np.asarray(sizes, np.int64)
        known = ~np.isnan(values)
        if known.all():
            return cls(values, counts, sizes)
        unit = np.repeat(np.arange(len(sizes)), sizes)[known]
        return cls(values[known], counts[known], np.bincount(unit, minlength=len(sizes)))

    def sums(self) -> tuple[Floats, Floats]:
        """Sum and number of the values of each unit, shape (units,) each."""
        unit = np.repeat(np.arange(len(self.sizes)), self.sizes)
        sums = _weighted(unit, self.values * self.counts, len(self.sizes))
        return sums, _weighted(unit, self.counts, len(self.sizes))

    @classmethod
    def of_each(cls, parts: Sequence[Distribution]) -> UnitValues:
        """One distribution for each unit."""
        values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
        return cls(values, counts, np.array([len(part) for part in parts], np.int64))


def replicates(
    parts: Iterable[Distribution | UnitValues] | IndexedValues,
    total: Distribution,
    statistics: Sequence[str],
    strata: Sequence[str],
    *,
    reps: int,
    seed: int,
) -> tuple[dict[str, Floats], Floats]:
    """Each statistic of `reps` resamples of the parts, one per episode, within strata, shape (reps,) each; and how many
    values each episode has, shape (episodes,).
    """
    resamples = Resamples.seeded(len(strata), strata, reps, seed)
    indexed = parts if isinstance(parts, IndexedValues) else _indexed(together(parts), len(strata))
    if len(strata) >= MANY and len(total) > MANY:
        return replicates_of_many(indexed, total, statistics, resamples)
    cells: _Cells | _FewValues = (_FewValues if len(total) <= _most_blocks(len(strata)) else _Cells).of(
        indexed, len(strata), total
    )
    out: dict[str, list[Floats]] = {name: [] for name in statistics}
    step = max(1, min(reps, CELLS_AT_ONCE // cells.blocks))
    for start in range(0, reps, step):
        some = resamples.part(slice(start, start + step))
        for name, values in cells.reduce(some, statistics).items():
            out[name].append(values)
    return {name: np.concatenate(chunks) for name, chunks in out.items()}, cells.block_counts.sum(axis=1)


def _most_blocks(n_units: int) -> int:
    return min(_BLOCKS, max(64, _BLOCK_CELLS // n_units))


@dataclass(frozen=True, slots=True)
class _FewValues:
    """Counts by episode and value, if there are so few values that each can be a block of its own."""

    values: Floats
    """Distinct values of all episodes, shape (k,)."""
    block_counts: Floats
    """Counts, shape (episodes, k)."""

    @property
    def blocks(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, parts: IndexedValues, n_units: int, total: Distribution) -> _FewValues:
        k = len(total.values)
        counts = _weighted(parts.units * np.int64(k) + parts.index, parts.counts, n_units * k)
        return cls(total.values, counts.reshape(n_units, k))

    def reduce(self, resamples: Resamples, statistics: Sequence[str]) -> Mapping[str, Floats]:
        """Each statistic of each resample of the episodes."""
        counts = resamples.sums(self.block_counts)
        return {name: statistic_of_rows(self.values, counts, name) for name in statistics}


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts by episode and value, summed in blocks of neighbouring values.

    Resampling sums the counts of the drawn episodes, which is a matrix product over the blocks. Only the blocks that
    contain a quartile are then opened, so the cost does not grow with the number of distinct values.
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

    def of_block(self, block: int) -> slice:
        """The cells of a block."""
        return slice(int(self.cell_edges[block]), int(self.cell_edges[block + 1]))

    @classmethod
    def of(cls, parts: IndexedValues, n_units: int, total: Distribution) -> _Cells:
        # 32 bits suffice for everything here, and with many episodes these arrays take most of the memory.
        unit, index, count = _by_value(parts.units, parts.index, parts.counts.astype(np.int32), n_units)
        edges = equal_mass_edges(total.counts, _most_blocks(n_units))
        blocks = len(edges) - 1
        cell_edges = np.searchsorted(index, edges)
        flat = unit * np.int64(blocks) + np.repeat(np.arange(blocks), np.diff(cell_edges))
        shape, size = (n_units, blocks), n_units * blocks
        return cls(
            values=total.values,
            edges=edges.astype(np.int64),
            block_counts=_weighted(flat, count, size).reshape(shape),
            block_sums=_weighted(flat, count * total.values[index], size).reshape(shape),
            unit=unit,
            index=index,
            count=count,
            cell_edges=cell_edges,
        )

    def reduce(self, resamples: Resamples, statistics: Sequence[str]) -> Mapping[str, Floats]:
        """Each statistic of each resample of the episodes."""
        rows = _WeightedRows(self, resamples, resamples.sums(self.block_counts))
        return {name: rows.statistic(name) for name in statistics}


class _WeightedRows:
    """Resamples of episodes: the totals of blocks, and ways to look into single ones."""

    def __init__(self, cells: _Cells, resamples: Resamples, counts: Floats) -> None:
        self.cells, self.resamples, self.counts = cells, resamples, counts
        self.cumulative = np.cumsum(counts, axis=1)
        self.n = self.cumulative[:, -1]

    @cached_property
    def sums(self) -> Floats:
        """Sums of the values in each block, shape (resamples, blocks)."""
        return self.resamples.sums(self.cells.block_sums)

    def statistic(self, name: str) -> Floats:
        """Of each resample, shape (resamples,); NaN for an empty one."""
        if name == "mean":
            with np.errstate(invalid="ignore"):
                return np.array([row.sum() for row in self.sums]) / np.where(self.n > 0, self.n, np.nan)
        found = self.middle_means() if name == "iqm" else self.quantiles(percent_of(name))
        return np.where(self.n > 0, found, np.nan)

    def middle_means(self) -> Floats:
        """The interquartile mean of each resample."""
        values, edges, sums = self.cells.values, self.cells.edges, self.sums
        starts = np.searchsorted(values, self.quantiles(25), "left")
        stops = np.searchsorted(values, self.quantiles(75), "right")
        firsts, lasts = (np.searchsorted(edges, at, "right") - 1 for at in (starts, stops - 1))
        totals, sizes = np.zeros(len(starts)), np.zeros(len(starts))
        bounds = zip(firsts.tolist(), lasts.tolist(), strict=True)
        for row, (first, last) in enumerate(bounds):
            totals[row] = sums[row, first + 1 : last].sum()
            sizes[row] = self.counts[row, first + 1 : last].sum()
        for block, rows in _rows_by_block([firsts, np.where(lasts == firsts, -1, lasts)]):
            low, high = edges[block], edges[block + 1]
            begins, ends = np.maximum(starts[rows], low) - low, np.minimum(stops[rows], high) - low
            products, counts = self.open(block, rows)
            for row, begin, end, product, count in zip(
                rows.tolist(), begins.tolist(), ends.tolist(), products, counts, strict=True
            ):
                totals[row] += product[begin:end].sum()
                sizes[row] += count[begin:end].sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            # Only two values that differ have none between their quartiles: their mean is taken.
            of_all = sums.sum(axis=1) / np.where(self.n > 0, self.n, np.nan)
            return np.where(sizes > 0, totals / sizes, of_all)

    def quantiles(self, q: float) -> Floats:
        """The q-th percentile of each resample; arbitrary if it is empty."""
        virtual = (q / 100) * (self.n - 1)
        below = np.floor(virtual)
        ends = [self.at_rank(np.maximum(rank, 0)) for rank in (below, np.minimum(below + 1, self.n - 1))]
        return np.asarray(interpolate(ends[0], ends[1], virtual - below))

    def at_rank(self, ranks: Floats) -> Floats:
        """The value at a rank (from 0) of each resample; `ranks` has shape (resamples,)."""
        out = np.zeros(len(ranks))
        blocks = np.minimum((self.cumulative <= ranks[:, None]).sum(axis=1), self.cells.blocks - 1)
        for block, rows in _rows_by_block([blocks]):
            cells = self.cells.of_block(block)
            before = self.cumulative[rows, block - 1] if block else np.zeros(len(rows))
            inside = np.cumsum(self.weighted(block, rows), axis=1) <= (ranks[rows] - before)[:, None]
            at = np.minimum(inside.sum(axis=1), cells.stop - cells.start - 1)
            out[rows] = self.cells.values[self.cells.index[cells][at]]
        return out

    def open(self, block: int, rows: Ints) -> tuple[Floats, Floats]:
        """Sum and count of each value of a block in some resamples, shape (rows, values of the block) each."""
        cells, low = self.cells.of_block(block), self.cells.edges[block]
        index = self.cells.index[cells]
        first = np.flatnonzero(np.diff(index, prepend=-1))  # every value has cells, in the order of values
        counts = np.add.reduceat(self.weighted(block, rows), first, axis=1)
        return self.cells.values[low : self.cells.edges[block + 1]] * counts, counts

    def weighted(self, block: int, rows: Ints) -> Floats:
        """How often each cell of a block occurs in some resamples, shape (rows, cells of the block)."""
        cells = self.cells.of_block(block)
        return self.resamples.of_units(rows, self.cells.unit[cells]) * self.cells.count[cells]


def _rows_by_block(blocks: Sequence[Ints]) -> Iterator[tuple[int, Ints]]:
    """Each block with the rows that name it, few enough at a time; −1 names none. The order of `blocks` is kept."""
    for named in blocks:
        order = np.argsort(named, kind="stable")
        starts = np.flatnonzero(np.diff(named[order], prepend=-1))
        for rows in np.split(order, starts)[1:]:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                yield int(named[rows[0]]), rows[start : start + _ROWS_AT_ONCE]


def together(parts: Iterable[Distribution | UnitValues]) -> Iterator[UnitValues]:
    """The same values with several units at a time, so that each call does enough work to be worth it."""
    waiting: list[Distribution] = []
    size = 0
    for part in parts:
        if isinstance(part, UnitValues):
            yield part
            continue
        waiting.append(part)
        size += len(part)
        if size > VALUES_AT_ONCE:
            yield UnitValues.of_each(waiting)
            waiting, size = [], 0
    if waiting:
        yield UnitValues.of_each(waiting)


def _indexed(parts: Iterable[UnitValues], n_units: int) -> IndexedValues:
    """The values of all units together."""
    values, counts, sizes = [], [], []
    for part in parts:
        values.append(part.values)
        counts.append(part.counts.astype(np.int32))
        sizes.append(part.sizes)
    units = np.repeat(np.arange(n_units, dtype=np.int32), np.concatenate(sizes))
    return IndexedValues.of(np.concatenate(values), np.concatenate(counts), units)


def _by_value(
    unit: NDArray[np.int32], index: NDArray[np.int32], count: NDArray[np.int32], n_units: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The cells in the order of their values, and of one value in the order of the units; each pair of both once."""
    bits = int(count.max(initial=0)).bit_length()
    key = index.astype(np.int64)
    key *= n_units
    key += unit
    if (int(index.max(initial=0)) + 1) * n_units << bits < 2**63:
        # Sorting one column of integers is several times faster than sorting an order.
        key <<= bits
        key |= count
        key.sort()
        count = (key & ((1 << bits) - 1)).astype(np.int32)
        key >>= bits
    else:
        order = np.argsort(key)
        key, count = key[order], count[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if len(first) < len(key):
        key, count = key[first], np.add.reduceat(count, first).astype(np.int32)
    index = (key // n_units).astype(np.int32)
    return (key - index.astype(np.int64) * n_units).astype(np.int32), index, count


def _weighted(index: NDArray[np.integer[Any]], weights: NDArray[Any], size: int) -> Floats:
    """Sum of the weights at each index, shape (size,)."""
    return np.asarray(np.bincount(index, weights, size), np.float64)
