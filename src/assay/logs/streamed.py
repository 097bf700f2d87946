"""Large JSON logs, an element of a list at a time: neither the file nor any of its lists is in memory as a whole.

Logs are objects whose long lists are at the first or second level. Each such list becomes a `StreamedList`, which reads
its file anew whenever it is iterated; everything else is parsed as usual.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from assay.errors import SourceError

_PIECE = 1 << 20
_LEVELS = 2
"""Levels of objects in which lists are streamed."""
_FIRST = 3
"""Elements of a list that are kept, so that a format can look at them."""
_SPACE = " \t\n\r"
_CLOSING = {"{": "}", "[": "]"}
Keys = tuple[str, ...]


class StreamedList(list[Any]):
    """A list in a file. It holds only its first elements; iterating gives all of them."""

    def __init__(self, first: list[Any], elements: Callable[[], Iterator[Any]]) -> None:
        super().__init__(first)
        self._elements = elements

    def __iter__(self) -> Iterator[Any]:
        return self._elements()


def streamed_object(path: Path, check: Callable[[str], None], most: int, where: str) -> dict[str, Any]:
    """The JSON object of a file, with its lists as StreamedList.

    `check` raises an error if a text has more values than fit in memory; no element has more than `most` characters.
    Raises ValueError if the file is not one JSON object.
    """

    def elements(keys: Keys) -> Iterator[Any]:
        try:
            with _Text(path.open("rb"), check, most, where) as text:
                yield from (value for at, value in text.walk() if at == (*keys, None))
        except (ValueError, RecursionError) as error:
            raise SourceError(f"has changed while it was read: {error}", where=where) from error

    found: dict[str, Any] = {}
    kept = 0
    with _Text(path.open("rb"), check, most, where) as text:
        for keys, value in text.walk():
            is_element = keys[-1] is None
            names = [str(key) for key in (keys[:-1] if is_element else keys)]
            holder = found
            for name in names[:-1]:
                holder = holder.setdefault(name, {})
                if not isinstance(holder, dict):
                    raise ValueError(f"'{name[:60]}' is given twice")
            if is_element:
                listed = holder.setdefault(names[-1], StreamedList([], partial(elements, tuple(names))))
                if isinstance(listed, StreamedList) and len(listed) < _FIRST:
                    listed.append(value)
            elif names[-1] in holder:
                raise ValueError(f"'{names[-1][:60]}' is given twice")
            else:
                holder[names[-1]] = value
                kept += text.last_length
                if kept > most:
                    raise text.too_large("what is not in its lists")
    return found


class _Text:
    """The text of a file from a position on; what is before it is forgotten."""

    def __init__(self, file: IO[bytes], check: Callable[[str], None], most: int, where: str) -> None:
        self._file = file
        self._check = check
        self._most = most
        self._where = where
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._json = json.JSONDecoder(parse_constant=lambda name: None)
        self._buffer = ""
        self._at = 0
        self._ended = False
        self.last_length = 0
        """Characters of the value that was parsed last."""

    def __enter__(self) -> _Text:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def walk(self, keys: Keys = ()) -> Iterator[tuple[tuple[str | None, ...], Any]]:
        """Each value with its keys; elements of a list have None in place of the last."""
        self._take("{")
        if keys and self._peek() == "}":
            yield keys, {}
        for _ in self._parts("{"):
            key = self._value()
            if not isinstance(key, str):
                raise ValueError("a key is not text")
            self._take(":")
            inner = (*keys, key)
            first = self._peek()
            if first == "[":
                self._take("[")
                empty = True
                for _ in self._parts("["):
                    empty = False
                    yield (*inner, None), self._value()
                if empty:
                    yield inner, []
            elif first == "{" and len(inner) < _LEVELS:
                yield from self.walk(inner)
            else:
                yield inner, self._value()
        if not keys and self._peek():
            raise ValueError("there is more after the object")

    def _parts(self, opening: str) -> Iterator[None]:
        """Stands at each element of an object or a list, until its end."""
        closing = _CLOSING[opening]
        if self._peek() == closing:
            self._take(closing)
            return
        while True:
            yield
            if self._peek() == closing:
                self._take(closing)
                return
            self._take(",")

    def _peek(self) -> str:
        """The next character that is not space; empty at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more(_PIECE):
                return ""

    def _take(self, expected: str) -> None:
        if self._peek() != expected:
            raise ValueError(f"{expected} is missing")
        self._at += 1

    def _value(self) -> Any:
        self._peek()
        window = _PIECE
        while True:
            while len(self._buffer) - self._at < window and self._more(window):
                pass
            text = self._buffer[self._at : self._at + window]
            self._check(text)
            try:
                value, end = self._json.raw_decode(text)
                # A number may go on in what is not read yet.
                if end < len(text) or (self._ended and self._at + end == len(self._buffer)):
                    if end > self._most:
                        raise self.too_large("an element of the log")
                    self._at += end
                    self.last_length = end
                    return value
            except json.JSONDecodeError:
                if self._ended and self._at + window >= len(self._buffer):
                    raise
            if window > self._most:
                raise self.too_large("an element of the log")
            window *= 2

    def _more(self, size: int) -> bool:
        """Read on; False at the end of the file."""
        if self._ended:
            return False
        raw = self._file.read(size)
        self._ended = not raw
        self._buffer = self._buffer[self._at :] + self._decoder.decode(raw, not raw)
        self._at = 0
        return True

    def too_large(self, what: str) -> SourceError:
        from assay.logs.contents import too_large

        return too_large(what, self._most, self._where)
