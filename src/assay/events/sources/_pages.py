"""What the pages of a Parquet file claim, read from its footer and page headers before anything is decoded.

Arrow allocates what a page claims, and a batch of rows can be thousands of times larger than the pages it is decoded
from: a dictionary names one text often, a delta encoding repeats the beginning of the text before. The headers are read
here, not by pyarrow, whose metadata of columns end the process if they are damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from assay.errors import SourceError
from assay.events.sources._limits import BYTES_A_NAME, too_large

ReadAt = Callable[[int, int], bytes]
"""Takes a position and a number of bytes; gives fewer at the end of the file."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = frozenset((_I16, _I32, _I64))
_DEEPEST = 24
# A header has about 50 bytes, and more with the least and greatest values of its page; Arrow reads at most 16 MB.
_HEADER, _LONGEST_HEADER = 256, 16 << 20
# Bytes after a column chunk that Arrow may read too, because an old writer left out the dictionary's header.
_PADDING = 100
# What Arrow keeps of each column chunk, in bytes.
_BYTES_A_CHUNK = 1024

DICTIONARY_PAGE = 2
DELTA_BYTE_ARRAY = 7
_DICTIONARY_ENCODINGS = (2, 8)
_BYTE_ARRAYS = (6, 7)
# What a value takes that is not text.
_BYTES_A_NUMBER = 8


@dataclass(frozen=True, slots=True)
class Page:
    """What the header of a page says."""

    is_dictionary: bool
    """Whether it contains the dictionary of its column chunk."""
    by_dictionary: bool
    """Whether its values are indices of the dictionary."""
    by_prefix: bool
    """Whether a value may begin with the value before."""
    values: int
    size: int
    """Its bytes when it is decompressed."""


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """One column of a row group."""

    column: str
    """The name of the outermost column that it belongs to."""
    is_repeated: bool
    """Whether a row can have many of its values."""
    is_text: bool
    """Whether its values are bytes of any length."""
    start: int
    compressed: int
    values: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that were written together."""

    rows: int
    chunks: list[ColumnChunk]


class _DamagedError(Exception):
    """Bytes that are not a structure of Thrift's compact protocol, or end too early."""


class _Thrift:
    """Structures of Thrift's compact protocol, as dictionaries from the numbers of fields to values."""

    def __init__(self, raw: bytes, most: int) -> None:
        self._raw, self.at, self._left = raw, 0, most

    def _varint(self) -> int:
        raw, at, shift, found = self._raw, self.at, 0, 0
        while True:
            if at >= len(raw) or shift > 63:
                raise _DamagedError
            byte = raw[at]
            at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return found
            shift += 7

    def _number(self) -> int:
        if self.at < len(self._raw) and self._raw[self.at] < 0x80:  # one byte, as most are
            coded = self._raw[self.at]
            self.at += 1
        else:
            coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise _DamagedError
        found: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if not head:
                return found
            number = number + (head >> 4) if head >> 4 else self._number()
            kind = head & 0x0F
            if kind in _INTEGERS:  # nearly all fields of a page's header
                found[number] = self._number()
            else:
                found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _byte(self) -> int:
        if self.at >= len(self._raw):
            raise _DamagedError
        self.at += 1
        return self._raw[self.at - 1]

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._number()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            return self._items(n, head & 0x0F, depth)
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in (_BYTE, _TRUE, _FALSE):
            return self._byte()
        raise _DamagedError

    def _items(self, n: int, kind: int, depth: int) -> list[Any]:
        self._left -= n
        if n > len(self._raw) - self.at:
            raise _DamagedError
        if self._left < 0:
            raise OverflowError
        return [self._value(kind, depth + 1) for _ in range(n)]

    def _bytes(self, n: int) -> bytes:
        if n > len(self._raw) - self.at:
            raise _DamagedError
        self.at += n
        return self._raw[self.at - n : self.at]


def row_groups(read_at: ReadAt, length: int, max_memory: int) -> list[RowGroup]:
    """The row groups of a file of `length` bytes; SourceError if the footer claims too much or is damaged."""
    end = read_at(length - 8, 8) if length >= 12 else b""
    footer = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or footer > length - 12:
        raise _damaged("the file has no footer")
    if footer > max_memory // 8:
        raise too_large("the footer", max_memory // 8, None)
    try:
        found = _Thrift(read_at(length - 8 - footer, footer), max_memory // _BYTES_A_CHUNK).struct()
        columns = _columns(found[2])
        return [
            RowGroup(group[3], [_chunk(one, *column) for one, column in zip(group[1], columns, strict=True)])
            for group in found.get(4, [])
        ]
    except OverflowError:
        raise too_large("the footer", max_memory, None) from None
    except (_DamagedError, KeyError, TypeError, AttributeError, ValueError, UnicodeError):
        raise _damaged("its footer cannot be read") from None


def _columns(schema: list[dict[int, Any]]) -> list[tuple[str, bool, bool]]:
    """For each column that has values: the name of its outermost column, whether it is repeated, whether it is text."""
    found: list[tuple[str, bool, bool]] = []
    waiting: list[list[Any]] = []  # the structures around the next one: children left, name, whether repeated
    for at, element in enumerate(schema):
        while waiting and not waiting[-1][0]:
            waiting.pop()
        if at:
            waiting[-1][0] -= 1
        inside = waiting[-1] if len(waiting) > 1 else None
        name = inside[1] if inside else bytes(element[4]).decode()
        repeated = bool(at) and (element.get(3) == 2 or bool(inside and inside[2]))
        if element.get(5) or not at:
            waiting.append([element.get(5) or 0, name, repeated])
        else:
            found.append((name, repeated, element.get(1) in _BYTE_ARRAYS))
    return found


def _chunk(one: dict[int, Any], column: str, is_repeated: bool, is_text: bool) -> ColumnChunk:
    said = one[3]
    start, dictionary = said[9], said.get(11) or 0
    if 0 < dictionary < start:
        start = dictionary
    if min(start, said[7], said[5]) < 0:
        raise _DamagedError
    return ColumnChunk(column, is_repeated, is_text, start, said[7], said[5])


def pages(read_at: ReadAt, chunk: ColumnChunk) -> Iterator[Page]:
    """The pages of a column chunk, to the end of what Arrow could read."""
    at, end, values = chunk.start, chunk.start + chunk.compressed, 0
    while at < end + _PADDING:
        found = _header(read_at, at)
        if found is None:
            if at < end and values < chunk.values:
                raise _damaged(f"the header of a page of '{chunk.column:.80}' cannot be read")
            return
        page, taken = found
        yield page
        values += 0 if page.is_dictionary else page.values
        at += taken


def _header(read_at: ReadAt, at: int) -> tuple[Page, int] | None:
    """A page and the bytes that it takes with its header; None if there is no header."""
    length = _HEADER
    while True:
        raw = read_at(at, length)
        thrift = _Thrift(raw, 1 << 16)
        try:
            found = thrift.struct()
            data: dict[int, Any] = next((found[one] for one in (5, 7, 8) if one in found), {})
            is_dictionary = found[1] == DICTIONARY_PAGE
            coded = data.get(4 if 8 in found else 2, 0)
            page = Page(
                is_dictionary,
                not is_dictionary and coded in _DICTIONARY_ENCODINGS,
                coded == DELTA_BYTE_ARRAY,
                data.get(1, 0),
                found[2],
            )
            if min(page.values, page.size, found[3]) < 0:
                return None
            return page, thrift.at + found[3]
        except _DamagedError:
            if len(raw) < length or length >= _LONGEST_HEADER:
                return None
            length *= 16
        except (OverflowError, KeyError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be in memory at once."""

    batch: int
    """Bytes of text of a batch of rows."""
    memory: int
    """Bytes of anything that cannot be divided."""
    expansion: int
    """How many times its compressed size a row group of lists may have, beyond `memory`."""


def rows_that_fit(
    read_at: ReadAt, chunk: ColumnChunk, limits: Limits, longest: Callable[[Page], int] | None
) -> int | None:
    """How many rows of a column chunk can be decoded at a time; None if its rows are short.

    `longest` gives the length of the longest text of a dictionary; None if texts are read as indices.
    """
    every = list(pages(read_at, chunk))
    name = f"column '{chunk.column:.80}'"
    if any(page.size > limits.memory // 4 for page in every):
        raise too_large(f"a page of the {name}", limits.memory // 4, None)
    dictionary = next((page for page in every if page.is_dictionary), None)
    if dictionary and dictionary.values * BYTES_A_NAME > limits.memory:
        raise too_large(f"the dictionary of the {name}", limits.memory, None)
    each = _bytes_a_row(every, dictionary, longest) if chunk.is_text else 0
    if chunk.is_repeated:
        claimed = sum(page.values for page in every if not page.is_dictionary) * max(_BYTES_A_NUMBER, each)
        if claimed > max(limits.memory, limits.expansion * chunk.compressed):
            raise too_large(f"a row group of the {name}", limits.memory, None)
        return None
    return max(1, int(limits.batch / each)) if each else None


def _bytes_a_row(every: list[Page], dictionary: Page | None, longest: Callable[[Page], int] | None) -> float:
    """The most bytes that the rows of a page take on average, if each text is as long as it can be."""
    found = [0.0]
    for page in every:
        if page.by_prefix:
            found.append(page.size)
        elif not (page.is_dictionary or page.by_dictionary):
            found.append(page.size / max(page.values, 1))
    if dictionary and longest and any(page.by_dictionary for page in every):
        ordered = [page.by_dictionary for page in every if not page.is_dictionary]
        # A page without the dictionary comes first in no file that was written as usual.
        found.append(longest(dictionary) if ordered[0] else dictionary.size)
    return max(found)


def _damaged(what: str) -> SourceError:
    return SourceError(
        f"the file is damaged, cut short, or has the wrong suffix: {what}", hint="Create or download the file again"
    )
