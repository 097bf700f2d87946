"""Distinct rows of integers, counted by compiled loops: the same as `Joint.of`, for states that every episode has.

An episode's arrays are short, so calls of NumPy cost more than the work itself. Here there are only three calls.
"""

from __future__ import annotations

import numpy as np

from assay._integers import kind_for
from assay.events.align import Pair
from assay.events.compiled import njit
from assay.types import Ints, Joint


def count_rows(columns: Ints) -> Joint:
    """The joint distribution of rows whose columns are those of an array of shape (columns, n)."""
    if not columns.shape[1]:
        return Joint()
    columns = np.ascontiguousarray(columns)  # a function is compiled for each layout that it meets
    keys, low, high = _packed(columns)
    if not len(keys):  # the ranges together need more than 63 bits
        return Joint.of(*columns)
    keys.sort()
    distinct, counts, most = _counted(keys, low, high)
    kinds = map(kind_for, low.tolist(), high.tolist())
    return Joint(tuple(map(np.ndarray.astype, distinct, kinds)), counts.astype(kind_for(1, most)))


def count_moves(pair: Pair, columns: Ints) -> Joint:
    """As `count_rows`, for the movements of a pair's comparable events, which several protocols count."""
    found: Joint | None = pair.shared.get("moves")
    if found is None:
        found = pair.shared["moves"] = count_rows(columns)
    return found


@njit(nogil=True, cache=True)
def _packed(columns):  # type: ignore[no-untyped-def]
    """Each row as one integer, in the order of the rows, and the range of each column; no integers if they overflow."""
    width, n = columns.shape
    low, high = np.empty(width, np.int64), np.empty(width, np.int64)
    size = 1.0
    for c in range(width):
        least = most = columns[c, 0]
        for i in range(n):
            least = min(least, columns[c, i])
            most = max(most, columns[c, i])
        low[c], high[c] = least, most
        size *= np.float64(most) - np.float64(least) + 1.0
    keys = np.zeros(n if size < 2.0**62 else 0, np.int64)
    if size < 2.0**62:
        for c in range(width):
            least, span = low[c], high[c] - low[c] + 1
            for i in range(n):
                keys[i] = keys[i] * span + (columns[c, i] - least)
    return keys, low, high


@njit(nogil=True, cache=True)
def _counted(keys, low, high):  # type: ignore[no-untyped-def]
    """The columns of the distinct rows, shape (columns, k); how often each occurs; and the largest of these numbers."""
    n, width = len(keys), len(low)
    counts = np.empty(n, np.int64)
    found = 0
    most = np.int64(0)
    for i in range(n):
        if i > 0 and keys[i] == keys[found - 1]:
            counts[found - 1] += 1
        else:
            keys[found] = keys[i]
            counts[found] = 1
            found += 1
        most = max(most, counts[found - 1])
    distinct = np.empty((width, found), np.int64)
    for c in range(width - 1, -1, -1):
        span = np.uint64(high[c] - low[c] + 1)
        for i in range(found):
            above = np.uint64(keys[i]) // span
            distinct[c, i] = keys[i] - np.int64(above * span) + low[c]
            keys[i] = np.int64(above)
    return distinct, counts[:found], most
