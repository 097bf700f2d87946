"""action_planning: were the steps right? Data first, then advice; suitable tools, each called once and in order."""

from __future__ import annotations

from assay.chat.metrics._soundness import is_baseless
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.chat.scoring.trajectory import repeated

_MOST_CALLS = 4


def _cannot_be_measured(context: ScoringContext) -> str | None:
    if context.are_calls_unknown:
        return "which tools the agent called is not known"
    if not context.needs_data and not context.calls_made:
        return "the query needs no data"
    if context.missing_parts and context.clarifications and not (context.calls_made and context.told):
        return "the query has to be clarified first"
    return None


def _needless(context: ScoringContext) -> Finding | None:
    return None if context.needs_data or context.expected_calls else Finding(note=f"{context.calls_made}")


def has_data(context: ScoringContext) -> bool:
    """Whether the answer is based on data: it gives some, and a tool or an earlier turn can have supplied it.

    If nothing is known about tool calls, an answer that gives data is assumed to have a source.
    """
    if not context.told:
        return False
    if context.calls_made == 0:
        return any(turn.assistant is not None and turn.assistant.quantities for turn in context.history)
    return context.tool_calls is None or any(call.error is None for call in context.tool_calls)


def _retrieved(context: ScoringContext) -> Finding | None:
    return Finding(context.told[:1]) if has_data(context) else None


def _data_first(context: ScoringContext) -> Finding | None:
    if context.told and context.advice and context.told[0].start < context.advice[0].start:
        return Finding([context.told[0], context.advice[0]])
    return None


def _fitting_tools(context: ScoringContext) -> Finding | None:
    if context.trajectory is not None:
        return Finding(note=context.trajectory.why) if context.trajectory.any_order else None
    made = context.calls_made or 0
    if not 1 <= made <= _MOST_CALLS or (context.tool_calls and all(call.error for call in context.tool_calls)):
        return None
    return Finding(note=f"{made}")


def _flow(context: ScoringContext) -> Finding | None:
    """Words such as 'then'; what is wrong or says nothing connects no steps."""
    said = context.said("flow")
    return Finding(said[:1]) if said and not is_baseless(context) else None


def _unfounded(context: ScoringContext) -> Finding | None:
    return Finding(context.advice[:1]) if context.advice and not has_data(context) else None


def _out_of_order(context: ScoringContext) -> list[Finding]:
    calls = context.tool_calls
    if not calls:
        return []
    if context.trajectory is not None:
        at = context.trajectory.out_of_order
    else:
        steps = [_step(context, call.name) for call in calls]
        at = tuple(
            n
            for n, step in enumerate(steps)
            if step is not None
            and any(later is not None and later < step and later not in steps[:n] for later in steps[n + 1 :])
        )
    return [Finding(note=f"call {n + 1}, {calls[n].name}") for n in at]


def _step(context: ScoringContext, tool: str) -> int | None:
    words = tool.lower().replace("-", "_")
    return next((n for n, names in enumerate(context.domain.steps) if any(name in words for name in names)), None)


def _repeated(context: ScoringContext) -> list[Finding]:
    calls = context.tool_calls or ()
    return [Finding(note=f"call {n + 1}, {calls[n].name}") for n in repeated(calls)]


METRIC = Metric(
    name="action_planning",
    group="functional",
    base=0.0,
    asks="Were the steps right?",
    unmeasured=_cannot_be_measured,
    rules=(
        Rule("needless_calls", +0.3, "tool calls for a query that needs no data", when=_needless, alone=True),
        Rule("data_retrieved", +0.3, "is based on data", when=_retrieved),
        Rule("data_first", +0.3, "gives the data before the advice", when=_data_first),
        Rule("fitting_tools", +0.2, "suitable number or choice of tool calls", when=_fitting_tools),
        Rule("flow", +0.1, "connects the steps", when=_flow),
        Rule("unfounded_advice", -0.2, "gives advice without data", when=_unfounded),
        Rule("out_of_order", -0.1, "a call out of order", when=_out_of_order),
        Rule("repeated_call", -0.1, "a call repeated with the same arguments", when=_repeated),
    ),
    remark=lambda context: "" if context.trajectory is None else f"Calls: {context.trajectory.why}",
)
