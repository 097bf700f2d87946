"""The contents of a run: its cases, the tally of each group for each case, and the answers of conversations.

Cases and answers are numbered within their run. Rows that a run already has are never changed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, func, select, update

from assay.recorded import Case
from assay.store import schema
from assay.store.database import insert_rows, select_among, select_rows
from assay.store.encoded import AnswerRow, EncodedAnswer
from assay.store.references import AnyRow
from assay.store.texts import kept_text, plain_text

if TYPE_CHECKING:
    from assay.types import State

StoredTallies = Mapping[str, Mapping[Case, "Mapping[str, State]"]]
EncodedTallies = Mapping[str, Mapping[Case, bytes]]
"""What `encode_states` made of them."""
_Thing = TypeVar("_Thing")
_CaseKey = tuple[str, str]
"""Name and stratum of a case: in a dictionary they take a fraction of the time of the case itself."""

LOOKED_UP_AT_ONCE = 500  # names in one statement; SQLite takes 32,766 values, and long statements parse slowly
_LARGE = frozenset({"query", "response", "failures", "entries", "truth"})
_WRITTEN_AT_ONCE = 1000  # rows that wait in memory


def add(
    connection: Connection,
    run: AnyRow,
    tallies: StoredTallies | EncodedTallies,
    answers: Iterable[AnswerRow | EncodedAnswer],
) -> int:
    """Add the tallies and answers that the run does not have yet. Returns how many tallies were new."""
    rows = [answer if isinstance(answer, EncodedAnswer) else EncodedAnswer.of(answer) for answer in answers]
    groups = _group_numbers(run.group_names, [*tallies, *(answer.agent for answer in rows)])
    scenarios = dict.fromkeys([answer.scenario for answer in rows])
    of_tallies = [(case.name, case.stratum) for by_case in tallies.values() for case in by_case]
    wanted = dict.fromkeys([*of_tallies, *((name, "") for name in scenarios)])
    numbers, new_cases = _case_numbers(connection, run, list(wanted))
    new = _add_tallies(connection, run, tallies, groups, numbers)
    _add_answers(connection, run, rows, groups, {name: numbers[name, ""] for name in scenarios})
    connection.execute(
        update(schema.runs)
        .where(schema.runs.c.number == run.number)
        .values(group_names=list(groups), case_count=run.case_count + new_cases)
    )
    return new


def _group_numbers(known: Sequence[str], wanted: Iterable[str]) -> dict[str, int]:
    """Numbers of groups: known groups keep theirs."""
    return {name: number for number, name in enumerate(dict.fromkeys([*known, *wanted]))}


def _case_numbers(connection: Connection, run: AnyRow, wanted: Sequence[_CaseKey]) -> tuple[dict[_CaseKey, int], int]:
    """Numbers of cases within the run, and how many cases are new; new cases get the next free numbers."""
    cases = schema.cases
    free = (connection.execute(select(func.max(cases.c.number)).where(cases.c.run == run.number)).scalar() or 0) + 1
    known: dict[_CaseKey, int] = {}
    # An empty run, such as one that is saved at once, has no cases to look up.
    for some in batches(wanted, LOOKED_UP_AT_ONCE) if free > 1 else ():
        names = list({plain_text(name) for name, _ in some})
        columns = ("name", "stratum", "number")
        rows = select_among(connection, cases, columns, {"run": run.number}, among="name", values=names)
        known |= {(kept_text(name), kept_text(stratum)): number for name, stratum, number in rows}
    new = [case for case in wanted if case not in known]
    numbers = {case: free + at for at, case in enumerate(new)}
    rows_to_add = [(run.number, number, plain_text(name), plain_text(of)) for (name, of), number in numbers.items()]
    insert_rows(connection, cases, rows_to_add)
    return known | numbers, len(new)


def _add_tallies(
    connection: Connection,
    run: AnyRow,
    tallies: StoredTallies | EncodedTallies,
    groups: Mapping[str, int],
    numbers: Mapping[_CaseKey, int],
) -> int:
    table = schema.tallies
    held: set[tuple[int, int]] = set()
    if run.group_names:
        for group, by_case in tallies.items():
            of_group = {"run": run.number, "group_number": groups[group]}
            for some in batches(by_case, LOOKED_UP_AT_ONCE):
                values = [numbers[case.name, case.stratum] for case in some]
                rows = select_among(connection, table, ("case_number",), of_group, among="case_number", values=values)
                held |= {(groups[group], case) for (case,) in rows}
    new = 0
    rows_to_add = (
        (run.number, groups[group], number, states if isinstance(states, bytes) else encoded_states(states))
        for group, by_case in tallies.items()
        for case, states in by_case.items()
        if (groups[group], number := numbers[case.name, case.stratum]) not in held
    )
    for batch in batches(rows_to_add, _WRITTEN_AT_ONCE):
        insert_rows(connection, table, batch)
        new += len(batch)
    return new


def encoded_states(states: Mapping[str, State]) -> bytes:
    """States as bytes. NumPy is imported only by those who have some."""
    from assay.store.encoding import encode_states

    return encode_states(states)


def _add_answers(
    connection: Connection,
    run: AnyRow,
    answers: Sequence[EncodedAnswer],
    groups: Mapping[str, int],
    numbers: Mapping[str, int],
) -> None:
    if not answers:
        return
    turns = schema.turns
    free = (connection.execute(select(func.max(turns.c.number)).where(turns.c.run == run.number)).scalar() or 0) + 1
    held: set[tuple[int, int, int, int]] = set()
    if free > 1:
        columns, of_run = ("group_number", "case_number", "repetition", "turn"), {"run": run.number}
        for some in batches(sorted(numbers.values()), LOOKED_UP_AT_ONCE):
            rows = select_among(connection, turns, columns, of_run, among="case_number", values=some)
            held |= {(group, case, repetition, turn) for group, case, repetition, turn in rows}
    for batch in batches(answers, _WRITTEN_AT_ONCE):
        turn_rows: list[tuple[Any, ...]] = []
        score_rows: list[tuple[Any, ...]] = []
        for answer in batch:
            key = (groups[answer.agent], numbers[answer.scenario], answer.repetition, answer.turn)
            if key in held:
                continue
            held.add(key)
            turn_rows.append((run.number, free, *key, *answer.values))
            score_rows += [(run.number, free, *score) for score in answer.scores]
            free += 1
        insert_rows(connection, turns, turn_rows)
        insert_rows(connection, schema.scores, score_rows)


def load_cases(connection: Connection, number: int) -> dict[int, Case]:
    """The cases of a run by their numbers."""
    columns = ("number", "name", "stratum")
    rows = select_rows(connection, schema.cases, columns, run=number)
    return {at: Case(kept_text(name), kept_text(stratum)) for at, name, stratum in rows}


def load_answer_rows(
    connection: Connection,
    run: AnyRow,
    *,
    scenario: str | None = None,
    agent: str | None = None,
    outcomes_only: bool = False,
) -> list[dict[str, Any]]:
    """The answers of a run in the order in which they were added; only those of a scenario or an agent, if given.

    With `outcomes_only`, texts, failures, scores and truths, which are most of what is stored, are left empty.
    """
    turns = schema.turns
    columns = [column for column in turns.c if not (outcomes_only and column.name in _LARGE)]
    query = select(*columns).where(turns.c.run == run.number).order_by(turns.c.number)
    if scenario is not None:
        cases = schema.cases.c
        number = select(cases.number).where(cases.run == run.number, cases.name == scenario)
        query = query.where(turns.c.case_number.in_(number))
    if agent is not None:
        group = run.group_names.index(agent) if agent in run.group_names else -1
        query = query.where(turns.c.group_number == group)
    known = None if scenario is not None else load_cases(connection, run.number)
    return [
        {
            "agent": run.group_names[turn.group_number],
            "scenario": scenario if known is None else known[turn.case_number].name,
            "repetition": turn.repetition,
            "turn": turn.turn,
            "query": "" if outcomes_only else turn.query,
            "response": "" if outcomes_only else turn.response,
            "passed": turn.passed,
            "failures": [] if outcomes_only else turn.failures,
            "metrics": {} if outcomes_only else turn.entries,
            "record": turn.record,
            **({} if outcomes_only or turn.truth is None else {"truth": turn.truth}),
        }
        for turn in connection.execute(query)
    ]


def load_tallies(connection: Connection, run: AnyRow) -> dict[str, dict[Case, dict[str, State]]]:
    """Every tally of a run, by group and case."""
    known = load_cases(connection, run.number)
    columns = ("group_number", "case_number", "states")
    loaded: dict[str, dict[Case, dict[str, State]]] = {}
    from assay.store.encoding import Decoder

    decoder = Decoder()
    with _garbage_collection_paused():
        for group, case, states in select_rows(connection, schema.tallies, columns, run=run.number):
            loaded.setdefault(run.group_names[group], {})[known[case]] = decoder.decode(states)
    return loaded


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection: nothing that is being loaded is garbage, and collecting takes a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def batches(things: Iterable[_Thing], size: int) -> Iterator[list[_Thing]]:
    """Things in lists of at most `size`."""
    remaining = iter(things)
    while batch := list(islice(remaining, size)):
        yield batch
