"""Whether an answer only tells of other places than the one asked about: then it does not answer the question.

Functions over a `ScoringContext`; they know no metric, no points and no values of the ground truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.chat.scoring.context.places import is_one_of

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext
    from assay.chat.scoring.context.claims import YesOrNo


def told_elsewhere(context: ScoringContext) -> bool:
    """Whether everything that an answer tells is of places that were not asked about: Paris instead of Lyon."""
    known = context.derived.get("told elsewhere")
    if not isinstance(known, bool):
        known = context.derived["told elsewhere"] = _told_elsewhere(context)
    return known


def _told_elsewhere(context: ScoringContext) -> bool:
    if not context.domain.uses_places or not context.response_places:
        return False
    asked = _asked(context)
    if not asked or context.yes_or_no is not None or asked.issuperset([one.name for one in context.response_places]):
        return False
    told = [one.first for one in context.told] or [claim.said.first for claim in context.state_claims]
    subjects, response = context.subjects, context.response
    for at in told:
        names = subjects.subject_at(response, at)
        if not names or is_one_of(names, asked):
            return False
    return bool(told)


def _asked(context: ScoringContext) -> frozenset[str]:
    """The places that the question asks about, or that the truth is of; empty if an earlier turn may have named it."""
    named = context.question.places
    return named.union(context.subjects.true_names) if named or not context.history else frozenset()


def is_said_elsewhere(context: ScoringContext, answer: YesOrNo) -> bool:
    """Whether a yes or no only sums up what the answer says of another place: 'No, it isn't raining in Paris.'

    'No. It's raining in Paris, though.' contrasts the place that was asked about with another.
    """
    places = context.response_places
    if not context.domain.uses_places or not places or not answer.states:
        return False
    asked = _asked(context)
    if not asked or any(is_one_of([place.name], asked) for place in places):
        return False
    claims = [claim for claim in context.state_claims if claim.subjects]
    if not claims or len(claims) < len(context.state_claims):
        return False
    opposite = {other for state in answer.states for other in context.domain.states[state].get("contradicts", ())}
    for claim in claims:
        if claim.what in answer.states:
            agrees = claim.affirmed is answer.yes
        else:
            agrees = claim.what in opposite and not answer.yes
        if not agrees:
            return False
    return True
