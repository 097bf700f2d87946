"""A file of token text: one episode, read in pieces that end at the beginning of an event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.errors import SourceError
from assay.events.sources import ReadOptions
from assay.events.sources._files import open_binary, size
from assay.events.sources._rows import EVENT_START, is_header
from assay.events.stream import EventStream

_PIECE = 16 << 20
_MARK = EVENT_START.encode()


@dataclass(frozen=True)
class TokenText:
    """A file of token text."""

    suffixes: tuple[str, ...] = (".txt", ".tokens")

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """All events of the text. It is cut at <EVENT_START>s only, so no event is ever divided."""
        total, met, done = size(address), False, 0
        with open_binary(address) as file:
            rest = b""
            while piece := file.read(_PIECE):
                done += len(piece)
                if done == len(piece):
                    _refuse_tables(piece, address)
                rest += piece
                met = met or _MARK in rest
                cut = _cut(rest, reading)
                if cut > 0:
                    yield reading.codec.decode(rest[:cut])
                    rest = rest[cut:]
                if reading.progress:
                    reading.progress(done, total)
        if rest.strip() and not met:
            raise SourceError(
                "the text does not contain <EVENT_START>",
                where=address,
                hint="A .txt file must contain the tokens of one episode",
            )
        yield reading.codec.decode(rest)


def _refuse_tables(text: bytes, address: str) -> None:
    """Raise an error if the text is a table: read as text, its rows and episodes would silently be lost."""
    start = text.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    found = {b"[": ("a JSON array", ".json"), b"{": ("JSON Lines", ".jsonl")}.get(start[:1])
    if found is None and is_header(start):
        found = ("a table of separated values", ".csv")
    if found is not None:
        raise SourceError(f"this is {found[0]}, not token text", where=address, hint=f"Name it {found[1]}")


def _cut(text: bytes, reading: ReadOptions) -> int:
    """Where to end a piece: at the beginning of the last event, or within an endless one, to bound memory."""
    last = text.rfind(_MARK)
    if last <= 0 and len(text) > reading.max_event_bytes:
        return len(text) - len(_MARK) + 1  # what is kept may be the beginning of an <EVENT_START>
    return last


SOURCE = TokenText()
