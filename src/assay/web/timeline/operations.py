"""The data of timelines over HTTP: recordings, an episode, its tiles, its windows, its errors.

Modules that compile are imported when they are first needed, so that the first page is up soon after the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from assay.errors import NotFoundError
from assay.web.operations import ANYTHING, COUNT, TEXT, Operation, list_of, object_with
from assay.web.requests import query_choice, query_number, query_text
from assay.web.site import Site

if TYPE_CHECKING:
    from assay.events.timeline.episode import EpisodeTimeline, ShiftedTimeline
    from assay.web.timeline.frames import Frame
    from assay.web.timeline.opening import Chosen, OpenedRecordings

FURTHEST_US = 10**15
"""Times of a timeline lie within this, about thirty years."""
MOST_SHIFT_US = 60_000_000
_FURTHEST_TILE = 10**12
_LEVELS = 32
_LANES = 265
# The names of `assay.events`, which takes long to import; the first is the default. A test compares them.
_ENCODINGS = ("hierarchical", "hierarchical-time-first", "factorized", "json")
_CLOCKS = ("auto", "frames", "shared", "start")
_BASELINES = ("", "idle", "repeat_last", "majority", "random")


def chosen_of(request: Request) -> Chosen:
    """The recordings that an address names."""
    from assay.web.timeline.opening import Chosen

    return Chosen(
        predicted=query_text(request, "predicted"),
        truth=query_text(request, "truth"),
        run=query_text(request, "run"),
        encoding=query_choice(request, "encoding", _ENCODINGS),
        tolerance_ms=query_number(request, "tolerance", 50, low=1, high=60_000),
        clock=query_choice(request, "clock", _CLOCKS),
        baseline=query_choice(request, "baseline", _BASELINES),
    )


def shifted_of(site: Site, request: Request) -> ShiftedTimeline:
    """The episode that an address names, matched at its shift."""
    chosen = chosen_of(request)
    opened = site.timelines.open(chosen)
    return site.timelines.shifted(opened, query_text(request, "episode"), shift_of(request), chosen.baseline)


def frame_of(site: Site, request: Request) -> Frame:
    """The image that was on the screen at the time that an address names."""
    opened = site.timelines.open(chosen_of(request))
    found = site.timelines.frames(opened, query_text(request, "episode"))
    if found is None:
        raise NotFoundError("the recordings of this timeline have no frames")
    at = query_number(request, "at", 0, low=-FURTHEST_US, high=FURTHEST_US)
    return found.at(at, shift_of(request), query_number(request, "width", 640, high=10_000))


def shift_of(request: Request) -> int:
    """Microseconds by which the prediction is moved to earlier times."""
    return query_number(request, "shift", 0, low=-MOST_SHIFT_US, high=MOST_SHIFT_US)


def cursor_of(request: Request) -> int | None:
    """Where the cursor of a timeline stands, in microseconds after the origin; None if the address does not say."""
    if "at" not in request.query_params:
        return None
    return query_number(request, "at", 0, low=-FURTHEST_US, high=FURTHEST_US)


def window_of(request: Request, span_ns: int) -> tuple[int, int]:
    """Beginning and end in microseconds after the origin; the whole episode if the address says nothing."""
    begin = query_number(request, "from", 0, low=-FURTHEST_US, high=FURTHEST_US)
    end = query_number(request, "to", span_ns // 1000 + 1, low=-FURTHEST_US, high=FURTHEST_US)
    if end <= begin:
        raise NotFoundError("the window ends before it begins", hint="Give from and to in microseconds, from first")
    return begin, end


def shown_of(request: Request, matched: ShiftedTimeline) -> tuple[int, int] | None:
    """The window that a page shows first: one that its address names, or a moment of a report; None for everything.

    Reports count milliseconds from the first true action, and a timeline begins with the first action of either side.
    """
    if "to" in request.query_params:
        return window_of(request, 0)
    if "moment" not in request.query_params:
        return None
    from assay.events.actions.moments import WINDOW_NS

    first = matched.episode.paired.true_side.first_ns or 0
    begin = query_number(request, "moment", 0) * 1000 + (first - matched.episode.origin_ns) // 1000
    return begin, begin + WINDOW_NS // 1000


def described_episode(opened: OpenedRecordings, episode: EpisodeTimeline) -> dict[str, Any]:
    """What is known of an episode before anything is drawn."""
    from assay.events.timeline.episode import lane_kind, lane_name

    side = episode.paired.true_side
    return {
        "episode": episode.name,
        "span_us": episode.span_ns // 1000 + 1,
        "true_events": episode.events[0],
        "predicted_events": episode.events[1],
        "tolerance_ms": episode.scoring.tolerance_ms,
        "lag_ms": episode.lag_ms,
        "f1_by_shift": episode.f1_by_shift,
        "lanes": [{"lane": lane, "name": lane_name(lane), "kind": lane_kind(lane)} for lane in episode.lanes],
        "stray": side.stray + episode.paired.predicted_side.stray,
        "notes": list(opened.notes),
    }


def _timeline_recordings(site: Site, request: Request) -> dict[str, Any]:
    """Recordings in the served folders."""
    from assay.web.timeline.opening import EXAMPLE

    listed = site.timelines.recordings.listed()
    return {
        "recordings": [{"id": one.id, "name": one.name, "bytes": one.size, "files": one.files} for one in listed],
        "left_out": site.timelines.recordings.left_out,
        "example": EXAMPLE,
    }


def _timeline_episodes(site: Site, request: Request) -> dict[str, Any]:
    """The episodes of two recordings."""
    opened = site.timelines.open(chosen_of(request))
    return {
        "episodes": [
            {
                "name": pair.episode.name,
                "stratum": pair.episode.stratum,
                "true_events": len(pair.truth),
                "predicted_events": len(pair.predicted),
            }
            for pair in opened.pairs
        ]
    }


def _timeline_episode(site: Site, request: Request) -> dict[str, Any]:
    """One episode."""
    chosen = chosen_of(request)
    opened = site.timelines.open(chosen)
    return described_episode(opened, site.timelines.episode(opened, query_text(request, "episode"), chosen.baseline))


def _timeline_whole(site: Site, request: Request) -> dict[str, Any]:
    """Figures, errors over time and worst moments of an episode at a shift."""
    from assay.events.timeline.windows import whole

    return whole(shifted_of(site, request))


def _timeline_tile(site: Site, request: Request) -> dict[str, Any]:
    """One tile."""
    from assay.events.timeline.tiles import tile

    level = query_number(request, "level", _LEVELS - 1, high=_LEVELS - 1)
    at = query_number(request, "at", 0, low=-_FURTHEST_TILE, high=_FURTHEST_TILE)
    # Beyond this the edges of a tile would not fit into 64 bits.
    if abs(at) >> max(0, 38 - level):
        raise NotFoundError("the tile lies too far away", hint="Ask for tiles within the episode")
    return tile(shifted_of(site, request), level, at)


def _timeline_window(site: Site, request: Request) -> dict[str, Any]:
    """Figures of a window."""
    from assay.events.timeline.windows import window

    matched = shifted_of(site, request)
    return window(matched, *window_of(request, matched.episode.span_ns))


def _timeline_error(site: Site, request: Request) -> dict[str, Any]:
    """The next error, or the one before."""
    from assay.events.timeline.windows import next_error

    matched = shifted_of(site, request)
    given = query_number(request, "lane", _LANES, high=_LANES)
    after = query_number(request, "after", -1, low=-FURTHEST_US, high=FURTHEST_US)
    backwards = bool(query_number(request, "backwards", 0, high=1))
    found = next_error(matched, after, backwards=backwards, lane=None if given == _LANES else given)
    return {"error": found}


_NAMED: Mapping[str, Mapping[str, Any]] = {
    "predicted": TEXT,
    "truth": TEXT,
    "run": TEXT,
    "encoding": {"enum": list(_ENCODINGS)},
    "tolerance": {"type": "integer", "minimum": 1, "maximum": 60_000},
    "clock": {"enum": list(_CLOCKS)},
}
_EPISODE = {**_NAMED, "episode": TEXT, "baseline": {"enum": list(_BASELINES)}}
_SHIFTED = {**_EPISODE, "shift": {"type": "integer", "minimum": -MOST_SHIFT_US, "maximum": MOST_SHIFT_US}}
_TIME: Mapping[str, Any] = {"type": "integer", "minimum": -FURTHEST_US, "maximum": FURTHEST_US}
_ROWS: Mapping[str, Any] = {"type": ["array", "null"], "items": {"type": "array"}}

TIMELINE_OPERATIONS = (
    Operation(
        "/api/timeline/recordings",
        "Recordings in the served folders, whose timelines can be looked at",
        _timeline_recordings,
        {},
        object_with(recordings=list_of(ANYTHING), left_out={"type": "boolean"}, example=TEXT),
    ),
    Operation(
        "/api/timeline/episodes",
        "The episodes of two recordings, or of the recordings of a run",
        _timeline_episodes,
        _NAMED,
        object_with(episodes=list_of(ANYTHING)),
    ),
    Operation(
        "/api/timeline/episode",
        "Lanes and length of an episode, and F1 with its prediction shifted in time",
        _timeline_episode,
        _EPISODE,
        object_with(span_us=COUNT, lanes=list_of(ANYTHING), f1_by_shift=list_of({"type": "array"})),
    ),
    Operation(
        "/api/timeline/whole",
        "Figures, errors over time and worst moments of an episode at a shift",
        _timeline_whole,
        _SHIFTED,
        object_with(figures=ANYTHING, errors=list_of(COUNT), actions=list_of(COUNT), worst=list_of(ANYTHING)),
    ),
    Operation(
        "/api/timeline/tile",
        "A stretch of time: its actions and holds if they are few, otherwise counts by lane and bin",
        _timeline_tile,
        _SHIFTED
        | {
            "level": {"type": "integer", "minimum": 0, "maximum": _LEVELS - 1},
            "at": {"type": "integer", "minimum": -_FURTHEST_TILE, "maximum": _FURTHEST_TILE},
        },
        object_with(level=COUNT, at={"type": "integer"}, counts=_ROWS, actions=_ROWS, holds=_ROWS),
    ),
    Operation(
        "/api/timeline/window",
        "Figures of a window, in all and by key, with the pointer's path and the first errors",
        _timeline_window,
        {**_SHIFTED, "from": _TIME, "to": _TIME},
        object_with(figures=ANYTHING, kinds=ANYTHING, lanes=list_of(ANYTHING), errors=list_of(ANYTHING)),
    ),
    Operation(
        "/api/timeline/error",
        "The next error after a time, or the one before it, of one lane or of all",
        _timeline_error,
        {
            **_SHIFTED,
            "after": _TIME,
            "lane": {"type": "integer", "minimum": 0, "maximum": _LANES},
            "backwards": {"type": "integer", "minimum": 0, "maximum": 1},
        },
        object_with(error={"type": ["object", "null"]}),
    ),
)
"""Everything of a timeline that can be asked for."""
