"""The messages of an MCAP file as columns, in order of time: a chunk is read, checked and parsed as a whole.

Chunks are decompressed and parsed in threads, a few chunks ahead. Chunks whose times overlap are sorted together; their
ranges of time come from the file's index, which is checked against their contents.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.errors import missing_extra
from assay.events.sources._limits import too_large

# Opcode and length of a record; then, of a chunk, its times, size, checksum and the length of its compression's name.
_RECORD = struct.Struct("<BQ")
_CHUNK_HEAD = struct.Struct("<QQQII")
_CHUNK, _DATA_END = 6, 15
_PIECE = 8 << 20
"""How many bytes of a file without chunks are parsed at a time."""

COLUMNS: dict[str, Any] = {
    "topic": np.int8,
    "time": np.uint64,
    "begin": np.int64,
    "end": np.int64,
    "fate": np.int8,
    "kind": np.int8,
    "vk": np.int16,
    "press": np.bool_,
    "x": np.int64,
    "y": np.int64,
    "dx": np.int32,
    "dy": np.int32,
    "flags": np.int32,
    "data": np.int32,
    "problem": np.uint8,
}
_INDEXED = ("topic", "time", "begin", "end")


class DamagedChunkError(ValueError):
    """The contents of a chunk contradict themselves or the index."""


@dataclass(frozen=True)
class Span:
    """A part of the file with messages: a chunk, or records outside of chunks."""

    offset: int
    length: int
    """Length in bytes, including the head of the record."""
    first: int | None = None
    """Earliest time of its messages according to the index, or None if there is no index."""
    last: int | None = None
    """Latest time of its messages according to the index."""
    is_chunk: bool = True


@dataclass(frozen=True)
class Messages:
    """Messages as columns, all of shape (n,), and the bytes that they were read from."""

    columns: dict[str, NDArray[Any]]
    """By the names in COLUMNS; `begin` and `end` are positions in the text with the number `text`."""
    text: NDArray[np.int64]
    """Which of `texts` contains each message."""
    texts: dict[int, bytes]
    """Records by the offset of their chunk, which is also the order of the file."""

    def __len__(self) -> int:
        return len(self.text)

    def raw(self, at: int) -> bytes:
        """The JSON of one message."""
        return self.texts[int(self.text[at])][self.columns["begin"][at] : self.columns["end"][at]]

    def part(self, chosen: NDArray[Any] | slice) -> Messages:
        """Some of the messages."""
        columns = {name: column[chosen] for name, column in self.columns.items()}
        text = self.text[chosen]
        return Messages(columns, text, {number: self.texts[number] for number in np.unique(text).tolist()})


def joined(parts: Sequence[Messages]) -> Messages:
    """All messages in order of time; equal times in the order of the file."""
    if len(parts) == 1:
        whole = parts[0]
    else:
        columns = {
            name: np.concatenate([part.columns[name] for part in parts] or [np.zeros(0, kind)])
            for name, kind in COLUMNS.items()
        }
        text = np.concatenate([part.text for part in parts] or [np.zeros(0, np.int64)])
        whole = Messages(columns, text, {number: raw for part in parts for number, raw in part.texts.items()})
    times, begins = whole.columns["time"], whole.columns["begin"]
    if len(parts) == 1 and not (times[1:] < times[:-1]).any():
        return whole
    return whole.part(np.lexsort((begins, whole.text, times)))


def spans_without_index(file: BinaryIO, begin: int) -> Iterator[Span]:
    """The chunks of a file without an index, and the records between them, up to the end of the data."""
    file.seek(begin)
    at = start = begin
    while True:
        head = file.read(_RECORD.size)
        if len(head) < _RECORD.size:
            raise DamagedChunkError("the end of the data is missing")
        opcode, length = _RECORD.unpack(head)
        after = at + _RECORD.size + length
        if opcode in (_CHUNK, _DATA_END) or after - start > _PIECE:
            if at > start:
                yield Span(start, at - start, is_chunk=False)
            start = at
        if opcode == _DATA_END:
            return
        if opcode == _CHUNK:
            yield Span(at, after - at)
            start = after
        at = after
        file.seek(at)


def in_order(
    file: BinaryIO, spans: Sequence[Span], channels: NDArray[np.int8], most: int, *, max_memory: int
) -> Iterator[Messages]:
    """The messages of the spans in order of time, at most `most` at a time.

    A chunk may have an eighth of `max_memory` bytes, and chunks whose times overlap all of it together.
    """
    ordered = sorted(spans, key=lambda span: (span.first or 0, span.offset))
    held: list[Messages] = []
    for at, found in enumerate(_parsed(file, ordered, channels, max_memory // 8)):
        held.append(found)
        if sum(len(text) for part in held for text in part.texts.values()) > max_memory:
            raise too_large("what has to be sorted by time, since chunks overlap or have no index,", max_memory, None)
        ready = sum(map(len, held))
        if at + 1 < len(ordered):
            # Messages before all spans that are still to come are ready; without an index, none are until the end.
            bound = ordered[at + 1].first
            if bound is None or ready < most:
                continue
            ready = sum(int((part.columns["time"] < bound).sum()) for part in held)
            if ready < most:
                continue
        whole = joined(held)
        held = [whole.part(slice(ready, None))]
        for start in range(0, ready, most):
            yield whole.part(slice(start, min(start + most, ready)))


def _parsed(file: BinaryIO, spans: Sequence[Span], channels: NDArray[np.int8], largest: int) -> Iterator[Messages]:
    """The messages of each span, parsed in threads, a few spans ahead."""
    workers = min(os.cpu_count() or 1, 8)
    end = file.seek(0, os.SEEK_END)
    running: deque[Future[Messages]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for span in spans:
                file.seek(span.offset)
                if span.length > largest:
                    raise too_large("a chunk of the recording", largest, None)
                raw = file.read(span.length) if span.offset + span.length <= end else b""
                if len(raw) < span.length:
                    raise DamagedChunkError("a chunk reaches beyond the end of the file")
                running.append(pool.submit(parse, span, raw, channels, largest))
                if len(running) > workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for waiting in running:
                waiting.cancel()


def parse(span: Span, raw: bytes, channels: NDArray[np.int8], largest: int) -> Messages:
    """The needed messages of one part of the file, in its own order."""
    from assay.events.sources import _mcap_kernels as kernels

    text = _decompressed(raw, largest) if span.is_chunk else raw
    data = np.frombuffer(text, np.uint8)
    room = len(text) // kernels.SHORTEST_MESSAGE
    indexed: dict[str, NDArray[Any]] = {name: np.empty(room, COLUMNS[name]) for name in _INDEXED}
    n = kernels.find_messages(data, channels, *indexed.values())
    if n == kernels.UNKNOWN_CHANNEL:
        raise DamagedChunkError("a message has an unknown channel")
    if n < 0:
        raise DamagedChunkError("a record is longer than its chunk")
    columns = {
        name: indexed[name][:n].copy() if name in indexed else np.zeros(n, kind) for name, kind in COLUMNS.items()
    }
    times = columns["time"]
    if (
        n
        and span.first is not None
        and span.last is not None
        and not span.first <= times.min() <= times.max() <= span.last
    ):
        raise DamagedChunkError("the times of a chunk differ from those in the index")
    kernels.read_messages(data, *columns.values())
    return Messages(columns, np.full(n, span.offset, np.int64), {span.offset: text})


def _decompressed(raw: bytes, largest: int) -> bytes:
    """The records of a chunk, checked against its stated size and checksum."""
    begin = _RECORD.size + _CHUNK_HEAD.size
    if len(raw) < begin:
        raise DamagedChunkError("a chunk is cut short")
    opcode, length = _RECORD.unpack_from(raw)
    _, _, size, checksum, named = _CHUNK_HEAD.unpack_from(raw, _RECORD.size)
    if opcode != _CHUNK or length != len(raw) - _RECORD.size or named > len(raw) - begin - 8:
        raise DamagedChunkError("a chunk does not have the position or length given in the index")
    if size > largest:
        raise too_large("a chunk of the recording", largest, None)
    compression = raw[begin : begin + named].decode()
    begin += named
    (held,) = struct.unpack_from("<Q", raw, begin)
    begin += 8
    if held > len(raw) - begin:
        raise DamagedChunkError("a chunk is cut short")
    text = _expanded(memoryview(raw)[begin : begin + held], compression, size)
    if len(text) != size:
        raise DamagedChunkError(f"a chunk has {len(text):,} bytes and says {size:,}")
    if checksum and zlib.crc32(text) != checksum:
        raise DamagedChunkError("a chunk does not match its checksum")
    return text


def _expanded(packed: memoryview, compression: str, size: int) -> bytes:
    """The decompressed bytes; never more than `size`."""
    if compression == "zstd":
        try:
            import zstandard
        except ImportError as error:
            raise missing_extra("zstandard", "events", "decompress the recording") from error
        stated = zstandard.get_frame_parameters(packed).content_size
        if stated not in (zstandard.CONTENTSIZE_UNKNOWN, size):
            raise DamagedChunkError(f"a chunk has {stated:,} bytes and says {size:,}")
        whole: bytes = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        return whole
    if compression == "lz4":
        try:
            import lz4.frame
        except ImportError as error:
            raise missing_extra("lz4", "events", "decompress the recording") from error
        expander = lz4.frame.LZ4FrameDecompressor()
        found: bytes = expander.decompress(packed, max_length=size + 1)
        if not expander.eof:
            raise DamagedChunkError("the compressed data of a chunk are cut short or longer than stated")
        return found
    if compression:
        raise DamagedChunkError(f"a chunk has the unknown compression '{compression}'")
    return bytes(packed)
