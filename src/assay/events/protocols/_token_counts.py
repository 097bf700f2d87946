"""Compiled counts for `sequence@1`: two streams in one token encoding, position by position, in one pass.

The same as `_digits.py` computes with NumPy for a few events; tests compare the two. Tokens are those that encoding
the decoded values gives; events that are spelled in another way are left to that module.
"""

# Numba infers the types of these functions from their arguments; annotations would only be a second opinion.
# mypy: ignore-errors

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from assay.events.compiled import inner, njit

_KEYBOARD, _MOUSE, _MISSING = 0, 1, 10  # stream.Kind, stream.Problem; a test checks that they agree

SIMPLE = (
    "total", "comparable", "same_type", "predicted", "true", "true_keyboard", "true_mouse", "true_screen", "vk",
    "action", "combined",
)  # fmt: skip
"""Names of the first sums: positions; those that are comparable; those with the same type; events on either side; true
events by kind; and of comparable keyboard events, those whose key, action and both agree."""
GROUPS = ("time_keyboard", "time_mouse", "time_screen", "dx", "dy", "euclidean")
"""Names of the rows of levels."""
N_LEVELS = 3
MOST_TOKENS = 48
"""No event has more tokens than this: four numbers of up to eight digits and a sign, three for the buttons."""


_inner = inner(nogil=True, cache=True)


# Digits of numbers below _TABLE are in a table, and so are ratios in lowest terms of errors of time below _CLOSE.
_TABLE = 1 << 14
_CLOSE = 64
# Squares of numbers below this add up exactly, and no root of such a sum is near the middle of two whole numbers.
_SHORT = 1 << 20
# A float holds every whole number up to this.
_EXACT = 1 << 52


@lru_cache(maxsize=16)
def digits_tables(bases):
    """By which digits of numbers are compared without dividing; both empty if the bases can write too many numbers.

    The first has the digits of each number, each in its own bits. The second has for each exclusive or of two of those
    how many leading digits agree, times 256, plus how many digits do not.
    """
    bits = [(base - 1).bit_length() for base in bases]
    if math.prod(bases) > _TABLE or sum(bits) > 16:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    packed, differ = np.zeros(1, np.int64), np.zeros((1, 0), np.bool_)
    for base, width in zip(bases, bits, strict=True):
        packed = np.add.outer(packed << width, np.arange(base)).ravel()
        differs = np.arange(1 << width) > 0
        differ = np.column_stack([np.repeat(differ, len(differs), axis=0), np.tile(differs, len(differ))])
    leading = np.where(differ.any(axis=1), differ.argmax(axis=1), len(bases))
    return packed, leading * 256 + differ.sum(axis=1)


@lru_cache(maxsize=4)
def lowest_terms(span):
    """Numbers below _CLOSE ÷ times below `span` in lowest terms, shape (2, numbers, times); empty if there are many."""
    if span > _TABLE:
        return np.zeros((2, 0, 0), np.int32)
    parts = np.stack(np.broadcast_arrays(np.arange(_CLOSE)[:, None], np.arange(span)))
    return (parts // np.maximum(np.gcd(*parts), 1)).astype(np.int32)


@_inner
def _product(bases):
    span = np.int64(1)
    for base in bases:
        span *= base
    return span


@_inner
def _modulo(number, span):
    """`number % span`, with a slow division only if the number is far from 0 … span−1."""
    if number < 0:
        number += span
    return number if 0 <= number < span else number % span


@_inner
def _written(number, span, signed):
    """The number of 0 or more whose digits the encoding writes."""
    return min(abs(number), span - 1) if signed else _modulo(number, span)


@_inner
def _with_sign(found, a, b, signed):
    """What the digits of two numbers show, with their signs, if the encoding writes signs."""
    if signed:
        found = found + 256 if (a < 0) == (b < 0) else (found & 255) + 1
    return found


@_inner
def _by_division(a, b, bases):
    """What `digits_tables` has of two numbers, without them."""
    leading, wrong = len(bases), 0
    for i in range(len(bases) - 1, -1, -1):
        base = bases[i]
        if a % base != b % base:
            wrong += 1
            leading = i
        a //= base
        b //= base
    return np.int64(leading * 256 + wrong)


@_inner
def _length(x, y):
    """The length of a movement, rounded."""
    if abs(x) < _SHORT and abs(y) < _SHORT:
        return np.int64(np.rint(np.sqrt(np.float64(x * x + y * y))))
    return np.int64(np.rint(np.hypot(np.float64(x), np.float64(y))))


@_inner
def _greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@_inner
def _quotient(time, unit, share):
    """`time // unit` of times that are not negative; `share` is 1 ÷ unit, and multiplying is faster than dividing."""
    if time >= _EXACT:
        return time // unit
    found = np.int64(time * share)
    rest = time - found * unit
    return found - 1 if rest < 0 else found + 1 if rest >= unit else found


@_inner
def _levels(leading, digits):
    """How many of the events of a group reach each level, and all of them, from how many agree in so many digits."""
    levels = np.zeros((len(GROUPS), N_LEVELS + 1), np.int64)
    for group in range(len(GROUPS)):
        beyond = max(0, digits[group] - N_LEVELS)
        for agree in range(leading.shape[1]):
            for k in range(N_LEVELS):
                if agree > min(k + beyond, digits[group] - 1):
                    levels[group, k] += leading[group, agree]
            levels[group, N_LEVELS] += leading[group, agree]
    return levels


@njit(nogil=True, cache=True)
def count_tokens(
    t_kind, t_time, t_vk, t_press, t_dx, t_dy, t_flags, t_data, t_problem,
    p_kind, p_time, p_vk, p_press, p_dx, p_dy, p_flags, p_data, p_problem,
    unusual, unit_ns, time_bases, delta_bases, scroll_bases, signed, time_packed, time_outcomes,
    delta_packed, delta_outcomes, lowest,
):  # fmt: skip
    """Sums by SIMPLE; levels by GROUPS, shape (groups, levels + 1); wrong tokens, shape (kinds, 2, tokens); rows.

    `unusual` says which positions have an event that is spelled in an unusual way, or is empty if none has. The second
    index of the wrong tokens is 1 for a truth with a scroll. The rows are kind, error and true time of all comparable
    positions whose truth is not 0, in lowest terms because only their ratio counts, and dx, dy and predicted dx, dy of
    those of the mouse; there is room for more, and the last two numbers say how many there are.
    """
    n = len(t_kind)
    simple = np.zeros(len(SIMPLE), np.int64)
    agree = np.zeros((len(GROUPS), MOST_TOKENS), np.int64)  # events by how many of their leading digits agree
    wrong = np.zeros((3, 2, MOST_TOKENS), np.int64)
    times = np.empty((3, n), np.int64)
    moves = np.empty((4, n), np.int64)
    rows = mice = 0
    time_span, delta_span, scroll_span = _product(time_bases), _product(delta_bases), _product(scroll_bases)
    axis = len(delta_bases) + signed
    share = 1.0 / unit_ns
    simple[0] = n
    for i in range(n):
        kind = t_kind[i]
        if p_problem[i] != _MISSING:
            simple[3] += 1
        if t_problem[i] != _MISSING:
            simple[4] += 1
            if kind >= 0:
                simple[5 + kind] += 1
        if kind < 0 or p_kind[i] != kind:
            continue
        simple[2] += 1
        if p_problem[i] != 0 or t_problem[i] != 0:
            continue
        simple[1] += 1
        usual = len(unusual) == 0 or not unusual[i]
        right, guess = _quotient(t_time[i], unit_ns, share), _quotient(p_time[i], unit_ns, share)
        if right != 0:
            apart = _modulo(abs(guess - right), time_span)  # the clock wraps around: the shorter way counts
            apart = min(apart, time_span - apart)
            times[0, rows] = kind
            if apart < lowest.shape[1] and right < lowest.shape[2]:
                times[1, rows], times[2, rows] = lowest[0, apart, right], lowest[1, apart, right]
            else:
                common = _greatest_common_divisor(right, apart)
                times[1, rows], times[2, rows] = apart // common, right // common
            rows += 1
        right, guess = min(right, time_span - 1), min(guess, time_span - 1)
        # No function does this: passing arrays takes longer than looking up.
        if len(time_packed) > 0:
            found = time_outcomes[time_packed[right] ^ time_packed[guess]]
        else:
            found = _by_division(right, guess, time_bases)
        mistakes = found & 255
        if usual:
            agree[kind, found >> 8] += 1
        scrolls = 0
        if kind == _KEYBOARD:
            same_key, same_action = t_vk[i] == p_vk[i], t_press[i] == p_press[i]
            simple[8] += same_key
            simple[9] += same_action
            simple[10] += same_key and same_action
            mistakes += (not same_key) + (not same_action)
        elif kind == _MOUSE:
            dx, dy, px, py = np.int64(t_dx[i]), np.int64(t_dy[i]), np.int64(p_dx[i]), np.int64(p_dy[i])
            moves[0, mice], moves[1, mice], moves[2, mice], moves[3, mice] = dx, dy, px, py
            mice += 1
            for group in range(3, 6):
                a, b = (px, dx) if group == 3 else (py, dy)
                if group == 5:
                    moved = px != dx or py != dy
                    a, b = (_length(px, py), _length(dx, dy)) if moved else (np.int64(0), np.int64(0))
                    a, b = min(a, delta_span - 1), min(b, delta_span - 1)
                has_sign = signed and group < 5
                found = np.int64(axis if has_sign else len(delta_bases)) * 256
                if a != b:
                    x, y = _written(a, delta_span, has_sign), _written(b, delta_span, has_sign)
                    if len(delta_packed) > 0:
                        found = delta_outcomes[delta_packed[x] ^ delta_packed[y]]
                    else:
                        found = _by_division(x, y, delta_bases)
                    found = _with_sign(found, a, b, has_sign)
                if group < 5:
                    mistakes += found & 255
                if usual or group == 5:
                    agree[group, found >> 8] += 1
            for shift in (8, 4, 0):
                mistakes += (t_flags[i] >> shift & 15) != (p_flags[i] >> shift & 15)
            scrolls = 1 if t_data[i] != 0 else 0
            if t_data[i] != 0 and p_data[i] != 0:
                a, b = np.int64(p_data[i]) // 120, np.int64(t_data[i]) // 120
                if a != b:
                    x, y = _written(a, scroll_span, signed), _written(b, scroll_span, signed)
                    mistakes += _with_sign(_by_division(x, y, scroll_bases), a, b, signed) & 255
            elif t_data[i] != 0 or p_data[i] != 0:
                mistakes += len(scroll_bases) + signed
        if usual:
            wrong[kind, scrolls, mistakes] += 1
    digits = np.array([len(time_bases), len(time_bases), len(time_bases), axis, axis, len(delta_bases)])
    return simple, _levels(agree, digits), wrong, times, moves, rows, mice
