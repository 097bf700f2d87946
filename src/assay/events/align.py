"""Alignment of predictions and truths: by position, by whole episode, and in bins of time.

Batches of both sides may have any size; the result is aligned. This module uses streams and does not depend on scores.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from assay.errors import SourceError, UsageError
from assay.events.stream import Episode, EventStream, Problem, concatenate

_QUANTISED = "events as recorded, converted to the encoding of the other side so that both are comparable"


def alike(
    predicted: Iterator[EventStream], truth: Iterator[EventStream]
) -> tuple[Iterator[EventStream], Iterator[EventStream]]:
    """Both sides in one encoding: if only one side consists of tokens, the other is converted to its encoding."""
    firsts = [next(side, None) for side in (predicted, truth)]
    shared = shared_encoding(*firsts)

    def side(first: EventStream | None, rest: Iterator[EventStream]) -> Iterator[EventStream]:
        for batch in () if first is None else (first,):
            yield quantised_alike(batch, shared)
        for batch in rest:
            yield quantised_alike(batch, shared)

    return side(firsts[0], predicted), side(firsts[1], truth)


def quantised_alike(batch: EventStream, shared: Any) -> EventStream:
    """The batch in the encoding `shared`, if there is one."""
    if shared is None or batch.quantised == shared:
        return batch
    if batch.quantised is not None:
        raise SourceError("parts of one source are in different encodings", hint="Evaluate them one at a time")
    whole: EventStream = shared.quantise(batch)
    whole.notes[_QUANTISED] += len(batch)
    return whole


def shared_encoding(predicted: EventStream | None, truth: EventStream | None) -> Any:
    """The encoding of both sides, judged by the first batch of each; None if neither consists of tokens."""
    codecs = [None if first is None else first.quantised for first in (predicted, truth)]
    if None not in codecs and codecs[0] != codecs[1]:
        raise UsageError(
            "predictions and truths are in different encodings", hint="Decode each side with its own encoding first"
        )
    return codecs[0] or codecs[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A prediction and its truth.

    If paired by position, both have the same length and event i belongs to event i; events that one side lacks are
    invalid events with the problem MISSING. If paired by episode, each side has its own length.
    """

    episode: Episode
    predicted: EventStream
    truth: EventStream
    start: int = 0
    """Position of the first event in its episode."""
    last: bool = False
    """Whether it is known that nothing of the episode follows."""
    shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What one protocol has computed of this pair and others need too."""


# What ends an episode and has no events of its own; each episode has such a part.
_NO_EVENTS = EventStream.allocate(0)


@dataclass(slots=True)
class _Side:
    """Events of one side that have been read and not yet paired, by episode."""

    batches: Iterator[EventStream]
    waiting: dict[str, deque[EventStream]] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    paired: dict[str, int] = field(default_factory=dict)
    pending: int = 0
    done: bool = False
    current: str | None = None
    """The episode that was read last."""
    closed: set[str] = field(default_factory=set)
    """Episodes that were taken to be complete."""

    def pull(self) -> list[str]:
        """Read one batch; returns the names of its episodes."""
        batch = next(self.batches, None)
        if batch is None:
            self.done = True
            return []
        touched = []
        last = batch.episodes[batch.episode[-1]].name if len(batch) else self.current
        batch = _by_episode(batch)
        for episode, part in batch.segments():
            if episode.name in self.closed:
                raise SourceError(
                    f"episode '{episode.name}' continues after others, too far apart to be held in memory",
                    hint="Sort the rows by episode",
                )
            self.episodes.setdefault(episode.name, episode)
            self.waiting.setdefault(episode.name, deque()).append(batch[part])
            touched.append(episode.name)
        self.current = last
        self.pending += len(batch)
        return touched

    def passed(self, name: str) -> bool:
        """Whether others came after this episode."""
        return name in self.episodes and (self.done or name != self.current)

    def available(self, name: str) -> int:
        return sum(map(len, self.waiting.get(name, ())))

    def take(self, name: str, n: int) -> EventStream:
        """The next n waiting events of an episode."""
        queue, parts, missing = self.waiting.get(name, deque()), [], n
        while missing:
            head = queue.popleft()
            if len(head) > missing:
                queue.appendleft(head[missing:])
                head = head[:missing]
            parts.append(head)
            missing -= len(head)
        self.pending -= n
        self.paired[name] = self.paired.get(name, 0) + n
        return concatenate(parts) if parts else _NO_EVENTS


def _by_episode(batch: EventStream) -> EventStream:
    """The batch with the events of each episode side by side, if episodes alternate: by time, for example.

    Each change of episode costs time, and rows of many recordings in the order of time have nearly one for each event.
    """
    if len(batch.run_starts()) <= len(batch.episodes):
        return batch
    seen, begins = np.unique(batch.episode, return_index=True)
    places: dict[str, int] = {}  # in the order in which they begin; of one name in several strata as one
    numbers = np.zeros(len(batch.episodes), np.int64)
    for at in seen[np.argsort(begins)].tolist():
        numbers[at] = places.setdefault(batch.episodes[at].name, len(places))
    return batch[np.argsort(numbers[batch.episode], kind="stable")]


def by_position(
    predicted: Iterable[EventStream], truth: Iterable[EventStream], *, keep: int | None = None, whole: bool = True
) -> Iterator[Pair]:
    """Prediction i paired with truth i of the same episode, in slices as they arrive.

    Episodes are matched by name, in any order; if each side has a single episode, they are matched whatever their
    names, unless these are not the `whole` sides but a shard of them. Memory is bounded if both sides have the same
    order.

    `keep` is for callers who collect whole episodes: if more than `keep` events belong to episodes that may continue,
    episodes that are followed by others on both sides are assumed to be complete. If one continues after all, that is
    an error.
    """
    ours, theirs = _Side(iter(predicted)), _Side(iter(truth))
    open_names: dict[str, int] = {}  # events by episode that may continue
    while not (ours.done and theirs.done):
        # The side that lags behind reads next, so that few events wait.
        behind = ours if theirs.done or (not ours.done and ours.pending <= theirs.pending) else theirs
        for name in behind.pull():
            n = min(ours.available(name), theirs.available(name))
            if n:
                open_names[name] = open_names.get(name, 0) + n
                yield _pair(ours, theirs, name, name, n, n)
        if keep is not None and sum(open_names.values()) + max(ours.pending, theirs.pending) > keep:
            for name in [name for name in open_names if ours.passed(name) and theirs.passed(name)]:
                del open_names[name]
                pair = _pair(ours, theirs, name, name, ours.available(name), theirs.available(name))
                for side in (ours, theirs):
                    side.closed.add(name)
                    side.waiting.pop(name, None)
                yield replace(pair, last=True)
    yield from _leftovers(ours, theirs, whole)


def _leftovers(ours: _Side, theirs: _Side, whole: bool) -> Iterator[Pair]:
    """Events that the other side lacks, paired with missing events."""
    names, others = list(ours.episodes), list(theirs.episodes)
    if whole and len(names) == len(others) == 1 and names != others:
        pairs = [(names[0], others[0])]
    else:
        if whole:
            check_shared(names, others)
        pairs = [(name, name) for name in dict.fromkeys([*others, *names])]
    for name, other in pairs:
        n, m = ours.available(name), theirs.available(other)
        if n or m:
            yield _pair(ours, theirs, name, other, n, m)


def check_shared(names: list[str], others: list[str]) -> None:
    """Raise SourceError if both sides have episodes and share none."""
    if names and others and not set(names) & set(others):
        raise SourceError(
            f"predictions and truths share no episode: {_some(names)} against {_some(others)}",
            hint="Use the same episode names on both sides, or leave out the episode column on both",
        )


def _pair(ours: _Side, theirs: _Side, name: str, other: str, n: int, m: int) -> Pair:
    start = theirs.paired.get(other, 0)
    episode = theirs.episodes.get(other) or ours.episodes[name]
    predicted, truth = ours.take(name, n), theirs.take(other, m)
    size = max(n, m)
    # A side without remaining events has no encoding of its own.
    if predicted.quantised != truth.quantised:
        predicted, truth = (
            replace(side, quantised=side.quantised or beside.quantised)
            for side, beside in ((predicted, truth), (truth, predicted))
        )
    return Pair(episode, predicted.padded(size), truth.padded(size), start)


def _some(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


class EpisodeCollector:
    """Collects the slices of each episode, for protocols that need whole episodes."""

    def __init__(self) -> None:
        self._parts: dict[Episode, list[Pair]] = {}

    def add(self, pair: Pair) -> None:
        self._parts.setdefault(pair.episode, []).append(pair)

    def take(self, episode: Episode) -> Pair:
        """One episode as a pair, without the padding of missing events; it is forgotten here."""
        parts = self._parts.pop(episode)
        predicted, truth = _whole([part.predicted for part in parts]), _whole([part.truth for part in parts])
        return Pair(episode, predicted, truth)

    def pairs(self) -> Iterator[Pair]:
        """All that is left, one pair per episode."""
        for episode in list(self._parts):
            yield self.take(episode)


def _whole(parts: list[EventStream]) -> EventStream:
    # A part without events, such as one that only ends an episode, has no encoding either.
    joined = concatenate([part for part in parts if len(part)] or parts[:1])
    missing = joined.problem == _MISSING
    return joined[~missing] if missing.any() else joined


# NumPy takes many times longer to compare with a member of an enumeration.
_MISSING = np.uint8(Problem.MISSING)


@dataclass(frozen=True, slots=True)
class Bins:
    """A range of time cut into bins of equal width; the last one may be shorter."""

    start_ns: int
    end_ns: int
    width_ns: int

    @property
    def count(self) -> int:
        """How many bins there are; 0 if the range is empty."""
        return max(0, -(-(self.end_ns - self.start_ns) // self.width_ns))


Clock = Literal["auto", "frames", "shared", "start"]
CLOCKS = ("auto", "frames", "shared", "start")
"""'frames': by the position of the first frame in its video. 'shared': times are used as they are. 'start': each side
begins at 0. 'auto': frames if both sides have them, otherwise shared."""


def frame_clocks(predicted: EventStream, truth: EventStream, clock: Clock) -> list[tuple[int, int]] | None:
    """Time and presentation time of both sides' first frames, or None if the clock does not use frames."""
    sides = (predicted, truth)
    episodes = [side.episodes[int(side.episode[0])] for side in sides if len(side)]
    known = [
        (episode.first_frame_ns, episode.first_pts_ns)
        for episode in episodes
        if episode.first_frame_ns is not None and episode.first_pts_ns is not None
    ]
    if clock == "frames" and len(episodes) == 2 and len(known) < 2:
        raise UsageError(
            "the clock 'frames' needs recordings with screen events on both sides",
            where=f"episode '{episodes[1].name}'",
            hint="Use --clock shared or --clock start",
        )
    return known if clock in ("auto", "frames") and len(known) == 2 else None


def fell_back(predicted: EventStream, truth: EventStream, clock: Clock) -> bool:
    """Whether the clock 'auto' had to use times as they are, because only one side has frames with video times."""
    ends = [side.episodes[int(side.episode[0])] for side in (predicted, truth) if len(side)]
    known = [end.first_frame_ns is not None and end.first_pts_ns is not None for end in ends]
    return clock == "auto" and len(known) == 2 and known[0] != known[1]


def fell_back_sentence(n: int, episodes: int) -> str:
    """That `n` of the episodes are not compared by their frames."""
    where = "" if episodes == 1 else f" in {n:,} of {episodes:,} episodes"
    return (
        f"Only one side has frames with video times{where}: times are compared there as they are (clock 'shared'), not "
        "by the first frames. Use --clock start if both sides begin at the same moment."
    )


def clock_shifts(predicted: EventStream, truth: EventStream, clock: Clock) -> tuple[int, int]:
    """What to subtract from the times of each side to align their clocks."""
    frames = frame_clocks(predicted, truth, clock)
    if frames is not None:
        return frames[0][0] - frames[0][1], frames[1][0] - frames[1][1]
    if clock == "start":
        ours, theirs = (_first_time(side) for side in (predicted, truth))
        return ours, theirs
    return 0, 0


def _first_time(stream: EventStream) -> int:
    times = stream.time_ns[stream.valid]
    if not len(times):
        return 0
    # On a clock that wraps, the least time may belong to a later period; the first event does not.
    return int(times[0] if getattr(stream.quantised, "wrap_ns", None) else times.min())
