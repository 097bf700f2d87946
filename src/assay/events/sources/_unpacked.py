"""Zstandard files and standard input: written to a temporary file, and read in the format of its contents."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from assay.errors import AssayError, SourceError, missing_extra
from assay.events.sources._files import open_binary, path_part
from assay.events.sources._limits import too_large
from assay.events.stream import EventStream

if TYPE_CHECKING:
    from assay.events.sources import ReadOptions, Source

SUFFIX = ".zst"
MAGIC = b"\x28\xb5\x2f\xfd"
STANDARD_INPUT = "standard input"
_PIECE = 1 << 20
_CHECKED_EVERY = 64 << 20
_PACKED_PIECE = 1 << 12  # a block of Zstandard can repeat one byte 30,000 times
_LARGEST_WINDOW = 1 << 27


@dataclass(frozen=True)
class Unpacked:
    """A compressed file in the format that `source_of` finds for its contents."""

    source_of: Callable[[str], Source]
    suffixes: tuple[str, ...] = (SUFFIX,)

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the file."""
        name = path_part(address)
        inner = os.path.basename(name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name)
        with (
            open_binary(address) as packed,
            _temporary_file(_expanded(packed, address, reading), address, inner) as path,
        ):
            reading = replace(reading, name=reading.name or inner.split(".")[0])
            with _renamed_errors(path, address):
                yield from self.source_of(path).batches(path, reading)


def read_standard_input(source_of: Callable[[str], Source], reading: ReadOptions) -> Iterator[EventStream]:
    """The events from standard input, in any format that can be recognised by its first bytes."""
    yield from _read_once(sys.stdin.buffer, STANDARD_INPUT, source_of, reading)


def read_pipe(path: str, source_of: Callable[[str], Source], reading: ReadOptions) -> Iterator[EventStream]:
    """The events from a named pipe, likewise: it can be read only once, and a format may need several readings."""
    with open(path, "rb", buffering=0) as pipe:
        yield from _read_once(pipe, path, source_of, reading)


def _read_once(
    file: IO[bytes], where: str, source_of: Callable[[str], Source], reading: ReadOptions
) -> Iterator[EventStream]:
    first = file.read(_PIECE)
    if not first:
        raise SourceError("there was no input", where=where, hint="Send a file, e.g. with: cat FILE | assay …")
    with _temporary_file(iter([first]), where, "input") as path, _renamed_errors(path, where):
        source_of(path)  # input without an end in no format is refused before it fills the disk
        with open(path, "ab") as target, _writing_errors(path, where):
            target.writelines(_while_there_is_room(iter(lambda: file.read(_PIECE), b""), path, where))
        yield from source_of(path).batches(path, replace(reading, name=reading.name or "input"))


def _while_there_is_room(pieces: Iterator[bytes], path: str, where: str) -> Iterator[bytes]:
    """The pieces, as long as they leave room on the disk for other programs: input may have no end."""
    unchecked = 0
    for piece in pieces:
        unchecked += len(piece)
        if unchecked > _CHECKED_EVERY:
            unchecked = 0
            disk = shutil.disk_usage(os.path.dirname(path))
            if disk.free < max(_CHECKED_EVERY, disk.total // 20):
                raise SourceError(
                    "there is more input than room for it in the temporary folder",
                    where=where,
                    hint="Name a larger one with TMPDIR, or save the input as a file",
                )
        yield piece


@contextmanager
def _temporary_file(pieces: Iterator[bytes], where: str, name: str) -> Iterator[str]:
    """A temporary file with that name and these pieces as contents."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = os.path.join(folder, name or "input")
        with _writing_errors(path, where), open(path, "wb") as target:
            target.writelines(pieces)
        yield path


@contextmanager
def _writing_errors(path: str, where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        folder = os.path.dirname(path)
        raise SourceError(f"cannot write a temporary file in {folder}: {error}", where=where) from error


@contextmanager
def _renamed_errors(path: str, where: str) -> Iterator[None]:
    """Turns errors about the temporary file into errors about the source that the user named."""
    try:
        yield
    except AssayError as error:
        error.where = error.where.replace(path, where) if error.where else where
        raise


def _expanded(packed: IO[bytes], address: str, reading: ReadOptions) -> Iterator[bytes]:
    """The decompressed bytes. A file may have several frames; a frame without an end was cut short.

    A few kilobytes can become gigabytes: little is given to the decompressor at a time, and the sum is limited.
    """
    try:
        import zstandard
    except ImportError as error:
        raise missing_extra("zstandard", "events", f"decompress {address}") from error
    frame: Any = None
    taken = given = 0
    try:
        while piece := packed.read(_PACKED_PIECE):
            taken += len(piece)
            while piece:
                if frame is None:
                    frame = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
                text = frame.decompress(piece)
                given += len(text)
                limit = 2 * reading.max_memory + taken * reading.max_expansion
                if given > limit:
                    raise too_large(f"a file of {taken:,} bytes, decompressed,", limit, address)
                yield text
                piece = frame.unused_data
                if frame.eof:
                    frame = None
    except zstandard.ZstdError as error:
        raise _damaged(address, str(error)) from error
    if frame is not None:
        raise _damaged(address, "the end of its last frame is missing")


def _damaged(address: str, why: str) -> SourceError:
    return SourceError(
        f"the compressed data are damaged or cut short: {why}", where=address, hint="Create or download the file again"
    )
