"""JSON Lines, plain or gzipped: a row is one event or one episode.

A row that cannot be read keeps its position as one invalid event, and is counted; a file of which no row can be read is
an error. Lines are read in bounded pieces, so that a line of any length costs no more memory than the limit.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any, BinaryIO, Protocol, cast
from uuid import uuid4

from pydantic_core import from_json

from assay.errors import AssayError, SourceError
from assay.events.sources import ReadOptions
from assay.events.sources._files import open_binary, path_part, size
from assay.events.sources._limits import has_too_many_values
from assay.events.sources._mappings import Content, plan_of
from assay.events.sources._rows import (
    BATCH_BYTES,
    NO_VALUE,
    PREFIX_ROWS,
    TOO_LONG,
    form_of,
    limit_of,
    missing_columns,
)
from assay.events.stream import EventStream

NOT_JSON = "rows that are not a JSON object"
NOT_UTF8 = "rows that are not UTF-8"
BLANK = "blank lines, skipped"

_PIECE = 1 << 20
_EMPTY: dict[str, Any] = {}

_Line = bytes | bytearray | None
"""The bytes of a row; None if it is longer than the limit."""
_BOM = b"\xef\xbb\xbf"
# First bytes of files that are sometimes named .jsonl by mistake.
_FOREIGN = {
    b"\x1f\x8b": ("a gzip file", "Name it .jsonl.gz, or decompress it"),
    b"\x28\xb5\x2f\xfd": ("a Zstandard file", "Name it .jsonl.zst"),
    b"PK\x03\x04": ("a zip file", "Unpack it first"),
    b"PAR1": ("a Parquet file", "Name it .parquet"),
    b"ARROW1": ("an Arrow file", "Name it .arrow"),
    b"\x89MCAP": ("an MCAP recording", "Name it .mcap"),
    b"\xff\xfe": ("UTF-16 text", "Save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "Save it as UTF-8"),
}


@dataclass(frozen=True)
class JsonLines:
    """JSON Lines."""

    suffixes: tuple[str, ...] = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the file; the module says how rows that cannot be read are treated."""
        with ExitStack() as stack:
            raw = stack.enter_context(open_binary(address))
            yield from read_rows(_decompressed(raw, address, stack), raw, address, reading)


SOURCE = JsonLines()


def read_rows(file: Readable, raw: BinaryIO, address: str, reading: ReadOptions) -> Iterator[EventStream]:
    """The events of JSON Lines in `file`; the position in `raw` is reported as progress."""
    lines = _Lines(file, reading)
    try:
        yield from _batches(lines, raw, address, reading)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(
            f"the gzip data are damaged or cut short: {error}",
            where=f"{address}, after row {lines.row}",
            hint="Create or download the file again",
        ) from error
    except OSError as error:
        raise SourceError(f"reading failed: {error}", where=f"{address}, after row {lines.row}") from error


class Readable(Protocol):
    """A file-like object that lines are read from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Blocks:
    """Blocks of bytes, read like a file; a read returns one block, whatever the requested size."""

    blocks: Iterator[bytes]

    def read(self, size: int, /) -> bytes:
        return next((block for block in self.blocks if block), b"")


def _decompressed(raw: BinaryIO, address: str, stack: ExitStack) -> IO[bytes]:
    """The bytes of the lines, decompressed if necessary."""
    buffered: Any = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw, _PIECE)
    head = buffered.peek(8)[:8]
    opened: IO[bytes] = buffered
    if path_part(address).lower().endswith(".gz"):
        if head and not head.startswith(b"\x1f\x8b"):
            raise SourceError("this is not a gzip file", where=address, hint="Name it .jsonl if it is plain text")
        return cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=opened)))
    for magic, (kind, hint) in _FOREIGN.items():
        if head.startswith(magic):
            raise SourceError(f"this is {kind}, not JSON Lines", where=address, hint=hint)
    return opened


class _Lines:
    """The lines of a file, by the batch; None for one that is longer than the limit."""

    def __init__(self, file: Readable, reading: ReadOptions) -> None:
        self.limit = reading.max_episode_bytes
        """Maximum length of a line in bytes; may be lowered between batches."""
        self.row = 0
        """Number of rows returned so far."""
        self.notes: Counter[str] = Counter()
        """Lines that are not rows, and how many."""
        self._file = file
        self._most = reading.batch_rows
        self._pieces = self._read_pieces()
        self._begun: list[_Line] = []

    def batches(self) -> Iterator[list[_Line]]:
        """Lines that are not blank, at most as many at a time as a batch has rows and as fit in memory.

        A second call continues after the last line of the first.
        """
        while self._take():
            batch, self._begun = self._begun[: self._most], self._begun[self._most :]
            self.row += len(batch)
            yield batch

    def _take(self) -> bool:
        """Read lines for one more batch; returns whether there are any."""
        held = sum(len(line) for line in self._begun if line is not None)
        while len(self._begun) < self._most and held < BATCH_BYTES:
            lines = next(self._pieces, None)
            if lines is None:
                break
            self._begun += lines
            held += sum(len(line) for line in lines if line is not None)
        return bool(self._begun)

    def _read_pieces(self) -> Iterator[list[_Line]]:
        """The lines that end in each piece of the file, without their newlines."""
        begun = bytearray()
        too_long = False
        fresh = True
        while piece := self._file.read(_PIECE):
            if fresh:
                piece, fresh = piece.removeprefix(_BOM), False
            lines: list[_Line] = [*piece.split(b"\n")]
            if not too_long:
                begun += lines[0] or b""
            if len(begun) > self.limit:
                too_long = True
                begun.clear()
            if len(lines) == 1:
                continue
            lines[0] = None if too_long else begun
            begun, too_long = bytearray(lines.pop() or b""), False
            yield self._rows(lines)
        if too_long or begun:
            yield self._rows([None if too_long else begun])

    def _rows(self, lines: list[_Line]) -> list[_Line]:
        rows = [line for line in lines if line is None or (line and not line.isspace())]
        if blank := len(lines) - len(rows):
            self.notes[BLANK] += blank
        return rows


def _parsed(lines: list[_Line], reading: ReadOptions) -> list[Content]:
    """The content of each line. All are parsed in one call, which is much faster, unless one of them is not a row."""
    there = [line for line in lines if line is not None]
    # There are few long lines, and joining them would double their memory.
    short = sum(map(len, there)) <= 2 * BATCH_BYTES
    if len(there) == len(lines) and short and not any(has_too_many_values(line, reading) for line in there):
        # A separator that no line can contain is put between them: a split row, or two rows on a line, would move it.
        mark = uuid4().hex
        try:
            contents = from_json(b"[" + f',"{mark}",'.encode().join(there) + b"]")
        except ValueError:
            pass
        else:
            rows, marks = contents[::2], contents[1::2]
            whole = len(rows) == len(lines) and marks == [mark] * len(marks)
            if whole and all(type(row) is dict for row in rows):
                return list(rows)
    return [_parsed_line(line, reading) for line in lines]


def _parsed_line(line: _Line, reading: ReadOptions) -> Content:
    if line is None or has_too_many_values(line, reading):
        return TOO_LONG
    try:
        content = from_json(line)
    except ValueError:
        return NOT_JSON if _is_utf8(line) else NOT_UTF8
    return content if isinstance(content, dict) else NOT_JSON


def _is_utf8(line: bytes | bytearray) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- from rows to events ----------------------------------------------------------------------------------------------


def _batches(lines: _Lines, raw: BinaryIO, address: str, reading: ReadOptions) -> Iterator[EventStream]:
    total = size(address)
    beginning = _Beginning(reading)
    beginning.read(lines)
    if not beginning.contents:
        if len(beginning.unread):
            raise beginning.unread.error(address, reading)
        yield reading.codec.decode_each([])
        return
    plan = plan_of(beginning.contents, address, reading)
    lines.limit = limit_of(plan.shape, reading)
    rest = (_parsed(_limited(batch, lines.limit), reading) for batch in lines.batches())
    row = 1
    for contents in chain(beginning.given_back(lines.limit), rest):
        stream = plan.stream(contents, row)
        row += len(contents)
        stream.notes.update(lines.notes)
        lines.notes.clear()
        if reading.progress:
            reading.progress(raw.tell(), total)
        yield stream


def _limited(lines: list[_Line], limit: int) -> list[_Line]:
    return [line if line is not None and len(line) <= limit else None for line in lines]


class _Beginning:
    """The rows that decide how a file is read: PREFIX_ROWS from the first event on; fewer if they are long."""

    def __init__(self, reading: ReadOptions) -> None:
        self.unread = _Unread()
        """The rows before them."""
        self.lines: list[_Line] = []
        self.contents: list[Content] = []
        self._reading = reading

    def read(self, lines: _Lines) -> None:
        held = 0
        for batch in lines.batches():
            contents = _parsed(batch, self._reading)
            start = 0
            if not self.contents:
                start = next((at for at, content in enumerate(contents) if self._is_event(content)), len(contents))
                self.unread.add(contents[:start])
            self.contents += contents[start:]
            self.lines += batch[start:]
            held += sum(len(line) for line in batch[start:] if line is not None)
            if len(self.contents) >= PREFIX_ROWS or held >= BATCH_BYTES:
                return

    def _is_event(self, content: Content) -> bool:
        return isinstance(content, dict) and form_of(content, self._reading) is not None

    def given_back(self, limit: int) -> Iterator[list[Content]]:
        """All rows so far, in batches, now that the maximum length of a row is known."""
        most = self._reading.batch_rows
        yield from self.unread.given_back(most)
        for at in range(0, len(self.contents), most):
            lines = _limited(self.lines[at : at + most], limit)
            contents = self.contents[at : at + most]
            yield [TOO_LONG if line is None else content for line, content in zip(lines, contents, strict=True)]
        self.lines, self.contents = [], []


class _Unread:
    """The rows before the first event, in one byte each, since a file may start with millions of them."""

    def __init__(self) -> None:
        self._reasons: list[str] = []
        self._codes = bytearray()
        self._keys: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, contents: Iterable[Content]) -> None:
        for content in contents:
            if isinstance(content, dict) and len(self._keys) < 100:
                self._keys |= dict.fromkeys(content)
            reason = content if isinstance(content, str) else NO_VALUE
            if reason not in self._reasons:
                self._reasons.append(reason)
            self._codes.append(self._reasons.index(reason))

    def given_back(self, most: int) -> Iterator[list[Content]]:
        """The rows in batches, as the reasons why they could not be read."""
        for at in range(0, len(self._codes), most):
            yield [self._reasons[code] for code in self._codes[at : at + most]]

    def error(self, address: str, reading: ReadOptions) -> AssayError:
        """The error for a file without any other rows."""
        first = {reason: self._codes.index(code) + 1 for code, reason in enumerate(self._reasons)}
        if NO_VALUE in first:
            return missing_columns(f"{address}, row {first[NO_VALUE]}", list(self._keys), reading)
        counts = (f"{self._codes.count(code)} {reason}" for code, reason in enumerate(self._reasons))
        found = ", ".join(f"{count}, the first is row {at}" for count, at in zip(counts, first.values(), strict=True))
        return SourceError(
            f"no row can be read ({found})", where=address, hint='A row is {"text": "<EVENT_START>…"} or {"event": {…}}'
        )
