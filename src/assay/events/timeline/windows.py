"""Figures of a window of a timeline: those of `assay@1`, of the actions that lie in it; and where errors are.

The whole episode is matched, and a window has the outcomes of its own actions. A pair that crosses an edge counts on
the side that lies within, so the counts of windows that lie side by side add up to those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from assay.events.actions import pointer
from assay.events.actions.clock import ClockSide
from assay.events.actions.labels import EXTRA, HEADLINE, MATCHED, MISSED, SUBSTITUTED, name_of
from assay.events.actions.moments import WINDOW_NS
from assay.events.timeline.episode import LANES, ActionColumns, ShiftedTimeline, lane_kind, lane_name
from assay.events.timeline.tiles import OUTCOME_NAMES
from assay.types import Ints

SLICES = 600
"""Slices of the overview of a whole episode."""
MOST_LISTED = 60
"""Errors of a window that are listed."""
WORST = 8
"""Worst moments that are offered."""
_US, _MS = 1000, 1e6
_HEADLINE = ("keyboard", "button")


def whole(matched: ShiftedTimeline) -> dict[str, Any]:
    """Figures of the whole episode, its errors over time, and its worst moments."""
    times, _ = matched.errors
    span = matched.episode.span_ns
    actions = np.concatenate([matched.true.time_ns, matched.predicted.time_ns])
    return {
        "shift_us": matched.shift_ns // _US,
        "figures": _figures(_counts_by_lane(matched, None)),
        "errors": _sliced(times, span),
        "actions": _sliced(actions, span),
        "worst": _worst(times, (matched.episode.paired.true_side.first_ns or 0) - matched.episode.origin_ns),
    }


def window(matched: ShiftedTimeline, begin_us: int, end_us: int) -> dict[str, Any]:
    """Figures of the actions in a window, in all and by key; the pointer's way in it, and its first errors."""
    begin, end = begin_us * _US, end_us * _US
    counts = _counts_by_lane(matched, (begin, end))
    lanes = [
        {"lane": lane, "name": lane_name(lane), "kind": lane_kind(lane), **_figures(counts[lane : lane + 1])}
        for lane in matched.episode.lanes
        if counts[lane].any()
    ]
    listed, total = _listed(matched, begin, end)
    return {
        "from_us": begin_us,
        "to_us": end_us,
        "shift_us": matched.shift_ns // _US,
        "figures": _figures(counts),
        "kinds": {
            kind: _figures(counts[[lane for lane in range(LANES) if lane_kind(lane) == kind]], kinds=(kind,))
            for kind in ("keyboard", "button", "scroll")
        },
        "timing": _timing(matched, begin, end),
        "pointer": _pointer(matched, begin, end),
        "lanes": lanes,
        "errors": listed,
        "n_errors": total,
    }


def next_error(
    matched: ShiftedTimeline, after_us: int, *, backwards: bool = False, lane: int | None = None
) -> dict[str, Any] | None:
    """The first error after a time, or the last before it; of one lane if that is given."""
    times, lanes = matched.errors
    if lane is not None:
        chosen = lanes == lane
        times, lanes = times[chosen], lanes[chosen]
    at = after_us * _US
    # Addresses have microseconds: an error within the current one is not the next.
    place = int(np.searchsorted(times, at)) - 1 if backwards else int(np.searchsorted(times, at + _US))
    if not 0 <= place < len(times):
        return None
    return {"us": int(times[place]) // _US, "lane": int(lanes[place]), "name": lane_name(int(lanes[place]))}


# --- parts ------------------------------------------------------------------------------------------------------------


def _counts_by_lane(matched: ShiftedTimeline, between: tuple[int, int] | None) -> Ints:
    """Actions of each lane, side and outcome, shape (LANES, 2, 4)."""
    counts = np.zeros((2, LANES * 4), np.int64)
    for side, columns in enumerate((matched.true, matched.predicted)):
        part = slice(None) if between is None else columns.within(*between)
        where = columns.lane[part].astype(np.int64) * 4 + columns.outcome[part]
        counts[side] = np.bincount(where, minlength=LANES * 4)
    return counts.reshape(2, LANES, 4).swapaxes(0, 1)


def _figures(counts: Ints, kinds: Iterable[str] | None = None) -> dict[str, Any]:
    """Counts, precision, recall and F1 of lanes; of all lanes together only keys and buttons, as in every report."""
    if kinds is None and len(counts) == LANES:
        counts = counts[[lane for lane in range(LANES) if lane_kind(lane) in _HEADLINE]]
    true, predicted = counts[:, 0].sum(axis=0).tolist(), counts[:, 1].sum(axis=0).tolist()
    n, m = sum(true), sum(predicted)
    return {
        "true": n,
        "predicted": m,
        "matched": true[MATCHED],
        "missed": true[MISSED],
        "inserted": predicted[EXTRA],
        "substituted": true[SUBSTITUTED],
        "precision": predicted[MATCHED] / m if m else None,
        "recall": true[MATCHED] / n if n else None,
        "f1": (true[MATCHED] + predicted[MATCHED]) / (n + m) if n + m else None,
    }


def _timing(matched: ShiftedTimeline, begin: int, end: int) -> dict[str, float | None]:
    """Median of predicted − true time, and of its size, over matched keys and buttons of the truth in the window."""
    part = matched.true.within(begin, end)
    found = (matched.true.outcome[part] == MATCHED) & (matched.true.label[part] < HEADLINE)
    errors = (matched.true.partner_ns[part] - matched.true.time_ns[part])[found] / _MS
    if not len(errors):
        return {"median_ms": None, "median_absolute_ms": None}
    return {"median_ms": float(np.median(errors)), "median_absolute_ms": float(np.median(np.abs(errors)))}


def _pointer(matched: ShiftedTimeline, begin: int, end: int) -> dict[str, Any] | None:
    """The pointer's way in the window, both sides from one start; None if neither moves there."""
    episode = matched.episode
    paired, origin, shift = episode.paired, episode.origin_ns, matched.shift_ns
    sides = (paired.true_side, paired.predicted_side.shifted(-shift))
    found = pointer.compare_paths(*(_between(side, begin + origin, end + origin) for side in sides))
    if not len(found.path):
        return None

    def figure(value: Any) -> float | None:
        return None if np.isnan(value) else float(value)

    lengths = [
        float(np.diff(travel.lengths_at(np.array([begin + moved, end + moved], np.float64)))[0])
        for travel, moved in ((episode.true_travel, 0), (episode.predicted_travel, shift))
    ]
    return {
        "points": found.path.tolist(),
        "path_error_px": figure(pointer.path_error_px(found.sums)),
        "r2": figure(pointer.r2(found.sums)),
        "true_px": lengths[0],
        "predicted_px": lengths[1],
    }


def _between(side: ClockSide, begin: int, end: int) -> ClockSide:
    first, stop = np.searchsorted(side.time_ns, (begin, end))
    return replace(side, at=side.at[first:stop], time_ns=side.time_ns[first:stop])


def _listed(matched: ShiftedTimeline, begin: int, end: int) -> tuple[list[dict[str, Any]], int]:
    """The first errors of the window, and how many there are."""
    rows: list[dict[str, Any]] = []
    total = 0
    for side, columns, wrong in (
        ("true", matched.true, matched.true.outcome != MATCHED),
        ("predicted", matched.predicted, matched.predicted.outcome == EXTRA),
    ):
        part = columns.within(begin, end)
        places = part.start + np.flatnonzero(wrong[part])
        total += len(places)
        rows += (_error(side, columns, int(at)) for at in places[:MOST_LISTED])
    return sorted(rows, key=lambda row: row["us"])[:MOST_LISTED], total


def _error(side: str, columns: ActionColumns, at: int) -> dict[str, Any]:
    outcome = int(columns.outcome[at])
    return {
        "us": int(columns.time_ns[at]) // _US,
        "side": side,
        "lane": int(columns.lane[at]),
        "action": name_of(int(columns.label[at])),
        "outcome": OUTCOME_NAMES[outcome],
        "taken_for": lane_name(int(columns.partner_lane[at])) if outcome == SUBSTITUTED else None,
    }


def _sliced(times: Ints, span: int) -> list[int]:
    """How many times lie in each slice of the span; those outside count in the outermost slices."""
    slices = np.clip(times * SLICES // (span + 1), 0, SLICES - 1)
    counts: list[int] = np.bincount(slices, minlength=SLICES).tolist()
    return counts


def _worst(times: Ints, begin: int) -> list[dict[str, int]]:
    """The windows with the most errors, of equal ones the earliest first; laid from the truth's first event, as in
    reports.
    """
    if not len(times):
        return []
    numbers, errors = np.unique((times - begin) // WINDOW_NS, return_counts=True)
    chosen = np.lexsort((numbers, -errors))[:WORST]
    return [
        {
            "from_us": (begin + int(numbers[at]) * WINDOW_NS) // _US,
            "to_us": (begin + (int(numbers[at]) + 1) * WINDOW_NS) // _US,
            "errors": int(errors[at]),
        }
        for at in chosen
    ]
