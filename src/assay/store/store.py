"""The store: starts, fills, finishes, finds, tags and deletes runs.

A run is `open` until it is finished. If a process is killed, everything it has committed is there for the process that
resumes the run. An open run is never loaded or compared, and neither `@last` nor its name refers to it, so that an
incomplete run is never taken for a complete one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from sqlalchemy import Connection, delete, insert, select, update

from assay.errors import AssayError, StoreError, UnknownRunError, UsageError
from assay.plural import counted
from assay.recorded import Case, Run
from assay.store import schema
from assay.store.checking import check_stored_tallies, check_stored_turns, copy_run, named_damage, run_digest
from assay.store.contents import EncodedTallies, StoredTallies, add, load_answer_rows, load_cases, load_tallies
from assay.store.database import Database
from assay.store.encoded import AnswerRow, EncodedAnswer
from assay.store.references import COMPLETE, OPEN, AnyRow, find_run, resolved
from assay.store.reviews import Review, keep_review, load_reviews
from assay.store.searching import RunPage, Search, count_trials, find_page, load_summaries, replace_summary, tags_of


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run without its tallies, as lists show it."""

    run: Run
    """Everything but its tallies."""
    complete: bool
    """Whether it was finished."""
    cases: int
    """How many cases are stored."""
    damaged: bool = False
    """Whether its description cannot be decoded."""
    groups: tuple[str, ...] = ()
    """What its tallies and answers are kept by: the agents and baselines of conversations."""


Listing = list[StoredRun]
_PARTS = (schema.scores, schema.turns, schema.tallies, schema.cases, schema.artefacts, schema.tags)
_BELONGING = (*_PARTS, schema.summaries, schema.reviews)
_Rows = list[dict[str, Any]]


class Store:
    """Runs in a database. `assay.store.open_store` opens one."""

    def __init__(self, address: str) -> None:
        self._database = Database(address)
        self.one_reading = self._database.one_reading
        """Lets a thread read one state of the store in all that it reads meanwhile."""
        self.is_being_filled = self._database.is_locked
        """Whether some process has `locked` a run, by its id."""

    @property
    def address(self) -> str:
        """Its address, without a password."""
        return self._database.label

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # --- writing ----------------------------------------------------------------------------------------------------

    def save(self, run: Run, *, answers: Iterable[AnswerRow] = ()) -> str:
        """Store a whole run in one transaction: all of it or nothing. Returns its id."""
        with self._database.writing() as connection:
            if find_run(connection, run.id) is not None:
                raise StoreError(f"there is already a run {run.id}")
            add(connection, _insert(connection, run, OPEN), run.tallies, answers)
            _complete(connection, run.id)
        return run.id

    def begin(self, run: Run) -> str:
        """Start a run that will be filled case by case; its own tallies are not stored. Returns its id.

        If a run with this id is already open, it is resumed: its contents stay, and `done` lists them.
        """
        with self._database.writing() as connection:
            row = find_run(connection, run.id)
            if row is None:
                _insert(connection, run, OPEN)
            elif row.status == COMPLETE:
                raise StoreError(f"run {run.id} is finished", hint="Start another run")
        return run.id

    def add_cases(
        self,
        run_id: str,
        tallies: StoredTallies | EncodedTallies,
        *,
        answers: Iterable[AnswerRow | EncodedAnswer] = (),
    ) -> int:
        """Add cases to an open run in one transaction; those it already has are unchanged. Returns how many were new.

        A case counts once for each group, which is a protocol or an agent.
        """
        with self._database.writing() as connection:
            return add(connection, _open_run(connection, run_id), tallies, answers)

    @contextmanager
    def locked(self, run_id: str) -> Iterator[None]:
        """Lock a run while it is being filled; raises StoreError if another process has locked it."""
        with self._database.locked(run_id) as free:
            if not free:
                raise StoreError(
                    f"another process is filling run {run_id}",
                    hint="Wait until it ends, or stop it and then resume the run",
                )
            yield

    def drop_conversation(self, run_id: str, agent: str, scenario: str, repetition: int) -> int:
        """Delete the turns of one conversation of an open run, so that it can be played again. Returns how many."""
        with self._database.writing() as connection:
            run = _open_run(connection, run_id)
            if agent not in run.group_names:
                return 0
            known = {case: number for number, case in load_cases(connection, run.number).items()}
            turns, scores = schema.turns, schema.scores
            rows = connection.execute(
                select(turns.c.number).where(
                    turns.c.run == run.number,
                    turns.c.group_number == run.group_names.index(agent),
                    turns.c.case_number == known.get(Case(scenario)),
                    turns.c.repetition == repetition,
                )
            )
            numbers = [number for (number,) in rows]
            connection.execute(delete(scores).where(scores.c.run == run.number, scores.c.turn_number.in_(numbers)))
            connection.execute(delete(turns).where(turns.c.run == run.number, turns.c.number.in_(numbers)))
            return len(numbers)

    def change_settings(self, run_id: str, settings: Mapping[str, Any]) -> None:
        """Replace the settings of an open run, such as what it has spent so far."""
        with self._database.writing() as connection:
            row = _open_run(connection, run_id)
            chosen = update(schema.runs).where(schema.runs.c.number == row.number)
            connection.execute(chosen.values(settings=dict(settings)))

    def finish(
        self, run_id: str, tallies: StoredTallies | EncodedTallies = MappingProxyType({}), summary: Any = None
    ) -> None:
        """Mark an open run as complete, in one transaction with its last tallies and its summary, if they are given:
        the arguments of `add_cases` and, as a pair, of `keep_summary`. Has no effect on a complete run.
        """
        with self._database.writing() as connection:
            if tallies:
                add(connection, _open_run(connection, run_id), tallies, ())
            _complete(connection, run_id)
            if summary is not None:
                replace_summary(connection, run_id, *summary)

    def delete(self, ref: str) -> str:
        """Delete a run, complete or not, with everything that belongs to it. Returns its id."""
        with self._database.writing() as connection:
            row = _locked_row(connection, resolved(connection, ref))
            for table in _BELONGING:
                connection.execute(delete(table).where(table.c.run == row.number))
            connection.execute(delete(schema.runs).where(schema.runs.c.number == row.number))
            return str(row.id)

    def compact(self) -> None:
        """Give the space of deleted runs back to the disk."""
        self._database.compact()

    def tag(self, ref: str, *tags: str, remove: Sequence[str] = ()) -> tuple[str, ...]:
        """Add tags to a run and remove others. Returns all its tags."""
        for tag in tags:
            if not tag.strip() or tag.startswith("@"):
                raise UsageError(f"'{tag}' cannot be a tag", hint="A tag must not be empty or start with @")
        with self._database.writing() as connection:
            row = resolved(connection, ref)
            had = set(tags_of(connection, [row.number]).get(row.number, ()))
            new = [tag for tag in dict.fromkeys(tags) if tag not in had]
            if new:
                connection.execute(insert(schema.tags), [{"run": row.number, "tag": tag} for tag in new])
            of_run = schema.tags.c.run == row.number
            connection.execute(delete(schema.tags).where(of_run, schema.tags.c.tag.in_(list(remove))))
            return tuple(sorted({*had, *new} - set(remove)))

    def rename(self, ref: str, name: str) -> str:
        """Give a run another name. Returns its id."""
        _check_name(name)
        with self._database.writing() as connection:
            row = resolved(connection, ref)
            connection.execute(update(schema.runs).where(schema.runs.c.number == row.number).values(name=name))
            return str(row.id)

    def keep_summary(self, run_id: str, version: str, content: Any) -> None:
        """Store the summary of a run; an older one is replaced. Has no effect if the run was deleted."""
        with self._database.writing() as connection:
            replace_summary(connection, run_id, version, content)

    def review(self, ref: str, review: Review) -> None:
        """Store what a reviewer says about an answer; what they said about it before is replaced."""
        with self._database.writing() as connection:
            keep_review(connection, resolved(connection, ref), review)

    # --- reading ----------------------------------------------------------------------------------------------------

    def load(self, ref: str) -> Run:
        """A complete run with its tallies."""
        with self._database.reading() as connection:
            row = resolved(connection, ref)
            if row.status != COMPLETE:
                raise StoreError(
                    f"run {row.id} is unfinished: {counted(row.case_count, 'case')} so far",
                    hint="Resume it or delete it",
                )
            check_stored_tallies(connection, row)
            with named_damage(row.id):
                run = _header(row, tags_of(connection, [row.number]).get(row.number, ()))
                return replace(run, tallies=load_tallies(connection, row))

    def done(self, run_id: str) -> set[tuple[str, Case]]:
        """Groups and cases that a run already has: a resumed run does not repeat them."""
        with self._database.reading() as connection:
            row = find_run(connection, run_id)
            if row is None:
                raise UnknownRunError(f"there is no run '{run_id}'")
            known = load_cases(connection, row.number)
            columns = schema.tallies.c
            pairs = connection.execute(
                select(columns.group_number, columns.case_number).where(columns.run == row.number)
            )
            return {(row.group_names[group], known[case]) for group, case in pairs}

    def answers(self, ref: str) -> _Rows:
        """The scored answers of a run, in the order in which they were added."""
        with self._database.reading() as connection:
            row = resolved(connection, ref)
            check_stored_turns(connection, row)
            with named_damage(row.id):
                return load_answer_rows(connection, row)

    def conversation(self, ref: str, scenario: str, agent: str | None = None) -> _Rows:
        """The scored answers of one scenario, of one agent or of all, in the order in which they were added."""
        with self._database.reading() as connection:
            return load_answer_rows(connection, resolved(connection, ref), scenario=scenario, agent=agent)

    def outcomes(self, ref: str) -> _Rows:
        """The answers of a run without texts, failures and scores: who, where, whether it passed, and the record."""
        with self._database.reading() as connection:
            return load_answer_rows(connection, resolved(connection, ref), outcomes_only=True)

    def search(self, wanted: Search, *, limit: int, offset: int = 0) -> RunPage:
        """One page of the runs that match, newest first, without settings, inputs and tallies."""
        with self._database.reading() as connection:
            return find_page(connection, wanted, limit=limit, offset=offset)

    def progress(self, ref: str, *, without: Collection[str] = ()) -> int:
        """How many trials of a run are stored, whole or in part; those of some agents may be left out."""
        with self._database.reading() as connection:
            run = resolved(connection, ref)
            left_out = [number for number, name in enumerate(run.group_names) if name in without]
            return count_trials(connection, run.number, left_out)

    def summaries(self, ids: Sequence[str], version: str) -> dict[str, Any]:
        """The summaries of complete runs, by id, if they were stored under this version."""
        with self._database.reading() as connection:
            return load_summaries(connection, ids, version)

    def reviews(self, ref: str) -> _Rows:
        """What reviewers said about the answers of a run."""
        with self._database.reading() as connection:
            return load_reviews(connection, resolved(connection, ref))

    def list(
        self,
        *,
        kind: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
    ) -> Listing:
        """The runs, newest first, without their tallies; unfinished ones too."""
        columns = schema.runs.c
        query = select(schema.runs).order_by(columns.id.desc()).limit(limit)
        if kind is not None:
            query = query.where(columns.kind == kind)
        if name is not None:
            query = query.where(columns.name == name)
        if tag is not None:
            query = query.where(columns.number.in_(select(schema.tags.c.run).where(schema.tags.c.tag == tag)))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            tags = tags_of(connection, [row.number for row in rows])
        return [_listed(row, tags.get(row.number, ())) for row in rows]

    def describe(self, ref: str) -> StoredRun:
        """One run without its tallies, complete or not."""
        with self._database.reading() as connection:
            row = resolved(connection, ref)
            return _listed(row, tags_of(connection, [row.number]).get(row.number, ()))

    # --- damage -----------------------------------------------------------------------------------------------------

    def verify(self) -> dict[str, str]:
        """Every complete run by id: what is wrong with it, or nothing. A damaged file may raise an error instead."""
        with self._database.reading() as connection:
            numbers = connection.execute(select(schema.runs.c.number).order_by(schema.runs.c.number)).scalars().all()
        return dict(self._verified(number) for number in numbers)

    def repair(self, target: Store) -> tuple[Sequence[str], dict[str, str]]:
        """Copy every run that is whole, finished or not, into an empty store. Returns their ids, and why others were
        left out.
        """
        copied, left = [], {}
        with self._database.reading() as connection:
            numbers = connection.execute(select(schema.runs.c.number).order_by(schema.runs.c.number)).scalars().all()
        for number in numbers:
            run_id, problem = self._verified(number)
            if not problem:
                try:
                    with self._database.reading() as connection, target._database.writing() as writing:
                        copy_run(connection, writing, number)
                except AssayError as error:
                    problem = error.what
            if problem:
                left[run_id] = problem
            else:
                copied.append(run_id)
        return copied, left

    def _verified(self, number: int) -> tuple[str, str]:
        """The id of a run, and what is wrong with it."""
        run_id = f"number {number}"
        try:
            with self._database.reading() as connection:
                row = connection.execute(select(schema.runs).where(schema.runs.c.number == number)).one()
                run_id = str(row.id)
                with named_damage(run_id):
                    check_stored_tallies(connection, row)
                    check_stored_turns(connection, row)
                    _header(row, ())
                    load_tallies(connection, row)
                    load_answer_rows(connection, row)
        except AssayError as error:
            return run_id, error.what.removeprefix(f"run {run_id} is damaged: ")
        return run_id, ""


# --- rows of runs ---------------------------------------------------------------------------------------------------


def _insert(connection: Connection, run: Run, status: str) -> AnyRow:
    _check_name(run.name)
    values = {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "created": run.created,
        "status": status,
        "command": run.command,
        "settings": dict(run.settings),
        "seed": str(run.seed),
        "versions": dict(run.versions),
        "inputs": dict(run.inputs),
        "environment": dict(run.environment),
        "group_names": [],
        "case_count": 0,
    }
    connection.execute(insert(schema.runs).values(values))
    row = find_run(connection, run.id)
    assert row is not None
    if run.tags:
        connection.execute(insert(schema.tags), [{"run": row.number, "tag": tag} for tag in dict.fromkeys(run.tags)])
    return row


def _check_name(name: str) -> None:
    if name.startswith("@"):
        raise UsageError(f"'{name}' cannot be the name of a run", hint="A name must not start with @")


def _locked_row(connection: Connection, row: AnyRow) -> AnyRow:
    """The same row, locked: no other process adds to the run until the transaction ends."""
    locked = find_run(connection, row.id, lock=True)
    if locked is None:
        raise UnknownRunError(f"run {row.id} was deleted in the meantime")
    return locked


def _open_run(connection: Connection, run_id: str) -> AnyRow:
    row = find_run(connection, run_id, lock=True)
    if row is None:
        raise UnknownRunError(f"there is no run '{run_id}'")
    if row.status != OPEN:
        raise StoreError(f"run {run_id} is finished; no cases can be added to it")
    return row


def _complete(connection: Connection, run_id: str) -> None:
    """Mark a run as complete, with the digest of what it contains."""
    row = find_run(connection, run_id)
    if row is None:
        raise UnknownRunError(f"there is no run '{run_id}'")
    if row.status != COMPLETE:
        values = {"status": COMPLETE, "digest": run_digest(connection, row.number)}
        connection.execute(update(schema.runs).where(schema.runs.c.number == row.number).values(values))


def _listed(row: AnyRow, tags: Iterable[str]) -> StoredRun:
    """A run as lists show it; if it cannot be decoded, what is left of it."""
    try:
        return StoredRun(_header(row, tags), row.status == COMPLETE, row.case_count, groups=tuple(row.group_names))
    except (ValueError, TypeError):
        run = Run(
            id=str(row.id),
            kind=str(row.kind),
            name=str(row.name),
            created=str(row.created),
            command=str(row.command),
            settings={},
            seed=0,
            versions={},
            inputs={},
            environment={},
            tallies={},
            tags=tuple(tags),
        )
        return StoredRun(run, row.status == COMPLETE, 0, damaged=True)


def _header(row: AnyRow, tags: Iterable[str]) -> Run:
    if any(part is schema.DAMAGED for part in (row.settings, row.versions, row.inputs, row.environment)):
        raise ValueError("its settings or inputs are not JSON")
    return Run(
        id=row.id,
        kind=row.kind,
        name=row.name,
        created=row.created,
        command=row.command,
        settings=row.settings,
        seed=int(row.seed),
        versions=row.versions,
        inputs=row.inputs,
        environment=row.environment,
        tallies={},
        tags=tuple(tags),
    )
