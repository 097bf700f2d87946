"""A digest of events as they are read, so that a stored run says exactly what it was made from.

It is taken of the decoded columns in passing: nothing is read twice, pipes and remote addresses have one too, and the
same events have the same digest in every file format and in batches of every size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields

import numpy as np

from assay.events.stream import EventStream

_COLUMNS = tuple(column.name for column in fields(EventStream) if column.type == "Column" and column.name != "episode")


class StreamDigest:
    """SHA-256 over every column and over the names and lengths of the episodes."""

    def __init__(self) -> None:
        self._columns = {name: hashlib.sha256() for name in _COLUMNS}
        self._logprobs = hashlib.sha256()
        self._knows_logprobs = False
        self._episodes = hashlib.sha256()
        self._name: tuple[str, str] | None = None
        self._length = 0

    def update(self, batch: EventStream) -> None:
        for name, digest in self._columns.items():
            digest.update(np.ascontiguousarray(getattr(batch, name)).data)
        if batch.logprob is not None:
            self._knows_logprobs = True
            self._logprobs.update(np.ascontiguousarray(batch.logprob, np.float64).data)
        if not len(batch):
            return
        starts = np.flatnonzero(np.diff(batch.episode, prepend=batch.episode[0] - 1))
        lengths = np.diff(starts, append=len(batch)).tolist()
        for at, length in zip(batch.episode[starts].tolist(), lengths, strict=True):
            episode = batch.episodes[at]
            self._extend((episode.name, episode.stratum), length)

    def watch(self, batches: Iterable[EventStream]) -> Iterator[EventStream]:
        """The same batches, counted in as they pass."""
        for batch in batches:
            self.update(batch)
            yield batch

    def hexdigest(self) -> str:
        whole = self._episodes.copy()
        whole.update(self._closing_line())
        for name, digest in self._columns.items():
            whole.update(f"{name} {digest.hexdigest()}\n".encode())
        if self._knows_logprobs:
            whole.update(f"logprob {self._logprobs.hexdigest()}\n".encode())
        return whole.hexdigest()

    def _extend(self, name: tuple[str, str], length: int) -> None:
        if name != self._name:
            self._episodes.update(self._closing_line())
            self._name, self._length = name, 0
        self._length += length

    def _closing_line(self) -> bytes:
        return b"" if self._name is None else f"{self._name!r} {self._length}\n".encode("utf-8", "backslashreplace")
