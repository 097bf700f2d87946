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
        values, counts, units, labels = [], [], [], []
        first = 0
        for rows, sizes in Joint.chain(parts, _AT_ONCE):
            derived = derive(rows)
            known = np.flatnonzero(~np.isnan(derived))
            unit = np.repeat(np.arange(first, first + len(sizes), dtype=np.int32), sizes)
            values.append(derived[known])
            counts.append(rows.occurrences[known].astype(np.int32))
            units.append(unit[known])
            labels.append(rows.columns[label][known] if label is not None and len(rows) else np.zeros(len(known)))
            first += len(sizes)
        if not values:
            return cls(np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8))
        every = np.concatenate(values)
        order = np.argsort(every)
        return cls(
            every[order] + 0.0,  # + 0.0 turns -0.0 into 0.0
            np.concatenate(counts)[order],
            np.concatenate(units)[order],
            np.concatenate(labels)[order].astype(np.int8) if label is not None else np.zeros(len(order), np.int8),
        )

    def where(self, label: int) -> SortedValues:
        """The values with this label."""
        chosen = np.flatnonzero(self.labels == label)
        return SortedValues(self.values[chosen], self.counts[chosen], self.units[chosen], self.labels[chosen])

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
