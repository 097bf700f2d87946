"""Resampling whole groups of values: episodes, scenarios.

Values of one group are not independent, so whole groups are drawn. A resample is a weight for each group; its counts
are a matrix product of weights and counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.stats.by_event import CELLS_AT_ONCE, equal_mass_edges
from assay.stats.quantiles import interpolate, percent_of, split_rank, statistic_of_rows
from assay.types import Distribution, Floats, Ints

# Blocks of neighbouring values that an episode's counts are first summed in: at most this many, and at most this many
# for all episodes together (16 MB).
_BLOCKS = 2048
_BLOCK_CELLS = 2_000_000


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


def replicates(
    parts: Iterable[Distribution],
    total: Distribution,
    statistics: Sequence[str],
    strata: Sequence[str],
    *,
    reps: int,
    seed: int,
) -> dict[str, Floats]:
    """Each statistic of `reps` resamples of the parts, one per episode, within strata; shape (reps,) each."""
    rng = np.random.default_rng(seed)
    weights = resample_weights(len(strata), strata, reps, rng)
    cells = _Cells.of(parts, len(strata), total)
    out: dict[str, list[Floats]] = {name: [] for name in statistics}
    step = max(1, min(reps, CELLS_AT_ONCE // cells.blocks))
    for start in range(0, reps, step):
        chunk = weights[start : start + step]
        for name, values in cells.reduce(chunk, statistics).items():
            out[name].append(values)
    return {name: np.concatenate(chunks) for name, chunks in out.items()}


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts by episode and value, summed in blocks of neighbouring values.

    Resampling episodes weights the counts of each, which is a matrix product over the blocks. Only the blocks that
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

    @classmethod
    def of(cls, parts: Iterable[Distribution], n_units: int, total: Distribution) -> _Cells:
        # 32 bits suffice for everything here, and with thousands of episodes these arrays take most of the memory.
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
        edges = np.arange(k + 1) if k <= most else equal_mass_edges(total.counts, most)
        blocks = len(edges) - 1
        flat = unit * np.int64(blocks) + np.searchsorted(edges, index, "right") - 1
        shape, size = (n_units, blocks), n_units * blocks
        return cls(
            values=total.values,
            edges=edges.astype(np.int64),
            block_counts=_weighted(flat, count, size).reshape(shape),
            block_sums=_weighted(flat, count * total.values[index], size).reshape(shape),
            unit=unit,
            index=index,
            count=count,
            cell_edges=np.searchsorted(index, edges),
        )

    def reduce(self, weights: Floats, statistics: Sequence[str]) -> Mapping[str, Floats]:
        """Each statistic of each resample; `weights` has shape (resamples, episodes)."""
        counts = weights @ self.block_counts
        if self.blocks == len(self.values):
            return {name: statistic_of_rows(self.values, counts, name) for name in statistics}
        sums = weights @ self.block_sums
        rows = [_WeightedRow(self, *row) for row in zip(weights, counts, sums, strict=True)]
        return {name: np.array([row.statistic(name) for row in rows]) for name in statistics}


class _WeightedRow:
    """One resample of episodes: block totals, and the values of a block once it has been opened."""

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
            return self.quantile(percent_of(name))
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
            self.opened[block] = _weighted(self.cells.index[cells] - low, weighed, int(high - low))
        return self.opened[block]


def _weighted(index: NDArray[np.integer[Any]], weights: NDArray[Any], size: int) -> Floats:
    """Sum of the weights at each index, shape (size,)."""
    return np.asarray(np.bincount(index, weights, size), np.float64)
