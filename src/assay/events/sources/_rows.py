"""What all tables of events have in common: the names of their columns, the meaning of a row, and episodes of rows.

Shared by JSONL and by Parquet and Arrow, so that the same table has the same meaning in each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import ColumnError, unknown_name
from assay.events.stream import Episode, EventStream, Kind, Problem, concatenate

if TYPE_CHECKING:
    from assay.events.sources import ReadOptions

Shape = Literal["event", "episode"]
"""What one row of token text contains."""
Form = Literal["text", "ids", "event", "columns"]
"""How a row represents its event: as token text, as token ids, as one object, or as a column for each field."""

EVENT_START = "<EVENT_START>"
PREFIX_ROWS = 1000
"""How many rows are used to decide what a row of the file contains."""
BATCH_BYTES = 64 << 20
"""Maximum amount of text in memory at a time, however many rows that is."""

EPISODE_ROWS = "rows read as one episode each"
TOO_LONG = "rows longer than the limit, refused"
NO_VALUE = "rows without text or event"

FIELDS = ("kind", "ts", "vk", "press", "dx", "dy", "flags", "data")
"""The fields of an event, as the golden files and `EventStream.to_events` name them."""
MOVEMENT = ("dx", "dy")
"""Fields of a mouse event that must not be null if a row has them."""
_KNOWN_AS = {
    "text": ("text",),
    "ids": ("ids", "token_ids", "input_ids"),
    "event": ("event",),
    "episode": ("episode", "episode_path"),
    "stratum": ("stratum", "game"),
    "logprob": ("logprob",),
    **{name: (name,) for name in FIELDS},
    "ts": ("ts", "time_ns"),
}

# Columns that a table must have for each form.
_NEEDED: dict[Form, tuple[str, ...]] = {
    "text": ("text",),
    "ids": ("ids",),
    "event": ("event",),
    "columns": ("kind", "ts"),
}

# How many events have to be the same for rows to be taken for the beginning of their episode.
_BEGINNING = 3
# After this many runs of rows, rows of different episodes are mixed, and the search ends.
_MOST_RUNS = 10_000
# An episode of more events is not held in memory to see whether its second half is its first half again.
_LONGEST = 1_000_000
# Lengths of a loop that are tried.
_MOST_PERIODS = 50
_COMPARED = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")

# Columns that every row has, if any has them.
_ALWAYS = ("text", "ids", "event", "kind", "ts", "episode", "stratum", "logprob")


def check_mapping(columns: Iterable[str]) -> None:
    """Raise an error if a mapping names a column that assay does not have."""
    for ours in columns:
        if ours not in _KNOWN_AS:
            raise unknown_name("column", ours, _KNOWN_AS)


def column_names(ours: str, reading: ReadOptions) -> tuple[str, ...]:
    """The names that our column may have in the table, the likeliest first."""
    mapped = reading.columns.get(ours)
    return (mapped,) if mapped is not None else _KNOWN_AS[ours]


def column_of(ours: str, present: Iterable[str], reading: ReadOptions) -> str | None:
    """The name that our column has in this table, or None if it is missing."""
    names = set(present)
    return next((name for name in column_names(ours, reading) if name in names), None)


def form_of(present: Iterable[str], reading: ReadOptions) -> Form | None:
    """How a table with these columns represents its events, or None if it does not. Text has priority over values.

    Token ids have the highest priority if there is a tokenizer, otherwise the lowest. If the user mapped a column of
    one form, only that form is considered.
    """
    names = set(present)
    mapped = {form for form, needed in _NEEDED.items() if not reading.columns.keys().isdisjoint(needed)}
    for form, needed in sorted(_NEEDED.items(), key=lambda item: (item[0] == "ids") == (reading.tokenizer is None)):
        if (not mapped or form in mapped) and all(column_of(ours, names, reading) for ours in needed):
            return form
    return None


def check_present(where: str, present: Sequence[str], reading: ReadOptions) -> None:
    """Raise an error if a column that the user named is missing; fields that only some events have may be missing."""
    named = [reading.columns[ours] for ours in _ALWAYS if ours in reading.columns]
    if not set(named) <= set(present):
        raise missing_columns(where, present, reading)


def missing_columns(where: str, present: Sequence[str], reading: ReadOptions) -> ColumnError:
    """The error for a table without events in any form."""
    have = ", ".join(f"'{name}'" for name in present[:20]) + (", …" if len(present) > 20 else "")
    asked = [f"'{name}' (for {ours})" for ours, name in reading.columns.items() if name not in present]
    lacking = ", ".join(asked) or "'text', 'event', or 'kind' and 'ts'"
    return ColumnError(
        f"there is no column {lacking}; it has {have or 'none'}",
        where=where,
        hint="Name the column with the events: --column text=NAME (in Python: columns={'text': 'NAME'})",
    )


@dataclass
class Decision:
    """What 'auto' decided that a row contains, once for a source, and the episodes that were named twice."""

    shape: Shape | None = None
    """None if nothing had to be decided."""
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Episodes of the rows so far, by name and stratum, if a row is one episode."""
    doubled: dict[str, None] = field(default_factory=dict)
    """Names of episodes that occur in more than one row, or whose rows occur twice."""
    starts: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """The first events of each episode, if a row is one event."""
    last: tuple[str, str, str] | None = None
    """File, name and stratum of the last row, if a row is one event."""
    runs: int = 0
    """How many runs of rows were compared with the beginning of their episode."""
    open_run: list[EventStream] = field(default_factory=list)
    """The events of the last run of rows, which may go on; none if there are too many."""

    def see(self, episodes: Iterable[Episode]) -> None:
        """Record rows that contain these episodes."""
        for episode in episodes:
            key = (episode.name, episode.stratum)
            if key in self.seen:
                self.doubled[episode.name] = None
            self.seen.add(key)

    def see_events(self, stream: EventStream, file: str) -> None:
        """Record rows of one event each, from `file`.

        An episode comes twice if its rows begin again, after rows of another episode or in another file, with the same
        three events that it began with; or if its rows are the same ones two or three times over.
        """
        if not len(stream) or self.runs > _MOST_RUNS:
            return
        begins = stream.run_starts()
        lengths = np.diff(begins, append=len(stream))
        self._see_runs(stream, begins, lengths, file)
        begins = begins[lengths >= _BEGINNING]
        for at, number, first in zip(
            begins.tolist(), stream.episode[begins].tolist(), _beginnings(stream, begins), strict=True
        ):
            episode = stream.episodes[number]
            key = (episode.name, episode.stratum)
            if not episode.name or (at == 0 and self.last == (file, *key)):
                continue  # without a name, or going on from the last batch
            if self.starts.setdefault(key, first) == first and key in self.seen:
                self.doubled[episode.name] = None
            self.seen.add(key)
            self.runs += 1
        final = stream.episodes[int(stream.episode[-1])]
        self.last = (file, final.name, final.stratum)

    def _see_runs(self, stream: EventStream, begins: NDArray[np.int64], lengths: NDArray[np.int64], file: str) -> None:
        """Look for runs of rows that repeat themselves; the last one may go on in the next batch."""
        first = stream.episodes[int(stream.episode[0])]
        goes_on = self.last == (file, first.name, first.stratum)
        if not goes_on:
            self.settle()
        elif self.open_run:
            self.open_run.append(stream[: lengths[0]])
        if len(begins) > 1:
            self.settle()
            inside = slice(int(goes_on), -1)
            for at in _repeating(stream, begins[inside], lengths[inside]):
                self.doubled[stream.episodes[int(stream.episode[at])].name] = None
        if len(begins) > 1 or not goes_on:
            self.open_run = [stream[begins[-1] :]]
        if sum(map(len, self.open_run)) > _LONGEST:
            self.open_run = []

    def settle(self) -> None:
        """No more rows follow the last ones."""
        if self.open_run and _may_repeat(self.open_run):
            whole = concatenate(self.open_run)
            if len(_repeating(whole, np.zeros(1, np.int64), np.array([len(whole)]))):
                self.doubled[whole.episodes[int(whole.episode[0])].name] = None
        self.open_run = []


def _may_repeat(parts: Sequence[EventStream]) -> bool:
    """Whether the first time of a run comes again where the run would begin again; joining its parts takes longer."""
    n = sum(map(len, parts))
    return any(n % times == 0 and _time_at(parts, n // times) == _time_at(parts, 0) for times in (2, 3))


def _time_at(parts: Sequence[EventStream], at: int) -> int | None:
    """The time of event number `at` of these parts together."""
    for part in parts:
        if at < len(part):
            return int(part.time_ns[at])
        at -= len(part)
    return None


def _repeating(stream: EventStream, begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[int]:
    """Those of the runs, by where they begin, that have a name and are the same events two or three times over.

    At least three of these must be actions or movements: on a clock that wraps around, frames alone repeat. And what
    comes twice must not itself be something shorter again and again: a model may give nothing but one event.
    """
    found: list[int] = []
    named = np.array([bool(episode.name) for episode in stream.episodes])[stream.episode[begins]]
    for times in (2, 3):
        sizes = lengths // times
        may = np.flatnonzero(named & (lengths % times == 0) & (sizes >= _BEGINNING))
        may = may[stream.time_ns[begins[may]] == stream.time_ns[begins[may] + sizes[may]]]
        if not len(may):
            continue
        again = _beginnings(stream, begins[may] + sizes[may])
        for at, first, then in zip(may.tolist(), _beginnings(stream, begins[may]), again, strict=True):
            if first == then:
                begin, size = int(begins[at]), int(sizes[at])
                columns = [getattr(stream, name)[begin : begin + times * size] for name in _COMPARED]
                acts = (stream.problem[begin : begin + size] == 0) & (stream.kind[begin : begin + size] != Kind.SCREEN)
                if acts.sum() >= _BEGINNING and _has_period(columns, size) and not _is_a_loop(columns, size):
                    found.append(begin)
    return found


def _has_period(columns: Sequence[NDArray[np.generic]], size: int) -> bool:
    """Whether every row of these columns is the one `size` rows before."""
    return all(np.array_equal(column[:-size], column[size:]) for column in columns)


def _is_a_loop(columns: Sequence[NDArray[np.generic]], size: int) -> bool:
    """Whether the first `size` rows repeat something shorter."""
    once = [column[:size] for column in columns]
    like_the_first = np.logical_and.reduce([column == column[0] for column in once])
    return any(_has_period(once, period) for period in np.flatnonzero(like_the_first)[1:_MOST_PERIODS].tolist())


def _beginnings(stream: EventStream, begins: NDArray[np.int64]) -> list[bytes]:
    """The first events from each of these positions on, as bytes."""
    rows = begins[:, None] + np.arange(_BEGINNING)
    columns = [np.ascontiguousarray(getattr(stream, name)[rows]).view(np.uint8) for name in _COMPARED]
    return [row.tobytes() for row in np.concatenate(columns, axis=1)]


def is_header(text: bytes) -> bool:
    """Whether a text begins like a table of separated values: with the names of columns of events."""
    line = text.split(b"\n", 1)[0].decode("utf-8", "replace")
    if EVENT_START in line:
        return False
    names = {name.strip().strip('"') for mark in ",;\t" for name in line.split(mark)}
    return bool(names & {"text", "event"}) or {"kind", "ts"} <= names


def shape_of(starts: Sequence[int], reading: ReadOptions) -> Shape:
    """What a row contains, from the number of <EVENT_START>s in each of the file's first texts that are not empty.

    Decided once for a source, by the majority: in data with a row per event, a damaged row may contain two or more
    events and must stay one invalid event, or all later positions would shift. A tie is decided by the longest text: a
    damaged row seldom has more than two.
    """
    if reading.rows != "auto":
        return reading.rows
    decision = reading.decision or Decision()
    if decision.shape is None and starts:
        many = sum(count > 1 for count in starts)
        is_episode = max(starts) > 2 if 2 * many == len(starts) else 2 * many > len(starts)
        decision.shape = "episode" if is_episode else "event"
    return decision.shape or "event"


def limit_of(shape: Shape, reading: ReadOptions) -> int:
    """Maximum length in bytes of a row of this shape."""
    return reading.max_event_bytes if shape == "event" else reading.max_episode_bytes


def row_name(row: int, reading: ReadOptions) -> str:
    """The name of an episode without one: its row, counted from 1, and its file if there are several."""
    return f"{reading.name} row {row}" if reading.name else f"row {row}"


def spoil(stream: EventStream, where: NDArray[np.bool_] | list[int]) -> None:
    """Mark the events at `where` as rows that could not be read, whatever was decoded there."""
    for name in ("time_ns", "vk", "press", "dx", "dy", "flags", "data"):
        getattr(stream, name)[where] = 0
    stream.kind[where] = Kind.UNKNOWN
    stream.problem[where] = Problem.BAD_ROW


def with_episodes(stream: EventStream, names: Sequence[str], strata: Sequence[str]) -> EventStream:
    """The events with the episode that each belongs to, given by name and stratum, one of each per event."""
    numbers: dict[tuple[str, str], int] = {}
    index = np.fromiter(
        (numbers.setdefault(key, len(numbers)) for key in zip(names, strata, strict=True)), np.int32, len(stream)
    )
    episodes = tuple(Episode(name, stratum) for name, stratum in numbers) or (Episode(),)
    return replace(stream, episode=index, episodes=episodes)
