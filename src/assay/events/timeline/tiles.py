"""Tiles: a stretch of time at a level of detail, small enough to send, with everything that is drawn of it.

Level L has bins of 2^L × 65,536 ns, and a tile 128 bins. All tiles of a level lie side by side from the origin on, so
that each is asked for once. A tile with few actions has them one by one, another one has counts by lane and bin.
Times are whole microseconds after the origin; predicted ones are moved by the shift already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.events.actions.holds import HELD, Holds
from assay.events.actions.labels import EXTRA, KEYS, MATCHED, MISSED, SUBSTITUTED
from assay.events.timeline.episode import IS_PRESS, LANES, ActionColumns, EpisodeTimeline, ShiftedTimeline, Travel
from assay.types import Ints

LEVELS = 32
BINS = 128
FINEST_NS = 1 << 16
"""Width of a bin at level 0."""
MOST_ACTIONS = 600
"""Actions of both sides that are sent one by one."""
OUTCOME_NAMES = {MATCHED: "matched", MISSED: "missed", EXTRA: "inserted", SUBSTITUTED: "substituted"}
_US = 1000


def tile(matched: ShiftedTimeline, level: int, at: int) -> dict[str, Any]:
    """One tile, ready for JSON.

    `counts` has rows (lane, bin, true matched, missed, substituted, predicted matched, inserted, substituted); it is
    None where there are `actions`, rows (side, lane, time, press, outcome, time and lane of the partner), and `holds`,
    rows (side, lane, start, end, outcome of the press).
    """
    width = FINEST_NS << level
    begin, end = at * BINS * width, (at + 1) * BINS * width
    parts = [
        (side, columns, columns.within(begin, end)) for side, columns in enumerate((matched.true, matched.predicted))
    ]
    few = sum(part.stop - part.start for *_, part in parts) <= MOST_ACTIONS
    episode, shift = matched.episode, matched.shift_ns
    edges = begin + width * np.arange(BINS + 1)
    return {
        "level": level,
        "at": at,
        "counts": None if few else _counts(parts, begin, width),
        "actions": [row for side, columns, part in parts for row in _actions(side, columns, part)] if few else None,
        "holds": _holds(matched, begin, end) if few else None,
        "speed": [_speed(episode.true_travel, edges), _speed(episode.predicted_travel, edges + shift)],
        "frames": [_frames(episode.true_frames, edges), _frames(episode.predicted_frames, edges + shift)],
    }


_Part = tuple[int, ActionColumns, slice]


def _counts(parts: list[_Part], begin: int, width: int) -> list[list[int]]:
    where = []
    for side, columns, part in parts:
        bins = (columns.time_ns[part] - begin) // width
        where.append(((columns.lane[part].astype(np.int64) * BINS + bins) * 2 + side) * 4 + columns.outcome[part])
    counts = np.bincount(np.concatenate(where), minlength=LANES * BINS * 8).reshape(LANES, BINS, 8)
    lanes, bins = np.nonzero(counts.any(axis=2))
    # Of a side's four outcomes one cannot happen: a truth is not inserted, a prediction not missed.
    kept = [MATCHED, MISSED, SUBSTITUTED, 4 + MATCHED, 4 + EXTRA, 4 + SUBSTITUTED]
    rows: list[list[int]] = np.column_stack([lanes, bins, counts[lanes, bins][:, kept]]).tolist()
    return rows


def _actions(side: int, columns: ActionColumns, part: slice) -> list[list[int | None]]:
    alone = (columns.outcome[part] == MISSED) | (columns.outcome[part] == EXTRA)
    rows = zip(
        columns.lane[part].tolist(),
        (columns.time_ns[part] // _US).tolist(),
        IS_PRESS[columns.label[part]].astype(int).tolist(),
        columns.outcome[part].tolist(),
        (columns.partner_ns[part] // _US).tolist(),
        columns.partner_lane[part].tolist(),
        alone.tolist(),
        strict=True,
    )
    return [
        [side, lane, us, press, outcome, None if single else partner_us, None if single else partner]
        for lane, us, press, outcome, partner_us, partner, single in rows
    ]


def _holds(matched: ShiftedTimeline, begin: int, end: int) -> list[list[int]]:
    """Holds that reach into the tile; at most one of each lane begins before it."""
    episode = matched.episode
    rows: list[list[int]] = []
    for side, holds, outcome, shift in (
        (0, episode.true_holds, matched.true_outcome, 0),
        (1, episode.predicted_holds, matched.predicted_outcome, matched.shift_ns),
    ):
        moved = episode.origin_ns + shift
        presses = _press_edges(episode, side)
        for lane in episode.lanes:
            if lane < HELD:
                rows += _holds_of(side, lane, holds, outcome, presses, begin + moved, end + moved, moved)
    return rows


def _holds_of(
    side: int, lane: int, holds: Holds, outcome: Ints | Any, presses: Ints, begin: int, end: int, moved: int
) -> list[list[int]]:
    first, stop = holds.edges[lane], holds.edges[lane + 1]
    a = first + np.searchsorted(holds.end_ns[first:stop], begin)
    b = first + np.searchsorted(holds.start_ns[first:stop], end)
    # The holds of a lane are its presses in order, so the outcome of hold k is that of press k.
    return [
        [
            side,
            lane,
            int(holds.start_ns[k] - moved) // _US,
            int(holds.end_ns[k] - moved) // _US,
            int(outcome[presses[lane] + k - first]),
        ]
        for k in range(int(a), int(b))
    ]


def _press_edges(episode: EpisodeTimeline, side: int) -> Ints:
    """Where the presses of what can be held begin among the actions, shape (HELD,)."""
    actions = episode.paired.predicted if side else episode.paired.true
    held = np.arange(HELD)
    return np.asarray(actions.edges[np.where(2 * held < KEYS, 2 * held + 1, 2 * held)])


def _speed(travel: Travel, edges: Ints) -> list[int]:
    """Pixels a second in each bin."""
    lengths = travel.lengths_at(edges.astype(np.float64))
    speed: list[int] = np.rint(np.diff(lengths) / np.diff(edges) * 1e9).astype(np.int64).tolist()
    return speed


def _frames(time_ns: Ints, edges: Ints) -> list[int]:
    """How many frames lie in each bin."""
    counts: list[int] = np.diff(np.searchsorted(time_ns, edges)).tolist()
    return counts
