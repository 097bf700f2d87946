"""References to runs: an id, the beginning of an id, a name, `@last`, or `@unfinished`; and new ids.

A name and `@last` refer to complete runs only, so that an incomplete run is never taken for a complete one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, exists, func, select
from sqlalchemy.sql import Select

from assay.errors import UnknownRunError
from assay.store import schema
from assay.store.ids import LETTERS

AnyRow = Row[Any]

OPEN, COMPLETE = "open", "complete"
UNFINISHED = "@unfinished"
"""Refers to the newest run of agents that can be resumed, one with a turn if there is any."""
_LAST = re.compile(r"@last(?:~(\d{1,9}))?")
_CANDIDATES = 5


def find_run(connection: Connection, run_id: str, *, lock: bool = False) -> AnyRow | None:
    """The row of the run with this id; with `lock`, held until the transaction ends."""
    query = select(schema.runs).where(schema.runs.c.id == run_id)
    # In PostgreSQL, adding to a run locks its row, so that two processes take turns; SQLite has one writer anyway.
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def resolved(connection: Connection, ref: str) -> AnyRow:
    """The row of the run that `ref` refers to; raises UnknownRunError with the closest names if there is none."""
    last = _LAST.fullmatch(ref)
    if last:
        return _last(connection, int(last[1] or 0))
    runs = schema.runs.c
    if ref == UNFINISHED:
        are_open = (runs.status == OPEN, runs.kind == "experiment")
        # A run without a turn has nothing to continue, and hides none that has.
        has_turns = exists().where(schema.turns.c.run == runs.number)
        query = _newest(*are_open).order_by(None).order_by(has_turns.desc(), runs.id.desc()).limit(1)
        open_run = connection.execute(query).one_or_none()
        if open_run is None:
            raise UnknownRunError("there is no unfinished run of agents", hint="List all runs with: assay runs list")
        return open_run
    if ref.startswith("@") or not ref:
        raise UnknownRunError(
            f"'{ref}' is not a reference to a run",
            hint=f"Use an id, the beginning of one, a name, @last, @last~1 or {UNFINISHED}",
        )
    row = find_run(connection, ref)
    if row is not None:
        return row
    named = _newest(runs.name == ref, runs.status == COMPLETE).limit(1)
    row = connection.execute(named).one_or_none()
    if row is not None:
        return row
    # Ids are lower case and contain none of LIKE's wildcards, so no other text can match.
    text = ref.lower()
    found: Sequence[AnyRow] = ()
    if set(text) <= set(LETTERS):
        found = connection.execute(_newest(runs.id.startswith(text)).limit(_CANDIDATES + 1)).all()
    if len(found) == 1:
        return found[0]
    if found:
        more = ", …" if len(found) > _CANDIDATES else ""
        raise UnknownRunError(
            f"'{ref}' is the beginning of several runs: {', '.join(map(_label, found[:_CANDIDATES]))}{more}",
            hint="Give more letters of the id",
        )
    raise _unknown(connection, ref)


def _newest(*conditions: Any) -> Select[Any]:
    return select(schema.runs).where(*conditions).order_by(schema.runs.c.id.desc())


def _last(connection: Connection, back: int) -> AnyRow:
    query = _newest(schema.runs.c.status == COMPLETE).offset(back).limit(1)
    row = connection.execute(query).one_or_none()
    if row is None:
        of_all = select(func.count()).select_from(schema.runs).where(schema.runs.c.status == COMPLETE)
        count = connection.execute(of_all).scalar_one()
        raise UnknownRunError(
            f"@last~{back} needs {back + 1} complete runs, and there are {count}"
            if count
            else "there is no complete run yet",
            hint=None if count else "Evaluate something first, e.g. with assay events eval",
        )
    return row


def _unknown(connection: Connection, ref: str) -> UnknownRunError:
    rows = connection.execute(_newest().limit(1000)).all()
    unfinished = next((row for row in rows if row.name == ref), None)
    if unfinished is not None:
        return UnknownRunError(f"the run called '{ref}' is unfinished", hint=f"Its id is {unfinished.id}")
    names = difflib.get_close_matches(ref, {text for row in rows for text in (row.name, row.id) if text}, n=2)
    guess = f"Did you mean {' or '.join(repr(name) for name in names)}? " if names else ""
    newest = ", ".join(map(_label, rows[:_CANDIDATES])) or "none"
    return UnknownRunError(f"there is no run '{ref}'", hint=f"{guess}The newest are: {newest}")


def _label(row: AnyRow) -> str:
    return f"{row.id} ({row.name})" if row.name else str(row.id)
