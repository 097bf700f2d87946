"""Pages of runs: search by words, kind, tag, name and state; what a list shows of each run; stored summaries.

A list never reads settings, inputs, tallies or answers, which may be large.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select

from assay.store import schema
from assay.store.contents import LOOKED_UP_AT_ONCE, batches
from assay.store.references import COMPLETE, OPEN, find_run

_MOST_TAGS = 200


@dataclass(frozen=True, slots=True)
class Search:
    """Which runs to list; an empty field matches every run."""

    words: str = ""
    """Each word must be in the run's name or tags, or at the beginning of its id."""
    kind: str = ""
    name: str = ""
    tag: str = ""
    state: str = ""
    """'complete' or 'open'."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """What a list shows of a run."""

    id: str
    kind: str
    name: str
    created: str
    complete: bool
    cases: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of a list."""

    runs: Sequence[ListedRun]
    total: int
    """How many runs match, on all pages."""
    stored: int
    """How many runs the store has."""
    kinds: dict[str, int]
    """How many of the stored runs are of each kind."""
    tags: dict[str, int]
    """How many of the stored runs have each tag, the most frequent first."""


def find_page(connection: Connection, wanted: Search, *, limit: int, offset: int) -> RunPage:
    """The runs from `offset` on, newest first, at most `limit`."""
    columns = schema.runs.c
    conditions = _conditions(wanted)
    by_kind = select(columns.kind, func.count()).group_by(columns.kind).order_by(columns.kind)
    kinds: dict[str, int] = {row[0]: row[1] for row in connection.execute(by_kind)}
    tags = schema.tags.c
    frequent = select(tags.tag, func.count()).group_by(tags.tag).order_by(func.count().desc(), tags.tag)
    every_tag: dict[str, int] = {row[0]: row[1] for row in connection.execute(frequent.limit(_MOST_TAGS))}
    shown: list[Any] = [
        *(columns.number, columns.id, columns.kind, columns.name),
        *(columns.created, columns.status, columns.case_count),
    ]
    if conditions:
        # Counted while they are found, so that a search looks at every run once.
        shown.append(func.count().over().label("matching"))
    page = select(*shown).where(*conditions).order_by(columns.id.desc()).limit(limit).offset(offset)
    rows = connection.execute(page).all()
    if not conditions:
        total = sum(kinds.values())
    elif rows:
        total = rows[0].matching
    else:
        total = connection.execute(select(func.count()).select_from(schema.runs).where(*conditions)).scalar_one()
    known = tags_of(connection, [row.number for row in rows])
    runs = [
        ListedRun(
            row.id,
            row.kind,
            row.name,
            row.created,
            row.status == COMPLETE,
            row.case_count,
            known.get(row.number, ()),
        )
        for row in rows
    ]
    return RunPage(runs, total, sum(kinds.values()), kinds, every_tag)


def _conditions(wanted: Search) -> list[Any]:
    columns, tags = schema.runs.c, schema.tags.c
    found: list[Any] = []
    if wanted.kind:
        found.append(columns.kind == wanted.kind)
    if wanted.name:
        found.append(columns.name == wanted.name)
    if wanted.state in (OPEN, COMPLETE):
        found.append(columns.status == wanted.state)
    if wanted.tag:
        found.append(columns.number.in_(select(tags.run).where(tags.tag == wanted.tag)))
    for word in wanted.words.split():
        tagged = select(tags.run).where(tags.tag.icontains(word, autoescape=True))
        found.append(
            or_(
                columns.name.icontains(word, autoescape=True),
                columns.id.startswith(word.lower(), autoescape=True),
                columns.number.in_(tagged),
            )
        )
    return found


def tags_of(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The tags of runs, by the runs' numbers."""
    found: dict[int, tuple[str, ...]] = {}
    for some in batches(numbers, LOOKED_UP_AT_ONCE):
        rows = connection.execute(select(schema.tags).where(schema.tags.c.run.in_(some)))
        for number, tag in rows:
            found[number] = tuple(sorted((*found.get(number, ()), tag)))
    return found


def count_trials(connection: Connection, number: int, without: Collection[int] = ()) -> int:
    """How many trials have at least one stored turn, without those of some groups."""
    turns = schema.turns.c
    trials = select(turns.case_number, turns.group_number, turns.repetition).where(turns.run == number).distinct()
    if without:
        trials = trials.where(turns.group_number.not_in(list(without)))
    return int(connection.execute(select(func.count()).select_from(trials.subquery())).scalar_one())


def load_summaries(connection: Connection, ids: Sequence[str], version: str) -> dict[str, Any]:
    """Summaries by id, of complete runs that have one of this version."""
    runs, summaries = schema.runs.c, schema.summaries.c
    query = (
        select(runs.id, summaries.content)
        .select_from(schema.runs.join(schema.summaries, runs.number == summaries.run))
        .where(summaries.version == version, runs.status == COMPLETE)
    )
    found: dict[str, Any] = {}
    for some in batches(ids, LOOKED_UP_AT_ONCE):
        found |= {row.id: row.content for row in connection.execute(query.where(runs.id.in_(some)))}
    return found


def replace_summary(connection: Connection, run_id: str, version: str, content: Any) -> None:
    """Store the summary of a run in place of an older one; nothing happens if the run was deleted."""
    row = find_run(connection, run_id)
    if row is not None:
        connection.execute(delete(schema.summaries).where(schema.summaries.c.run == row.number))
        connection.execute(insert(schema.summaries).values(run=row.number, version=version, content=content))
