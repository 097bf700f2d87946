"""recommendation_quality: is the advice specific and reasoned?"""

from __future__ import annotations

from assay.chat.metrics._soundness import baseless_advice
from assay.chat.reading.text import Mention
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.asked import unclaimed
from assay.chat.scoring.metric import Finding, Metric, Rule

_SEVERAL = 3


def _nothing_to_judge(context: ScoringContext) -> str | None:
    return None if context.question.asks_advice or context.advice else "advice was neither asked for nor given"


def _absent(context: ScoringContext) -> Finding | None:
    return None if context.advice or _answers_by_yes_or_no(context) else Finding()


def _answers_by_yes_or_no(context: ScoringContext) -> bool:
    """Whether a yes or no is the advice that was asked for: 'Should I?' 'Yes.'"""
    question = context.question
    return question.on_advice and question.is_polar and context.reader.polar.answer(context.response.tokens) is not None


def _items(context: ScoringContext) -> Finding | None:
    items = context.items or _asked_items(context)
    return (
        Finding([mentions[0] for mentions in items.values()], note=", ".join(items).replace("_", " "))
        if items
        else None
    )


def _asked_items(context: ScoringContext) -> dict[str, list[Mention]]:
    """What the question names and the answer only points at: 'Do I need a coat?' 'Bring one.'"""
    said = context.said("advice.that_one")
    asked = [one.keys[0].removeprefix("items.") for one in context.query.all("items")[:1]]
    return dict.fromkeys(asked, said) if said else {}


def _reasons(context: ScoringContext) -> Finding | None:
    """Says why. If the truth is known, a reason needs something that it can check: 'things can change' is none, and
    neither is what is usual.
    """
    said = context.said("reasons")
    return Finding(said) if said and not (context.truth and (context.lacks_data or unclaimed(context))) else None


def _several(context: ScoringContext) -> Finding | None:
    """Distinct items and distinct words of advice; repeating one of them adds nothing."""
    distinct = {**context.items, **context.said_by_name("counted_advice")}
    return Finding([mentions[0] for mentions in distinct.values()]) if len(distinct) >= _SEVERAL else None


METRIC = Metric(
    name="recommendation_quality",
    group="functional",
    base=0.5,
    asks="Is the advice specific and reasoned?",
    unmeasured=_nothing_to_judge,
    rules=(
        Rule("absent", -0.3, "advice was asked for and none is given", when=_absent, alone=True),
        Rule("items", +0.2, "names something to act on", when=_items),
        Rule("reasons", +0.2, "says why", when=_reasons),
        Rule("several", +0.1, "three recommendations or more", when=_several),
        Rule("baseless", -0.2, "the advice rests on a claim that does not hold", when=baseless_advice),
    ),
)
