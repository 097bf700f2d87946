"""Connections to SQLite and PostgreSQL: opening them, transactions, locks, and the meaning of their errors.

Everything that the two do differently is here and in `migrations`. This module knows nothing about runs.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, SQLAlchemyError

from assay.errors import StoreError, UsageError, missing_extra
from assay.outputs import PRIVATE_FOLDER, private_file
from assay.redaction import HIDDEN, redacted
from assay.store.locks import HELD, is_locked_file, lock_file, locked_file, number_of
from assay.store.migrations import SCHEMA_VERSION, found_version, migrate

BUSY_SECONDS = 30.0
"""How long a process waits while others are writing."""
_CONNECT_SECONDS = 10
_SECONDS_TRUSTED = 1.0
_USED = "assay_used"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WRITES = "assay_writes"
_PIECE = 1000

# SQLAlchemy logs whatever ends the closing of a connection before it raises it; an interrupt at that moment would be
# printed with its traceback. Handlers that a user has set for it still get it.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


class Database:
    """An open database with the current schema."""

    def __init__(self, address: str) -> None:
        scheme = _SCHEME.match(address)
        self._shared = threading.local()
        self._file: tuple[int, int] | None = None
        self.path: Path | None = None
        """The file of a SQLite database; None for PostgreSQL."""
        if scheme is None or scheme[1] == "sqlite":
            self.path = Path(address.removeprefix("sqlite:///")).expanduser()
            self.label = str(self.path)
            self._engine = _sqlite(self.path)
        elif scheme[1] in ("postgresql", "postgres", "postgresql+psycopg"):
            # As far as SQLAlchemy reads a password: it may have spaces and slashes.
            self.label = redacted(re.sub(r"(?<=://)([^:/@]*):[^@]*@", rf"\1:{HIDDEN}@", address))
            self._engine = _postgresql(address)
        else:
            raise UsageError(
                f"'{scheme[1]}://' is not a supported store", hint="Give the path of a file, or postgresql://…"
            )
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        with self._translated_errors(), self._engine.connect() as connection:
            version = found_version(connection)
            connection.rollback()
            if version < SCHEMA_VERSION and self.path is not None:
                _write_ahead(connection)
        if version < SCHEMA_VERSION:
            with self.writing() as connection:
                migrate(connection)
        self._file = self._file_now()

    def _file_now(self) -> tuple[int, int] | None:
        """What identifies the file that the path leads to now; None if there is none."""
        try:
            found = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def _check_file(self) -> None:
        """Raise StoreError if the file was deleted or replaced, by an agent for example: what was written is lost."""
        if self._file is not None and self._file_now() != self._file:
            raise StoreError(
                "the file was deleted or replaced by another program while it was in use, so this is not stored",
                hint="Run it again, and keep other programs away from the file",
            )

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def lent_connection(self) -> Any:
        """A connection of the driver's own that belongs to the caller, outside of the pool and of transactions."""
        lent = self._engine.raw_connection()
        lent.detach()
        return lent.dbapi_connection

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk. Waits for other writers."""
        with self._translated_errors():
            if self.path is None:
                with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("VACUUM"))
                return
            raw = self._engine.raw_connection()
            try:
                cursor = raw.cursor()
                cursor.execute("VACUUM")
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                cursor.close()
            finally:
                raw.close()

    @contextmanager
    def one_reading(self) -> Iterator[None]:
        """Let everything that this thread reads meanwhile read one state, in one transaction.

        In PostgreSQL only, where every transaction costs several questions to the server. In SQLite it costs nothing,
        and without a write-ahead log a transaction that stays open would keep writers waiting, even our own.
        """
        if self.path is not None:
            yield
            return
        with self.reading() as connection:
            self._shared.connection = connection
            try:
                yield
            finally:
                self._shared.connection = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads one state of the database, whatever others write in the meantime."""
        shared = getattr(self._shared, "connection", None)
        if shared is not None:
            with self._translated_errors():
                yield shared
            return
        with self._translated_errors(), self._engine.connect() as connection:
            if self.path is None:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes all or nothing. In SQLite it waits for other writers at its start."""
        with self._translated_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            try:
                with connection.begin():
                    yield connection
                self._check_file()
            except DBAPIError as error:
                if self.path is not None and re.search(r"full|disk i/o", str(error.orig).lower()):
                    _shorten_log(connection, self.path)
                raise

    @contextmanager
    def locked(self, name: str) -> Iterator[bool]:
        """A lock across processes, released at the end or if this process dies. Yields whether it was free."""
        if self.path is None:
            with self._translated_errors(), self._engine.connect() as connection:
                number = number_of(name)
                free = connection.execute(text("SELECT pg_try_advisory_lock(:number)"), {"number": number}).scalar()
                connection.commit()  # the lock belongs to the session; an open transaction would block others
                try:
                    yield bool(free)
                finally:
                    # A session that ends releases its locks a moment after it was closed, which is too late for who
                    # comes next. If the server is gone, so is the lock.
                    if free:
                        with suppress(DBAPIError):
                            connection.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": number})
                            connection.commit()
                    # Not returned to the pool, where the session and its lock would stay.
                    connection.invalidate()
        else:
            with locked_file(lock_file(self.path, name)) as free:
                yield free

    def is_locked(self, name: str) -> bool:
        """Whether some process holds a lock; False on systems without locks for files."""
        if self.path is not None:
            return is_locked_file(lock_file(self.path, name))
        with self._translated_errors(), self._engine.connect() as connection:
            return bool(connection.execute(text(HELD), {"number": number_of(name)}).scalar())

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise type(error)(error.what, where=error.where or self.label, hint=error.hint) from error.__cause__
        except DBAPIError as error:
            what, hint = _meaning(error.orig)
            raise StoreError(what, where=self.label, hint=hint) from error
        except UnicodeDecodeError as error:
            raise StoreError(
                "the file is damaged: it has text that is not UTF-8",
                where=self.label,
                hint="Save what is whole with: assay runs repair",
            ) from error
        except SQLAlchemyError as error:
            raise StoreError(f"the store failed: {type(error).__name__}", where=self.label) from error
        except Exception as error:
            # From `insert_rows` and `select_rows`, which bypass SQLAlchemy.
            if not type(error).__module__.startswith(("psycopg", "sqlite3")):
                raise
            what, hint = _meaning(error)
            raise StoreError(what, where=self.label, hint=hint) from error


def _sqlite(path: Path) -> Engine:
    if path.is_dir():
        raise StoreError("the path is a folder", where=str(path), hint="Name a file, e.g. runs.db")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    except OSError as error:
        raise StoreError(f"the folder cannot be created: {error.strerror}", where=str(path)) from error

    def connect() -> sqlite3.Connection:
        # SQLite gives its log and index the permissions of the file.
        if not path.exists():
            with suppress(OSError):  # SQLite reports what is wrong
                os.close(private_file(str(path), os.O_CREAT | os.O_RDWR))
        # We begin transactions ourselves: those of the sqlite3 module begin too late to keep two writers apart.
        return sqlite3.connect(
            _uri(path), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    engine = create_engine("sqlite://", creator=connect, pool_size=2, max_overflow=8, poolclass=_queue_pool())

    @event.listens_for(engine, "connect")
    def settle(connection: sqlite3.Connection, _: Any) -> None:
        # Damaged text of one run must not hide the others; that it is damaged is found by the run's digest.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.execute("PRAGMA foreign_keys = ON")
        # With a write-ahead log no commit is lost if the process dies, and the file stays intact if the power fails.
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
    """The URI for SQLite. If the file or its folder is not writable and the log is empty, it is opened as immutable."""
    uri = path.absolute().as_uri()
    if not path.exists():
        return uri
    log = path.with_name(path.name + "-wal")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    settled = not log.exists() or log.stat().st_size == 0
    return f"{uri}?mode=ro&immutable=1" if not writable and settled else uri


def _write_ahead(connection: Connection) -> None:
    """Turn on the write-ahead log, so that readers and a writer can work at once. Waits while others hold a lock."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            raw.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                # Some network disks do not support it; SQLite works without. A real problem shows at the first write.
                return
            time.sleep(0.01)


def _shorten_log(connection: Connection, path: Path) -> None:
    """Free the space that a transaction took before the disk was full.

    Its frames are behind the last commit in the write-ahead log. SQLite shortens the log only after copying its commits
    into the database file, and there is no space for that. No process reads beyond the last frame that the log's index
    names, and none appends while we hold the write lock, so everything behind that frame can be cut off.
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
        return  # freeing space is optional; the original error is raised in any case


def _postgresql(address: str) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise missing_extra("psycopg", "postgres", "keep runs in PostgreSQL") from error
    try:
        url: URL = make_url(address).set(drivername="postgresql+psycopg")
        engine = create_engine(url, connect_args={"connect_timeout": _CONNECT_SECONDS})
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            "the address of the store is not valid", hint="Write postgresql://user@host:5432/database"
        ) from error

    @event.listens_for(engine, "checkin")
    def put_back(connection: Any, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def take(connection: Any, record: Any, lent: Any) -> None:
        # Whether it still works is asked unless it did a moment ago: the answer takes as long as that of a query.
        if time.monotonic() - record.info.get(_USED, -_SECONDS_TRUSTED) < _SECONDS_TRUSTED:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error  # the pool opens another one

    return engine


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of plain values, in the order of the table's columns.

    Bypasses SQLAlchemy, which would spend most of the time of writing a run on looking at each value.
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
    """The rows of one run in the order of the table's key, as plain values; bypasses SQLAlchemy for speed."""
    names = ", ".join(columns)
    order = ", ".join(column.name for column in table.primary_key.columns)
    query = f"SELECT {names} FROM {table.name} WHERE run = {int(run)} ORDER BY {order}"
    raw: Any = connection.connection.dbapi_connection
    # In PostgreSQL's binary format, bytes are sent as bytes and not as hexadecimal text.
    cursor = raw.cursor() if connection.dialect.name == "sqlite" else raw.cursor(binary=True)
    cursor.execute(query)
    while piece := cursor.fetchmany(_PIECE):
        yield from piece


def select_among(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    where: Mapping[str, int],
    *,
    among: str,
    values: Sequence[Any],
) -> Sequence[tuple[Any, ...]]:
    """Rows in which a column has one of some values, as plain values; SQLAlchemy would look at each value first."""
    marks = ", ".join(["?" if connection.dialect.name == "sqlite" else "%s"] * len(values))
    conditions = [*(f"{name} = {int(value)}" for name, value in where.items()), f"{among} IN ({marks})"]
    cursor: Any = connection.connection.cursor()
    cursor.execute(f"SELECT {', '.join(columns)} FROM {table.name} WHERE {' AND '.join(conditions)}", list(values))
    found: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return found


# A part of the database's message, what it means to a user, and what to do.
_MEANINGS = (
    (
        "readonly database",
        "the store is read-only",
        "Check the permissions of the file and its folder, or choose another store",
    ),
    ("database or disk is full", "the disk is full", "Nothing was stored. Free some space and try again"),
    ("disk i/o error", "the disk refused to read or write; it may be full", "What was stored before is still there"),
    ("no space left", "the disk of the database is full", "Nothing was stored. Free some space and try again"),
    ("not a database", "the file is not a SQLite database", "Choose another store"),
    ("malformed", "the file is damaged", "Restore it from a backup, or choose another store"),
    ("unable to open", "the file cannot be opened", "Check the permissions of its folder, or choose another store"),
    ("database is locked", "another process has been writing for too long", "Try again when it is done"),
    ("read-only transaction", "the store is read-only", "Check the permissions of the database user"),
    ("permission denied", "the database user lacks a permission", "Check the permissions of the database user"),
)


def _meaning(error: BaseException | None) -> tuple[str, str | None]:
    said = redacted(str(error))
    for part, what, hint in _MEANINGS:
        if part in said.lower():
            return what, hint
    first = said.strip().splitlines()[0] if said.strip() else type(error).__name__
    return f"the database says: {first}", None
