"""What the compressed record batches of an Arrow file or stream claim, read before Arrow allocates it.

A compressed buffer begins with its length when it is decompressed. Where the buffers are is in the metadata of each
message, a FlatBuffer; where the messages of a file are is in its footer. Uncompressed buffers are mapped, not copied.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from assay.errors import SourceError
from assay.events.sources._limits import too_large

_MAGIC = b"ARROW1"
_CONTINUED = 0xFFFFFFFF
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


class _Table:
    """A table of a FlatBuffer: fields at the positions that its own table of offsets gives."""

    def __init__(self, raw: bytes, at: int) -> None:
        self.raw, self.at = raw, at
        self._fields = at - self._int("<i", at)

    def _int(self, kind: str, at: int) -> int:
        if at < 0:
            raise struct.error
        found: int = struct.unpack_from(kind, self.raw, at)[0]
        return found

    def _where(self, field: int) -> int:
        """Where a field is, or 0 if the table lacks it."""
        if 4 + 2 * field >= self._int("<H", self._fields):
            return 0
        offset = self._int("<H", self._fields + 4 + 2 * field)
        return self.at + offset if offset else 0

    def byte(self, field: int) -> int:
        where = self._where(field)
        return self._int("<B", where) if where else 0

    def long(self, field: int) -> int:
        where = self._where(field)
        return self._int("<q", where) if where else 0

    def table(self, field: int) -> _Table | None:
        where = self._where(field)
        return _Table(self.raw, where + self._int("<I", where)) if where else None

    def structs(self, field: int, kind: str) -> Iterator[tuple[int, ...]]:
        """The structures of a vector."""
        where = self._where(field)
        if not where:
            return
        where += self._int("<I", where)
        size = struct.calcsize(kind)
        for at in range(self._int("<I", where)):
            yield struct.unpack_from(kind, self.raw, where + 4 + at * size)


def check_bodies(file: BinaryIO, length: int, max_memory: int) -> None:
    """Raise SourceError if a record batch or a dictionary has more than `max_memory` bytes when it is decompressed."""
    try:
        for metadata, body in _messages(file, length, max_memory):
            message = _Table(metadata, struct.unpack_from("<I", metadata)[0])
            header = message.table(2)
            if message.byte(1) == _DICTIONARY_BATCH and header is not None:
                header = header.table(1)
            elif message.byte(1) != _RECORD_BATCH:
                continue
            if header is not None and header.table(3) is not None and _claimed(file, header, body) > max_memory:
                raise too_large("a compressed batch of rows", max_memory, None)
    except (struct.error, IndexError):
        raise SourceError(
            "the file is damaged, cut short, or has the wrong suffix: a message cannot be read",
            hint="Create or download the file again",
        ) from None


def _claimed(file: BinaryIO, batch: _Table, body: int) -> int:
    """The bytes of all buffers of a batch when they are decompressed."""
    total = 0
    for offset, length in batch.structs(2, "<qq"):
        if length >= 8 and offset >= 0:
            file.seek(body + offset)
            head = file.read(8)
            total += max(int.from_bytes(head, "little", signed=True), 0)
    return total


def _messages(file: BinaryIO, length: int, max_memory: int) -> Iterator[tuple[bytes, int]]:
    """The metadata of each message, and where its body begins."""
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        at = 0
        while (found := _message(file, at, max_memory)) is not None:
            metadata, body = found
            yield metadata, body
            after = body + _Table(metadata, struct.unpack_from("<I", metadata)[0]).long(3)
            if after < body:
                raise struct.error
            at = after
        return
    file.seek(max(0, length - 10))
    (size,) = struct.unpack("<I", file.read(4))
    if size > min(max_memory // 8, length):
        raise struct.error
    file.seek(length - 10 - size)
    raw = file.read(size)
    footer = _Table(raw, struct.unpack_from("<I", raw)[0])
    for field in (2, 3):
        for offset, _, _ in footer.structs(field, "<qi4xq"):
            found = _message(file, offset, max_memory) if offset >= 0 else None
            if found is not None:
                yield found


def _message(file: BinaryIO, at: int, max_memory: int) -> tuple[bytes, int] | None:
    """The metadata at a position and where they end; None at the end of a stream."""
    file.seek(at)
    head = file.read(8)
    if len(head) < 4:
        return None
    first = int.from_bytes(head[:4], "little")
    size, begin = (int.from_bytes(head[4:], "little"), at + 8) if first == _CONTINUED else (first, at + 4)
    if not size:
        return None
    if size > max_memory // 8:
        raise struct.error
    file.seek(begin)
    metadata = file.read(size)
    return (metadata, begin + size) if len(metadata) == size else None
