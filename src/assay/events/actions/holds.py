"""Holds: from the press of a key or button to its release, compared like notes of music."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.events.actions.labels import BUTTONS, KEYS, Actions
from assay.events.actions.matching import match_within
from assay.events.compiled import njit
from assay.types import Ints

OFFSET_SHARE = 0.2
"""The end may be off by this share of the true length, where that is more than the tolerance (as mir_eval has it)."""

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


@dataclass(frozen=True, slots=True)
class HoldMatches:
    """How two sides' holds agree; all of shape (HELD,) but the last."""

    true: Ints
    predicted: Ints
    onset: Ints
    """Matches by onset."""
    both: Ints
    """Matches by onset and offset."""
    shared_ns: Ints
    """Time held on both sides."""
    either_ns: Ints
    """Time held on either side."""
    length_errors_ns: Ints
    """Predicted length − true length of each match by onset."""


def compare_holds(truth: Holds, predicted: Holds, tolerance_ns: int) -> HoldMatches:
    """Matches and shared time of two sides."""
    counts, errors = _compare(
        truth.start_ns,
        truth.end_ns,
        truth.edges,
        predicted.start_ns,
        predicted.end_ns,
        predicted.edges,
        tolerance_ns,
        OFFSET_SHARE,
    )
    onset, both, shared, either = counts
    return HoldMatches(np.diff(truth.edges), np.diff(predicted.edges), onset, both, shared, either, errors)


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
            # Releases before the press belong to nothing.
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


@njit(nogil=True, cache=True)
def _press_and_release(h):  # type: ignore[no-untyped-def]
    """The two labels of what is held: of a key the press has the odd one, of a button the even one."""
    return (2 * h + 1, 2 * h) if 2 * h < KEYS else (2 * h, 2 * h + 1)


@njit(nogil=True, cache=True)
def _compare(true_start, true_end, true_edges, start, end, edges, tolerance, share):  # type: ignore[no-untyped-def]
    counts = np.zeros((4, HELD), np.int64)
    errors = np.empty(len(true_start), np.int64)
    partner = np.empty(len(true_start), np.int64)
    found = 0
    for h in range(HELD):
        a, b = true_edges[h], true_edges[h + 1]
        c, d = edges[h], edges[h + 1]
        counts[2, h] = shared = _shared(true_start[a:b], true_end[a:b], start[c:d], end[c:d])
        counts[3, h] = -shared
        for i in range(a, b):
            counts[3, h] += true_end[i] - true_start[i]
        for j in range(c, d):
            counts[3, h] += end[j] - start[j]
        if a == b or c == d:
            continue
        for by_ends in range(2):  # one call in a loop is compiled once
            share_or_none = share if by_ends else -1.0
            match_within(true_start[a:b], start[c:d], tolerance, true_end[a:b], end[c:d], share_or_none, partner[a:b])
            for i in range(a, b):
                if partner[i] >= 0:
                    counts[by_ends, h] += 1
                    if not by_ends:
                        j = c + partner[i]
                        errors[found] = (end[j] - start[j]) - (true_end[i] - true_start[i])
                        found += 1
    return counts, errors[:found]


@njit(nogil=True, cache=True)
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
