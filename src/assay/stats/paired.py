"""Two measurements of the same cases: the difference, its interval, and its p-value.

Both sides use the same resamples of cases, so what makes a case hard for both cancels out. The interval is the
percentile bootstrap of `bootstrap.py`. The p-value inverts it, with two corrections without which it would be too small
if there are few cases; both are measured in `benchmarks/honesty.py`:

- a resample of n cases varies by √((n − 1) / n) too little, and its tails are those of a normal, not of a t
  distribution (Hesterberg 2015, the expanded percentile interval);
- if only k cases differ at all, the signs of their differences agree by chance with probability
  2 · ½^k, so no p-value is smaller than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats

_NORMAL = NormalDist()
# At most this many weights are in memory at a time (64 MB of float64).
_CELLS_AT_ONCE = 8_000_000
# Resamples of up to this many cases are counted all at once.
_COUNTED_TOGETHER = 2000
# Beyond this many, several cases are resampled together.
_SINGLE = 20_000
# From this many resamples beyond 0 on, their share is precise enough to use.
_RESOLVED = 10
_SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two estimates on the same resamples."""

    value: float
    low: float
    high: float
    p: float
    """Two-sided, not corrected for the number of tests."""
    error: float
    """Standard error: the spread of the replicates, corrected for the number of cases."""


def difference(
    value: float, replicates: Floats, *, level: float, freedom: int, n: int, n_differing: int | None = None
) -> Difference | None:
    """Interval, p-value and error of the difference `value`, from its `replicates`, shape (reps,); None if all of them
    are undefined.

    `n` is the number of cases, `freedom` that number minus the number of strata, and `n_differing` how many of the
    cases differ at all, given if most do not.

    Example:
        >>> found = difference(0.5, np.array([0.4, 0.5, 0.6, 0.5]), level=0.95, freedom=9, n=10)
        >>> found.low <= 0.5 <= found.high
        True

    """
    usable = replicates[~np.isnan(replicates)]
    if not len(usable):
        return None
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(usable, [tail, 100 - tail])
    p = _tail(_score(value, usable), freedom, n)
    if n_differing is not None:
        p = max(p, min(1.0, 2.0 ** (1 - n_differing)))
    spread = float(usable.std()) * math.sqrt(n / max(freedom, 1))
    return Difference(value, float(low), float(high), p, spread)


def _score(value: float, replicates: Floats) -> float:
    """How many standard errors lie between the difference and 0, by the share of resamples beyond 0.

    If fewer than ten resamples lie beyond 0, their number is too rough to be corrected for several tests, and the
    spread of the replicates is used instead: otherwise a clear difference among many metrics would need tens of
    thousands of resamples.
    """
    reps = len(replicates)
    beyond = int(min((replicates <= 0).sum(), (replicates >= 0).sum()))
    if beyond >= _RESOLVED:
        return -_NORMAL.inv_cdf(min(1.0, 2 * (1 + beyond) / (reps + 1)) / 2)
    spread = float(replicates.std())
    score = abs(value) / spread if spread > 0 else math.inf
    return min(score, -_NORMAL.inv_cdf(beyond / (reps + 1))) if beyond else score


def _tail(score: float, freedom: int, n: int) -> float:
    """Two-sided p-value of a score from `_score`."""
    if math.isinf(score):
        return _SMALLEST
    t = score * math.sqrt(max(freedom, 1) / n)
    return min(1.0, max(2 * _NORMAL.cdf(-_normal_of_t(t, max(freedom, 1))), _SMALLEST))


def cases_needed(
    difference: float, error: float, n: int, *, margin: float, tests: float = 1.0, level: float = 0.95
) -> int | None:
    """How many cases of the same kind would decide if the difference did not change: either its interval excludes 0
    even after the correction (`tests` is the factor that p was multiplied by), or it fits within the margin.

    The width of an interval falls with the square root of the number of cases. None if no number would be enough.
    """
    if not error > 0 or not math.isfinite(error):
        return None
    apart = _NORMAL.inv_cdf(1 - (1 - level) / 2 / max(tests, 1.0)) * error
    alike = _NORMAL.inv_cdf(1 - (1 - level) / 2) * error
    ways = [(apart, abs(difference)), (alike, margin - abs(difference))]
    wanted = [n * (half / room) ** 2 for half, room in ways if room > 0]
    least = min(wanted, default=math.inf)
    return max(math.ceil(least), n + 1) if least < 1e12 else None


def mean_replicates(sums: Floats, counts: Floats, strata: Sequence[str], *, reps: int, seed: int) -> Floats:
    """Means in resamples of cases, shape (reps, m), of m columns of sums and counts, shape (cases, m) each.

    All columns use the same resamples, so replicates of two columns may be subtracted. NaN if a resample has nothing
    to measure. Tens of thousands of cases are first combined at random into small groups within their stratum, and
    those groups are resampled: sums of a few random cases vary as cases do, at a fraction of the cost.
    """
    rng = np.random.default_rng(seed)
    sums, counts, labels = _grouped(sums, counts, np.asarray(strata, str), rng)
    # If every case has the same number of answers in all metrics, one column of counts serves them all.
    kept: dict[bytes, int] = {}
    where = np.array([kept.setdefault(column.tobytes(), len(kept)) for column in counts.T], np.int64)
    _, first = np.unique(where, return_index=True)
    table = np.concatenate([sums, counts[:, first]], axis=1)
    out = np.empty((reps, sums.shape[1]))
    start = 0
    for weights in case_weights(labels.tolist(), reps, rng):
        totals = weights @ table
        with np.errstate(invalid="ignore"):
            out[start : start + len(weights)] = totals[:, : sums.shape[1]] / totals[:, sums.shape[1] + where]
        start += len(weights)
    return out


def _grouped(
    sums: Floats, counts: Floats, strata: NDArray[np.str_], rng: np.random.Generator
) -> tuple[Floats, Floats, NDArray[np.str_]]:
    """Random cases of one stratum combined, so that about `_SINGLE` at most are left to resample."""
    size = len(strata) // _SINGLE
    if size < 2:
        return sums, counts, strata
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    _, first, members = np.unique(strata[order], return_index=True, return_counts=True)
    starts = np.concatenate([np.arange(at, at + n, size) for at, n in zip(first, members, strict=True)])
    table = np.concatenate([sums, counts], axis=1)[order]
    summed = np.add.reduceat(table, starts, axis=0)
    return summed[:, : sums.shape[1]], summed[:, sums.shape[1] :], strata[order][starts]


def case_weights(strata: Sequence[str], reps: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each case occurs in each resample, shape (some, cases), drawn within strata; in bounded chunks."""
    n = len(strata)
    labels = np.unique(np.asarray(strata, str), return_inverse=True)[1]
    members = [np.flatnonzero(labels == label) for label in range(int(labels.max(initial=-1)) + 1)]
    step = max(1, min(reps, _CELLS_AT_ONCE // max(n, 1)))
    for start in range(0, reps, step):
        weights = np.empty((min(step, reps - start), n))
        for of_stratum in members:
            weights[:, of_stratum if len(members) > 1 else slice(None)] = _drawn(len(weights), len(of_stratum), rng)
        yield weights


def _drawn(rows: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each of `size` members occurs in `size` draws, shape (rows, size)."""
    if size > _COUNTED_TOGETHER:  # row by row, the counts stay in the processor's cache
        return np.stack([np.bincount(rng.integers(0, size, size), minlength=size) for _ in range(rows)])
    members = rng.integers(0, size, (rows, size)) + np.arange(rows)[:, None] * size
    return np.bincount(members.ravel(), minlength=rows * size).reshape(rows, size)


def differing(a: Floats, b: Floats) -> NDArray[np.int64]:
    """How many cases differ in each column, shape (m,). Cases that are undefined on either side do not count."""
    return np.asarray(((a != b) & ~np.isnan(a) & ~np.isnan(b)).sum(axis=0), np.int64)


def _normal_of_t(t: float, freedom: int) -> float:
    """The normal value with the same tail as a t value, within a percent (Wallace 1959)."""
    return math.copysign((8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom)), t)
