"""Distinct rows of integers, counted by compiled loops: the same as `Joint.of`, for states that every episode has.

An episode's arrays are short, so calls of NumPy cost more than the work itself. What a call gives lies in one block of
memory, each column in the smallest integers that hold it, as `Joint` keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay._integers import kind_for
from assay.events.align import Pair
from assay.events.compiled import inner, njit
from assay.types import Ints, Joint

# Digits by which integers are sorted have at most so many bits: a table of their places stays in the fastest cache.
_LARGEST_DIGIT = 11


def count_rows(columns: Ints, n: int | None = None) -> Joint:
    """The joint distribution of the first `n` rows, by default of all, whose columns are those of an array of shape
    (columns, rows).
    """
    n = columns.shape[1] if n is None else n
    if not n:
        return Joint()
    columns = np.ascontiguousarray(columns)  # a function is compiled for each layout that it meets
    block, found, widths = _counted_rows(columns, n)
    # Nothing is found if the ranges together need more than 63 bits.
    return _joint(block, found, widths, len(columns)) if found else Joint.of(*columns[:, :n])


def count_keys(keys: Ints, ranges: Ints) -> Joint:
    """The joint distribution of what `packed_rows` gave, which must not be empty; `keys` is overwritten."""
    block, found, widths = _counted(keys, ranges)
    return _joint(block, found, widths, len(ranges))


def _joint(block: NDArray[np.uint8], n: int, widths: int, columns: int) -> Joint:
    """The n rows of so many columns, and their counts, that lie in one block of memory. `widths` has two bits for each,
    the first the lowest: the logarithm of how many bytes a number has.
    """
    begin, arrays = 0, []
    for _ in range(columns + 1):
        kind = _KINDS[widths & 3]
        arrays.append(np.ndarray(n, kind, block, begin))
        begin += (n << (widths & 3)) + 7 & -8
        widths >>= 2
    return Joint(tuple(arrays[:-1]), arrays[-1])


def list_numbers(numbers: Ints) -> Joint:
    """Which entries of an array of shape (k,) are not 0, and their values, none negative, as how often they occur."""
    block, n, most = _listed(numbers, False)
    at, kind = kind_for(0, len(numbers)), kind_for(0, most)
    return Joint((np.ndarray(n, at, block),), np.ndarray(n, kind, block, n * _WIDTHS[at] + 7 & -8))


def list_signed_numbers(numbers: Ints) -> Joint:
    """As `list_numbers`, for any numbers: a second column is 1 for those below 0, of which the size is counted."""
    block, n, most = _listed(numbers, True)
    at, kind = kind_for(0, len(numbers)), kind_for(0, most)
    second = n * _WIDTHS[at] + 7 & -8
    columns = np.ndarray(n, at, block), np.ndarray(n, np.int8, block, second)
    return Joint(columns, np.ndarray(n, kind, block, second + (n + 7 & -8)))


def list_rows(rows: Ints) -> Joint:
    """Rows that are distinct and in order, each once, as a state; an array of shape (n, columns), not empty."""
    n = len(rows)
    block, ranges = _written(rows)
    begin, columns = 0, []
    for low, high in ranges.tolist():
        kind = kind_for(low, high)
        columns.append(np.ndarray(n, kind, block, begin))
        begin += n * _WIDTHS[kind] + 7 & -8
    return Joint(tuple(columns), np.ndarray(n, np.int8, block, begin))


def list_few(rows: Sequence[Sequence[int]], width: int) -> Joint:
    """As `Joint.of_distinct`, for a handful of rows of so many numbers, each followed by how often it occurs: calls of
    NumPy would take most of the time.
    """
    if not rows:
        return Joint((np.empty(0, np.int8),) * width, np.empty(0, np.int8))
    *columns, counts = [np.array(column, kind_for(min(column), max(column))) for column in zip(*rows, strict=True)]
    return Joint(tuple(columns), counts)


# All arrays of a state lie in one block of memory, each from a multiple of eight bytes on.
_WIDTHS = {np.int8: 1, np.int16: 2, np.int32: 4, np.int64: 8}
_KINDS = [np.dtype(kind) for kind in _WIDTHS]


def count_moves(pair: Pair, columns: Ints, n: int) -> Joint:
    """As `count_rows`, for the movements of a pair's comparable events, which several protocols count."""
    found: Joint | None = pair.shared.get("moves")
    if found is None:
        found = pair.shared["moves"] = count_rows(columns, n)
    return found


@njit(nogil=True, cache=True)
def packed_rows(columns):  # type: ignore[no-untyped-def]
    """Each row as one integer, in the order of the rows, and the least and greatest of each column, shape (columns, 2);
    no integers if they overflow.
    """
    width, n = columns.shape
    ranges = np.empty((width, 2), np.int64)
    bits = 0.0
    for c in range(width):
        least = most = columns[c, 0]
        for i in range(n):
            least = min(least, columns[c, i])
            most = max(most, columns[c, i])
        ranges[c, 0], ranges[c, 1] = least, most
        # A range may have more than 63 bits.
        bits += 64.0 if np.float64(most) - np.float64(least) >= 2.0**62 else np.float64(_bits_for(most - least))
    keys = np.zeros(n if bits <= 62.0 else 0, np.int64)
    if bits <= 62.0:
        for c in range(width):
            least, size = ranges[c, 0], _bits_for(ranges[c, 1] - ranges[c, 0])
            for i in range(n):
                keys[i] = keys[i] << size | (columns[c, i] - least)
    return keys, ranges


@inner(nogil=True, cache=True)
def _bits_for(most):  # type: ignore[no-untyped-def]
    """How many bits the integers from 0 to `most` have."""
    bits = np.int64(0)
    while most >> bits:
        bits += 1
    return bits


@inner(nogil=True, cache=True)
def _bytes_for(low, high):  # type: ignore[no-untyped-def]
    """How many bytes the smallest integers have that hold all from `low` to `high`."""
    for size in (1, 2, 4):
        limit = np.int64(1) << (8 * size - 1)
        if -limit <= low and high < limit:
            return size
    return 8


@inner(nogil=True, cache=True)
def _logarithm(size):  # type: ignore[no-untyped-def]
    """Of 1, 2, 4 or 8, to the base 2."""
    return np.int64(3 if size == 8 else size // 2)


@inner(nogil=True, cache=True)
def _put(block, at, value, size):  # type: ignore[no-untyped-def]
    """Write an integer of `size` bytes."""
    for k in range(size):
        block[at + k] = value >> (8 * k) & 255


@inner(nogil=True, cache=True)
def _padded(size):  # type: ignore[no-untyped-def]
    return (size + 7) & ~7


@inner(nogil=True, cache=True)
def _in_order(keys):  # type: ignore[no-untyped-def]
    """The same integers, 0 or more, ascending. They are sorted by their digits, from the last to the first, which takes
    a third of the time of comparing them.
    """
    n = len(keys)
    most = np.int64(0)
    for key in keys:
        most = max(most, key)
    bits = _bits_for(most)
    size = min(_bits_for(np.int64(n)), _LARGEST_DIGIT)
    digits = (bits + size - 1) // size
    if digits == 0:
        return keys
    size = (bits + digits - 1) // digits
    mask = (1 << size) - 1
    places = np.empty(1 << size, np.int64)
    other = np.empty(n, np.int64)
    for digit in range(digits):
        shift = digit * size
        places[:] = 0
        for key in keys:
            places[key >> shift & mask] += 1
        begin = np.int64(0)
        for value in range(1 << size):
            count = places[value]
            places[value] = begin
            begin += count
        for key in keys:
            value = key >> shift & mask
            other[places[value]] = key
            places[value] += 1
        keys, other = other, keys
    return keys


@njit(nogil=True, cache=True)
def _counted(keys, ranges):  # type: ignore[no-untyped-def]
    """The columns of the distinct rows and how often each occurs, one after the other in one block of bytes; how many
    rows are distinct; and the widths of the columns and counts, see `_joint`.
    """
    keys = _in_order(keys)
    n, width = len(keys), len(ranges)
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
    size = _bytes_for(np.int64(1), most)
    widths = _logarithm(size)
    room = np.int64(0)
    for c in range(width - 1, -1, -1):
        own = _bytes_for(ranges[c, 0], ranges[c, 1])
        widths = widths << 2 | _logarithm(own)
        room += _padded(found * own)
    block = np.empty(room + _padded(found * size), np.uint8)
    _write(block[room : room + found * size], counts, found, np.int64(0), np.int64(-1), np.int64(0), size)
    shift = np.int64(0)
    for c in range(width - 1, -1, -1):
        low = ranges[c, 0]
        size, bits = _bytes_for(low, ranges[c, 1]), _bits_for(ranges[c, 1] - low)
        room -= _padded(found * size)
        mask = (np.int64(1) << bits) - 1
        _write(block[room : room + found * size], keys, found, shift, mask, low, size)
        shift += bits
    return block, found, widths


@inner(nogil=True, cache=True)
def _write(block, numbers, n, shift, mask, low, size):  # type: ignore[no-untyped-def]
    """Write the part of each number that the mask chooses, plus `low`, as integers of `size` bytes."""
    if size == 1:
        one = block.view(np.int8)
        for i in range(n):
            one[i] = (numbers[i] >> shift & mask) + low
    elif size == 2:
        two = block.view(np.int16)
        for i in range(n):
            two[i] = (numbers[i] >> shift & mask) + low
    elif size == 4:
        four = block.view(np.int32)
        for i in range(n):
            four[i] = (numbers[i] >> shift & mask) + low
    else:
        eight = block.view(np.int64)
        for i in range(n):
            eight[i] = (numbers[i] >> shift & mask) + low


@njit(nogil=True, cache=True)
def _counted_rows(columns, n):  # type: ignore[no-untyped-def]
    """As `_counted`, for the first n rows of columns; none are found if they do not fit into single integers."""
    keys, ranges = packed_rows(columns[:, :n])
    if len(keys) == 0:
        return np.empty(0, np.uint8), 0, np.int64(0)
    return _counted(keys, ranges)


@njit(nogil=True, cache=True)
def _listed(numbers, signed):  # type: ignore[no-untyped-def]
    """The indices of the numbers that are not 0, whether each is negative if `signed`, and their sizes, one after the
    other in one block of bytes; how many there are; and the largest size.
    """
    n = len(numbers)
    found = np.int64(0)
    most = np.int64(0)
    for i in range(n):
        found += numbers[i] != 0
        most = max(most, abs(numbers[i]))
    index, size = _bytes_for(np.int64(0), n), _bytes_for(np.int64(0), most)
    second = _padded(found * index)
    third = second + (_padded(found) if signed else 0)
    block = np.empty(third + _padded(found * size), np.uint8)
    at = np.int64(0)
    for i in range(n):
        if numbers[i] != 0:
            _put(block, at * index, i, index)
            if signed:
                block[second + at] = numbers[i] < 0
            _put(block, third + at * size, abs(numbers[i]), size)
            at += 1
    return block, found, most


@njit(nogil=True, cache=True)
def _written(rows):  # type: ignore[no-untyped-def]
    """The columns of the rows and a 1 for each, one after the other in one block of bytes; and the range of each."""
    n, width = rows.shape
    ranges = np.empty((width, 2), np.int64)
    room = np.int64(0)
    for c in range(width):
        least = most = rows[0, c]
        for i in range(n):
            least = min(least, rows[i, c])
            most = max(most, rows[i, c])
        ranges[c, 0], ranges[c, 1] = least, most
        room += _padded(n * _bytes_for(least, most))
    block = np.ones(room + _padded(n), np.uint8)
    begin = np.int64(0)
    for c in range(width):
        size = _bytes_for(ranges[c, 0], ranges[c, 1])
        for i in range(n):
            _put(block, begin + i * size, rows[i, c], size)
        begin += _padded(n * size)
    return block, ranges
