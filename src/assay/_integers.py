"""Arrays of integers in few bytes, and rows of integers packed into single ones, for states that count rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Columns = Sequence[NDArray[np.integer[Any]]] | NDArray[np.integer[Any]]
"""Columns of shape (n,), or all of them in one array of shape (columns, n)."""

_LIMITS: tuple[tuple[type[np.signedinteger[Any]], int], ...] = (
    (np.int8, 2**7),
    (np.int16, 2**15),
    (np.int32, 2**31),
)


def smallest(values: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The same integers in the smallest type that holds them all."""
    if values.dtype == np.int8:
        return values
    return values.astype(kind_for(*ends(values))) if len(values) else values.astype(np.int8)


def ends(values: NDArray[np.integer[Any]]) -> tuple[int, int]:
    """The smallest and the largest; called for every column of every episode, so without NumPy's wrappers."""
    return int(np.minimum.reduce(values)), int(np.maximum.reduce(values))


def ends_of_each(columns: Columns) -> list[tuple[int, int]]:
    """The smallest and the largest of each column; of columns in one array with few calls."""
    if isinstance(columns, np.ndarray):
        low, high = np.minimum.reduce(columns, axis=1), np.maximum.reduce(columns, axis=1)
        return list(zip(low.tolist(), high.tolist(), strict=True))
    return [ends(column) for column in columns]


def kind_for(low: int, high: int) -> type[np.signedinteger[Any]]:
    """The smallest integers that hold all from `low` to `high`."""
    for kind, limit in _LIMITS:
        if -limit <= low and high < limit:
            return kind
    return np.int64


def count(keys: Ints, counts: Ints | None) -> tuple[Ints, Ints]:
    """Distinct keys, ascending, with the sum of their counts."""
    order = None if counts is None else np.argsort(keys)
    ordered = np.sort(keys) if order is None else keys[order]
    new = np.empty(len(ordered), np.bool_)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    first = new.nonzero()[0]
    if counts is not None:
        return ordered[first], np.add.reduceat(counts[order], first)
    times = np.empty_like(first)
    np.subtract(first[1:], first[:-1], out=times[:-1])
    times[-1] = len(ordered) - first[-1]
    return ordered[first], times


@dataclass(frozen=True, slots=True)
class Packing:
    """Rows as single integers in the same order: one fast sort instead of one for each column."""

    low: list[int]
    spans: list[int]

    @classmethod
    def of(cls, columns: Columns) -> Packing | None:
        """The packing for these columns, or None if their ranges need more than 63 bits together."""
        ranges = ends_of_each(columns)
        spans = [high - low + 1 for low, high in ranges]
        return cls([low for low, _ in ranges], spans) if math.prod(spans) < 2**63 else None

    def pack(self, columns: Columns) -> Ints:
        packed = columns[0].astype(np.int64)
        packed -= self.low[0]
        for column, least, span in zip(columns[1:], self.low[1:], self.spans[1:], strict=True):
            packed *= span
            packed += column
            packed -= least
        return packed

    def unpack(self, packed: Ints) -> list[NDArray[np.integer[Any]]]:
        """The columns of some rows that include all values, each in the smallest integers."""
        columns = []
        for at in reversed(range(len(self.spans))):
            least, span = self.low[at], self.spans[at]
            above = packed // span if at else packed
            column = packed - above * span if at else packed
            columns.append((column + least).astype(kind_for(least, least + span - 1)))
            packed = above
        return columns[::-1]
