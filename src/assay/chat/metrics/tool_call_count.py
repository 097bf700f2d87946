"""tool_call_count: how many tools were called? One or two are best."""

from __future__ import annotations

from collections.abc import Callable

from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule


def _unknown(context: ScoringContext) -> str | None:
    return "the number of tool calls is not known" if context.calls_made is None else None


def _calls(least: int, most: int | None) -> Callable[[ScoringContext], Finding | None]:
    def calls(context: ScoringContext) -> Finding | None:
        made = context.calls_made or 0
        return Finding(note=f"{made}") if made >= least and (most is None or made <= most) else None

    return calls


METRIC = Metric(
    name="tool_call_count",
    group="functional",
    by_words=False,
    base=1.0,
    asks="How many tools were called?",
    unmeasured=_unknown,
    rules=(
        Rule("none", -0.5, "no tool was called", when=_calls(0, 0)),
        Rule("some", -0.2, "three or four calls", when=_calls(3, 4)),
        Rule("many", -0.4, "five or six calls", when=_calls(5, 6)),
        Rule("too_many", -0.6, "more than six calls", when=_calls(7, None)),
    ),
)
