"""OWAMcap recordings: JSON messages on the topics keyboard, mouse and screen, timed by `log_time`.

A recording is one episode. It is read completely or not at all: a recording that was cut short is refused, since its
end would silently be missing from every score.
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

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, SourceError, missing_extra
from assay.events.messages import ABSOLUTE_MOUSE, RAW_MOUSE, frame_pts_ns
from assay.events.sources import ReadOptions
from assay.events.sources._chunks import Span, in_order, joined, spans_without_index
from assay.events.sources._files import open_binary, path_part, size
from assay.events.sources._limits import default_max_memory
from assay.events.sources._recorded import CODES, Events, parsed
from assay.events.stream import Episode, EventStream

PROFILE = "owa"

_MAGIC = b"\x89MCAP0\r\n"
# Opcode and length, then where the summary and its offsets start, and the checksum of all from there to itself.
_FOOTER = struct.Struct("<BQQQI")
_FOOTER_OPCODE = 2
_SCREENS_AT_ONCE = 4096
_RECOVER = "If it was cut short, try: mcap recover FILE -o NEW"


@dataclass(frozen=True)
class Recordings:
    """OWAMcap."""

    suffixes: tuple[str, ...] = (".mcap",)

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the recording in order of time; equal times keep the order of the file."""
        with open_binary(address) as file:
            recording = _Recording(file, address)
            yield from recording.batches(reading)


SOURCE = Recordings()


def metadata(address: str) -> dict[str, dict[str, str]]:
    """The recording's metadata records by name, such as `keyboard_repeat_timing`."""
    with open_binary(address) as file:
        return _Recording(file, address).metadata()


def screen_messages(address: str, time_ns: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Time and JSON of every screen message of a recording in order of time, or of those at one time only."""
    with open_binary(address) as file:
        yield from _Recording(file, address).screens(time_ns)


class _Recording:
    """One open recording that is complete, has the right profile, and is in JSON."""

    def __init__(self, file: BinaryIO, address: str) -> None:
        try:
            from mcap.reader import SeekingReader
        except ImportError as error:
            raise missing_extra("mcap", "events", "read OWAMcap recordings") from error
        self._file = file
        self._address = address
        self._check_ends()
        with self._mcap_errors():
            self._reader = SeekingReader(file, validate_crcs=True)
            profile = self._reader.get_header().profile
            summary = self._reader.get_summary()
        if profile != PROFILE:
            raise self._error(f"its profile is '{profile}', not '{PROFILE}'", "Only OWAMcap recordings can be read")
        if summary is None or summary.statistics is None:
            raise self._error("it has no summary, so it cannot be checked for completeness", _RECOVER)
        self._summary = summary
        self._statistics = summary.statistics
        self._topics: Counter[str] = Counter()
        self._read_topics(summary)

    def _check_ends(self) -> None:
        """Raise an error if the file does not begin and end like a recording."""
        head = self._file.read(len(_MAGIC))
        if not head:
            raise self._error("the file is empty", "Record it again")
        if not head.startswith(_MAGIC[:-3]):
            raise self._error("this is not an MCAP file", "Give the file the suffix of its format")
        if head != _MAGIC:
            raise self._error("this MCAP file has another version, or was cut short", _RECOVER)
        end = self._file.seek(0, 2)
        self._file.seek(max(0, end - len(_MAGIC)))
        if end < 2 * len(_MAGIC) or self._file.read() != _MAGIC:
            raise self._error("the recording has no end: it was cut short or is still being written", _RECOVER)
        self._check_summary(end - len(_MAGIC))
        self._file.seek(0)

    def _check_summary(self, end: int) -> None:
        """Raise an error if the summary does not match its checksum: the package does not check it itself."""
        self._file.seek(max(0, end - _FOOTER.size))
        footer = self._file.read(_FOOTER.size)
        opcode, length, start, _, checksum = _FOOTER.unpack(footer.rjust(_FOOTER.size, b"\0"))
        if opcode != _FOOTER_OPCODE or length != _FOOTER.size - 9 or start > end:
            raise self._error("the recording's footer is damaged or cut short", _RECOVER)
        self._file.seek(start)
        if start and checksum and zlib.crc32(self._file.read(end - start)[:-4]) != checksum:
            raise self._error("the recording's summary is damaged", _RECOVER)

    def _read_topics(self, summary: Any) -> None:
        """Count the messages of each topic. Raises an error if a topic that is read is not in JSON."""
        for number, channel in summary.channels.items():
            count = summary.statistics.channel_message_counts.get(number, 0)
            if channel.topic in CODES:
                if channel.schema_id and channel.schema_id not in summary.schemas:
                    raise self._error(f"the schema of topic '{channel.topic}' is missing", _RECOVER)
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
                "Check that this is the right recording",
            )

    def batches(self, reading: ReadOptions) -> Iterator[EventStream]:
        """The recording's events, a batch at a time."""
        mouse = RAW_MOUSE if self._topics[RAW_MOUSE] or not self._topics[ABSOLUTE_MOUSE] else ABSOLUTE_MOUSE
        topics = [topic for topic in ("keyboard", "screen", mouse) if self._topics[topic]]
        missing = sum(self._topics[topic] for topic in topics)
        total, done = size(self._address), 0
        events = Events(self._episode(reading))
        given = False
        with self._mcap_errors():
            spans, channels = self._spans(topics), self._channels(topics)
            messages = in_order(self._file, spans, channels, reading.batch_rows, max_memory=reading.max_memory)
        while True:
            with self._mcap_errors():
                found = next(messages, None)
                if found is None:
                    break
                missing -= len(found)
                stream = events.of(found)
            given = True
            yield stream
            if reading.progress:
                done = max(done, self._file.tell())
                reading.progress(done, total)
        if not given:
            yield events.of(joined([]))
        if reading.progress and total is not None:
            reading.progress(total, total)
        if missing > 0:
            raise self._error(f"{missing} messages of its summary are missing", _RECOVER)
        if missing < 0:
            raise self._error(f"it has {-missing} more messages than its summary states", _RECOVER)

    def _channels(self, topics: list[str]) -> NDArray[np.int8]:
        """For each channel number, the number of its topic; shape (65536,)."""
        from assay.events.sources import _mcap_kernels as kernels

        table = np.full(1 << 16, kernels.NO_CHANNEL, np.int8)
        for number, channel in self._summary.channels.items():
            table[number] = CODES[channel.topic] if channel.topic in topics else kernels.NOT_NEEDED
        return table

    def _spans(self, topics: list[str]) -> list[Span]:
        """The parts of the file that may contain messages of these topics."""
        if not topics:
            return []
        indexes = self._summary.chunk_indexes
        if not indexes:
            with self._mcap_errors():
                return list(spans_without_index(self._file, len(_MAGIC)))
        wanted = {number for number, channel in self._summary.channels.items() if channel.topic in topics}
        return [
            Span(index.chunk_start_offset, index.chunk_length, index.message_start_time, index.message_end_time)
            for index in indexes
            # Without an index of its messages, a chunk may contain any.
            if not index.message_index_offsets or wanted & index.message_index_offsets.keys()
        ]

    def _episode(self, reading: ReadOptions) -> Episode:
        name = reading.name or PurePosixPath(path_part(self._address).replace("\\", "/")).stem
        end_ns = self._statistics.message_end_time if 0 < self._statistics.message_end_time < 2**63 else None
        if not self._topics["screen"]:
            return Episode(name, end_ns=end_ns)
        with self._mcap_errors():
            spans, channels = self._spans(["screen"]), self._channels(["screen"])
            frames = next(in_order(self._file, spans, channels, 1, max_memory=reading.max_memory), None)
            if frames is None:
                return Episode(name, end_ns=end_ns)
            pts_ns = frame_pts_ns(parsed(frames.raw(0)))
            return Episode(name, first_frame_ns=int(frames.columns["time"][0]), first_pts_ns=pts_ns, end_ns=end_ns)

    def screens(self, time_ns: int | None) -> Iterator[tuple[int, bytes]]:
        with self._mcap_errors():
            spans, channels = self._spans(["screen"]) if self._topics["screen"] else [], self._channels(["screen"])
            if time_ns is not None:
                spans = [one for one in spans if one.first is None or one.first <= time_ns <= (one.last or 0)]
            most = default_max_memory()
            for found in in_order(self._file, spans, channels, _SCREENS_AT_ONCE, max_memory=most):
                for at, time in enumerate(found.columns["time"].tolist()):
                    if time_ns is None or time == time_ns:
                        yield time, found.raw(at)

    def metadata(self) -> dict[str, dict[str, str]]:
        with self._mcap_errors():
            return {record.name: dict(record.metadata) for record in self._reader.iter_metadata()}

    @contextmanager
    def _mcap_errors(self) -> Iterator[None]:
        """Turns errors of the mcap package, and errors caused by damaged bytes, into errors that say what to do."""
        try:
            yield
        except AssayError as error:
            error.where = error.where or self._address
            raise
        except Exception as error:  # damaged bytes end in errors of struct, zlib, zstandard, lz4, Unicode, …
            reason = str(error) or type(error).__name__
            raise self._error(f"the recording is damaged or cut short: {reason}", _RECOVER) from error

    def _error(self, what: str, hint: str) -> SourceError:
        return SourceError(what, where=self._address, hint=hint)
