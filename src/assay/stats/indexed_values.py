"""Values of many units, each as an index into the distinct ones: for the whole, each unit and any selection of them.

Most values are derived from a few small integers. If these have few combinations, combinations are counted instead of
values sorted, and each value is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay._integers import Packing
from assay.types import Distribution, Floats, Ints, Joint

Integers = NDArray[np.integer[Any]]
_Number = TypeVar("_Number", np.float64, np.int64)
# Combinations of integers that are counted in a table (4 million entries of 4 bytes); if there are more, values are
# sorted.
_TABLE = 1 << 22
# Rows from which something is derived at once: temporary arrays stay in cache.
_AT_ONCE = 30_000


@dataclass(frozen=True, slots=True)
class IndexedValues:
    """Values of several units. All arrays except `distinct` have shape (n,)."""

    distinct: Floats
    """The distinct values, ascending, shape (k,); no NaN."""
    index: NDArray[np.int32]
    """Which of them each value is."""
    counts: Integers
    """How often each occurred in its unit."""
    units: NDArray[np.int32]
    """The unit of each, a number from 0, ascending."""
    labels: NDArray[np.int8]
    """What each belongs to, for selections."""

    @classmethod
    def of(cls, values: Floats, counts: Integers, units: NDArray[np.int32]) -> IndexedValues:
        """From single values, without NaN and without labels."""
        distinct, index = _indexed(values)
        return cls(distinct, index, counts, units, np.broadcast_to(np.int8(0), len(index)))  # takes no memory

    def where(self, label: int) -> IndexedValues:
        """The values with this label."""
        chosen = np.flatnonzero(self.labels == label)
        index = self.index[chosen]
        occurs = np.zeros(len(self.distinct), np.bool_)
        occurs[index] = True
        renumbered = (np.cumsum(occurs) - 1).astype(np.int32)
        return IndexedValues(
            self.distinct[occurs], renumbered[index], self.counts[chosen], self.units[chosen], self.labels[chosen]
        )

    def sums(self, n_units: int) -> tuple[Floats, Floats]:
        """Sum and number of the values of each unit, shape (n_units,) each."""
        products = self.distinct[self.index] * self.counts
        sums, counts = (np.bincount(self.units, weights, n_units) for weights in (products, self.counts))
        return np.asarray(sums, np.float64), np.asarray(counts, np.float64)

    def by_group(self, group: Ints, n_groups: int, n_units: int, *, with_sums: bool = False) -> tuple[Floats, Floats]:
        """How many values of each unit are in each group, and their sums if these are needed, shape (n_units, n_groups)
        each. `group` has the group of each distinct value, shape (k,).
        """
        counts = np.zeros((n_units, n_groups))
        sums = np.zeros((n_units, n_groups) if with_sums else (0, 0))
        for rows, units in self._few_at_once(n_units):
            index, times = self.index[rows], self.counts[rows].astype(np.float64)
            cell = group[index]
            cell += (self.units[rows] - np.int32(units.start)) * np.int64(n_groups)
            shape = (units.stop - units.start, n_groups)
            counts[units] = np.bincount(cell, times, math.prod(shape)).reshape(shape)
            if with_sums:
                times *= self.distinct[index]
                sums[units] = np.bincount(cell, times, math.prod(shape)).reshape(shape)
        return counts, sums

    def _few_at_once(self, n_units: int) -> Iterator[tuple[slice, slice]]:
        """Rows and the units that they belong to, all rows of a unit together: temporary arrays stay in cache."""
        ends = np.searchsorted(self.units, np.arange(1, n_units + 1))
        unit = row = 0
        while unit < n_units:
            stop = max(unit + 1, int(np.searchsorted(ends, row + _AT_ONCE, "right")))
            yield slice(row, int(ends[stop - 1])), slice(unit, stop)
            unit, row = stop, int(ends[stop - 1])

    @property
    def whole(self) -> Distribution:
        """The distribution over all units."""
        # Exact: float64 holds every integer below 2**53.
        counts = np.bincount(self.index, self.counts, len(self.distinct))
        return Distribution(self.distinct, counts.astype(np.int64))


@dataclass(frozen=True, slots=True)
class UnitRows:
    """The rows of one state of many units, one unit after the other, from which values are derived."""

    columns: tuple[Integers, ...]
    counts: Integers
    units: NDArray[np.int32]
    _combinations: dict[tuple[int, ...], tuple[list[Integers], NDArray[np.int32]] | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    """By columns: their distinct combinations, and which of them each row has; None if they are not looked for."""

    @classmethod
    def of(cls, parts: Sequence[Joint]) -> UnitRows:
        """The rows of the parts, one part for each unit."""
        units = np.repeat(np.arange(len(parts), dtype=np.int32), Joint.sizes(parts))
        rows = [rows for rows, _ in Joint.chain(parts, max(len(units), 1))]
        return cls(rows[0].columns, rows[0].occurrences, units) if len(units) else cls((), np.empty(0, np.int8), units)

    @classmethod
    def joined(cls, rows: Joint, sizes: Ints) -> UnitRows:
        """The same from the rows of all parts, one part after the other, of which each has so many."""
        units = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return cls(rows.columns, rows.occurrences, units)

    def values(
        self, derive: Callable[..., Floats], needed: Sequence[int], *, label: int | None = None
    ) -> IndexedValues:
        """What `derive` makes of the needed columns of each row; NaN is left out.

        `label` is the column whose small numbers become the labels.
        """
        columns = [self.columns[at] for at in needed] if self.columns else []
        distinct, index = _derived_in_table(derive, columns)
        if index is None:
            distinct, index = self._derived(derive, tuple(needed))
        labels = np.broadcast_to(np.int8(0), len(index))
        if label is not None and self.columns:
            labels = self.columns[label].astype(np.int8)
        if not len(index) or index.min() >= 0:
            return IndexedValues(distinct, index, self.counts, self.units, labels)
        known = np.flatnonzero(index >= 0)
        return IndexedValues(distinct, index[known], self.counts[known], self.units[known], labels[known])

    def _derived(self, derive: Callable[..., Floats], needed: tuple[int, ...]) -> tuple[Floats, NDArray[np.int32]]:
        """Distinct values and the index of each row's, −1 for NaN: units have most combinations in common."""
        columns = [self.columns[at] for at in needed] if self.columns else []
        if needed not in self._combinations:
            self._combinations[needed] = _distinct_rows(columns)
        found = self._combinations[needed]
        if found is None:
            return _derived(derive, columns, len(self.counts))
        combinations, which = found
        distinct, index = _derived(derive, combinations, len(combinations[0]))
        return distinct, index[which]


def _distinct_rows(columns: Sequence[Integers]) -> tuple[list[Integers], NDArray[np.int32]] | None:
    """The distinct rows of these columns, and which of them each row is; None if they do not fit into 63 bits."""
    packing = Packing.of(columns) if columns else None
    if packing is None:
        return None
    distinct, which = _numbered(packing.pack(columns))
    return packing.unpack(distinct), which


def _derived_in_table(
    derive: Callable[..., Floats], columns: Sequence[Integers]
) -> tuple[Floats, NDArray[np.int32] | None]:
    """Distinct values and the index of each, −1 for NaN; no index if the columns have too many combinations."""
    least, steps, spans = [], [], []
    for column in columns:
        low, high = (int(end) for end in (column.min(), column.max())) if len(column) else (0, 0)
        # Times are multiples of a unit.
        step = int(np.gcd.reduce(column.astype(np.int64) - low)) or 1 if high - low >= _TABLE else 1
        least.append(low)
        steps.append(step)
        spans.append((high - low) // step + 1)
    if math.prod(spans) > _TABLE:
        return np.empty(0), None
    code = np.zeros(len(columns[0]) if columns else 0, np.int64)
    for column, low, step, span in zip(columns, least, steps, spans, strict=True):
        code *= span
        if step == 1:
            code += column
            code -= low
        else:
            code += (column.astype(np.int64) - low) // step
    table = np.full(math.prod(spans), -1, np.int32)
    table[code] = 0
    rest = found = np.flatnonzero(table == 0)
    parts: list[Ints] = []
    for low, step, span in reversed(list(zip(least, steps, spans, strict=True))):
        rest, part = np.divmod(rest, span)
        parts.append(part * step + low)
    values = derive(*parts[::-1]) if len(found) else np.empty(0)
    known = ~np.isnan(values)
    distinct, table[found[known]] = _indexed(values[known])
    table[found[~known]] = -1
    return distinct, table[code]


def _derived(derive: Callable[..., Floats], columns: Sequence[Integers], n: int) -> tuple[Floats, NDArray[np.int32]]:
    """Distinct values and the index of each of `n` rows, −1 for NaN, by sorting what is derived from each row."""
    values = np.empty(n)
    for start in range(0, n, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        values[some] = derive(*(column[some].astype(np.int64) for column in columns))
    known = np.flatnonzero(~np.isnan(values))
    distinct, known_index = _indexed(values[known])
    index = np.full(n, -1, np.int32)
    index[known] = known_index
    return distinct, index


def _indexed(values: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """The distinct values, ascending, and which of them each value is."""
    distinct, index = _numbered(values)
    return distinct + 0.0, index  # + 0.0 turns -0.0 into 0.0


def _in_order(values: NDArray[_Number]) -> tuple[Ints, NDArray[_Number]]:
    """Where each number comes from in ascending order, and the numbers in that order."""
    bits = len(values).bit_length()
    if values.dtype == np.int64 and len(values) and values.min() >= 0 and int(values.max()).bit_length() + bits < 64:
        # Sorting numbers together with their places is twice as fast as sorting places by their numbers.
        keys: Any = np.left_shift(values, bits, dtype=np.int64)
        keys |= np.arange(len(values))
        keys.sort()
        order = keys & ((1 << bits) - 1)
        keys >>= bits
        return order, keys
    order = np.argsort(values)
    return order, values[order]


def _numbered(values: NDArray[_Number]) -> tuple[NDArray[_Number], NDArray[np.int32]]:
    """The distinct numbers, ascending, and which of them each is."""
    order, ordered = _in_order(values)
    del values  # there may be millions, and no more arrays of them than needed
    new = np.empty(len(order), np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    distinct = ordered[new]
    del ordered
    number = np.cumsum(new, dtype=np.int32)
    number -= np.int32(1)
    index = np.empty(len(order), np.int32)
    index[order] = number
    return distinct, index
