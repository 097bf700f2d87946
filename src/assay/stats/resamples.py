"""Resamples of units: how often each was drawn, and sums over the drawn ones that are the same on every machine.

A sum of floats depends on its order, and the order in a matrix product depends on the processor and the number of
threads. So the summands are first rounded to multiples of one power of 2, as fine as still lets every sum be exact: an
exact sum is the same in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.stats.jackknife import Strata
from assay.types import Floats, Ints

# Numbers of draws that are kept for the next figure: at most this many (64 MB).
_KEPT = 8_000_000
# Resamples of up to this many units are counted all at once.
_COUNTED_TOGETHER = 2000
# Whole numbers of one bit more are exact; that bit is for the rounding.
_BITS = 52


@dataclass(frozen=True)
class Resamples:
    """Units drawn with replacement within their strata, again and again.

    Of n units in a stratum n − 1 are drawn, because n draws would vary by √((n − 1) / n) too little (Rao and Wu 1988).
    Strata of unequal size are weighted so that each keeps its share. Strata of one unit are pooled.
    """

    times: Floats
    """How often each unit was drawn in each resample, shape (reps, units): whole numbers, as floats for products."""
    share: Floats
    """How much a draw of each unit counts, shape (units,)."""

    @classmethod
    def drawn(cls, n_units: int, strata: Sequence[str] | None, reps: int, rng: np.random.Generator) -> Resamples:
        """`reps` resamples of units in these strata, or all in one."""
        times, share = np.ones((reps, n_units), np.float64), np.ones(n_units)
        within = Strata.of(strata, n_units)
        for label, n in enumerate(within.size.tolist()):
            if n < 2:
                continue
            members = within.label == label
            times[:, members] = _drawn(reps, n, rng)
            if within.size.min() != within.size.max():
                share[members] = n / (n - 1)
        times.setflags(write=False)
        return cls(times, share)

    @classmethod
    def seeded(cls, n_units: int, strata: Sequence[str] | None, reps: int, seed: int) -> Resamples:
        """Those of a generator that starts from `seed`: all figures of a report share them."""
        labels = None if strata is None else tuple(strata)
        if n_units * reps > _KEPT:
            return cls.drawn(n_units, labels, reps, np.random.default_rng(seed))
        return _kept(n_units, labels, reps, seed)

    @property
    def weights(self) -> Floats:
        """How much each unit counts in each resample, shape (reps, units)."""
        return self.times * self.share

    @cached_property
    def _most(self) -> tuple[float, float]:
        """How often a unit was drawn at most, and how many draws a resample has at most."""
        return float(self.times.max(initial=0)), float(self.times.sum(axis=1).max(initial=0))

    def part(self, rows: slice) -> Resamples:
        """Some of the resamples."""
        return (
            self
            if rows.indices(len(self.times)) == (0, len(self.times), 1)
            else Resamples(self.times[rows], self.share)
        )

    def of_units(self, rows: NDArray[np.integer[Any]], units: NDArray[np.integer[Any]]) -> Floats:
        """How much some units count in some resamples, shape (rows, units)."""
        return np.asarray(self.times[rows[:, None], units] * self.share[units])

    def sums(self, table: NDArray[Any]) -> Floats:
        """The sum over the units of each resample of `table`, shape (units, k): the result has shape (reps, k)."""
        summands = table * self.share[:, None]
        once, in_all = self._most
        sizes = np.abs(summands)
        limit = np.minimum(once * sizes.sum(axis=0), in_all * sizes.max(axis=0, initial=0))
        # No partial sum has more of these steps than a float holds exactly.
        step = np.ldexp(1.0, np.maximum(np.frexp(limit)[1] - _BITS, -1000))
        return np.asarray(self.times @ (np.rint(summands / step) * step))


@lru_cache(maxsize=2)
def _kept(n_units: int, strata: tuple[str, ...] | None, reps: int, seed: int) -> Resamples:
    return Resamples.drawn(n_units, strata, reps, np.random.default_rng(seed))


def _drawn(reps: int, n: int, rng: np.random.Generator) -> Ints:
    """How often each of n units occurs in n − 1 draws, shape (reps, n)."""
    if n > _COUNTED_TOGETHER:  # row by row, the counts stay in the processor's cache
        return np.stack([np.bincount(rng.integers(0, n, n - 1), minlength=n) for _ in range(reps)])
    members = rng.integers(0, n, (reps, n - 1)) + np.arange(reps)[:, None] * n
    return np.bincount(members.ravel(), minlength=reps * n).reshape(reps, n)
