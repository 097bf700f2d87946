"""Whether an error that an answer reports leaves open what was asked, or stands beside a whole answer.

Functions over a `ScoringContext`; they know no metric and no points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.chat.reading.text import Mention
from assay.chat.scoring.context.asked import dates_claimed, unclaimed
from assay.chat.scoring.context.calendar import is_later
from assay.chat.scoring.context.claims import INSTEAD
from assay.chat.scoring.context.truth import states_on

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext


def failures(context: ScoringContext) -> list[Mention]:
    """The errors without those that say what else is missing: 'It's 29 °C. I couldn't find the UV index.'

    An error is beside the answer if it says what is missing, and that is neither what the truth was asked for nor the
    source of it all: 'I couldn't get live data'.
    """
    errors = context.errors
    if not errors or not context.truth or unclaimed(context) is not None:
        return errors
    response = context.response
    missing = response.sentences_with("missing")
    of_all = response.sentences_with("of_source")
    for error in errors:
        sentence = response.sentence(error.first)
        if error.keys[0] != "error.regret" and (sentence not in missing or sentence in of_all):
            return errors
    return errors if _leaves_part(context) or _leaves_role(context) or _leaves_day(context) else []


def _leaves_part(context: ScoringContext) -> bool:
    """Whether a figure that is due or the state is not given, although the whole is asked for: 'How's the weather?'"""
    question = context.question
    given = {fact.kind for _, facts in context.comparable for fact in facts}
    if not given.issuperset(question.kinds_due(asks_later=context.asks_later)):
        return True
    return bool(context.query.all("asks_figure.due") and context.truth.states and not context.asked_claims)


def _leaves_role(context: ScoringContext) -> bool:
    """Whether a figure of a role is asked for, known and not given: when something arrives, beside what it costs."""
    if dates_claimed(context):
        return False
    given = {(fact.kind, fact.role) for _, facts in context.comparable for fact in facts}
    query = context.query
    return any(
        (fact.kind, role) not in given and bool(query.all(f"role.{fact.kind}.{role}"))
        for fact in context.truth.facts
        if context.kind(fact.kind).checked
        for role in {fact.role, INSTEAD.get(fact.role, fact.role)} - {"actual", "feels_like"}
    )


def _leaves_day(context: ScoringContext) -> bool:
    """Whether the query names a day that the truth knows and the answer says nothing of."""
    if not context.domain.by_day:
        return False
    told = {claim.day for claim, _ in context.comparable} | {claim.day for claim in context.asked_claims}
    calendar = context.calendar
    for asked in context.question.days:
        if not is_later(asked) or not states_on(context, asked):
            continue
        if not any(day is not None and calendar.is_same(asked, day) is not False for day in told):
            return True
    return False
