"""The values of all units in one ascending order: sorted once, then used for the whole, each unit and any selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.types import Distribution, Floats, Ints, Joint

# Rows from which something is derived at once: temporary arrays stay in cache.
_AT_ONCE = 30_000


@dataclass(frozen=True, slots=True)
class SortedValues:
    """Values of several units, ascending. All arrays have shape (n,)."""

    values: Floats
    """No NaN."""
    counts: NDArray[np.int32]
    """How often each occurred in its unit."""
    units: NDArray[np.int32]
    """The unit of each, a number from 0."""
    labels: NDArray[np.int8]
    """What each belongs to, for selections."""

    @classmethod
    def derived(
        cls, parts: Sequence[Joint], derive: Callable[[Joint], Floats], *, label: int | None = None
    ) -> SortedValues:
        """What `derive` makes of each row of the parts, one part for each unit; NaN is left out.

        `label` is the column of the rows whose small numbers become the labels.
        """
        size = sum(map(len, parts))
        values, counts = np.empty(size), np.empty(size, np.int32)
        units, labels = np.empty(size, np.int32), np.zeros(size, np.int8)
        first = stop = 0
        for rows, sizes in Joint.chain(parts, _AT_ONCE):
            derived = derive(rows)
            known = np.flatnonzero(~np.isnan(derived))
            start, stop = stop, stop + len(known)
            values[start:stop] = derived[known]
            counts[start:stop] = rows.occurrences[known]
            units[start:stop] = np.repeat(np.arange(first, first + len(sizes)), sizes)[known]
            if label is not None and len(known):
                labels[start:stop] = rows.columns[label][known]
            first += len(sizes)
        order = np.argsort(values[:stop])
        values = values[order]  # one after the other, so that few of these large arrays exist at a time
        values += 0.0  # turns -0.0 into 0.0
        counts = counts[order]
        units = units[order]
        return cls(values, counts, units, labels[order])

    def where(self, label: int) -> SortedValues:
        """The values with this label."""
        chosen = np.flatnonzero(self.labels == label)
        return SortedValues(self.values[chosen], self.counts[chosen], self.units[chosen], self.labels[chosen])

    def sums(self, n_units: int) -> tuple[Floats, Floats]:
        """Sum and number of the values of each unit, shape (n_units,) each."""
        sums, counts = (np.bincount(self.units, w, n_units) for w in (self.values * self.counts, self.counts))
        return np.asarray(sums, np.float64), np.asarray(counts, np.float64)

    @property
    def firsts(self) -> Ints:
        """Index of the first of each distinct value."""
        if not len(self.values):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.concatenate([[True], self.values[1:] != self.values[:-1]]))

    @property
    def whole(self) -> Distribution:
        """The distribution over all units."""
        firsts = self.firsts
        if not len(firsts):
            return Distribution()
        return Distribution(self.values[firsts], np.add.reduceat(self.counts, firsts, dtype=np.int64))
