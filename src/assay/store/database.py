"""Connections to SQLite and PostgreSQL: how they are opened, what a transaction is, and what their errors mean.

Everything that the two do differently is here and in `migrations`. Knows nothing of runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from assay.errors import StoreError, UsageError, missing_extra
from assay.redaction import redacted
from assay.store.migrations import SCHEMA_VERSION, found_version, migrate

BUSY_SECONDS = 30.0
"""How long a process waits for others that are writing."""
_CONNECT_SECONDS = 10
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WRITES = "assay_writes"
_PIECE = 1000


class Database:
    """An open database with the current schema."""

    def __init__(self, address: str) -> None:
        scheme = _SCHEME.match(address)
        self.path: Path | None = None
        """The file, where it is one."""
        if scheme is None or scheme[1] == "sqlite":
            self.path = Path(address.removeprefix("sqlite:///")).expanduser()
            self.label = str(self.path)
            self._engine = _sqlite(self.path)
        elif scheme[1] in ("postgresql", "postgres", "postgresql+psycopg"):
            self.label = redacted(address)
            self._engine = _postgresql(address)
        else:
            raise UsageError(
                f"runs cannot be kept at '{scheme[1]}://'", hint="Give the path of a file, or postgresql://…"
            )
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        with self._in_words(), self._engine.connect() as connection:
            version = found_version(connection)
            connection.rollback()
            if version < SCHEMA_VERSION and self.path is not None:
                _write_ahead(connection)
        if version < SCHEMA_VERSION:
            with self.writing() as connection:
                migrate(connection)

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees the database as it is now, whatever others write meanwhile."""
        with self._in_words(), self._engine.connect() as connection:
            if self.path is None:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes all or nothing. In SQLite it waits for its turn at the start, not in the middle."""
        with self._in_words(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            try:
                with connection.begin():
                    yield connection
            except DBAPIError as error:
                if self.path is not None and re.search(r"full|disk i/o", str(error.orig).lower()):
                    _shorten_log(connection, self.path)
                raise

    @contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """A lock that other processes see, let go of at the end or when this process dies; whether it was free."""
        if self.path is None:
            with self._in_words(), self._engine.connect() as connection:
                number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
                free = connection.execute(text("SELECT pg_try_advisory_lock(:number)"), {"number": number}).scalar()
                connection.commit()  # the lock is the session's, and an open transaction would be in others' way
                try:
                    yield bool(free)
                finally:
                    # Not handed back to the pool, where the session and its lock would live on.
                    connection.invalidate()
        else:
            with _locked_file(self.path.with_name(f"{self.path.name}.{name}.lock")) as free:
                yield free

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise type(error)(error.what, where=error.where or self.label, hint=error.hint) from error.__cause__
        except DBAPIError as error:
            what, hint = _meaning(error.orig)
            raise StoreError(what, where=self.label, hint=hint) from error
        except SQLAlchemyError as error:
            raise StoreError(f"the store failed: {type(error).__name__}", where=self.label) from error
        except Exception as error:
            # From the fast ways in and out, which SQLAlchemy does not see.
            if not type(error).__module__.startswith(("psycopg", "sqlite3")):
                raise
            what, hint = _meaning(error)
            raise StoreError(what, where=self.label, hint=hint) from error


@contextmanager
def _locked_file(path: Path) -> Iterator[bool]:
    """A file that one process at a time can hold; whether it is ours. It goes with the last one who held it."""
    try:
        import fcntl
    except ImportError:  # a system without such locks: whoever resumes a run there has to know who else does
        yield True
        return
    try:
        file = path.open("w")
    except OSError as error:
        raise StoreError(f"it cannot be locked: {error.strerror}", where=str(path)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _sqlite(path: Path) -> Engine:
    if path.is_dir():
        raise StoreError("it is a folder", where=str(path), hint="Name a file, e.g. runs.db")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"its folder cannot be made: {error.strerror}", where=str(path)) from error

    def connect() -> sqlite3.Connection:
        # Transactions are begun by us: the module's own begin too late to keep two writers apart.
        return sqlite3.connect(
            _uri(path), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    engine = create_engine("sqlite://", creator=connect, pool_size=2, max_overflow=8, poolclass=_queue_pool())

    @event.listens_for(engine, "connect")
    def settle(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        # With a write-ahead log this loses no commit when the process dies, and keeps the file whole if the power goes.
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _queue_pool() -> Any:
    from sqlalchemy.pool import QueuePool

    return QueuePool


def _uri(path: Path) -> str:
    """The address for SQLite. A file that we cannot write next to is read as it lies there, if nobody is writing it."""
    uri = path.absolute().as_uri()
    if not path.exists():
        return uri
    log = path.with_name(path.name + "-wal")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    settled = not log.exists() or log.stat().st_size == 0
    return f"{uri}?mode=ro&immutable=1" if not writable and settled else uri


def _write_ahead(connection: Connection) -> None:
    """Let readers and a writer work at once. The change of mode does not wait for others by itself, so we do."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            raw.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                # Some network disks cannot: SQLite works without it. What is truly wrong shows at the first write.
                return
            time.sleep(0.01)


def _shorten_log(connection: Connection, path: Path) -> None:
    """Give back the room that a transaction took which found the disk full.

    What it had written lies behind the last commit in the write-ahead log, which SQLite only ever shortens once its
    commits are in the file itself, and for that there is no room. Nobody reads beyond the last frame that the log's
    index names, and nobody else appends while we hold the lock for writing, so what lies there can be cut off.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        with connection.begin():
            # https://www.sqlite.org/walformat.html, 2.1: the index has the size of a page, and the last frame's number.
            with index.open("rb") as file:
                page, last = struct.unpack_from("=H I", file.read(20), 14)
            frames = last * (24 + (65536 if page == 1 else page))
            if log.stat().st_size > 32 + frames:
                os.truncate(log, 32 + frames)
        raw = connection.connection.dbapi_connection
        if raw is not None:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (OSError, struct.error, SQLAlchemyError, sqlite3.Error):
        return  # an attempt to be of service; the error itself is told in any case


def _postgresql(address: str) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise missing_extra("psycopg", "postgres", "keep runs in PostgreSQL") from error
    try:
        url: URL = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            "the address of the store cannot be read", hint="Write postgresql://user@host:5432/database"
        ) from error
    return create_engine(url, connect_args={"connect_timeout": _CONNECT_SECONDS}, pool_pre_ping=True)


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of plain values, in the order of the table's columns. The fast way in: SQLAlchemy's own takes most of the
    time of a run's writing to look at each value.
    """
    if not rows:
        return
    names = ", ".join(column.name for column in table.columns)
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))
        return
    cursor: Any = connection.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def select_rows(connection: Connection, table: Table, columns: Sequence[str], *, run: int) -> Iterator[tuple[Any, ...]]:
    """The rows of one run in the order of the table's key, as plain values; the fast way out."""
    names = ", ".join(columns)
    order = ", ".join(column.name for column in table.primary_key.columns)
    query = f"SELECT {names} FROM {table.name} WHERE run = {int(run)} ORDER BY {order}"
    raw: Any = connection.connection.dbapi_connection
    # In PostgreSQL's binary form bytes come as bytes, not as twice as many letters.
    cursor = raw.cursor() if connection.dialect.name == "sqlite" else raw.cursor(binary=True)
    cursor.execute(query)
    while piece := cursor.fetchmany(_PIECE):
        yield from piece


# What the two databases say, by a part of it, and what that means to a user.
_MEANINGS = (
    ("readonly database", "it can only be read", "Check who may write the file and its folder, or name another store"),
    ("database or disk is full", "the disk is full", "Nothing of this was kept. Make room and try again"),
    ("disk i/o error", "the disk refused to read or write; it may be full", "What was stored before is still there"),
    ("no space left", "the disk of the database is full", "Nothing of this was kept. Make room and try again"),
    ("not a database", "it is not a SQLite file", "Name another store"),
    ("malformed", "the file is damaged", "Restore it from a copy, or name another store"),
    ("unable to open", "the file cannot be opened", "Check who may write its folder, or name another store"),
    ("database is locked", "another process is writing and does not finish", "Try again when it is done"),
    ("read-only transaction", "it can only be read", "Check what the database user may do"),
    ("permission denied", "the database user may not do this", "Check what the database user may do"),
)


def _meaning(error: BaseException | None) -> tuple[str, str | None]:
    said = redacted(str(error))
    for part, what, hint in _MEANINGS:
        if part in said.lower():
            return what, hint
    first = said.strip().splitlines()[0] if said.strip() else type(error).__name__
    return f"the database says: {first}", None
