"""From the messages of a recording to its events: plain messages as columns, all others one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from assay.events.messages import ABSOLUTE_FLAGGED, ABSOLUTE_MOUSE, RAW_MOUSE, Event, MessageReader
from assay.events.sources._chunks import Messages
from assay.events.stream import Episode, EventStream, Problem

CODES = {"keyboard": 0, "screen": 1, RAW_MOUSE: 2, ABSOLUTE_MOUSE: 3}
"""The topics that are read, by their numbers in `_mcap_kernels`."""

_TOPICS = list(CODES)
_GENERAL, _LEFT_OUT = 0, 2
_INT32 = np.iinfo(np.int32)


def parsed(raw: bytes) -> object:
    """The content of a message, or None if it is not valid JSON."""
    try:
        return from_json(raw)
    except ValueError:
        return None


class Events:
    """Turns messages into events, batch after batch. Remembers the pointer's position, since `mouse` is absolute."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._reader = MessageReader()

    def of(self, messages: Messages) -> EventStream:
        """The events of messages that are later than all messages before."""
        columns = messages.columns
        n = len(messages)
        stream = EventStream.allocate(n, episodes=(self._episode,))
        for name in ("kind", "vk", "press", "dx", "dy", "flags", "data", "problem"):
            getattr(stream, name)[:] = columns[name]
        stream.time_ns[:] = columns["time"].astype(np.int64)
        one_by_one = columns["fate"] == _GENERAL
        absolute = columns["topic"] == CODES[ABSOLUTE_MOUSE]
        if (one_by_one & absolute).any():
            one_by_one |= absolute  # each movement starts at the previous position, so all are read in order
        else:
            self._move(stream, columns["x"], columns["y"], np.flatnonzero(absolute))
        stream.time_ns[stream.problem != 0] = 0
        notes = self._notes(columns["topic"], columns["fate"])
        kept = np.where(columns["fate"] == _LEFT_OUT, 0, 1)
        rows = {int(at): self._general(messages, int(at)) for at in np.flatnonzero(one_by_one)}
        for at, events in rows.items():
            kept[at] = len(events)
        if (kept != 1).any():
            stream = stream[np.repeat(np.arange(n), kept)]
        starts = np.cumsum(kept) - kept
        for at, events in rows.items():
            for place, event in enumerate(events, int(starts[at])):
                _clear(stream, place)
                stream.put(place, event)
        stream.notes.update(notes + self._reader.notes)
        self._reader.notes.clear()
        return stream

    def _move(
        self, stream: EventStream, x: NDArray[np.int64], y: NDArray[np.int64], absolute: NDArray[np.int64]
    ) -> None:
        """Movements as differences of positions, for messages that are all plain."""
        if not len(absolute):
            return
        before = self._reader.place or (int(x[absolute[0]]), int(y[absolute[0]]))
        fits = np.ones(len(absolute), bool)
        for places, start, column in ((x[absolute], before[0], stream.dx), (y[absolute], before[1], stream.dy)):
            moved = np.diff(places, prepend=start)
            fits &= (moved >= _INT32.min) & (moved <= _INT32.max)
            column[absolute] = np.where(fits, moved, 0)
        self._reader.place = int(x[absolute[-1]]), int(y[absolute[-1]])
        outside = absolute[~fits & (stream.problem[absolute] == 0)]
        stream.problem[outside] = Problem.OUT_OF_RANGE
        spoiled = absolute[stream.problem[absolute] != 0]
        for column in (stream.dx, stream.dy, stream.flags, stream.data):
            column[spoiled] = 0

    def _general(self, messages: Messages, at: int) -> list[Event | None]:
        """The events of one message of any content."""
        topic = _TOPICS[messages.columns["topic"][at]]
        return self._reader.read(topic, parsed(messages.raw(at)), int(messages.columns["time"][at]))

    def _notes(self, topic: NDArray[np.int8], fate: NDArray[np.int8]) -> Counter[str]:
        notes: Counter[str] = Counter()
        for name in (RAW_MOUSE, ABSOLUTE_MOUSE):
            if count := int((topic == CODES[name]).sum()):
                notes[f"mouse events read from topic '{name}'"] += count
        if left_out := int((fate == _LEFT_OUT).sum()):
            notes[ABSOLUTE_FLAGGED] += left_out
        return notes


def _clear(stream: EventStream, at: int) -> None:
    """Make the event at `at` blank, as `EventStream.allocate` does."""
    for name in ("time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem"):
        getattr(stream, name)[at] = 0
    stream.kind[at] = -1
