"""Whether the claims of an answer hold: without that, giving data, advising and repeating earn no points.

Without a ground truth nothing is known against an answer, and every rule keeps its points.
"""

from __future__ import annotations

from assay.chat.metrics.accuracy import METRIC as ACCURACY
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.asked import unclaimed
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
        context.derived["unsound"] = known
    return known


def is_baseless(context: ScoringContext) -> bool:
    """Whether the truth is known, and the answer claims nothing of what was asked for, or something that fails."""
    known = context.derived.get("baseless")
    if not isinstance(known, bool):
        known = bool(context.truth) and (unclaimed(context) is not None or bool(unsound(context)))
        context.derived["baseless"] = known
    return known


def baseless_advice(context: ScoringContext) -> Finding | None:
    """Advice that rests on a claim that does not hold."""
    found = unsound(context) if context.advice else []
    return Finding(note=found[0].says) if found else None
