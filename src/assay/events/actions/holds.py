"""Holds: from the press of a key or button to its release, compared like notes of music."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.events.actions.labels import BUTTONS, KEYS, Actions
from assay.events.actions.matching import match_within
from assay.events.compiled import inner, njit
from assay.types import Ints

OFFSET_SHARE = 0.2
"""The end may be off by this share of the true length, if that is more than the tolerance (as in mir_eval)."""

HOLD_SUMS = ("true", "predicted", "onset", "both", "shared_ns", "either_ns")
"""What is summed for each key and button: holds of both sides, matches by onset and by onset and offset, and time held
on both sides and on either side."""
HELD = (KEYS + BUTTONS) // 2
"""Keys and buttons that can be held: 256 keys, then five buttons. Number h has the labels 2h and 2h + 1."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The holds of one side of one episode, by what is held and then by time. They do not overlap."""

    start_ns: Ints
    end_ns: Ints
    edges: Ints
    """Holds of h are edges[h] … edges[h+1]-1; shape (HELD + 1,)."""
    unreleased: int
    """How many were never released."""

    @classmethod
    def of(cls, actions: Actions, end_ns: int) -> Holds:
        """The holds that presses and releases make; one that is never released ends at the next press, or else at
        `end_ns`.
        """
        return cls(*_holds(actions.time_ns, actions.edges, end_ns))


def compare_holds(truth: Holds, predicted: Holds, tolerance_ns: int, sums: Ints) -> Ints:
    """Write the sums of two sides, shape (HELD, len(HOLD_SUMS)), which must be 0, to `sums`.

    Returns predicted length − true length of each match by onset.
    """
    return np.asarray(
        _compare(
            truth.start_ns, truth.end_ns, truth.edges, predicted.start_ns, predicted.end_ns, predicted.edges,
            tolerance_ns, OFFSET_SHARE, sums,
        )
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _holds(time_ns, edges, end_ns):  # type: ignore[no-untyped-def]
    size = 0
    for h in range(HELD):
        press, _ = _press_and_release(h)
        size += edges[press + 1] - edges[press]
    start = np.empty(size, np.int64)
    end = np.empty(size, np.int64)
    hold_edges = np.zeros(HELD + 1, np.int64)
    count = unreleased = 0
    for h in range(HELD):
        press, release = _press_and_release(h)
        i, j = edges[press], edges[release]
        while i < edges[press + 1]:
            # Releases before this press belong to no hold.
            while j < edges[release + 1] and time_ns[j] < time_ns[i]:
                j += 1
            start[count] = time_ns[i]
            pressed_again = i + 1 < edges[press + 1]
            if j < edges[release + 1] and (not pressed_again or time_ns[j] <= time_ns[i + 1]):
                end[count] = time_ns[j]
                j += 1
            else:
                end[count] = time_ns[i + 1] if pressed_again else max(end_ns, time_ns[i])
                unreleased += 1
            i += 1
            count += 1
        hold_edges[h + 1] = count
    return start[:count], end[:count], hold_edges, unreleased


@inner(nogil=True, cache=True)
def _press_and_release(h):  # type: ignore[no-untyped-def]
    """The two labels of what is held: of a key the press has the odd one, of a button the even one."""
    return (2 * h + 1, 2 * h) if 2 * h < KEYS else (2 * h, 2 * h + 1)


@njit(nogil=True, cache=True)
def _compare(true_start, true_end, true_edges, start, end, edges, tolerance, share, sums):  # type: ignore[no-untyped-def]
    errors = np.empty(len(true_start), np.int64)
    partner = np.empty(len(true_start), np.int64)
    found = 0
    for h in range(HELD):
        a, b = true_edges[h], true_edges[h + 1]
        c, d = edges[h], edges[h + 1]
        sums[h, 0], sums[h, 1] = b - a, d - c
        for i in range(a, b):
            sums[h, 5] += true_end[i] - true_start[i]
        for j in range(c, d):
            sums[h, 5] += end[j] - start[j]
        if a == b or c == d:
            continue
        right, right_end, guess, guess_end = true_start[a:b], true_end[a:b], start[c:d], end[c:d]
        sums[h, 4] = _shared(right, right_end, guess, guess_end)
        sums[h, 5] -= sums[h, 4]
        for by_ends in range(2):  # one call in a loop is compiled once
            share_or_none = share if by_ends else -1.0
            match_within(right, guess, tolerance, right_end, guess_end, share_or_none, partner)
            for i in range(b - a):
                if partner[i] >= 0:
                    sums[h, 2 + by_ends] += 1
                    if not by_ends:
                        j = partner[i]
                        errors[found] = (guess_end[j] - guess[j]) - (right_end[i] - right[i])
                        found += 1
    return errors[:found]


@inner(nogil=True, cache=True)
def _shared(start, end, other_start, other_end):  # type: ignore[no-untyped-def]
    """Time covered by both of two lists of intervals, neither of which overlaps itself."""
    i = j = 0
    total = np.int64(0)
    while i < len(start) and j < len(other_start):
        total += max(np.int64(0), min(end[i], other_end[j]) - max(start[i], other_start[j]))
        if end[i] < other_end[j]:
            i += 1
        else:
            j += 1
    return total
