"""Resampling single values without drawing them one by one.

Resampling n values is one multinomial draw over the distinct ones, and a percentile of a resample is one order
statistic of n uniforms. Both have exactly the distribution of plain resampling, and their cost grows with the number of
distinct values, not with n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.stats.quantiles import interpolate, percent_of, split_rank, statistic_of_rows
from assay.types import Distribution, Floats, Ints

# A binomial draw costs about this many times as much as a uniform draw and counting it (NumPy 2, measured).
_BINOMIAL_COST = 12
# At most this many counts are in memory at a time (32 MB).
CELLS_AT_ONCE = 4_000_000


def replicates(d: Distribution, name: str, *, reps: int, seed: int) -> Floats:
    """The statistic called `name` of `reps` resamples of all values of `d`, shape (reps,)."""
    rng = np.random.default_rng(seed)
    if name not in ("iqm", "mean"):
        return _percentile_of_resamples(d, percent_of(name), reps, rng)
    # Only the middle half of a resample enters its interquartile mean, so the tails may be counted in whole blocks.
    chunks = _resample_counts(d, reps, rng, lump_tails=name == "iqm")
    return np.concatenate([statistic_of_rows(d.values, counts, name) for counts in chunks])


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
    step = max(1, min(reps, CELLS_AT_ONCE // k))
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
    edges = equal_mass_edges(d.counts, max(8, math.isqrt(k)))
    masses = np.add.reduceat(d.counts, edges[:-1])
    block_counts = rng.multinomial(n, masses / n, size=reps)
    cumulative = np.cumsum(block_counts, axis=1)
    low_rank, high_rank = split_rank(25, n)[0], split_rank(75, n)[0] + 1
    first = (cumulative <= low_rank).sum(axis=1)
    last = (cumulative <= high_rank).sum(axis=1)
    counts = np.zeros((reps, k), np.int64)
    for block, (start, stop) in enumerate(pairwise(edges)):
        needed = (first <= block) & (block <= last)
        if stop - start == 1 or not needed.any():
            counts[:, start] = block_counts[:, block]
            continue
        counts[~needed, start] = block_counts[~needed, block]
        inner = d.counts[start:stop] / masses[block]
        counts[needed, start:stop] = rng.multinomial(block_counts[needed, block], inner)
    return counts


def equal_mass_edges(counts: Ints, blocks: int) -> Ints:
    """Indices that cut an array of counts into at most `blocks` parts of about equal sum; first 0, last its length."""
    cumulative = np.cumsum(counts)
    targets = cumulative[-1] * np.arange(1, blocks) / blocks
    return np.unique(np.concatenate([[0], np.searchsorted(cumulative, targets, "left") + 1, [len(counts)]])).astype(
        np.int64
    )
