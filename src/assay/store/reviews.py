"""What people say about answers: whether one passes, a score, a comment; one review of each answer and reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from assay.errors import UsageError
from assay.store import schema
from assay.store.contents import load_cases
from assay.store.references import AnyRow

LOWEST_SCORE, HIGHEST_SCORE = 1, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What one reviewer says about one answer. An empty review withdraws an earlier one."""

    agent: str
    scenario: str
    repetition: int
    turn: int
    reviewer: str
    passed: bool | None = None
    """Whether the answer is good enough; None if the reviewer does not say."""
    score: int | None = None
    """1 to 5; None if the reviewer gives none."""
    comment: str = ""
    created: str = ""
    """UTC, ISO 8601."""

    def __post_init__(self) -> None:
        if not self.reviewer.strip():
            raise UsageError("a review needs the name of its reviewer")
        if self.score is not None and not LOWEST_SCORE <= self.score <= HIGHEST_SCORE:
            raise UsageError(f"a score is between {LOWEST_SCORE} and {HIGHEST_SCORE}, got {self.score}")

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return self.passed is None and self.score is None and not self.comment


def keep_review(connection: Connection, run: AnyRow, review: Review) -> None:
    """Store a review; it replaces the reviewer's earlier one."""
    cases = schema.cases.c
    case = connection.execute(
        select(cases.number).where(cases.run == run.number, cases.name == review.scenario)
    ).scalar_one_or_none()
    turns = schema.turns.c
    group = run.group_names.index(review.agent) if review.agent in run.group_names else -1
    place = {
        "run": run.number,
        "case_number": case,
        "group_number": group,
        "repetition": review.repetition,
        "turn": review.turn,
    }
    answered = select(turns.number).where(*(turns[name] == value for name, value in place.items()))
    if case is None or connection.execute(answered).first() is None:
        raise UsageError(f"run {run.id} has no such answer", hint="Check agent, scenario, repetition and turn")
    table = schema.reviews
    key = place | {"reviewer": review.reviewer}
    connection.execute(delete(table).where(*(table.c[name] == value for name, value in key.items())))
    if not review.is_empty:
        said = {"passed": review.passed, "score": review.score, "comment": review.comment, "created": review.created}
        connection.execute(insert(table).values(key | said))


def load_reviews(connection: Connection, run: AnyRow) -> list[dict[str, Any]]:
    """Every review of a run, as the fields of `Review`."""
    known = load_cases(connection, run.number)
    table = schema.reviews
    rows = connection.execute(select(table).where(table.c.run == run.number).order_by(*table.primary_key.columns))
    return [
        {
            "agent": run.group_names[row.group_number],
            "scenario": known[row.case_number].name,
            "repetition": row.repetition,
            "turn": row.turn,
            "reviewer": row.reviewer,
            "passed": row.passed,
            "score": row.score,
            "comment": row.comment,
            "created": row.created,
        }
        for row in rows
    ]
