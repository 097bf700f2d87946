"""Compiled loops over one JSON text: where its values end, and the values of plain ones.

A text that is accepted is valid JSON. Any other text may be valid too (text beyond ASCII, numbered escapes); a general
parser has to decide.
"""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.compiled import inner, njit

# A number with more digits is not plain, so that sums and products of plain numbers stay below 2**63.
_MAX_DIGITS = 15
_MAX_DEPTH = 60

# Types of a value.
INTEGER, STRING, TRUE, FALSE, OTHER = range(5)

compiled = njit(cache=True, nogil=True)
within = inner(cache=True, nogil=True)


@within
def blank(data, p, end):
    """The next position that is not blank space."""
    while p < end and (data[p] == 32 or data[p] == 10 or data[p] == 13 or data[p] == 9):
        p += 1
    return p


@within
def string(data, p, end):
    """The string whose quotation mark is at p: position after it, and whether it is plain; −1 if it is not one."""
    p += 1
    plain = True
    while p < end:
        c = data[p]
        if c == 34:
            return p + 1, plain
        if c < 32 or c >= 128:
            return -1, False
        if c == 92:  # a backslash
            plain = False
            p += 1
            if p >= end:
                return -1, False
            c = data[p]
            if not (c == 34 or c == 92 or c == 47 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116):
                return -1, False
        p += 1
    return -1, False


@within
def _number(data, p, end):
    """The number at p: position after it, whether it is an integer of few digits, its value; −1 if it is not one."""
    negative = data[p] == 45
    if negative:
        p += 1
    begin = p
    value = 0
    while p < end and 48 <= data[p] <= 57:
        if p - begin < _MAX_DIGITS:
            value = value * 10 + np.int64(data[p]) - 48
        p += 1
    digits = p - begin
    if digits == 0 or (digits > 1 and data[begin] == 48):
        return -1, False, 0
    whole = digits <= _MAX_DIGITS and not (negative and value == 0)
    if p < end and data[p] == 46:
        whole = False
        p += 1
        begin = p
        while p < end and 48 <= data[p] <= 57:
            p += 1
        if p == begin:
            return -1, False, 0
    if p < end and (data[p] == 101 or data[p] == 69):
        whole = False
        p += 1
        if p < end and (data[p] == 43 or data[p] == 45):
            p += 1
        begin = p
        while p < end and 48 <= data[p] <= 57:
            p += 1
        if p == begin:
            return -1, False, 0
    return p, whole, -value if negative else value


@within
def _word(data, p, end):
    """The true, false or null at p: position after it, and its type; −1 if there is none."""
    if p + 4 <= end and data[p] == 116 and data[p + 1] == 114 and data[p + 2] == 117 and data[p + 3] == 101:
        return p + 4, TRUE
    if p + 4 <= end and data[p] == 110 and data[p + 1] == 117 and data[p + 2] == 108 and data[p + 3] == 108:
        return p + 4, OTHER
    if (
        p + 5 <= end
        and data[p] == 102
        and data[p + 1] == 97
        and data[p + 2] == 108
        and data[p + 3] == 115
        and data[p + 4] == 101
    ):
        return p + 5, FALSE
    return -1, OTHER


@within
def scalar(data, p, end):
    """The string, number or word at p: position after it, its type, and an integer's value; −1 if there is none."""
    c = data[p]
    if c == 34:
        after, plain = string(data, p, end)
        return after, STRING if plain else OTHER, 0
    if c == 45 or 48 <= c <= 57:
        after, whole, value = _number(data, p, end)
        return after, INTEGER if whole else OTHER, value
    after, kind = _word(data, p, end)
    return after, kind, 0


@within
def nested(data, p, end):
    """The position after the object or array at p, or −1 if it is not well formed."""
    depth = 0
    objects = np.int64(0)  # a bit for each open bracket: 1 if it is an object's
    value_may_come, closing_may_come = True, False
    while True:
        p = blank(data, p, end)
        if p >= end:
            return -1
        c = data[p]
        is_object = depth > 0 and objects & 1
        if closing_may_come and (c == 125 if is_object else c == 93):
            depth -= 1
            objects >>= 1
            p += 1
            if depth == 0:
                return p
            value_may_come, closing_may_come = False, True
            continue
        if not value_may_come:
            if c != 44:  # a comma
                return -1
            p += 1
            value_may_come, closing_may_come = True, False
            continue
        if is_object:
            if c != 34:
                return -1
            p, _ = string(data, p, end)
            if p < 0:
                return -1
            p = blank(data, p, end)
            if p >= end or data[p] != 58:
                return -1
            p = blank(data, p + 1, end)
            if p >= end:
                return -1
            c = data[p]
        if c == 123 or c == 91:
            depth += 1
            if depth > _MAX_DEPTH:
                return -1
            objects = objects << 1 | (1 if c == 123 else 0)
            p += 1
            value_may_come, closing_may_come = True, True
            continue
        p, _, _ = scalar(data, p, end)
        if p < 0:
            return -1
        value_may_come, closing_may_come = False, True


@within
def key(data, begin, end):
    """Up to sixteen letters as two integers; longer keys are not needed and give zeros."""
    if end - begin > 16:
        return 0, 0
    first = 0
    second = 0
    for i in range(end - begin):
        if i < 8:
            first |= np.int64(data[begin + i]) << (8 * i)
        else:
            second |= np.int64(data[begin + i]) << (8 * (i - 8))
    return first, second
