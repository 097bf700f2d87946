"""A JSON array of rows: objects as in JSON Lines, or texts of one event each. A single object is one row."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any, cast

from pydantic_core import from_json, to_json

from assay.errors import SourceError
from assay.events.sources import ReadOptions
from assay.events.sources._files import open_binary, path_part
from assay.events.sources._limits import has_too_many_values, too_large
from assay.events.sources.jsonl import SOURCE as JSON_LINES
from assay.events.sources.jsonl import Blocks, read_rows
from assay.events.stream import EventStream

_ROWS = 2000


@dataclass(frozen=True)
class JsonArray:
    """A file with one JSON value."""

    suffixes: tuple[str, ...] = (".json", ".json.gz")

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the file. JSON Lines with this suffix are read as JSON Lines."""
        with ExitStack() as stack:
            raw = stack.enter_context(open_binary(address))
            opened: IO[bytes] = raw
            if path_part(address).lower().endswith(".gz"):
                opened = cast("Any", stack.enter_context(gzip.GzipFile(fileobj=raw)))
            try:
                limit = reading.max_memory // 8
                content = opened.read(limit + 1).removeprefix(b"\xef\xbb\xbf")
                is_lines = content.lstrip().startswith(b"{")
                if not is_lines and (len(content) > limit or has_too_many_values(content, reading)):
                    raise _whole(address, limit)
                value = from_json(content) if len(content) <= limit else _cut(content)
            except (OSError, EOFError, zlib.error) as error:
                raise SourceError(
                    f"reading failed: {error}", where=address, hint="Create or download the file again"
                ) from error
            except ValueError as error:
                del content
                if is_lines:
                    yield from JSON_LINES.batches(address, reading)
                    return
                raise SourceError(f"this is not valid JSON: {error}", where=address, hint="Check the file") from error
            if isinstance(value, dict):
                value = [value]
            if not isinstance(value, list):
                raise SourceError(
                    "this is neither a JSON array of rows nor JSON Lines",
                    where=address,
                    hint='Give [{"text": "<EVENT_START>…"}, …] or one object per line',
                )
            yield from read_rows(Blocks(_lines(value)), raw, address, reading)


SOURCE = JsonArray()


def _whole(address: str, limit: int) -> SourceError:
    error = too_large("a JSON array, which is read as a whole,", limit, address)
    error.hint = f"Write one object per line, as JSON Lines. {error.hint}"
    return error


def _cut(content: bytes) -> Any:
    """Raises ValueError, as for several lines: an object of this size is read as JSON Lines, if at all."""
    raise ValueError(f"an object of more than {len(content) - 1:,} bytes")


def _lines(rows: list[Any]) -> Iterator[bytes]:
    for at in range(0, len(rows), _ROWS):
        block = ({"text": row} if isinstance(row, str) else row for row in rows[at : at + _ROWS])
        yield b"\n".join(to_json(row, inf_nan_mode="constants") for row in block) + b"\n"
