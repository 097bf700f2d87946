"""Sources of events: token text, JSON, CSV, Parquet and Arrow, OWAMcap recordings, tables in memory.

`read` gives batches of events from files, addresses, texts and tables, so that no source has to fit in memory. A file
format is one module here with a `SOURCE`, or an entry point in the group `assay.sources`: an object with its suffixes
and one method. Sources use codecs and streams and know nothing about scores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np

from assay.errors import SourceError, UsageError, unknown_name
from assay.events.codecs import Codec
from assay.events.sources._files import find_files, is_pipe, local_path, open_binary, path_part, quoted, size
from assay.events.sources._limits import default_max_memory
from assay.events.sources._memory import arrow_table, read_array, read_arrow, read_list
from assay.events.sources._rows import EVENT_START, check_mapping, is_header
from assay.events.sources._rows import Decision as Decision
from assay.events.sources._tokenizer import Tokens
from assay.events.sources._unpacked import MAGIC, SUFFIX, Unpacked, read_pipe, read_standard_input
from assay.events.stream import EventStream, check_columns
from assay.registry import Registry

AnySource = EventStream | str | bytes | Sequence[Any] | os.PathLike[str] | Any
"""Anything that `read` accepts. Tables and arrays are recognised by their attributes."""

LEFT_OUT = "files of the folder without a readable format, left out"

_Rows = Literal["auto", "event", "episode"]
_SNIFFED = 4096


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a source is to be read."""

    codec: Codec
    """The encoding of token text."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name of a column (text, ids, event, episode, stratum, logprob, or a field of an event) to the table's."""
    batch_rows: int = 65_536
    """Rows, messages or events read at a time."""
    progress: Callable[[int, int | None], None] | None = None
    """Called with the number of bytes read so far and the total number, if known."""
    rows: _Rows = "auto"
    """What a row of token text contains; 'auto' decides by the first rows of a file."""
    max_event_bytes: int = 64 << 20
    """Maximum length of a row with one event; a longer row is one invalid event, counted in the notes."""
    max_episode_bytes: int = 1 << 28
    """Maximum length of a row with a whole episode."""
    max_memory: int = field(default_factory=default_max_memory)
    """Bytes that a part of a file which must be held at once may take; a compressed file can claim any size."""
    max_expansion: int = 1000
    """How many times its size a Zstandard file may have when it is decompressed, beyond twice `max_memory`."""
    tokenizer: Any = None
    """Used to read token ids: the path of a tokenizer's file, or a tokenizer."""
    decision: Decision | None = None
    """What 'auto' decided, so that all files of a source are read the same way; `read` sets it."""
    name: str = ""
    """Name of the file within the folder being read, without its suffix; `read` sets it."""
    part: tuple[int, int] | None = None
    """Of a Parquet file, the rows to read: from the first number, counted from 0, up to the second."""

    def __post_init__(self) -> None:
        if self.max_memory < 1 << 16:
            raise UsageError(f"max_memory must be at least {1 << 16:,} bytes", hint="Give bytes, e.g. 512 << 20")
        if self.batch_rows < 1:
            raise UsageError(f"batch_rows must be at least 1, got {self.batch_rows}", hint="Give 1 or more")
        if self.rows not in get_args(_Rows):
            raise unknown_name("meaning of a row", self.rows, get_args(_Rows))
        check_mapping(self.columns)
        if self.tokenizer is not None:
            object.__setattr__(self, "tokenizer", Tokens.of(self.tokenizer))


class Source(Protocol):
    """A file format: the complete interface of a plug-in."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of file names, with the dot, in lower case."""

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of one file, in order, a batch at a time."""


SOURCES: Registry[Source] = Registry(
    "source", package="assay.events.sources", attribute="SOURCE", group="assay.sources"
)


def read(source: AnySource, reading: ReadOptions) -> Iterator[EventStream]:
    """The events of `source`, in order, a batch at a time. Raises an error at once if the source is unknown or missing.

    Token text (anything that contains <EVENT_START>) is one episode; each string of a list is one event; '-' is
    standard input; any other string is the path or address of a file, a folder or a glob. Tables (Arrow, pandas,
    polars, `datasets`) and NumPy arrays are read from memory. A stream is returned as it is. An empty source has no
    events.
    """
    if reading.decision is None:
        reading = replace(reading, decision=Decision())
    if isinstance(source, EventStream):
        check_columns(source)
        return iter([source])
    if isinstance(source, bytes | bytearray | memoryview):
        return _token_bytes(bytes(source), reading)
    if isinstance(source, str):
        if EVENT_START in source or not source.strip():
            return iter([reading.codec.decode(source)])
        if source == "-":
            return read_standard_input(source_of, reading)
        return _read_path(source, reading)
    if isinstance(source, os.PathLike):
        return _read_path(os.fspath(source), reading)
    if isinstance(source, np.ndarray):
        return read_array(source, reading)
    table = arrow_table(source)
    if table is not None:
        return read_arrow(table, source, reading)
    if isinstance(source, Sequence):
        return read_list(source, reading)
    raise UsageError(
        f"events cannot be read from a {type(source).__name__}",
        hint="Give an EventStream, token text, a list, a table, or the path or address of a file or folder",
    )


def _read_path(address: str, reading: ReadOptions) -> Iterator[EventStream]:
    path = local_path(address)
    if path is not None and is_pipe(path):
        return read_pipe(path, source_of, reading)
    return read_files(address, reading)


def _token_bytes(raw: bytes, reading: ReadOptions) -> Iterator[EventStream]:
    if raw.strip() and EVENT_START.encode() not in raw:
        raise UsageError(
            "the bytes do not contain <EVENT_START>",
            hint="Bytes must be token text; give a path as a string",
        )
    return iter([reading.codec.decode(raw)])


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of a source, or some rows of it."""

    address: str
    name: str = ""
    """Its path within the folder or glob, without the suffix; empty if the file was given directly."""
    part: tuple[int, int] | None = None
    """As in `ReadOptions`."""


def read_files(address: str, reading: ReadOptions) -> Iterator[EventStream]:
    """The events of the file, or of all readable files of the folder or glob, at a path or address."""
    pieces, left_out = pieces_of(address)
    batches = read_pieces(pieces, reading)
    return _with_note(batches, left_out) if left_out else batches


def pieces_of(address: str) -> tuple[list[Piece], int]:
    """The readable files of a file, folder or glob, in order, and how many others a folder has."""
    found = find_files(address)
    suffixes = _by_suffix()
    if len(found) == 1 and not found[0].name:
        return [Piece(found[0].address)], 0
    known = [(file, _suffix(file.address, suffixes)) for file in found]
    readable = [Piece(file.address, file.name[: -len(suffix)]) for file, suffix in known if suffix]
    if not readable:
        raise SourceError(
            f"none of its {len(found)} files can be read", where=quoted(address), hint=f"Readable: {_listing(suffixes)}"
        )
    return readable, len(found) - len(readable)


def read_pieces(pieces: Sequence[Piece], reading: ReadOptions) -> Iterator[EventStream]:
    """The events of several files as those of one source."""
    if len(pieces) == 1 and not pieces[0].name:
        return source_of(pieces[0].address).batches(pieces[0].address, replace(reading, part=pieces[0].part))
    return _read_each(pieces, reading)


def _read_each(pieces: Sequence[Piece], reading: ReadOptions) -> Iterator[EventStream]:
    shards = None if reading.progress is None else _Shards.of([piece.address for piece in pieces], reading.progress)
    suffixes = _by_suffix()
    for piece in pieces:
        progress = None if shards is None else shards.within
        within = replace(reading, name=piece.name, part=piece.part, progress=progress)
        suffix = _suffix(piece.address, suffixes)
        source = source_of(piece.address) if suffix is None else suffixes[suffix]
        yield from source.batches(piece.address, within)
        if shards is not None:
            shards.next_file()


def _with_note(batches: Iterator[EventStream], left_out: int) -> Iterator[EventStream]:
    """The same batches; the first says how many files were left out."""
    for number, batch in enumerate(batches):
        if number == 0:
            batch.notes[LEFT_OUT] += left_out
        yield batch


@dataclass
class _Shards:
    """Bytes read of several files as those of one: a source reports the bytes of the file that it reads."""

    sizes: list[int | None]
    progress: Callable[[int, int | None], None]
    before: int = 0
    at: int = 0

    @classmethod
    def of(cls, addresses: list[str], progress: Callable[[int, int | None], None]) -> _Shards:
        return cls([size(address) for address in addresses], progress)

    @property
    def total(self) -> int | None:
        """Bytes of all files, if all are known."""
        known = [one for one in self.sizes if one is not None]
        return sum(known) if len(known) == len(self.sizes) else None

    def within(self, done: int, _total: int | None) -> None:
        """Report this many bytes of the current file."""
        here = self.sizes[self.at]
        self.progress(self.before + (done if here is None else min(done, here)), self.total)

    def next_file(self) -> None:
        """The current file has been read to its end."""
        self.before += self.sizes[self.at] or 0
        self.at += 1
        self.progress(self.before, self.total)


def source_of(address: str) -> Source:
    """The format of one file, by the suffix of its name or otherwise by its first bytes."""
    suffixes = _by_suffix()
    suffix = _suffix(address, suffixes)
    if suffix is not None:
        return suffixes[suffix]
    with open_binary(address) as file:
        head = file.read(_SNIFFED)
    if head.startswith(MAGIC):
        return Unpacked(source_of)
    name = _sniffed(head)
    if name is None:
        kind = "is empty" if not head else "does not have a readable format"
        raise SourceError(f"the file {kind}", where=address, hint=f"Readable: {_listing(suffixes)}")
    return SOURCES.get(name)


def format_of(source: AnySource) -> str:
    """A short name of the kind of `source`: its format, 'folder', 'strings', 'table', 'standard input' or 'stream'."""
    if isinstance(source, EventStream):
        return "stream"
    if isinstance(source, bytes | bytearray | memoryview) or (isinstance(source, str) and EVENT_START in source):
        return "tokens"
    if not isinstance(source, str | os.PathLike):
        return "strings" if isinstance(source, Sequence) else "table"
    address = os.fspath(source)
    if address == "-":
        return "standard input"
    if not address.strip():
        return "tokens"
    found = find_files(address)
    if len(found) != 1 or found[0].name:
        return "folder"
    chosen = source_of(found[0].address)
    if isinstance(chosen, Unpacked):
        return "zst"
    return next((name for name, known in _loaded().items() if known is chosen), type(chosen).__name__)


def files_of(address: str) -> list[str]:
    """The addresses of all files of a file, folder or glob."""
    return [file.address for file in find_files(address)]


def has_known_suffix(address: str) -> bool:
    """Whether the name of a file ends like one of a readable format."""
    return _suffix(address, _by_suffix()) is not None


def _sniffed(head: bytes) -> str | None:
    """The built-in source for a file that starts like this."""
    if head.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return "parquet"
    if head.startswith(b"\x89MCAP"):
        return "mcap"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{"):
        return "jsonl"
    if is_header(text):
        return "csv"
    return "tokens" if EVENT_START.encode() in text else None


def _by_suffix() -> dict[str, Source]:
    """The source for every known suffix."""
    found: dict[str, Source] = {}
    for source in _loaded().values():
        for suffix in source.suffixes:
            found.setdefault(suffix.lower(), source)
    packed = Unpacked(source_of)
    return found | {suffix + SUFFIX: packed for suffix in found if not suffix.endswith(".gz")} | {SUFFIX: packed}


def _loaded() -> dict[str, Source]:
    """Every source by name. A package that cannot be loaded does not affect the others."""
    found: dict[str, Source] = {}
    for name in SOURCES.names():
        try:
            source = SOURCES.get(name)
        except UsageError:
            continue
        if hasattr(source, "suffixes") and hasattr(source, "batches"):
            found[name] = source
    return found


def _suffix(address: str, suffixes: Mapping[str, Source]) -> str | None:
    """The longest known suffix of the file's name."""
    lower = path_part(address).lower()
    return max((suffix for suffix in suffixes if lower.endswith(suffix)), key=len, default=None)


def _listing(suffixes: Mapping[str, Source]) -> str:
    return ", ".join(sorted(suffixes))
