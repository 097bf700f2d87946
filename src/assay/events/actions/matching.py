"""Compiled one-to-one matching of two sorted lists of times, within a tolerance.

Among points on a line an optimal matching never needs to cross: the pairs can always be swapped into order without
leaving the tolerance or adding distance. So the best matching is an alignment, found by dynamic programming over the
few predictions that each truth can reach. Times far from any other form separate groups, and most groups have one
truth or one prediction and need no table at all. The cost is linear in the number of events times the number of
candidates within the tolerance. All times are integers of nanoseconds, ascending.
"""

# Numba infers the types of these functions from their arguments; annotations would only be a second opinion.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.compiled import inner, njit

# Cells of a table kept for one group of times (one byte each). Beyond this, which takes tens of thousands of presses of
# one key within the tolerance, the number of matches stays the largest possible but their total distance may not.
_MOST_CELLS = 1 << 28

_SKIP_TRUTH, _SKIP_PREDICTION, _MATCH = 0, 1, 2


@njit(nogil=True, cache=True)
def largest_count(truth, predicted, tolerance, shift):
    """Size of the largest matching of `truth` and `predicted − shift`."""
    i = j = count = 0
    n, m = len(truth), len(predicted)
    while i < n and j < m:
        distance = predicted[j] - shift - truth[i]
        if distance < -tolerance:
            j += 1
        elif distance > tolerance:
            i += 1
        else:
            count += 1
            i += 1
            j += 1
    return count


@njit(nogil=True, cache=True)
def match_within(truth, predicted, tolerance, truth_end, predicted_end, share, partner):
    """Write the index of each truth's prediction to `partner`, shape (len(truth),), −1 if it has none.

    The largest number of matches, and among those the least total distance. The ends must also agree: they may differ
    by at most the tolerance or `share` of the true length, whichever is more; with a `share` below 0 they do not
    matter. The intervals of a side must not overlap: only then is there an optimal matching that does not cross.
    """
    n = len(truth)
    low = np.empty(n, np.int64)
    high = np.empty(n, np.int64)
    reach(truth, predicted, tolerance, low, high)
    for i in range(n):
        partner[i] = -1
    first = np.int64(0)  # not a literal, for which the functions would be compiled again
    while first < n:
        if low[first] == high[first]:
            first += 1
            continue
        last = first + 1
        while last < n and low[last] < high[last - 1]:
            last += 1
        if last - first == 1:
            best = -1
            for j in range(low[first], high[first]):
                if _allowed(first, j, tolerance, truth, truth_end, predicted_end, share) and (
                    best < 0 or abs(predicted[j] - truth[first]) < abs(predicted[best] - truth[first])
                ):
                    best = j
            partner[first] = best
        else:
            _match_group(first, last, low, high, truth, predicted, tolerance, truth_end, predicted_end, share, partner)
        first = last


@njit(nogil=True, cache=True)
def reach(truth, predicted, tolerance, low, high):
    """For each truth the half-open range of predictions within the tolerance; both ends ascend."""
    a = b = 0
    m = len(predicted)
    for i in range(len(truth)):
        while a < m and predicted[a] < truth[i] - tolerance:
            a += 1
        if b < a:
            b = a
        while b < m and predicted[b] <= truth[i] + tolerance:
            b += 1
        low[i] = a
        high[i] = b


@njit(nogil=True, cache=True)
def _allowed(i, j, tolerance, truth, truth_end, predicted_end, share):
    if share < 0:
        return True
    return abs(predicted_end[j] - truth_end[i]) <= max(np.float64(tolerance), share * (truth_end[i] - truth[i]))


@inner(nogil=True, cache=True)
def _match_group(first, last, low, high, truth, predicted, tolerance, truth_end, predicted_end, share, partner):
    cells = np.int64(0)
    for i in range(first, last):
        cells += high[i] - low[i] + 1
    if cells > _MOST_CELLS:
        _match_in_order(first, last, low, high, truth, tolerance, truth_end, predicted_end, share, partner)
        return
    choice = np.empty(cells, np.uint8)
    row_start = np.empty(last - first, np.int64)
    width = high[last - 1] - low[first] + 1
    before = np.zeros(width, np.int64)
    now = np.zeros(width, np.int64)
    base = low[first]
    top = base  # how many predictions the row before reaches
    # One more match outweighs any distance that the group can have.
    bonus = (tolerance + 1) * (min(last - first, width) + 1)
    at = np.int64(0)
    for i in range(first, last):
        row_start[i - first] = at
        for j in range(low[i], high[i] + 1):
            value = before[min(j, top) - base]
            chosen = _SKIP_TRUTH
            if j > low[i]:
                if now[j - 1 - base] > value:
                    value = now[j - 1 - base]
                    chosen = _SKIP_PREDICTION
                if _allowed(i, j - 1, tolerance, truth, truth_end, predicted_end, share):
                    with_match = before[min(j - 1, top) - base] + bonus - abs(predicted[j - 1] - truth[i])
                    if with_match >= value:
                        value = with_match
                        chosen = _MATCH
            now[j - base] = value
            choice[at] = chosen
            at += 1
        top = high[i]
        for j in range(low[i], high[i] + 1):
            before[j - base] = now[j - base]
    i, j = last - 1, high[last - 1]
    while i >= first:
        j = min(j, high[i])
        chosen = choice[row_start[i - first] + j - low[i]]
        if chosen == _MATCH:
            j -= 1
            partner[i] = j
            i -= 1
        elif chosen == _SKIP_PREDICTION:
            j -= 1
        else:
            i -= 1


@inner(nogil=True, cache=True)
def _match_in_order(first, last, low, high, truth, tolerance, truth_end, predicted_end, share, partner):
    """The earliest free prediction for each truth in turn: as many matches as there can be."""
    free = low[first]
    for i in range(first, last):
        free = max(free, low[i])
        for j in range(free, high[i]):
            if _allowed(i, j, tolerance, truth, truth_end, predicted_end, share):
                partner[i] = j
                free = j + 1
                break


@njit(nogil=True, cache=True)
def saved_by_shifting(truth, predicted, limit):
    """The most that matching can save: Σ (limit − |Δt|) over matched pairs, in nanoseconds.

    The Victor–Purpura distance with a cost of q per second for shifting is the number of all events minus 2 ÷ limit
    times this, with limit = 2 ÷ q: deleting and inserting costs 2, and shifting costs less only if |Δt| < limit.
    """
    n = len(truth)
    low = np.empty(n, np.int64)
    high = np.empty(n, np.int64)
    reach(truth, predicted, limit, low, high)
    saved = np.int64(0)
    first = 0
    while first < n:
        last = first + 1
        while last < n and low[last] < high[last - 1]:
            last += 1
        if last - first == 1:  # the nearest prediction, if any is near enough
            best = np.int64(0)
            for j in range(low[first], high[first]):
                best = max(best, limit - abs(predicted[j] - truth[first]))
            saved += best
            first = last
            continue
        base, top = low[first], low[first]
        width = high[last - 1] - base + 1
        before = np.zeros(width, np.int64)
        now = np.zeros(width, np.int64)
        for i in range(first, last):
            for j in range(low[i], high[i] + 1):
                value = before[min(j, top) - base]
                if j > low[i]:
                    value = max(value, now[j - 1 - base])
                    gain = limit - abs(predicted[j - 1] - truth[i])
                    value = max(value, before[min(j - 1, top) - base] + gain)
                now[j - base] = value
            top = high[i]
            for j in range(low[i], high[i] + 1):
                before[j - base] = now[j - base]
        saved += before[top - base]
        first = last
    return saved
