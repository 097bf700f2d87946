"""Whether what an answer tells holds: points for telling, advising and repeating need something true behind them.

Without a ground truth nothing is known against an answer, and every rule keeps its points.
"""

from __future__ import annotations

from assay.chat.metrics.accuracy import METRIC as ACCURACY
from assay.chat.scoring.asked import unclaimed
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Entry, Evidence, Finding

# Rules of accuracy that fire on a claim that is wrong, or too wide or too many to say anything.
_UNSOUND = frozenset({"figure_wrong", "high_wrong", "low_wrong", "date_wrong", "figure_vague", "states_crowded"})


def _accuracy(context: ScoringContext) -> Entry:
    known = context.derived.get("accuracy entry")
    entry = known if isinstance(known, Entry) else ACCURACY.score(context)
    context.derived["accuracy entry"] = entry
    return entry


def unsound(context: ScoringContext) -> list[Evidence]:
    """What the answer claims and the truth shows to be wrong, or to say nothing."""
    if not context.truth:
        return []
    return [
        line
        for line in _accuracy(context).evidence
        if line.id in _UNSOUND or (line.id == "state_missing" and line.words)
    ]


def is_baseless(context: ScoringContext) -> bool:
    """Whether the truth is known, and the answer claims nothing of what was asked for, or something that fails."""
    return bool(context.truth) and (unclaimed(context) is not None or bool(unsound(context)))


def baseless_advice(context: ScoringContext) -> Finding | None:
    """Advice that rests on a claim that does not hold."""
    found = unsound(context) if context.advice else []
    return Finding(note=found[0].says) if found else None
