"""Checks that a run is stored as it was written, by a digest of each complete run, made when it is finished.

A disk, a copy or a careless statement can change a byte that still decodes, and the estimates with it. The digest is of
the rows as the database stores them: one for the head, the cases and the tallies of a run, one for its turns, so that
each is checked when it is loaded. Names, tags, summaries and reviews may change and are not part of it.
"""

from __future__ import annotations

import hashlib
import marshal
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, text

from assay.errors import AssayError, StoreError
from assay.store import schema
from assay.store.database import insert_rows, select_rows
from assay.store.references import AnyRow

_HEAD = (
    "id",
    "kind",
    "created",
    "command",
    "settings",
    "seed",
    "versions",
    "inputs",
    "environment",
    "group_names",
    "case_count",
)
_AT_ONCE = 500
_COPIED = (
    schema.cases,
    schema.tallies,
    schema.turns,
    schema.scores,
    schema.artefacts,
    schema.tags,
    schema.summaries,
    schema.reviews,
)
_UNDECODABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    MemoryError,
    struct.error,
)
_VERIFY = "See what is whole with: assay runs verify; save it with: assay runs repair"


def run_digest(connection: Connection, number: int) -> str:
    """The digests of a run: of its tallies, and of its turns."""
    return f"{_tallies_digest(connection, number)}:{_turns_digest(connection, number)}"


def check_stored_tallies(connection: Connection, row: AnyRow) -> None:
    """Raise StoreError if the head, cases or tallies of a run are not those that were written."""
    _check(row, 0, _tallies_digest)(connection, row.number)


def check_stored_turns(connection: Connection, row: AnyRow) -> None:
    """Raise StoreError if the turns of a run are not those that were written."""
    _check(row, 1, _turns_digest)(connection, row.number)


def _check(row: AnyRow, part: int, digest: Any) -> Any:
    def check(connection: Connection, number: int) -> None:
        kept = str(row.digest).split(":")
        # Runs of an older assay, and unfinished ones, have none.
        if len(kept) == 2 and digest(connection, number) != kept[part]:
            raise StoreError(f"run {row.id} is damaged: it differs from what was written", hint=_VERIFY)

    return check


@contextmanager
def named_damage(run_id: str) -> Iterator[None]:
    """Turns the error of a value that cannot be decoded into a StoreError that names its run."""
    try:
        yield
    except AssayError:
        raise
    except _UNDECODABLE as error:
        raise StoreError(
            f"run {run_id} is damaged: it cannot be decoded ({type(error).__name__})", hint=_VERIFY
        ) from error


def copy_run(source: Connection, target: Connection, number: int) -> None:
    """Copy every row of a run, as it is, into another store, which gives the run a new number."""
    names = [column.name for column in schema.runs.columns if column.name != "number"]
    values = dict(
        zip(names, _raw(source, f"SELECT {', '.join(names)} FROM runs WHERE number = {number}")[0], strict=True)
    )
    marks = ", ".join(f":{name}" for name in names)
    target.execute(text(f"INSERT INTO runs ({', '.join(names)}) VALUES ({marks})"), values)
    new = int(target.execute(text("SELECT number FROM runs WHERE id = :id"), {"id": values["id"]}).scalar_one())
    for table in _COPIED:
        columns = [column.name for column in table.columns]
        rows = ((new, *row[1:]) for row in select_rows(source, table, columns, run=number))
        while batch := list(islice(rows, _AT_ONCE)):
            insert_rows(target, table, batch)
    if values["digest"]:  # the two databases may give a value as different types
        digest = {"digest": run_digest(target, new), "new": new}
        target.execute(text("UPDATE runs SET digest = :digest WHERE number = :new"), digest)


def _tallies_digest(connection: Connection, number: int) -> str:
    head = _raw(connection, f"SELECT {', '.join(_HEAD)} FROM runs WHERE number = {number}")
    return _hashed([head, *(_rows(connection, table, number) for table in (schema.cases, schema.tallies))])


def _turns_digest(connection: Connection, number: int) -> str:
    return _hashed([_rows(connection, schema.turns, number)])


def _rows(connection: Connection, table: Table, number: int) -> Iterable[tuple[Any, ...]]:
    # Without the number of the run, which is different in a copy.
    columns = [column.name for column in table.columns if column.name != "run"]
    return select_rows(connection, table, columns, run=number)


def _raw(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(query)]


def _hashed(tables: Iterable[Iterable[tuple[Any, ...]]]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for rows in tables:
        remaining = iter(rows)
        while batch := list(islice(remaining, _AT_ONCE)):
            # Version 2 writes equal values as equal bytes; later ones depend on which objects are the same.
            found.update(marshal.dumps(batch, 2))
        found.update(b"|")
    return found.hexdigest()
