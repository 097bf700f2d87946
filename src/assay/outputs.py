"""Files that assay writes: complete or not at all, readable by their owner only, and never over something else.

A file is written next to its target and renamed when it is complete, so a full disk or a kill leaves the old file
unchanged. A target that is an input, a store of runs, or a file of another kind is refused.
"""

from __future__ import annotations

import glob
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import UsageError

PRIVATE = 0o600
"""Permissions of new files: reports and runs contain what people and agents said."""
PRIVATE_FOLDER = 0o700

_HEAD = 512
# First bytes of kinds of files, without space and the mark of UTF-8.
_KINDS = {
    b"SQLite format 3\0": "a SQLite database",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x89MCAP": "an MCAP recording",
    b"{": "JSON",
    b"[": "JSON",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "XML",
}
_TEXT = "text"
_OF_TEXT = ("", ".md", ".markdown", ".txt")  # suffixes of files that other text may replace


def _kind_of(head: bytes) -> str:
    """The kind of a file that begins with these bytes, in words; empty for an empty file."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        return ""
    for magic, kind in _KINDS.items():
        if start.startswith(magic.lower()):
            return kind
    return "binary data" if b"\0" in head else _TEXT


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a new file to write to, which takes the target's place at the end; an error leaves the target.

    A device or a pipe is written to directly. A link stays a link: the file that it points to is replaced.
    """
    path = Path(os.path.realpath(target))
    before = path.stat() if path.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield path
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.", suffix=".part")
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        with beside.open("rb+") as file:
            head = file.read(_HEAD)
            os.fsync(file.fileno())
        if before is not None:
            _check_kind(target, path, head)
            os.chmod(beside, stat.S_IMODE(before.st_mode))
        os.replace(beside, path)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def private_file(name: str, flags: int) -> int:
    """An opener for `open`: only the owner can read a file that it creates."""
    return os.open(name, flags, PRIVATE)


def write_bytes(target: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file."""
    with replacing(target) as path:
        path.write_bytes(content)


def refuse_inputs(target: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise UsageError if the target is one of the inputs, under whatever name, or a file in a folder of inputs."""
    if not os.path.exists(target):
        return
    real = os.path.realpath(target)
    for pattern in inputs:
        try:
            found = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        except (ValueError, OSError):  # a zero byte; a text of any length may be an input
            continue
        for one in map(os.path.realpath, found):
            within = os.path.isdir(one) and real.startswith(os.path.join(one, ""))
            if within or os.path.samefile(real, one):
                raise UsageError(
                    "the output is one of the inputs", where=str(target), hint="Choose another file to write"
                )


def _check_kind(target: str | os.PathLike[str], path: Path, new: bytes) -> None:
    """Raise UsageError if the file that would be replaced is of another kind than what was written."""
    with path.open("rb") as file:
        old = _kind_of(file.read(_HEAD))
    wanted = _kind_of(new)
    foreign_text = old == wanted == _TEXT and path.suffix.lower() not in _OF_TEXT
    if old and (old != wanted or foreign_text):
        raise UsageError(
            f"the file exists and is {old}, not a file that this command writes",
            where=str(target),
            hint="Choose another name, or delete it first",
        )
