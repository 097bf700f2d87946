"""Comma- and tab-separated tables, plain or gzipped: each row is converted to a JSON object and read as such.

All cells are text. A row of the wrong length, or with text in place of a number, is one invalid event.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import from_json, to_json

from assay.errors import ColumnError, SourceError
from assay.events.sources import ReadOptions
from assay.events.sources._files import open_binary, path_part
from assay.events.sources._limits import too_large
from assay.events.sources._rows import check_present, column_of, form_of, missing_columns
from assay.events.sources.jsonl import Blocks, read_rows
from assay.events.stream import EventStream

_WHOLE = re.compile(r"\s*(-?\d{1,25})(\.0*)?\s*")
_PRESSES = {"true": True, "false": False, "1": True, "0": False}
_ROWS = 2000
_MOST_CELLS = 100_000


@dataclass(frozen=True)
class SeparatedValues:
    """CSV and TSV."""

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the file."""
        with ExitStack() as stack:
            raw = stack.enter_context(open_binary(address))
            name = path_part(address).lower()
            opened = stack.enter_context(gzip.GzipFile(fileobj=raw)) if name.endswith(".gz") else raw
            text = io.TextIOWrapper(cast("Any", opened), encoding="utf-8-sig", errors="replace", newline="")
            stack.callback(text.detach)
            yield from read_rows(Blocks(_lines(text, address, reading)), raw, address, reading)


SOURCE = SeparatedValues()


def _lines(text: io.TextIOWrapper, address: str, reading: ReadOptions) -> Iterator[bytes]:
    """The rows as JSON Lines, a block at a time."""
    # The csv module holds a cell in four bytes for each character.
    longest = reading.max_memory // 8
    first = text.readline(longest + 1)
    separator = max("\t,;", key=first.count)
    _check_line(first, longest, separator, address)
    csv.field_size_limit(longest)
    try:
        names = next(csv.reader([first], delimiter=separator), [])
        names = [name.strip() for name in names]
        check_present(address, names, reading)
        if form_of(names, reading) is None:
            raise missing_columns(address, names, reading)
        used = [theirs for ours in _CONVERT if (theirs := column_of(ours, names, reading))]
        if twice := [name for name in used if names.count(name) > 1]:
            raise ColumnError(f"two columns are called '{twice[0]:.60}'", where=address, hint="Rename one of them")
        needed = [
            (names.index(theirs), theirs, convert)
            for ours, convert in _CONVERT.items()
            if (theirs := column_of(ours, names, reading))
        ]
        block: list[bytes] = []
        for row in csv.reader(_bounded(text, longest, separator, address), delimiter=separator):
            if not row:
                continue
            if len(row) == len(names):
                block.append(to_json({theirs: convert(row[at]) for at, theirs, convert in needed}))
            else:
                block.append(b"null")  # a row that is not an object
            if len(block) == _ROWS:
                yield b"\n".join(block) + b"\n"
                block = []
        yield b"\n".join(block) + b"\n"
    except csv.Error as error:
        raise SourceError(
            f"the table cannot be read: {error}", where=address, hint="Quote cells that contain quotes"
        ) from error


def _bounded(text: io.TextIOWrapper, longest: int, separator: str, address: str) -> Iterator[str]:
    """The lines of a table; raises SourceError for one that does not fit in memory."""
    while line := text.readline(longest + 1):
        _check_line(line, longest, separator, address)
        yield line


def _check_line(line: str, longest: int, separator: str, address: str) -> None:
    if len(line) > longest:
        raise too_large("a line of the table", longest, address)
    if len(line) > _MOST_CELLS and line.count(separator) > _MOST_CELLS:
        raise SourceError(
            f"a line of the table has more than {_MOST_CELLS:,} cells", where=address, hint="Check the file"
        )


def _number(cell: str) -> int | str | None:
    if not cell.strip():
        return None
    whole = _WHOLE.fullmatch(cell)
    return int(whole[1]) if whole else cell


def _press(cell: str) -> bool | str | None:
    return _PRESSES.get(cell.strip().lower(), cell) if cell.strip() else None


def _event(cell: str) -> object:
    try:
        return from_json(cell) if cell.strip() else None
    except ValueError:
        return cell


def _name(cell: str) -> str | None:
    return cell or None


_CONVERT: dict[str, Callable[[str], object]] = {
    "text": str,
    "event": _event,
    "kind": str.strip,
    **dict.fromkeys(("ts", "vk", "dx", "dy", "flags", "data"), _number),
    "press": _press,
    "episode": _name,
    "stratum": _name,
    "logprob": _event,
}
