"""How late the predictions are as a whole: matches at every shift of one time unit within half a second.

A constant lag of less than the tolerance hides from F1 at that tolerance, and one of more leaves a plateau. So F1 is
taken at four tolerances together, half a unit, one, two and five units; their sum has its peak where the lag is.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from assay.events.actions.labels import HEADLINE, Actions
from assay.events.actions.matching import largest_count
from assay.events.compiled import inner, njit
from assay.types import Floats, Ints

RANGE_NS = 500_000_000
"""Shifts are tried up to this far either way."""


@lru_cache(maxsize=16)
def shifts(unit_ns: int) -> Ints:
    """All shifts that are tried, ascending, 0 among them; shape (k,)."""
    reach = RANGE_NS // unit_ns
    return np.arange(-reach, reach + 1) * unit_ns


@lru_cache(maxsize=16)
def tolerances(unit_ns: int) -> Ints:
    """The tolerances whose F1 are added up, shape (4,)."""
    return np.array([unit_ns // 2, unit_ns, 2 * unit_ns, 5 * unit_ns])


@lru_cache(maxsize=16)
def _with_headline(unit_ns: int, tolerance_ns: int) -> Ints:
    return np.append(tolerances(unit_ns), tolerance_ns)


def matches_by_shift(truth: Actions, predicted: Actions, unit_ns: int, tolerance_ns: int) -> Ints:
    """Matches of keys and buttons at each shift: summed over `tolerances`, and at `tolerance_ns`; shape (2, k)."""
    counts = _count(
        truth.time_ns,
        truth.edges,
        predicted.time_ns,
        predicted.edges,
        shifts(unit_ns),
        _with_headline(unit_ns, tolerance_ns),
        HEADLINE,
    )
    return np.asarray(counts)


def best_shift(summed: Floats, unit_ns: int) -> Ints:
    """Index of the shift with the most matches, shape (…) from (…, k); of equal ones the smallest shift."""
    tried = shifts(unit_ns)
    order = np.lexsort((tried, np.abs(tried)))  # from 0 outwards, so that the first maximum is the smallest shift
    return np.asarray(order[np.argmax(summed[..., order], axis=-1)])


@njit(nogil=True, cache=True)
def _count(truth, truth_edges, predicted, predicted_edges, tried, tolerances, labels):  # type: ignore[no-untyped-def]
    """Largest matchings at each shift, summed over all tolerances but the last, and at the last; shape (2, shifts).

    Times of one label are cut into groups that no shift can bring together. If neighbours of a side are further apart
    than twice the tolerance, no shift gives a time two candidates: each pair of times then matches over one run of
    shifts, which is two additions. Only denser groups are matched shift by shift.
    """
    n_shifts = len(tried)
    step = tried[1] - tried[0] if n_shifts > 1 else np.int64(1)
    out = np.zeros((2, n_shifts), np.int64)
    changes = np.zeros((2, n_shifts + 1), np.int64)
    widest = np.int64(0)
    for tolerance in tolerances:
        widest = max(widest, tolerance)
    last = len(tolerances) - 1
    same = -1  # one of the others that equals the last, so that both are counted once
    for k in range(last):
        if tolerances[k] == tolerances[last]:
            same = k
    far = tried[-1] + widest
    for label in range(labels):
        i, i_end = truth_edges[label], truth_edges[label + 1]
        j, j_end = predicted_edges[label], predicted_edges[label + 1]
        while i < i_end and j < j_end:
            first, other = i, j
            latest = min(truth[i], predicted[j])
            while True:
                if i < i_end and truth[i] - latest <= far and (j == j_end or truth[i] <= predicted[j]):
                    latest = truth[i]
                    i += 1
                elif j < j_end and predicted[j] - latest <= far:
                    latest = predicted[j]
                    j += 1
                else:
                    break
            if i == first or j == other:
                continue
            right, guess = truth[first:i], predicted[other:j]
            apart = min(_least_gap(right), _least_gap(guess))
            for k in range(last if same >= 0 else last + 1):
                to = int(k == last)
                both = k == same  # counts in either sum
                if apart > 2 * tolerances[k]:
                    begin = 0  # predictions before it are too early for every later truth
                    for time in right:
                        while begin < len(guess) and guess[begin] - time < tried[0] - tolerances[k]:
                            begin += 1
                        for at in range(begin, len(guess)):
                            distance = guess[at] - time
                            if distance > tried[-1] + tolerances[k]:
                                break
                            # All shifts s with |distance − s| ≤ tolerance; divisions round towards −∞.
                            low = max(0, -((tried[0] - distance + tolerances[k]) // step))
                            high = min(n_shifts - 1, (distance + tolerances[k] - tried[0]) // step)
                            if low <= high:
                                changes[to, low] += 1
                                changes[to, high + 1] -= 1
                                changes[1, low] += both
                                changes[1, high + 1] -= both
                    continue
                for s in range(n_shifts):
                    n = largest_count(right, guess, tolerances[k], tried[s])
                    out[to, s] += n
                    out[1, s] += n * both
    for to in range(2):
        running = np.int64(0)
        for s in range(n_shifts):
            running += changes[to, s]
            out[to, s] += running
    return out


@inner(nogil=True, cache=True)
def _least_gap(times):  # type: ignore[no-untyped-def]
    """The least distance of two neighbours; very large for a single time."""
    least = np.int64(1) << 62
    for i in range(1, len(times)):
        least = min(least, times[i] - times[i - 1])
    return least
