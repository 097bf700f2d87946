"""recommendation_quality: is the advice specific and reasoned?"""

from __future__ import annotations

from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule

_SEVERAL = 3


def _nothing_to_judge(case: Case) -> str | None:
    return None if case.asks_advice or case.advice else "advice was neither asked for nor given"


def _absent(case: Case) -> Finding | None:
    return None if case.advice else Finding()


def _items(case: Case) -> Finding | None:
    items = case.said_by_name("items")
    return (
        Finding([mentions[0] for mentions in items.values()], note=", ".join(items).replace("_", " "))
        if items
        else None
    )


def _several(case: Case) -> Finding | None:
    """Distinct items and distinct words of advice: saying one thing three times is one recommendation."""
    distinct = {**case.said_by_name("items"), **case.said_by_name("counted_advice")}
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
        Rule("reasons", +0.2, "says why", words="reasons"),
        Rule("several", +0.1, "three recommendations or more", when=_several),
    ),
)
