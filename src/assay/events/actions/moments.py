"""What a report draws of an episode: its windows of two seconds with the most errors, and an outline of the whole."""

from __future__ import annotations

import numpy as np

from assay.events.actions.comparing import ActionMatches
from assay.events.actions.labels import EXTRA, HEADLINE, MATCHED, MISSED
from assay.events.actions.states import SLICES
from assay.events.compiled import njit
from assay.events.counting import count_keys, packed_rows
from assay.types import Ints, Joint

WINDOW_NS = 2_000_000_000
NO_PARTNER = -(10**9)
"""Stands for the time of a partner if there is none, in ms."""
_WINDOWS = 2
"""Windows kept of each episode."""
_ACTIONS = 60
"""Actions kept of each window."""
_MS = 1_000_000

TRUE, PREDICTED = 0, 1


def moments_state(found: ActionMatches, origin_ns: int) -> Joint:
    """Rows (start of the window in ms after `origin_ns`, side, ms into the window, label, outcome, ms of the partner).

    Of equally bad windows the earliest. A substitution is one error, not two, and happens when its truth does. The
    partner's time counts from the start of the window too and is NO_PARTNER if it has no partner.
    """
    truth, predicted = found.truth, found.predicted
    rows, keys, ranges, below = _drawn(
        truth.time_ns, truth.order, truth.labels, found.true_outcome, found.true_partner_ns,
        predicted.time_ns, predicted.order, predicted.labels, found.predicted_outcome, found.predicted_partner_ns,
        origin_ns,
    )  # fmt: skip
    counted = count_keys(keys, ranges) if len(keys) else Joint.of(*rows)
    if not below:
        return counted
    *others, last = counted.columns
    return Joint((*others, np.where(last == below, np.int32(NO_PARTNER), last.astype(np.int32))), counted.occurrences)


@njit(nogil=True, cache=True)
def _drawn(  # type: ignore[no-untyped-def]
    truth, truth_order, truth_label, true_outcome, true_partner, predicted, order, label, outcome, partner, origin
):
    """The rows of the worst windows, shape (6, rows), and what `packed_rows` makes of them.

    NO_PARTNER is so far from all times that rows would not fit into single integers; a number just below the least
    does. It is the last that is returned, and 0 if all have partners.
    """
    windows = _worst(truth, truth_order, true_outcome, predicted, order, outcome, origin)
    rows = np.empty((6, 2 * len(windows) * _ACTIONS), np.int64)
    n = _draw(
        windows, np.int64(TRUE), truth, truth_order, truth_label, true_outcome, true_partner, origin, rows, np.int64(0)
    )
    n = _draw(windows, np.int64(PREDICTED), predicted, order, label, outcome, partner, origin, rows, n)
    least, alone = np.int64(0), False
    for i in range(n):
        if rows[5, i] == NO_PARTNER:
            alone = True
        else:
            least = min(least, rows[5, i])
    kept = np.empty((6, n), np.int64)
    for c in range(6):
        for i in range(n):
            kept[c, i] = least - 1 if c == 5 and rows[5, i] == NO_PARTNER else rows[c, i]
    if n == 0:
        return kept, np.empty(0, np.int64), np.empty((6, 2), np.int64), np.int64(0)
    keys, ranges = packed_rows(kept)
    return kept, keys, ranges, least - 1 if alone else np.int64(0)


@njit(nogil=True, cache=True)
def _worst(truth, truth_order, true_outcome, predicted, predicted_order, outcome, origin):  # type: ignore[no-untyped-def]
    """The numbers of the windows with the most errors, ascending."""
    best, most = np.zeros(_WINDOWS, np.int64), np.zeros(_WINDOWS, np.int64)
    i = j = 0
    window = errors = np.int64(0)
    n, m = len(truth), len(predicted)
    while i <= n:
        # Errors of both sides in the order of time, and one step after the last.
        now = window
        wrong = False
        if i < n and (j == m or truth[truth_order[i]] <= predicted[predicted_order[j]]):
            wrong = true_outcome[truth_order[i]] != MATCHED
            now = (truth[truth_order[i]] - origin) // WINDOW_NS
            i += 1
        elif j < m:
            wrong = outcome[predicted_order[j]] == EXTRA
            now = (predicted[predicted_order[j]] - origin) // WINDOW_NS
            j += 1
        else:
            i += 1
        if now != window or i > n:
            if errors > most[0]:
                best[1], most[1] = best[0], most[0]
                best[0], most[0] = window, errors
            elif errors > most[1]:
                best[1], most[1] = window, errors
            window, errors = now, np.int64(0)
        errors += wrong
    found = (most[0] > 0) + (most[1] > 0)
    if found == _WINDOWS and best[1] < best[0]:
        best[0], best[1] = best[1], best[0]
    return best[:found]


@njit(nogil=True, cache=True)
def _draw(windows, side, time, order, label, outcome, partner, origin, rows, n):  # type: ignore[no-untyped-def]
    """Write the actions of one side in the windows to `rows`, from column n on; returns where they end."""
    for window in windows:
        start = origin + window * WINDOW_NS
        room = n + _ACTIONS
        for k in order:
            if (time[k] - origin) // WINDOW_NS == window and n < room:
                rows[0, n] = window * WINDOW_NS // _MS
                rows[1, n] = side
                rows[2, n] = (time[k] - start) // _MS
                rows[3, n] = label[k]
                rows[4, n] = outcome[k]
                alone = outcome[k] == MISSED or outcome[k] == EXTRA
                rows[5, n] = NO_PARTNER if alone else (partner[k] - start) // _MS
                n += 1
    return n


def draw_outline(found: ActionMatches, first_ns: int, last_ns: int, counts: Ints) -> None:
    """Add (slice, side, outcome), how the keys and buttons of each slice of the truth's span ended, to `counts`.

    Actions before or after the span count in the outermost slices.
    """
    span = max(1, last_ns - first_ns)
    for side, actions, outcome in (
        (TRUE, found.truth, found.true_outcome),
        (PREDICTED, found.predicted, found.predicted_outcome),
    ):
        _outline(actions.time_ns, int(actions.edges[HEADLINE]), outcome, first_ns, span, side, counts)


@njit(nogil=True, cache=True)
def _outline(time, n, outcome, first, span, side, counts):  # type: ignore[no-untyped-def]
    for i in range(n):
        share = (time[i] - first) / span
        at = int(max(0.0, min(share * SLICES, SLICES - 1.0)))
        counts[at, side, outcome[i]] += 1
