"""The store: runs begun, filled, finished, found again, tagged and deleted.

A run is `open` until it is finished. What a process that was killed had committed is there for the one that resumes it;
an open run is never loaded, compared or meant by `@last` or by a name, so that nobody takes half of it for the whole.
"""

from __future__ import annotations

import difflib
import gc
import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.sql import Select

from assay.errors import StoreError, UnknownRunError, UsageError
from assay.store import schema
from assay.store.database import Database, file_size, insert_rows, select_rows
from assay.store.encoding import Decoder, encode
from assay.store.schema import json_text, kept_text, plain_text
from assay.types import Case, Run, State

if TYPE_CHECKING:
    from assay.chat.record import Record
    from assay.chat.scoring import AnyAnswer

Tallies = Mapping[str, Mapping[Case, Mapping[str, State]]]

Thing = TypeVar("Thing")

OPEN, COMPLETE = "open", "complete"
_LAST = re.compile(r"@last(?:~(\d+))?")
_CANDIDATES = 5
_WRITTEN_AT_ONCE = 1000  # rows that wait in memory
_LOOKED_UP_AT_ONCE = 500  # names in one statement; SQLite takes 32,766 values, and long statements parse slowly

# Letters of ids: Crockford's base 32, which leaves out those that are taken for one another.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LETTERS, _RANDOM_LETTERS = 9, 5
_clock_lock = threading.Lock()
_last_ms = 0


def new_id() -> str:
    """An id that sorts by the time it was made: milliseconds, then chance."""
    global _last_ms
    with _clock_lock:
        _last_ms = now = max(time.time_ns() // 1_000_000, _last_ms + 1)
    letters = []
    for _ in range(_TIME_LETTERS):
        now, digit = divmod(now, 32)
        letters.append(_LETTERS[digit])
    return "".join(reversed(letters)) + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LETTERS))


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer as it comes out of the store."""

    agent: str
    scenario: str
    repetition: int
    turn: int
    query: str
    response: str
    entries: dict[str, dict[str, Any]]
    passed: bool
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as a list shows it."""

    run: Run
    """Everything but its tallies."""
    complete: bool
    """Whether it was finished."""
    cases: int
    """How many cases are kept."""


Listing = list[StoredRun]
Answers = list[StoredAnswer]


class Store:
    """Runs in a database. `assay.store.open_store` opens one."""

    def __init__(self, address: str) -> None:
        self._database = Database(address)

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        return self._database.label

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # --- writing ----------------------------------------------------------------------------------------------------

    def save(self, run: Run, *, answers: Iterable[AnyAnswer] = ()) -> str:
        """Keep a whole run in one transaction: all of it or nothing. Gives its id."""
        with self._database.writing() as connection:
            if _find(connection, run.id) is not None:
                raise StoreError(f"there is already a run {run.id}")
            _add(connection, _insert(connection, run, OPEN), run.tallies, answers)
            connection.execute(update(schema.runs).where(schema.runs.c.id == run.id).values(status=COMPLETE))
        return run.id

    def begin(self, run: Run) -> str:
        """Open a run that will be filled case by case; its own tallies are left out. Gives its id.

        One that is open already under this id is resumed: what it holds stays, and `done` tells what that is.
        """
        with self._database.writing() as connection:
            row = _find(connection, run.id)
            if row is None:
                _insert(connection, run, OPEN)
            elif row.status == COMPLETE:
                raise StoreError(f"run {run.id} is finished", hint="Begin another one")
        return run.id

    def add_cases(self, run_id: str, tallies: Tallies, *, answers: Iterable[AnyAnswer] = ()) -> int:
        """Add cases to an open run in one transaction. What it holds already stays as it is. Gives how many were new.

        A case counts once for each group, which is a protocol or an agent.
        """
        with self._database.writing() as connection:
            return _add(connection, _open_run(connection, run_id), tallies, answers)

    @contextmanager
    def held(self, run_id: str) -> Iterator[None]:
        """Have a run for oneself while it is being filled: a second process that wants it is refused."""
        with self._database.held(run_id) as free:
            if not free:
                raise StoreError(
                    f"another process is filling run {run_id}", hint="Wait until it ends, or stop it and resume then"
                )
            yield

    def drop_conversation(self, run_id: str, agent: str, scenario: str, repetition: int) -> int:
        """Forget the turns of one conversation of an open run, which will be held anew. Gives how many there were."""
        with self._database.writing() as connection:
            run = _open_run(connection, run_id)
            if agent not in run.group_names:
                return 0
            known = {case: number for number, case in _cases(connection, run.number).items()}
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

    def finish(self, run_id: str) -> None:
        """Make an open run a complete one. A second time does nothing."""
        with self._database.writing() as connection:
            changed = connection.execute(
                update(schema.runs).where(schema.runs.c.id == run_id).values(status=COMPLETE)
            ).rowcount
            if not changed:
                raise UnknownRunError(f"there is no run '{run_id}'")

    def delete(self, ref: str) -> str:
        """Forget a run, complete or not, with everything that belongs to it. Gives its id."""
        with self._database.writing() as connection:
            row = _held(connection, _resolved(connection, ref))
            for table in (schema.scores, schema.turns, schema.tallies, schema.cases, schema.artefacts, schema.tags):
                connection.execute(delete(table).where(table.c.run == row.number))
            connection.execute(delete(schema.runs).where(schema.runs.c.number == row.number))
            return str(row.id)

    def tag(self, ref: str, *tags: str, remove: Sequence[str] = ()) -> tuple[str, ...]:
        """Add tags to a run, and take others off. Gives those that it has then."""
        for tag in tags:
            if not tag.strip() or tag.startswith("@"):
                raise UsageError(f"'{tag}' cannot be a tag", hint="Use words that do not begin with @")
        with self._database.writing() as connection:
            row = _resolved(connection, ref)
            had = set(_tags(connection, [row.number]).get(row.number, ()))
            new = [tag for tag in dict.fromkeys(tags) if tag not in had]
            if new:
                connection.execute(insert(schema.tags), [{"run": row.number, "tag": tag} for tag in new])
            of_run = schema.tags.c.run == row.number
            connection.execute(delete(schema.tags).where(of_run, schema.tags.c.tag.in_(list(remove))))
            return tuple(sorted({*had, *new} - set(remove)))

    def attach(self, ref: str, name: str, content: bytes, *, media_type: str = "application/octet-stream") -> None:
        """Keep a file with a run, in place of one of the same name."""
        with self._database.writing() as connection:
            number = _resolved(connection, ref).number
            same = (schema.artefacts.c.run == number) & (schema.artefacts.c.name == name)
            connection.execute(delete(schema.artefacts).where(same))
            row = {"run": number, "name": name, "media_type": media_type, "content": content}
            connection.execute(insert(schema.artefacts).values(row))

    # --- reading ----------------------------------------------------------------------------------------------------

    def resolve(self, ref: str) -> str:
        """The full id of the run that `ref` means.

        It may be an id, a beginning of one that only one run has, a name, which stands for its newest complete run, or
        `@last` for the newest complete run of all, `@last~1` for the one before it.
        """
        with self._database.reading() as connection:
            return str(_resolved(connection, ref).id)

    def load(self, ref: str) -> Run:
        """A complete run with its tallies."""
        with self._database.reading() as connection:
            row = _resolved(connection, ref)
            if row.status != COMPLETE:
                raise StoreError(
                    f"run {row.id} is unfinished: {row.case_count:,} cases are kept, and nothing says they are all",
                    hint="Resume it or delete it",
                )
            run = _header(row, _tags(connection, [row.number]).get(row.number, ()))
            return replace(run, tallies=_load_tallies(connection, row))

    def done(self, run_id: str) -> set[tuple[str, Case]]:
        """What a run holds already, as groups and cases: a resumed run need not do these again."""
        with self._database.reading() as connection:
            row = _find(connection, run_id)
            if row is None:
                raise UnknownRunError(f"there is no run '{run_id}'")
            known = _cases(connection, row.number)
            columns = schema.tallies.c
            pairs = connection.execute(
                select(columns.group_number, columns.case_number).where(columns.run == row.number)
            )
            return {(row.group_names[group], known[case]) for group, case in pairs}

    def answers(self, ref: str) -> Answers:
        """The scored answers of a run's conversations, in the order they were added in."""
        with self._database.reading() as connection:
            row = _resolved(connection, ref)
            known = _cases(connection, row.number)
            turns = schema.turns
            return [
                StoredAnswer(
                    row.group_names[turn.group_number],
                    known[turn.case_number].name,
                    turn.repetition,
                    turn.turn,
                    turn.query,
                    turn.response,
                    turn.entries,
                    turn.passed,
                    _record(turn.record),
                )
                for turn in connection.execute(select(turns).where(turns.c.run == row.number).order_by(turns.c.number))
            ]

    def artefacts(self, ref: str) -> dict[str, bytes]:
        """The files kept with a run, by name."""
        with self._database.reading() as connection:
            files = schema.artefacts.c
            number = _resolved(connection, ref).number
            found = select(files.name, files.content).where(files.run == number).order_by(files.name)
            return {name: bytes(content) for name, content in connection.execute(found)}

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
            tags = _tags(connection, [row.number for row in rows])
        return [
            StoredRun(_header(row, tags.get(row.number, ())), row.status == COMPLETE, row.case_count) for row in rows
        ]

    def describe(self, ref: str) -> StoredRun:
        """One run as `list` shows it, complete or not."""
        with self._database.reading() as connection:
            row = _resolved(connection, ref)
            tags = _tags(connection, [row.number]).get(row.number, ())
            return StoredRun(_header(row, tags), row.status == COMPLETE, row.case_count)

    def size(self) -> int:
        """Bytes that the whole store takes."""
        with self._database.reading() as connection:
            return file_size(connection)


# --- rows of runs ---------------------------------------------------------------------------------------------------

AnyRow = Row[Any]


def _insert(connection: Connection, run: Run, status: str) -> AnyRow:
    if run.name.startswith("@"):
        raise UsageError(f"'{run.name}' cannot be the name of a run", hint="Names do not begin with @")
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
    row = _find(connection, run.id)
    assert row is not None
    if run.tags:
        connection.execute(insert(schema.tags), [{"run": row.number, "tag": tag} for tag in dict.fromkeys(run.tags)])
    return row


def _find(connection: Connection, run_id: str, *, lock: bool = False) -> AnyRow | None:
    query = select(schema.runs).where(schema.runs.c.id == run_id)
    # In PostgreSQL whoever adds to a run holds its row, so that two who resume it take turns; SQLite has one writer.
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def _held(connection: Connection, row: AnyRow) -> AnyRow:
    """The same row, locked: nobody adds to the run until the transaction ends."""
    held = _find(connection, row.id, lock=True)
    if held is None:
        raise UnknownRunError(f"run {row.id} was deleted meanwhile")
    return held


def _open_run(connection: Connection, run_id: str) -> AnyRow:
    row = _find(connection, run_id, lock=True)
    if row is None:
        raise UnknownRunError(f"there is no run '{run_id}'")
    if row.status != OPEN:
        raise StoreError(f"run {run_id} is finished, and nothing can be added to it")
    return row


def _header(row: AnyRow, tags: Iterable[str]) -> Run:
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


def _tags(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for some in _batches(numbers, _LOOKED_UP_AT_ONCE):
        rows = connection.execute(select(schema.tags).where(schema.tags.c.run.in_(some)))
        for number, tag in rows:
            found[number] = tuple(sorted((*found.get(number, ()), tag)))
    return found


# --- which run is meant ---------------------------------------------------------------------------------------------


def _resolved(connection: Connection, ref: str) -> AnyRow:
    last = _LAST.fullmatch(ref)
    if last:
        return _last(connection, int(last[1] or 0))
    if ref.startswith("@") or not ref:
        raise UnknownRunError(f"'{ref}' means no run", hint="Use an id, the beginning of one, a name, @last or @last~1")
    runs = schema.runs.c
    row = _find(connection, ref)
    if row is not None:
        return row
    named = _newest(runs.name == ref, runs.status == COMPLETE).limit(1)
    row = connection.execute(named).one_or_none()
    if row is not None:
        return row
    # Ids are lower case and hold none of LIKE's wildcards, so other text need not be looked for.
    text = ref.lower()
    found: Sequence[AnyRow] = ()
    if set(text) <= set(_LETTERS):
        found = connection.execute(_newest(runs.id.startswith(text)).limit(_CANDIDATES + 1)).all()
    if len(found) == 1:
        return found[0]
    if found:
        more = ", …" if len(found) > _CANDIDATES else ""
        raise UnknownRunError(
            f"'{ref}' is the beginning of several runs: {', '.join(map(_label, found[:_CANDIDATES]))}{more}",
            hint="Give more of the id",
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
            f"there are {count} complete runs, and @last~{back} would be number {back + 1}"
            if count
            else "there is no complete run yet",
            hint=None if count else "An evaluation makes one, e.g. assay events eval",
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


# --- cases, tallies, answers ----------------------------------------------------------------------------------------


def _add(connection: Connection, run: AnyRow, tallies: Tallies, answers: Iterable[AnyAnswer]) -> int:
    """Whatever of these the run does not hold yet. Gives how many tallies were new."""
    said = list(answers)
    groups = _grown(run.group_names, [*tallies, *(answer.agent for answer in said)])
    wanted = [case for by_case in tallies.values() for case in by_case] + [Case(answer.scenario) for answer in said]
    numbers, new_cases = _numbered(connection, run, dict.fromkeys(wanted))
    new = _add_tallies(connection, run, tallies, groups, numbers)
    _add_answers(connection, run, said, groups, numbers)
    connection.execute(
        update(schema.runs)
        .where(schema.runs.c.number == run.number)
        .values(group_names=list(groups), case_count=run.case_count + new_cases)
    )
    return new


def _grown(known: Sequence[str], wanted: Iterable[str]) -> dict[str, int]:
    """Numbers of groups: those known keep theirs."""
    return {name: number for number, name in enumerate(dict.fromkeys([*known, *wanted]))}


def _numbered(connection: Connection, run: AnyRow, wanted: Iterable[Case]) -> tuple[dict[Case, int], int]:
    """Numbers of cases within the run, and how many of them are new: those get the next ones."""
    cases = schema.cases
    of_run = cases.c.run == run.number
    free = (connection.execute(select(func.max(cases.c.number)).where(of_run)).scalar() or 0) + 1
    cases_wanted = list(wanted)
    known: dict[Case, int] = {}
    # A run that is empty, as one that is saved whole, has nothing to look up.
    for some in _batches(cases_wanted, _LOOKED_UP_AT_ONCE) if free > 1 else ():
        query = select(cases.c.name, cases.c.stratum, cases.c.number)
        rows = connection.execute(query.where(of_run, cases.c.name.in_({case.name for case in some})))
        known |= {Case(name, stratum): number for name, stratum, number in rows}
    new = [case for case in cases_wanted if case not in known]
    numbers = {case: free + at for at, case in enumerate(new)}
    rows_to_add = [
        (run.number, number, plain_text(case.name), plain_text(case.stratum)) for case, number in numbers.items()
    ]
    insert_rows(connection, cases, rows_to_add)
    return known | numbers, len(new)


def _add_tallies(
    connection: Connection, run: AnyRow, tallies: Tallies, groups: Mapping[str, int], numbers: Mapping[Case, int]
) -> int:
    table = schema.tallies
    held: set[tuple[int, int]] = set()
    if run.group_names:
        for group, by_case in tallies.items():
            of_group = (table.c.run == run.number) & (table.c.group_number == groups[group])
            for some in _batches(by_case, _LOOKED_UP_AT_ONCE):
                among = table.c.case_number.in_([numbers[case] for case in some])
                rows = connection.execute(select(table.c.case_number).where(of_group, among))
                held |= {(groups[group], case) for (case,) in rows}
    new = 0
    rows_to_add = (
        (run.number, groups[group], numbers[case], encode(states))
        for group, by_case in tallies.items()
        for case, states in by_case.items()
        if (groups[group], numbers[case]) not in held
    )
    for batch in _batches(rows_to_add, _WRITTEN_AT_ONCE):
        insert_rows(connection, table, batch)
        new += len(batch)
    return new


def _add_answers(
    connection: Connection,
    run: AnyRow,
    answers: Sequence[AnyAnswer],
    groups: Mapping[str, int],
    numbers: Mapping[Case, int],
) -> None:
    turns = schema.turns
    of_run = turns.c.run == run.number
    free = (connection.execute(select(func.max(turns.c.number)).where(of_run)).scalar() or 0) + 1
    held: set[tuple[int, int, int, int]] = set()
    if free > 1:
        wanted = sorted({numbers[Case(answer.scenario)] for answer in answers})
        for some in _batches(wanted, _LOOKED_UP_AT_ONCE):
            columns = (turns.c.group_number, turns.c.case_number, turns.c.repetition, turns.c.turn)
            rows = connection.execute(select(*columns).where(of_run, turns.c.case_number.in_(some)))
            held |= {(group, case, repetition, turn) for group, case, repetition, turn in rows}
    added = 0
    for batch in _batches(answers, _WRITTEN_AT_ONCE):
        turn_rows: list[tuple[Any, ...]] = []
        score_rows: list[tuple[Any, ...]] = []
        for answer in batch:
            key = (groups[answer.agent], numbers[Case(answer.scenario)], answer.repetition, answer.turn)
            if key in held:
                continue
            held.add(key)
            number = free + added
            added += 1
            texts = (plain_text(answer.query), plain_text(answer.response))
            record = None if answer.record is None else answer.record.model_dump(mode="json", exclude_defaults=True)
            told = (bool(answer.passed), json_text(answer.entries), json_text(record))
            turn_rows.append((run.number, number, *key, *texts, *told))
            score_rows += [
                (run.number, number, plain_text(metric), float(entry["score"]), bool(entry["measured"]))
                for metric, entry in answer.entries.items()
            ]
        insert_rows(connection, turns, turn_rows)
        insert_rows(connection, schema.scores, score_rows)


def _record(kept: Any) -> Record | None:
    if kept is None:
        return None
    from assay.chat.record import Record

    return Record.model_validate(kept)


def _cases(connection: Connection, number: int) -> dict[int, Case]:
    columns = ("number", "name", "stratum")
    rows = select_rows(connection, schema.cases, columns, run=number)
    return {at: Case(kept_text(name), kept_text(stratum)) for at, name, stratum in rows}


def _load_tallies(connection: Connection, run: AnyRow) -> dict[str, dict[Case, dict[str, State]]]:
    known = _cases(connection, run.number)
    columns = ("group_number", "case_number", "states")
    loaded: dict[str, dict[Case, dict[str, State]]] = {}
    decoder = Decoder()
    with _no_collecting():
        for group, case, states in select_rows(connection, schema.tallies, columns, run=run.number):
            loaded.setdefault(run.group_names[group], {})[known[case]] = decoder.decode(states)
    return loaded


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Nothing of what is being loaded is garbage, and looking for it again and again takes a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _batches(things: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    remaining = iter(things)
    while batch := list(islice(remaining, size)):
        yield batch
