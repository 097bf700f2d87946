"""Whether an answer claims what the question asks for.

Functions over a `ScoringContext`; they know no metric and no points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.domains import Fact
from assay.chat.reading.places import words_of
from assay.chat.scoring.context.arrivals import arrivals
from assay.chat.scoring.context.claims import INSTEAD, NOT_COMPARED, FigureClaim
from assay.chat.scoring.context.truth import is_of_asked_time, is_vague, states_in
from assay.chat.scoring.metric import TextSpan

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext


PLAIN_ROLES = ("actual", "high", "low")
"""Roles of figures that tell how much something is; what it only feels like is another."""


def unclaimed(context: ScoringContext) -> str | None:
    """What the question asks for, the truth knows and the answer does not claim, as a clause; None if nothing."""
    if "unclaimed" not in context.derived:
        context.derived["unclaimed"] = _unclaimed(context)
    known = context.derived["unclaimed"]
    return known if isinstance(known, str) else None


def _unclaimed(context: ScoringContext) -> str | None:
    if not context.truth:
        return None
    told = [(claim, facts) for claim, facts in context.comparable if _is_given(context, claim, facts)]
    given = {claim.what for claim, _ in told if tells_amount(context, claim)}
    given |= {kind for kind in context.question.fact_kinds if _is_none_claimed(context, kind)}
    if dates_claimed(context):
        given |= {kind for kind in context.question.fact_kinds if context.kind(kind).asked}
    families = {context.family(kind) for kind in given} if context.question.kinds else set()
    none = "has only a vague one, or one of another time" if context.comparable else "has none"
    if told and not given:
        none = "has only one of another sort, such as what it feels like"
    for kind in sorted(kind for kind in context.question.kinds if context.family(kind) not in families):
        return f"the question asks for a figure in {context.kind(kind).unit}, and the answer {none}"
    if context.query.all("asks.figure") and context.truth.facts and not given:
        return f"the question asks for a figure, and the answer {none} that the truth can check"
    if _claims_state(context):
        return None
    if context.question.polar_states and context.truth.states:
        return "the question asks whether something is so, and the answer does not say"
    if any(context.kind(claim.what).checked for claim, _ in told) or dates_claimed(context):
        return None
    return "the answer claims nothing that the truth can check"


def tells_amount(context: ScoringContext, claim: FigureClaim) -> bool:
    """Whether a figure tells how much something is, as asked: what it feels like does not tell the temperature.

    It does if the question asks what it feels like, or if the truth has nothing else.
    """
    role = INSTEAD.get(claim.said.role, claim.said.role)
    if role in PLAIN_ROLES:
        return True
    if role in NOT_COMPARED:
        return False
    has_plain = any(fact.kind == claim.what and fact.role in PLAIN_ROLES for fact in context.truth.facts)
    return not has_plain or bool(context.query.all(f"asks_role.{claim.what}.{role}"))


def _is_given(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact]) -> bool:
    """Whether a figure that the truth can check tells something, and of the time asked about."""
    return is_of_asked_time(context, claim) and not is_vague(context, claim, facts)


def _is_none_claimed(context: ScoringContext, kind: str) -> bool:
    """Whether the answer says in words that nothing is left: 'we have none left'."""
    states = context.kind(kind).states
    if not states:
        return False
    wanted = ((states.get("none"), True), (states.get("some"), False))
    return any((claim.what, claim.affirmed) in wanted for claim in context.asked_claims)


def own_words(context: ScoringContext, truths: list[str]) -> list[TextSpan]:
    """Where the response names a state that the domain has no list for, in the truth's own words."""
    found: list[TextSpan] = []
    for own in _unlisted(context, truths):
        found += context.response.find({own[0]: [own]})
    return found


def _unlisted(context: ScoringContext, truths: list[str]) -> list[tuple[str, ...]]:
    """The words of the truths that name no state of the domain; kept with the question."""
    key = ("unlisted", *truths)
    known = context.question.kept(key, list)
    if known is None:
        unlisted = [own for words in truths if (own := words_of(words)) and not states_in(context, words)]
        known = context.question.keep(key, unlisted)
    return known


def dates_claimed(context: ScoringContext) -> list[TextSpan]:
    """Where an answer says when something arrives that the truth has a date of."""
    known = bool(context.truth.dates)
    return [one.said for one in arrivals(context) if one.is_right is not None or known]


def _claims_state(context: ScoringContext) -> bool:
    if not context.truth.states:
        return False
    answered = context.yes_or_no is not None and bool(context.yes_or_no.states)
    return answered or bool(context.asked_claims or own_words(context, list(context.truth.states.values())))
