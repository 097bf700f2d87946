"""OWAMcap recordings: JSON messages on the topics keyboard, mouse and screen, timed by `log_time` (SPEC 1.3).

A recording is one episode. It is read whole or not at all: one that was cut short is refused, since its end would be
missing from every score without a word.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from pydantic_core import from_json

from assay.errors import AssayError, SourceError, missing_extra
from assay.events.messages import ABSOLUTE_MOUSE, RAW_MOUSE, Event, MessageReader, frame_pts_ns
from assay.events.sources import Reading
from assay.events.sources._files import open_binary, path_part, size
from assay.events.stream import Episode, EventStream

PROFILE = "owa"

_MAGIC = b"\x89MCAP0\r\n"
# Opcode and length, then where the summary and its offsets start, and the checksum of all from there to itself.
_FOOTER = struct.Struct("<BQQQI")
_FOOTER_OPCODE = 2
_RECOVER = "If it was cut short, try: mcap recover FILE -o NEW"


@dataclass(frozen=True)
class Recordings:
    """OWAMcap."""

    suffixes: tuple[str, ...] = (".mcap",)

    def batches(self, address: str, reading: Reading) -> Iterator[EventStream]:
        """The events of the recording in the order of their time; equal times keep the file's order."""
        with open_binary(address) as file:
            recording = _Recording(file, address)
            yield from recording.batches(reading)


SOURCE = Recordings()


def metadata(address: str) -> dict[str, dict[str, str]]:
    """The recording's metadata records by name, such as `keyboard_repeat_timing`."""
    with open_binary(address) as file:
        return _Recording(file, address).metadata()


class _Recording:
    """One open recording that was found to be whole, of the right profile, and in JSON."""

    def __init__(self, file: BinaryIO, address: str) -> None:
        try:
            from mcap.reader import SeekingReader
        except ImportError as error:
            raise missing_extra("mcap", "events", "read OWAMcap recordings") from error
        self._file = file
        self._address = address
        self._check_ends()
        with self._told():
            self._reader = SeekingReader(file, validate_crcs=True)
            profile = self._reader.get_header().profile
            summary = self._reader.get_summary()
        if profile != PROFILE:
            raise self._error(f"its profile is '{profile}', not '{PROFILE}'", "Only OWAMcap recordings can be read")
        if summary is None or summary.statistics is None:
            raise self._error("it has no summary, so that nothing says whether it is whole", _RECOVER)
        self._topics: Counter[str] = Counter()
        self._read_topics(summary)

    def _check_ends(self) -> None:
        """Refuse what does not begin and end as a recording does."""
        head = self._file.read(len(_MAGIC))
        if not head:
            raise self._error("the file is empty", "Record it again")
        if not head.startswith(_MAGIC[:-3]):
            raise self._error("this is not an MCAP file", "Name the file by what it is")
        if head != _MAGIC:
            raise self._error("this is an MCAP file of another version, or cut short", _RECOVER)
        end = self._file.seek(0, 2)
        self._file.seek(max(0, end - len(_MAGIC)))
        if end < 2 * len(_MAGIC) or self._file.read() != _MAGIC:
            raise self._error("the recording has no end: it was cut short or is still being written", _RECOVER)
        self._check_summary(end - len(_MAGIC))
        self._file.seek(0)

    def _check_summary(self, end: int) -> None:
        """Refuse a summary that does not have its checksum: the package reads order and counts from it unchecked."""
        self._file.seek(max(0, end - _FOOTER.size))
        footer = self._file.read(_FOOTER.size)
        opcode, length, start, _, checksum = _FOOTER.unpack(footer.rjust(_FOOTER.size, b"\0"))
        if opcode != _FOOTER_OPCODE or length != _FOOTER.size - 9 or start > end:
            raise self._error("the recording's footer is damaged or cut short", _RECOVER)
        self._file.seek(start)
        if start and checksum and zlib.crc32(self._file.read(end - start)[:-4]) != checksum:
            raise self._error("the recording's summary is damaged", _RECOVER)

    def _read_topics(self, summary: Any) -> None:
        """How many messages each topic has; refuses one of ours that is not in JSON."""
        for number, channel in summary.channels.items():
            count = summary.statistics.channel_message_counts.get(number, 0)
            if channel.topic in ("keyboard", "screen", RAW_MOUSE, ABSOLUTE_MOUSE):
                if channel.message_encoding != "json":
                    raise self._error(
                        f"topic '{channel.topic}' is encoded as '{channel.message_encoding}', not json",
                        "Only JSON messages can be read",
                    )
                self._topics[channel.topic] += count
        if summary.statistics.message_count and not self._topics:
            others = ", ".join(sorted({channel.topic for channel in summary.channels.values()})) or "none"
            raise self._error(
                f"it has none of the topics keyboard, mouse/raw, mouse and screen; it has: {others}",
                "Check that this is the recording you mean",
            )

    def batches(self, reading: Reading) -> Iterator[EventStream]:
        """The recording's events, a batch at a time."""
        mouse = RAW_MOUSE if self._topics[RAW_MOUSE] or not self._topics[ABSOLUTE_MOUSE] else ABSOLUTE_MOUSE
        topics = [topic for topic in ("keyboard", "screen", mouse) if self._topics[topic]]
        episode = self._episode(reading)
        reader = MessageReader()
        events: list[Event | None] = []
        missing = sum(self._topics[topic] for topic in topics)
        total = size(self._address)
        for topic, message, time_ns in self._messages(topics):
            missing -= 1
            if topic == mouse:
                reader.notes[f"mouse events read from topic '{mouse}'"] += 1
            events += reader.read(topic, message, time_ns)
            if len(events) >= reading.batch_rows:
                yield _stream(events, episode, reader)
                events = []
                if reading.progress:
                    reading.progress(self._file.tell(), total)
        yield _stream(events, episode, reader)
        if reading.progress and total is not None:
            reading.progress(total, total)
        if missing:
            raise self._error(f"{missing} messages that its summary counts are not there", _RECOVER)

    def _messages(self, topics: list[str]) -> Iterator[tuple[str, object, int]]:
        """Topic, content and time of each message in the order of time; content that is no JSON is None."""
        if not topics:
            return
        messages = self._reader.iter_messages(topics=topics, log_time_order=True)
        while True:
            with self._told():
                found = next(messages, None)
            if found is None:
                return
            _, channel, message = found
            yield channel.topic, _parsed(message.data), message.log_time

    def _episode(self, reading: Reading) -> Episode:
        name = reading.name or PurePosixPath(path_part(self._address).replace("\\", "/")).stem
        frames = self._messages(["screen"] if self._topics["screen"] else [])
        for _, message, time_ns in frames:
            return Episode(name, first_frame_ns=time_ns, first_pts_ns=frame_pts_ns(message))
        return Episode(name)

    def metadata(self) -> dict[str, dict[str, str]]:
        with self._told():
            return {record.name: dict(record.metadata) for record in self._reader.iter_metadata()}

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the mcap package, and of what it meets in damaged bytes, as errors that say what to do."""
        from mcap.exceptions import UnsupportedCompressionError

        try:
            yield
        except AssayError:
            raise
        except UnsupportedCompressionError as error:
            package = str(error).rsplit(maxsplit=1)[-1]
            raise missing_extra(package, "events", f"decompress {self._address}") from error
        except Exception as error:  # damaged bytes end in errors of struct, zlib, zstandard, lz4, Unicode, …
            reason = str(error) or type(error).__name__
            raise self._error(f"the recording is damaged or cut short: {reason}", _RECOVER) from error

    def _error(self, what: str, hint: str) -> SourceError:
        return SourceError(what, where=self._address, hint=hint)


def _stream(events: list[Event | None], episode: Episode, reader: MessageReader) -> EventStream:
    """A batch, with what was noted since the last one."""
    stream = EventStream.from_events(events, episodes=(episode,))
    stream.notes.update(reader.notes)
    reader.notes.clear()
    return stream


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError:
        return None
