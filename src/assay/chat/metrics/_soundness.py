"""Whether the claims of an answer hold: without that, giving data, advising and repeating earn no points.

Without a ground truth nothing is known against an answer, and every rule keeps its points.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.chat.domains import Fact
from assay.chat.metrics.accuracy import METRIC as ACCURACY
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.asked import unclaimed
from assay.chat.scoring.context.claims import FigureClaim
from assay.chat.scoring.context.truth import EPSILON, is_vague
from assay.chat.scoring.metric import Evidence, Finding

# Rules of accuracy that fire on a claim that is wrong, or too wide or too many to say anything.
_UNSOUND = frozenset(
    {"figure_wrong", "high_wrong", "low_wrong", "date_wrong", "figure_vague", "states_crowded", "denies_itself"}
)


def unsound(context: ScoringContext) -> list[Evidence]:
    """What the answer claims and the truth shows to be wrong, or to say nothing."""
    known = context.derived.get("unsound")
    if not isinstance(known, list):
        evidence = ACCURACY.score(context).evidence if context.truth else []
        known = [line for line in evidence if line.id in _UNSOUND or (line.id == "state_missing" and line.words)]
        known += [line for line in evidence if line not in known and _claims_only_others(context, line)]
        context.derived["unsound"] = known
    return known


def _claims_only_others(context: ScoringContext, line: Evidence) -> bool:
    """Whether the true state is not named, and another is all that the answer claims: "it's cloudy", if it is clear.

    Beside a figure that agrees with the truth, a state that neither agrees nor contradicts does no harm.
    """
    affirmed = {claim.what for claim in context.asked_claims if claim.affirmed}
    if line.id != "state_missing" or not affirmed or affirmed & context.true_sets.wanted:
        return False
    return not any(_agrees(context, claim, facts) for claim, facts in context.comparable)


def _agrees(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact]) -> bool:
    kind = context.kind(claim.what)
    reach = max(kind.far, kind.support) + EPSILON
    return not is_vague(context, claim, facts) and any(claim.said.distance(fact.value) <= reach for fact in facts)


def is_baseless(context: ScoringContext) -> bool:
    """Whether the truth is known, and the answer claims nothing of what was asked for, or something that fails."""
    known = context.derived.get("baseless")
    if not isinstance(known, bool):
        known = bool(context.truth) and (unclaimed(context) is not None or bool(unsound(context)))
        context.derived["baseless"] = known
    return known


def claims_nothing_true(context: ScoringContext) -> bool:
    """Whether the truth is known, and none of the states and figures that the answer claims agrees with it."""
    return any(line.id == "state_missing" and _claims_only_others(context, line) for line in unsound(context))


def is_invented(context: ScoringContext) -> bool:
    """Whether what the answer tells can have no source: no tool supplied it, no earlier answer, and no known truth.

    If nothing is known about tool calls, it is assumed to have one.
    """
    if context.truth or context.calls_made is None or any(call.error is None for call in context.tool_calls or ()):
        return False
    if context.calls_made and context.tool_calls is None:
        return False
    return not any(turn.assistant is not None and turn.assistant.quantities for turn in context.history)


def baseless_advice(context: ScoringContext) -> Finding | None:
    """Advice that rests on a claim that does not hold."""
    found = unsound(context) if context.advice else []
    return Finding(note=found[0].says) if found else None
