"""Locks across processes, by name: a file beside that of a SQLite store, an advisory lock in PostgreSQL."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import StoreError
from assay.outputs import private_file

# Somebody who looks whether a lock is held has it for a moment.
_LOCK_ATTEMPTS = 5
_BETWEEN_ATTEMPTS = 0.02  # seconds

HELD = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND "
    "(classid::bigint << 32 | objid::bigint) = :number AND "
    "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
"""Counts the processes that hold a lock in PostgreSQL, which shows the two halves of its number."""


def number_of(name: str) -> int:
    """The number of a lock in PostgreSQL."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def lock_file(store: Path, name: str) -> Path:
    """The file of a lock, beside the file of a store."""
    return store.with_name(f"{store.name}.{name}.lock")


def is_locked_file(path: Path) -> bool:
    """Whether a process holds a lock file; one that was killed has left the file and not the lock."""
    try:
        import fcntl

        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


@contextmanager
def locked_file(path: Path) -> Iterator[bool]:
    """A lock file that one process at a time can hold; yields whether this one does. Its holder deletes it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: users must not resume a run twice at the same time
        yield True
        return
    try:
        file = os.fdopen(private_file(str(path), os.O_CREAT | os.O_WRONLY), "w")
    except OSError as error:
        raise StoreError(f"the file cannot be locked: {error.strerror}", where=str(path)) from error
    with file:
        for attempts_left in reversed(range(_LOCK_ATTEMPTS)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not attempts_left:
                    yield False
                    return
                time.sleep(_BETWEEN_ATTEMPTS)
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
