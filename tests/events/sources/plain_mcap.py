"""A recording as the `mcap` package reads it, message by message: slow, and the check of the fast reader."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mcap.reader import SeekingReader
from pydantic_core import from_json

from assay.events.messages import ABSOLUTE_MOUSE, RAW_MOUSE, Event, MessageReader
from assay.events.stream import EventStream


def plain_statistics(path: Path) -> Any:
    with path.open("rb") as file:
        summary = SeekingReader(file).get_summary()
        assert summary is not None
        return summary.statistics


def plain_events(path: Path) -> EventStream:
    """All events of a recording; whatever is wrong with it is an error of some kind."""
    with path.open("rb") as file:
        reader = SeekingReader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        counts: Counter[str] = Counter()
        for number, channel in summary.channels.items():
            counts[channel.topic] += summary.statistics.channel_message_counts.get(number, 0)
        mouse = RAW_MOUSE if counts[RAW_MOUSE] or not counts[ABSOLUTE_MOUSE] else ABSOLUTE_MOUSE
        topics = [topic for topic in ("keyboard", "screen", mouse) if counts[topic]]
        assert topics or not summary.statistics.message_count
        events: list[Event | None] = []
        messages = MessageReader()
        found = 0
        for _, channel, message in reader.iter_messages(topics=topics, log_time_order=True) if topics else ():
            found += 1
            if channel.topic == mouse:
                messages.notes[f"mouse events read from topic '{mouse}'"] += 1
            events += messages.read(channel.topic, _parsed(message.data), message.log_time)
        assert found == sum(counts[topic] for topic in topics)
    stream = EventStream.from_events(events)
    stream.notes.update(messages.notes)
    return stream


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError:
        return None
