"""Finished shards of evaluations that are not complete, so that an evaluation that was stopped can go on.

A shard has a key made of everything that decides its contents. It is deleted when its evaluation is complete; one that
nobody asked for in a month is deleted too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, insert, select

from assay.store import schema
from assay.store.store import Store

_KEPT_FOR = timedelta(days=30)
# Databases limit how many values a statement has.
_AT_ONCE = 500


class FinishedShards:
    """The shards of all evaluations in a store, as bytes by key."""

    def __init__(self, store: Store) -> None:
        self._database = store._database  # of this package, like the store itself
        with self._database.writing() as connection:
            before = (datetime.now(UTC) - _KEPT_FOR).isoformat(timespec="seconds")
            connection.execute(delete(schema.shards).where(schema.shards.c.created < before))

    def load(self, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the shards with these keys that there are."""
        columns = schema.shards.c
        with self._database.reading() as connection:
            for some in _pieces(keys):
                rows = connection.execute(select(columns.key, columns.content).where(columns.key.in_(some)))
                yield from ((str(key), bytes(content)) for key, content in rows)

    def has(self, key: str) -> bool:
        """Whether there is a shard with this key."""
        columns = schema.shards.c
        with self._database.reading() as connection:
            return connection.execute(select(columns.key).where(columns.key == key)).first() is not None

    def keep(self, key: str, content: bytes) -> None:
        """Store a shard; one with the same key is replaced."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.writing() as connection:
            connection.execute(delete(schema.shards).where(schema.shards.c.key == key))
            connection.execute(insert(schema.shards).values(key=key, content=content, created=created))

    def forget(self, keys: Sequence[str]) -> None:
        """Delete shards."""
        with self._database.writing() as connection:
            for some in _pieces(keys):
                connection.execute(delete(schema.shards).where(schema.shards.c.key.in_(some)))


def _pieces(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE))
