"""Compiled counts for `sequence@1`: two streams in one token encoding, position by position, in one pass.

The same as `_digits.py` computes with NumPy for a few events; tests compare the two. Tokens are those that encoding
the decoded values gives; events that are spelled in another way are left to that module.
"""

# Numba infers the types of these functions from their arguments; annotations would only be a second opinion.
# mypy: ignore-errors

from __future__ import annotations

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


@_inner
def _product(bases):
    span = np.int64(1)
    for base in bases:
        span *= base
    return span


@_inner
def _agreement(a, b, bases, span, signed):
    """Leading digits that agree, and digits that do not, of two numbers as the encoding writes them.

    `span` is the product of the bases.
    """
    n = len(bases)
    if a == b:
        return n + signed, 0
    leading, wrong, mark = n, 0, 0
    if signed:
        mark = 1
        if (a < 0) != (b < 0):
            wrong, mark = 1, 0
        a, b = min(abs(a), span - 1), min(abs(b), span - 1)
    else:
        a, b = a % span, b % span
    if a != b:
        for i in range(n - 1, -1, -1):
            base = bases[i]
            if a % base != b % base:
                wrong += 1
                leading = i
            a //= base
            b //= base
    if signed:
        leading = leading + 1 if mark else 0
    return leading, wrong


@_inner
def _greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@_inner
def _add_levels(levels, group, leading, digits):
    """Count an event in the levels that its leading digits reach, and in the last column."""
    beyond = max(0, digits - N_LEVELS)
    for k in range(N_LEVELS):
        if leading > min(k + beyond, digits - 1):
            levels[group, k] += 1
    levels[group, N_LEVELS] += 1


@njit(nogil=True, cache=True)
def count_tokens(
    t_kind, t_time, t_vk, t_press, t_dx, t_dy, t_flags, t_data, t_problem,
    p_kind, p_time, p_vk, p_press, p_dx, p_dy, p_flags, p_data, p_problem,
    unusual, unit_ns, time_bases, delta_bases, scroll_bases, signed,
):  # fmt: skip
    """Sums by SIMPLE; levels by GROUPS, shape (groups, levels + 1); wrong tokens, shape (kinds, 2, tokens); rows.

    `unusual` says which positions have an event that is spelled in an unusual way, or is empty if none has. The second
    index of the wrong tokens is 1 for a truth with a scroll. The rows are kind, error and true time of all comparable
    positions whose truth is not 0, in lowest terms because only their ratio counts, and dx, dy and predicted dx, dy of
    those of the mouse.
    """
    n = len(t_kind)
    simple = np.zeros(len(SIMPLE), np.int64)
    levels = np.zeros((len(GROUPS), N_LEVELS + 1), np.int64)
    wrong = np.zeros((3, 2, MOST_TOKENS), np.int64)
    times = np.empty((3, n), np.int64)
    moves = np.empty((4, n), np.int64)
    rows = mice = 0
    time_span, delta_span, scroll_span = _product(time_bases), _product(delta_bases), _product(scroll_bases)
    axis = len(delta_bases) + signed
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
        right, guess = t_time[i] // unit_ns, p_time[i] // unit_ns
        if right != 0:
            apart = abs(guess - right) % time_span  # the clock wraps around: the shorter way counts
            apart = min(apart, time_span - apart)
            common = _greatest_common_divisor(right, apart)
            times[0, rows], times[1, rows], times[2, rows] = kind, apart // common, right // common
            rows += 1
        leading, mistakes = _agreement(
            min(right, time_span - 1), min(guess, time_span - 1), time_bases, time_span, False
        )  # fmt: skip
        if usual:
            _add_levels(levels, np.int64(kind), leading, len(time_bases))
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
            for group, a, b in ((3, px, dx), (4, py, dy)):
                leading, more = _agreement(a, b, delta_bases, delta_span, signed)
                mistakes += more
                if usual:
                    _add_levels(levels, np.int64(group), leading, axis)
            leading = len(delta_bases)
            if px != dx or py != dy:
                length = np.int64(np.rint(np.hypot(np.float64(px), np.float64(py))))
                right = np.int64(np.rint(np.hypot(np.float64(dx), np.float64(dy))))
                leading, _ = _agreement(
                    min(length, delta_span - 1), min(right, delta_span - 1), delta_bases, delta_span, False
                )  # fmt: skip
            _add_levels(levels, np.int64(5), leading, len(delta_bases))
            for shift in (8, 4, 0):
                mistakes += (t_flags[i] >> shift & 15) != (p_flags[i] >> shift & 15)
            scrolls = 1 if t_data[i] != 0 else 0
            if t_data[i] != 0 and p_data[i] != 0:
                a, b = np.int64(p_data[i]) // 120, np.int64(t_data[i]) // 120
                mistakes += _agreement(a, b, scroll_bases, scroll_span, signed)[1]
            elif t_data[i] != 0 or p_data[i] != 0:
                mistakes += len(scroll_bases) + signed
        if usual:
            wrong[kind, scrolls, mistakes] += 1
    return simple, levels, wrong, times[:, :rows], moves[:, :mice]
