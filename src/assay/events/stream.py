"""Events as columns: the in-memory form that every source produces and every protocol takes.

A stream is a struct of arrays, one entry per event, in order. An event that could not be decoded keeps its position,
with the reason. This module does not depend on files, tokens or scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import SourceError, UsageError

Column = NDArray[Any]

NO_TOKEN = -1
"""In place of a token that an event does not have, where tokens are compared as written."""

IGNORED_BYTES = "bytes between events, ignored"
"""The note for bytes of a text that are not part of any event."""


class Kind(IntEnum):
    """The kind of an event, by topic."""

    UNKNOWN = -1
    KEYBOARD = 0
    MOUSE = 1
    SCREEN = 2

    @property
    def topic(self) -> str:
        """The topic's name in a recording."""
        return {Kind.KEYBOARD: "keyboard", Kind.MOUSE: "mouse/raw", Kind.SCREEN: "screen"}.get(self, "unknown")


MAX_FLAGS = 0xFFF
"""Every button flag and wheel flag together."""

CATEGORIES = ("keyboard", "mouse_op", "mouse_nop", "screen")
"""The categories of reports: a mouse event with button flags is an operation, one without is a movement."""


class Problem(IntEnum):
    """Why an event is invalid; NONE if it is valid."""

    NONE = 0
    UNFRAMED = 1
    CUT_SHORT = 2
    UNKNOWN_TYPE = 3
    WRONG_TOKEN = 4
    WRONG_LENGTH = 5
    OUT_OF_RANGE = 6
    BEYOND_BASE = 7
    BAD_ROW = 8
    BAD_TIME = 9
    MISSING = 10

    @property
    def sentence(self) -> str:
        """The reason, as a phrase for users."""
        return _SENTENCES[self]


_SENTENCES = {
    Problem.NONE: "valid",
    Problem.UNFRAMED: "not exactly one event between <EVENT_START> and <EVENT_END>",
    Problem.CUT_SHORT: "cut short: no <EVENT_END> before the next event or the end",
    Problem.UNKNOWN_TYPE: "no known event type at the position of the type",
    Problem.WRONG_TOKEN: "a token that is not allowed at its position",
    Problem.WRONG_LENGTH: "too few or too many data tokens",
    Problem.OUT_OF_RANGE: "a value out of its range (key above 255, button flags above 0xFFF, number beyond 32 bits)",
    Problem.BEYOND_BASE: "a digit beyond its base (strict decoding)",
    Problem.BAD_ROW: "a row or message that is not an event",
    Problem.BAD_TIME: "a time that is missing, negative, or not a whole number",
    Problem.MISSING: "no event at this position",
}


@dataclass(frozen=True, slots=True)
class Episode:
    """One recording: a continuous sequence of events, and the unit of intervals."""

    name: str = ""
    """Its name in the data set; empty if the source gives none."""
    stratum: str = ""
    """The group it belongs to (a game, an application); empty if there is none."""
    first_frame_ns: int | None = None
    """Time of the first screen event, in a recording that has frames."""
    first_pts_ns: int | None = None
    """That frame's presentation time in its video, used to align two recordings."""
    end_ns: int | None = None
    """Time of the last message of any topic, from the recording's own statistics."""


_DTYPES: Mapping[str, np.dtype[Any]] = {
    "kind": np.dtype(np.int8),
    "time_ns": np.dtype(np.int64),
    "vk": np.dtype(np.int16),
    "press": np.dtype(np.bool_),
    "dx": np.dtype(np.int32),
    "dy": np.dtype(np.int32),
    "flags": np.dtype(np.int32),
    "data": np.dtype(np.int32),
    "problem": np.dtype(np.uint8),
    "episode": np.dtype(np.int32),
}


def blank_columns(n: int) -> dict[str, Column]:
    """Uninitialised columns for n events, all in one block of memory.

    One large block is much cheaper for the operating system than several, because it is allocated in large pages.
    """
    sizes = {name: -(-n * dtype.itemsize // 64) * 64 for name, dtype in _DTYPES.items()}
    block = np.empty(sum(sizes.values()), np.uint8)
    columns = {}
    begin = 0
    for name, dtype in _DTYPES.items():
        columns[name] = block[begin : begin + n * dtype.itemsize].view(dtype)
        begin += sizes[name]
    return columns


@dataclass(frozen=True, slots=True, eq=False)
class EventStream:
    """Events in order. All columns have shape (n,)."""

    kind: Column
    """`Kind` of each event; also set for an invalid event whose type could be read."""
    time_ns: Column
    """Time in nanoseconds; in a token encoding, within its wrap."""
    vk: Column
    """Virtual-key code 0–255 of a keyboard event, otherwise 0."""
    press: Column
    """For keyboard events, whether it is a press."""
    dx: Column
    """Horizontal movement of a mouse event."""
    dy: Column
    """Vertical movement of a mouse event."""
    flags: Column
    """Button flags of a mouse event, as Windows' raw input has them."""
    data: Column
    """Scroll of a mouse event, signed; 120 per notch."""
    problem: Column
    """`Problem` of each event; 0 if it is valid."""
    episode: Column
    """Index into `episodes`."""
    episodes: tuple[Episode, ...] = (Episode(),)
    """The recordings that the events belong to."""
    notes: Counter[str] = field(default_factory=Counter)
    """Remarks on the input that matter for the scores, and how often each applies."""
    quantised: object = None
    """The codec that the events were encoded with, or None if they are as recorded."""
    logprob: Column | None = None
    """Natural logarithm of the probability that the model gave to the event, NaN where unknown; None if all are."""
    spelling: Column | None = None
    """Index into `spellings` of events whose tokens are not those that encoding gives, otherwise −1; None if all −1."""
    spellings: Column | None = None
    """Tokens of such events as written, shape (k, tokens); only the codec knows their meaning."""

    @classmethod
    def allocate(cls, n: int, **rest: Any) -> EventStream:
        """A stream of n blank, valid events of unknown kind."""
        columns: dict[str, Any] = {name: np.zeros(n, dtype) for name, dtype in _DTYPES.items()}
        columns["kind"].fill(Kind.UNKNOWN)
        return cls(**columns, **rest)

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any] | None], **rest: Any) -> EventStream:
        """A stream from dictionaries in the form of `to_events`; None is an invalid event."""
        rows = list(events)
        stream = cls.allocate(len(rows), **rest)
        for at, row in enumerate(rows):
            stream.put(at, row)
        return stream

    def put(self, at: int, row: Mapping[str, Any] | None) -> None:
        """Write one event given as a dictionary; anything else becomes an invalid event."""
        if row is None:
            self.problem[at] = Problem.BAD_ROW
            return
        kind = _KINDS.get(str(row.get("kind")), Kind.UNKNOWN)
        self.kind[at] = kind
        self.problem[at] = _fault(row, kind)
        if self.problem[at]:
            return
        self.time_ns[at] = row["ts"]
        if kind == Kind.KEYBOARD:
            self.vk[at], self.press[at] = row["vk"], row["press"]
        elif kind == Kind.MOUSE:
            for name in ("dx", "dy", "flags", "data"):
                getattr(self, name)[at] = row.get(name, 0)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Whether each event could be decoded."""
        return np.asarray(self.problem == 0)

    @property
    def category(self) -> NDArray[np.int8]:
        """Index into CATEGORIES for each event; meaningless for invalid events."""
        operation = self.flags != 0
        mouse = np.where(operation, 1, 2)
        return np.where(self.kind == Kind.MOUSE, mouse, np.where(self.kind == Kind.SCREEN, 3, 0)).astype(np.int8)

    def __getitem__(self, part: slice | NDArray[Any]) -> EventStream:
        """The chosen events, with the same episodes; slices share memory."""
        return EventStream(
            **{name: getattr(self, name)[part] for name in _DTYPES},
            episodes=self.episodes,
            quantised=self.quantised,
            logprob=None if self.logprob is None else self.logprob[part],
            spelling=None if self.spelling is None else self.spelling[part],
            spellings=self.spellings,
        )

    def segments(self) -> Iterator[tuple[Episode, slice]]:
        """Runs of neighbouring events of one episode, in order."""
        starts = self.run_starts()
        stops = [*starts[1:].tolist(), len(self)][: len(starts)]
        for number, start, stop in zip(self.episode[starts].tolist(), starts.tolist(), stops, strict=True):
            yield self.episodes[number], slice(start, stop)

    def run_starts(self) -> NDArray[np.int64]:
        """Where runs of neighbouring events of one episode begin, shape (runs,)."""
        if not len(self):
            return np.empty(0, np.int64)
        # Several times faster than `np.diff`, and every batch needs it again.
        changes = np.empty(len(self), np.bool_)
        changes[0] = True
        np.not_equal(self.episode[1:], self.episode[:-1], out=changes[1:])
        return changes.nonzero()[0]

    def of_episode(self, episode: Episode) -> EventStream:
        """The same events, all assigned to `episode`."""
        return replace(self, episode=np.zeros(len(self), np.int32), episodes=(episode,))

    def padded(self, n: int) -> EventStream:
        """The same events, followed by missing ones up to n."""
        if n <= len(self):
            return self
        blank = EventStream.allocate(n - len(self), episodes=self.episodes, quantised=self.quantised)
        blank.problem.fill(Problem.MISSING)
        return concatenate([self, blank]) if len(self) else blank

    def problems(self) -> dict[Problem, int]:
        """How many events are invalid, by reason."""
        counts = np.bincount(self.problem, minlength=len(Problem))
        return {problem: int(counts[problem]) for problem in Problem if problem and counts[problem]}

    def to_events(self) -> list[dict[str, Any] | None]:
        """The events as dictionaries, None for invalid ones: the form of the golden files."""
        return [self._event(at) if self.problem[at] == 0 else None for at in range(len(self))]

    def _event(self, at: int) -> dict[str, Any]:
        kind = Kind(int(self.kind[at]))
        event: dict[str, Any] = {"kind": kind.name.lower(), "ts": int(self.time_ns[at])}
        if kind == Kind.KEYBOARD:
            event |= {"vk": int(self.vk[at]), "press": bool(self.press[at])}
        elif kind == Kind.MOUSE:
            event |= {name: int(getattr(self, name)[at]) for name in ("dx", "dy", "flags", "data")}
        return event


_KINDS = {"keyboard": Kind.KEYBOARD, "mouse": Kind.MOUSE, "screen": Kind.SCREEN}
_INT32 = range(-(2**31), 2**31)


def _fault(row: Mapping[str, Any], kind: Kind) -> Problem:
    """Why `row` is not a valid event, or NONE if it is."""
    if kind == Kind.UNKNOWN:
        return Problem.UNKNOWN_TYPE
    if not _is_integer(row.get("ts")) or not 0 <= row["ts"] < 2**63:
        return Problem.BAD_TIME
    if kind == Kind.KEYBOARD:
        if not _is_integer(row.get("vk")) or not isinstance(row.get("press"), bool):
            return Problem.BAD_ROW
        return Problem.NONE if 0 <= row["vk"] <= 255 else Problem.OUT_OF_RANGE
    if kind == Kind.MOUSE:
        numbers = [row.get(name, 0) for name in ("dx", "dy", "flags", "data")]
        if not all(map(_is_integer, numbers)):
            return Problem.BAD_ROW
        fits = all(number in _INT32 for number in numbers) and 0 <= row.get("flags", 0) <= MAX_FLAGS
        return Problem.NONE if fits else Problem.OUT_OF_RANGE
    return Problem.NONE


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def concatenate(streams: Sequence[EventStream]) -> EventStream:
    """One stream after another; episodes with the same name and stratum become one, and notes are added up."""
    if len(streams) == 1:
        return streams[0]
    if not streams:
        return EventStream.allocate(0)
    quantised = streams[0].quantised
    if any(stream.quantised != quantised for stream in streams):
        raise SourceError("parts of one stream use different encodings", hint="Evaluate them one at a time")
    known: dict[tuple[str, str], int] = {}
    episodes: list[Episode] = []
    renumbered = []
    for stream in streams:
        numbers = np.empty(len(stream.episodes), np.int32)
        for at, episode in enumerate(stream.episodes):
            key = (episode.name, episode.stratum)
            if key not in known:
                known[key] = len(episodes)
                episodes.append(episode)
            numbers[at] = known[key]
        renumbered.append(numbers[stream.episode])
    columns = blank_columns(sum(map(len, streams)))
    for name, column in columns.items():
        parts = renumbered if name == "episode" else [getattr(stream, name) for stream in streams]
        np.concatenate(parts, out=column)
    notes: Counter[str] = sum((stream.notes for stream in streams), Counter())
    extra = {**_joined_logprobs(streams), **_joined_spellings(streams)}
    return EventStream(**columns, **extra, episodes=tuple(episodes), notes=notes, quantised=quantised)


def _joined_logprobs(streams: Sequence[EventStream]) -> dict[str, Column]:
    if all(stream.logprob is None for stream in streams):
        return {}
    parts = [np.full(len(one), np.nan) if one.logprob is None else one.logprob for one in streams]
    return {"logprob": np.concatenate(parts)}


def _joined_spellings(streams: Sequence[EventStream]) -> dict[str, Column]:
    if all(stream.spelling is None for stream in streams):
        return {}
    parts, kept, n = [], [], 0
    for one in streams:
        if one.spelling is None or one.spellings is None:
            parts.append(np.full(len(one), -1, np.int32))
            continue
        parts.append(np.where(one.spelling < 0, -1, one.spelling + np.int32(n)))
        kept.append(one.spellings)
        n += len(one.spellings)
    return {"spelling": np.concatenate(parts), "spellings": np.concatenate(kept)}


def check_columns(stream: EventStream) -> None:
    """Raise an error if a stream contradicts itself; used for streams that were built by hand."""
    lengths = {f.name: len(getattr(stream, f.name)) for f in fields(stream) if f.name in _DTYPES}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"the columns of a stream differ in length: {lengths}", hint="Give one entry per event")
    nameless = np.flatnonzero(stream.valid & (stream.kind == Kind.UNKNOWN))
    if len(nameless):
        raise UsageError(
            "a valid event has no kind", where=f"event {nameless[0]}", hint="Set its kind, or mark it with a problem"
        )
