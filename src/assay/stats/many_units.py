"""Resampling of very many units: the counts of each in a few blocks, fine where quantiles of resamples lie.

With hundreds of units, a quantile of nearly every resample lies within a few standard errors of the quantile of all
values. So blocks are narrow there, a small part of a standard error, and wide everywhere else. A resample weights the
counts of the blocks exactly; within a block its values are taken to be spread as those of all units are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.stats.indexed_values import IndexedValues
from assay.stats.quantiles import interpolate, percent_of
from assay.stats.resamples import Resamples
from assay.types import Distribution, Floats, Ints

MANY = 200
"""Number of units from which this is used. docs/concepts/intervals.md has the coverage with and without it."""
# Edges of blocks, in standard errors from a quantile.
_STEPS = np.array([0.1, 0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.3, 2.6, 3.0, 3.5, 4.5])
_EDGES = np.concatenate([-_STEPS[::-1], [0.0], _STEPS])
# A value that is this much of a standard error is a separate block, since many values are equal there.
_OF_ITS_OWN = 0.05


def replicates_of_many(
    values: IndexedValues, total: Distribution, statistics: Sequence[str], resamples: Resamples
) -> tuple[dict[str, Floats], Floats]:
    """Each statistic of each resample, shape (resamples,), NaN for an empty one; and how many values each unit has.

    `total` is the distribution of all values together.
    """
    resampled, of_unit = _Resampled.of(values, total, statistics, resamples)
    return {name: resampled.statistic(name) for name in statistics}, of_unit


@dataclass(frozen=True)
class _Resampled:
    """Counts and sums of resamples in blocks of neighbouring values."""

    values: Floats
    """Distinct values, shape (k,)."""
    below: Floats
    """How many of all values lie below each distinct one, and how many there are; shape (k + 1,)."""
    sum_below: Floats
    """The sums of those, shape (k + 1,)."""
    edges: Ints
    """Block b holds values edges[b] … edges[b+1]-1."""
    counts: Floats
    """Cumulative counts of each resample at the edges, shape (resamples, blocks + 1)."""
    sums: Floats
    """Cumulative sums, of the same shape; empty if no statistic needs them."""

    @classmethod
    def of(
        cls, values: IndexedValues, total: Distribution, statistics: Sequence[str], resamples: Resamples
    ) -> tuple[_Resampled, Floats]:
        """The resamples of these values, and how many values each unit has."""
        below, sum_below = (
            np.concatenate([[0.0], np.cumsum(column)]) for column in (total.counts, total.values * total.counts)
        )
        n_units = len(resamples.share)
        edges, of_unit = _edges(values, below, _levels(statistics), n_units)
        blocks = len(edges) - 1
        block = np.repeat(np.arange(blocks), np.diff(edges))
        counts, sums = values.by_group(block, blocks, n_units, with_sums="iqm" in statistics)

        # In one product: most of its time goes into reading how often each unit was drawn.
        resampled = resamples.sums(np.concatenate([counts, sums], axis=1) if len(sums) else counts)

        def cumulative(table: Floats) -> Floats:
            out = np.zeros((len(table), blocks + 1))
            np.cumsum(table, axis=1, out=out[:, 1:])
            return out

        counts_below = cumulative(resampled[:, :blocks])
        sums_below = cumulative(resampled[:, blocks:]) if len(sums) else sums
        return cls(total.values, below, sum_below, edges, counts_below, sums_below), of_unit

    def statistic(self, name: str) -> Floats:
        found = self.middle_means() if name == "iqm" else self.quantiles(percent_of(name))
        return np.where(self.n > 0, found, np.nan)

    @cached_property
    def n(self) -> Floats:
        """How many values each resample has."""
        return np.asarray(self.counts[:, -1])

    def quantiles(self, q: float) -> Floats:
        """The q-th percentile of each resample; arbitrary if it is empty."""
        rank = np.maximum((q / 100) * (self.n - 1), 0)
        block = np.clip((self.counts <= rank[:, None]).sum(axis=1) - 1, 0, len(self.edges) - 2)
        row = np.arange(len(rank))
        before, inside = self.counts[row, block], self.counts[row, block + 1] - self.counts[row, block]
        low, high = self.below[self.edges[block]], self.below[self.edges[block + 1]]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(inside > 0, (rank - before + 0.5) / inside, 0.5)
        place = np.clip(low + share * (high - low) - 0.5, 0, self.below[-1] - 1)
        under = np.floor(place)
        at, then = (
            self.values[np.clip(np.searchsorted(self.below, one, "right") - 1, 0, len(self.values) - 1)]
            for one in (under, np.minimum(under + 1, self.below[-1] - 1))
        )
        return np.asarray(interpolate(at, then, place - under))

    def middle_means(self) -> Floats:
        """The interquartile mean of each resample."""
        first = np.searchsorted(self.values, self.quantiles(25), "left")
        stop = np.searchsorted(self.values, self.quantiles(75), "right")
        (low_n, low_sum), (high_n, high_sum) = self._up_to(first), self._up_to(stop)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((high_sum - low_sum) / (high_n - low_n))

    def _up_to(self, at: Ints) -> tuple[Floats, Floats]:
        """Count and sum of the values before index `at`, one index for each resample."""
        block = np.clip(np.searchsorted(self.edges, at, "right") - 1, 0, len(self.edges) - 2)
        row, first, stop = np.arange(len(at)), self.edges[block], self.edges[block + 1]
        share = (self.counts[row, block + 1] - self.counts[row, block]) / (self.below[stop] - self.below[first])
        n = self.counts[row, block] + share * (self.below[at] - self.below[first])
        return n, self.sums[row, block] + share * (self.sum_below[at] - self.sum_below[first])


def _levels(statistics: Sequence[str]) -> list[float]:
    """The percentiles that the statistics depend on."""
    levels = [level for name in statistics for level in ((25.0, 75.0) if name == "iqm" else (percent_of(name),))]
    return sorted(set(levels))


def _edges(values: IndexedValues, below: Floats, levels: Sequence[float], n_units: int) -> tuple[Ints, Floats]:
    """Where blocks begin, as indices into the distinct values; first 0, last their number. And how many values each
    unit has.
    """
    n, k = below[-1], len(below) - 1
    ranks = [level / 100 * (n - 1) for level in levels]
    stops = np.searchsorted(below, ranks, "right") - 1
    # In one pass: how many values of each unit lie between one level and the next, and from these, below each.
    between = np.searchsorted(stops, np.arange(k), "right")
    parts = values.by_group(between, len(levels) + 1, n_units)[0].cumsum(axis=1)
    of_unit = np.ascontiguousarray(parts[:, -1])
    found = [np.array([0, k])]
    for rank, part in zip(ranks, parts.T[:-1], strict=True):
        apart = part - part.sum() / n * of_unit
        error = np.sqrt((apart * apart).sum())
        at = np.clip(np.searchsorted(below, rank + error * _EDGES, "right") - 1, 0, k - 1)
        heavy = at[below[at + 1] - below[at] > _OF_ITS_OWN * error]
        found += [at, heavy + 1]
    return np.unique(np.concatenate(found)), of_unit
