"""A digest of events as they are read, so that a stored run says exactly what it was made from.

It is taken of the decoded columns in passing: nothing is read twice, pipes and remote addresses have one too, and the
same events have the same digest in every file format and in batches of every size. It is made of blocks, each of which
begins with the first event of an episode that did not occur before, so that shards of whole episodes, each digested on
its own machine, have the digest of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import EventStream

_COLUMNS = tuple(column.name for column in fields(EventStream) if column.type == "Column" and column.name != "episode")


class StreamDigest:
    """SHA-256 over every column and over the names and lengths of the episodes."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._block = _Block()
        self._seen: set[str] = set()

    def update(self, batch: EventStream) -> None:
        if not len(batch):
            return
        starts = batch.run_starts()
        ends = np.append(starts[1:], len(batch)).tolist()
        begin = 0
        for at, start, end in zip(batch.episode[starts].tolist(), starts.tolist(), ends, strict=True):
            episode = batch.episodes[at]
            if episode.name not in self._seen:
                self._block.update(batch, begin, start)
                if self._seen:
                    self._blocks.append(self._block.digest())
                    self._block = _Block()
                self._seen.add(episode.name)
                begin = start
            self._block.extend((episode.name, episode.stratum), end - start)
        self._block.update(batch, begin, len(batch))

    def watch(self, batches: Iterable[EventStream]) -> Iterator[EventStream]:
        """The same batches, counted in as they pass."""
        for batch in batches:
            self.update(batch)
            yield batch

    @property
    def blocks(self) -> list[bytes]:
        """The digest of each block, 32 bytes; none if there were no events."""
        return [*self._blocks, self._block.digest()] if self._seen else []

    def hexdigest(self) -> str:
        return joined_digest(self.blocks)


def joined_digest(blocks: Sequence[bytes]) -> str:
    """The digest of events whose blocks have these digests, in order."""
    if len(blocks) == 1:
        return blocks[0].hex()
    return hashlib.sha256(b"".join(blocks) if blocks else _Block().digest()).hexdigest()


# For more bytes than this, `hashlib` releases the interpreter's lock. The columns of an episode are hashed in a few
# microseconds, and getting the lock back from threads that score takes longer.
_AT_ONCE = 2047
# Columns of more bytes are hashed at once, while others work.
_LONG = 1 << 17


def _update(digest: hashlib._Hash, column: NDArray[Any]) -> None:
    """Add the bytes of a contiguous column."""
    raw = column.data.cast("B")
    step = _AT_ONCE if len(raw) < _LONG else len(raw)
    for start in range(0, len(raw), step):
        digest.update(raw[start : start + step])


class _Block:
    """Consecutive events, of which the first begins an episode."""

    def __init__(self) -> None:
        self._columns = {name: hashlib.sha256() for name in _COLUMNS}
        self._logprobs = hashlib.sha256()
        self._knows_logprobs = False
        self._episodes = hashlib.sha256()
        self._name: tuple[str, str] | None = None
        self._length = 0

    def update(self, batch: EventStream, begin: int, end: int) -> None:
        """Add the columns of some events."""
        if begin == end:
            return
        for name, digest in self._columns.items():
            _update(digest, np.ascontiguousarray(getattr(batch, name)[begin:end]))
        if batch.logprob is not None:
            self._knows_logprobs = True
            _update(self._logprobs, np.ascontiguousarray(batch.logprob[begin:end], np.float64))

    def extend(self, name: tuple[str, str], length: int) -> None:
        """Add events to the run of an episode, by its name and stratum."""
        if name != self._name:
            self._episodes.update(self._closing_line())
            self._name, self._length = name, 0
        self._length += length

    def digest(self) -> bytes:
        whole = self._episodes.copy()
        whole.update(self._closing_line())
        for name, digest in self._columns.items():
            whole.update(f"{name} {digest.hexdigest()}\n".encode())
        if self._knows_logprobs:
            whole.update(f"logprob {self._logprobs.hexdigest()}\n".encode())
        return whole.digest()

    def _closing_line(self) -> bytes:
        return b"" if self._name is None else f"{self._name!r} {self._length}\n".encode("utf-8", "backslashreplace")
