"""Where events come from: token text, JSONL, Parquet and Arrow, OWAMcap recordings.

`read` gives batches of events from anything SPEC 1.3 names, so that no source has to fit in memory. A file format is one
module here with a `SOURCE`, or an entry point in the group `assay.sources`: an object with the suffixes it answers to
and one method. Sources know codecs and streams, and nothing of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.events.codecs import Codec
from assay.events.stream import EventStream
from assay.registry import Registry


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is to be read."""

    codec: Codec
    """The encoding of token text."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name of a column (text, event, episode, stratum) to the name it has in the table."""
    batch_rows: int = 65_536
    """Rows, messages or events read at a time."""
    progress: Callable[[int, int | None], None] | None = None
    """Called with the bytes read so far and the bytes there are, where that is known."""


class Source(Protocol):
    """A file format. This is the whole contract of a plug-in."""

    suffixes: tuple[str, ...]
    """Endings of file names, with the dot, in lower case."""

    def batches(self, address: str, reading: Reading) -> Iterator[EventStream]:
        """The events of one file, in order, a batch at a time."""


SOURCES: Registry[Source] = Registry(
    "source", package="assay.events.sources", attribute="SOURCE", group="assay.sources"
)
