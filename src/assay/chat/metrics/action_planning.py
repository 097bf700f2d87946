"""action_planning: were the steps right? Data first, then advice; fitting tools, each once and in order."""

from __future__ import annotations

from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.chat.scoring.trajectory import repeated

_MOST_CALLS = 4


def _needs_no_data(case: Case) -> str | None:
    if not case.needs_data and not case.calls_made:
        return "the query needs no data"
    if case.missing_parts and case.clarifications and not (case.calls_made and case.told):
        return "the query has to be clarified first"
    return None


def _needless(case: Case) -> Finding | None:
    return None if case.needs_data or case.expected_calls else Finding(note=f"{case.calls_made}")


def has_data(case: Case) -> bool:
    """Whether the answer rests on data: it tells some, and a tool or an earlier turn can have given it.

    Where nothing is known about tools, an answer that tells data is taken to have it from somewhere.
    """
    if not case.told:
        return False
    if case.calls_made == 0:
        return any(turn.assistant is not None and turn.assistant.quantities for turn in case.history)
    return case.tool_calls is None or any(call.error is None for call in case.tool_calls)


def _retrieved(case: Case) -> Finding | None:
    return Finding(case.told[:1]) if has_data(case) else None


def _data_first(case: Case) -> Finding | None:
    if case.told and case.advice and case.told[0].start < case.advice[0].start:
        return Finding([case.told[0], case.advice[0]])
    return None


def _fitting_tools(case: Case) -> Finding | None:
    if case.trajectory is not None:
        return Finding(note=case.trajectory.why) if case.trajectory.any_order else None
    made = case.calls_made or 0
    if not 1 <= made <= _MOST_CALLS or (case.tool_calls and all(call.error for call in case.tool_calls)):
        return None
    return Finding(note=f"{made}")


def _unfounded(case: Case) -> Finding | None:
    return Finding(case.advice[:1]) if case.advice and not has_data(case) else None


def _out_of_order(case: Case) -> list[Finding]:
    calls = case.tool_calls or ()
    if case.trajectory is not None:
        at = case.trajectory.out_of_order
    else:
        steps = [_step(case, call.name) for call in calls]
        at = tuple(
            n
            for n, step in enumerate(steps)
            if step is not None
            and any(later is not None and later < step and later not in steps[:n] for later in steps[n + 1 :])
        )
    return [Finding(note=f"call {n + 1}, {calls[n].name}") for n in at]


def _step(case: Case, tool: str) -> int | None:
    words = tool.lower().replace("-", "_")
    return next((n for n, names in enumerate(case.domain.steps) if any(name in words for name in names)), None)


def _repeated(case: Case) -> list[Finding]:
    calls = case.tool_calls or ()
    return [Finding(note=f"call {n + 1}, {calls[n].name}") for n in repeated(calls)]


METRIC = Metric(
    name="action_planning",
    group="functional",
    base=0.0,
    asks="Were the steps right?",
    unmeasured=_needs_no_data,
    rules=(
        Rule("needless_calls", +0.3, "tool calls for a query that needs no data", when=_needless, alone=True),
        Rule("data_retrieved", +0.3, "rests on data", when=_retrieved),
        Rule("data_first", +0.3, "tells the data before the advice", when=_data_first),
        Rule("fitting_tools", +0.2, "fitting number or choice of tool calls", when=_fitting_tools),
        Rule("flow", +0.1, "leads from step to step", words="flow"),
        Rule("unfounded_advice", -0.2, "advises with no data behind it", when=_unfounded),
        Rule("out_of_order", -0.1, "a call out of order", when=_out_of_order),
        Rule("repeated_call", -0.1, "a call repeated with the same arguments", when=_repeated),
    ),
    remark=lambda case: "" if case.trajectory is None else f"Calls: {case.trajectory.why}",
)
