"""task_completion: did the user get what was asked for?"""

from __future__ import annotations

from assay.chat.metrics._soundness import claims_nothing_true, is_baseless, is_invented
from assay.chat.reading.places import Place
from assay.chat.reading.quantities import Quantity
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.elsewhere import told_elsewhere
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.plural import counted

_SHORT_ERROR = 100
_TOO_SHORT = 20
_SUBSTANTIAL = 100


def _short_error(context: ScoringContext) -> Finding | None:
    return Finding(context.failures[:1]) if context.length < _SHORT_ERROR and context.failures else None


def _too_short(context: ScoringContext) -> Finding | None:
    return Finding(note=counted(context.length, "character")) if context.length < _TOO_SHORT else None


def _nothing_told(context: ScoringContext) -> Finding | None:
    return Finding() if context.asks_data and (not context.told or told_elsewhere(context)) else None


def _figures(context: ScoringContext) -> Finding | None:
    """A figure of the domain, or a bare number in a sentence about its subject.

    None if the truth speaks against it, or if it can only be invented.
    """
    if is_baseless(context) or context.is_small_talk or is_invented(context):
        return None
    figures = [one for one in context.told if isinstance(one, Quantity)]
    if figures:
        return Finding(figures[:1])
    response = context.response
    # These are not stated: they are denied, or what is usual.
    read = {at for one in response.quantities for at in range(one.first, one.last + 1)}
    about = {response.sentence(one.first) for one in [*context.told, *response.all("topic")]}
    own = [
        at
        for at in response.numbers
        if response.sentence(at) in about and at not in read | context.quoted and not response.is_question(at)
    ]
    return Finding([Place(response.starts[at], response.ends[at], at, at, "") for at in own[:1]]) if own else None


def _advice(context: ScoringContext) -> Finding | None:
    if not context.advice or context.is_small_talk or claims_nothing_true(context):
        return None
    return Finding(context.advice[:1])


def _substantial(context: ScoringContext) -> Finding | None:
    return Finding(note=counted(context.length, "character")) if context.length > _SUBSTANTIAL else None


def _error(context: ScoringContext) -> Finding | None:
    return Finding(context.errors[:1]) if context.errors else None


METRIC = Metric(
    name="task_completion",
    group="functional",
    base=0.5,
    asks="Did the user get what was asked for?",
    needs=("told",),
    rules=(
        Rule("short_error", -0.3, "nothing but an error", when=_short_error, alone=True),
        Rule("too_short", -0.4, "too short to be an answer", when=_too_short, alone=True),
        Rule("nothing_told", -0.1, "does not give the data asked for", when=_nothing_told, alone=True),
        Rule("figures", +0.2, "gives figures", when=_figures),
        Rule("advice", +0.2, "gives advice", when=_advice),
        Rule("substantial", +0.1, "more than 100 characters", when=_substantial),
        Rule("error", -0.2, "reports an error", when=_error),
    ),
)
