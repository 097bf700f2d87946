"""Compiled counts for `owa@1`: two streams, position by position, in one pass."""

# Numba infers the types of these functions from their arguments; annotations would only be a second opinion.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.compiled import inner, njit

_KEYBOARD, _MOUSE, _SCREEN, _MISSING = 0, 1, 2, 10  # stream.Kind, stream.Problem; a test checks that they agree
_CATEGORIES, _ANSWERS = 4, 6  # stream.CATEGORIES, owa.PREDICTED
_LIMB = 2**21 - 1

COUNTS = (
    "spoiled", "extra", "keys_right", "keys", "true_keys", "buttons_right", "buttons", "true_buttons",
    "scrolls_right", "scrolls", "true_scrolls",
)  # fmt: skip
"""Names of the sums: truths that do not decode, truths that are missing; then for keys, buttons and scrolls those that
are right, those that are comparable, and all true ones."""
LIMBS = 10
"""Numbers by which the times of a category are summed: how many, three sums and six sums of products of limbs."""


@inner(nogil=True, cache=True)
def _category(kind, flags):
    if kind == _MOUSE:
        return 1 if flags != 0 else 2
    return 3 if kind == _SCREEN else 0


@njit(nogil=True, cache=True)
def count_positions(
    t_kind, t_time, t_vk, t_press, t_dx, t_dy, t_flags, t_data, t_problem,
    p_kind, p_time, p_vk, p_press, p_dx, p_dy, p_flags, p_data, p_problem,
    start, edges, precisions,
):  # fmt: skip
    """Sums by COUNTS; how often each category was answered with what, shape (categories, answers); limbs of the true
    times of comparable events, shape (categories, LIMBS); how many movements agree at each precision; rows,
    and how many there are of each.

    The rows are category, bucket of the position and error of time of comparable events, shape (3, n), and dx, dy and
    predicted dx, dy of those of the mouse, shape (4, n); there is room for more.
    """
    n = len(t_kind)
    counts = np.zeros(len(COUNTS), np.int64)
    kinds = np.zeros((_CATEGORIES, _ANSWERS), np.int64)
    limbs = np.zeros((_CATEGORIES, LIMBS), np.int64)
    agree = np.zeros(len(precisions), np.int64)
    times = np.empty((3, n), np.int64)
    moves = np.empty((4, n), np.int64)
    rows = mice = bucket = 0
    for i in range(n):
        while start + i >= edges[bucket + 1]:
            bucket += 1
        if t_problem[i] != 0:
            counts[1 if t_problem[i] == _MISSING else 0] += 1
            continue
        kind, flags = t_kind[i], t_flags[i]
        category = _category(kind, flags)
        if p_problem[i] == 0:
            kinds[category, _category(p_kind[i], p_flags[i])] += 1
        else:
            kinds[category, _CATEGORIES + (p_problem[i] == _MISSING)] += 1
        comparable = p_problem[i] == 0 and p_kind[i] == kind
        if comparable:
            time = t_time[i]
            times[0, rows], times[1, rows], times[2, rows] = category, bucket, p_time[i] - time
            rows += 1
            a, b, c = time & _LIMB, time >> 21 & _LIMB, time >> 42
            limbs[category, 0] += 1
            limbs[category, 1] += a
            limbs[category, 2] += b
            limbs[category, 3] += c
            limbs[category, 4] += a * a
            limbs[category, 5] += a * b
            limbs[category, 6] += a * c
            limbs[category, 7] += b * b
            limbs[category, 8] += b * c
            limbs[category, 9] += c * c
        if kind == _KEYBOARD:
            counts[4] += 1
            if comparable:
                counts[3] += 1
                counts[2] += p_vk[i] == t_vk[i] and p_press[i] == t_press[i]
        elif kind == _MOUSE:
            if comparable:
                dx, dy, px, py = np.int64(t_dx[i]), np.int64(t_dy[i]), np.int64(p_dx[i]), np.int64(p_dy[i])
                moves[0, mice], moves[1, mice], moves[2, mice], moves[3, mice] = dx, dy, px, py
                mice += 1
                equal = dx == px and dy == py
                furthest = max(abs(dx - px), abs(dy - py))
                for k in range(len(precisions)):
                    size = precisions[k]  # two that are so far apart are never rounded down to the same
                    agree[k] += equal or (furthest < size and dx // size == px // size and dy // size == py // size)
            if flags != 0:
                counts[7] += 1
                counts[6] += comparable
                counts[5] += comparable and p_flags[i] == flags
            if t_data[i] != 0:
                counts[10] += 1
                counts[9] += comparable
                counts[8] += comparable and p_data[i] == t_data[i]
    return counts, kinds, limbs, agree, times, moves, rows, mice
