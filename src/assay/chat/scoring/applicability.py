"""Which expectations of a scenario apply to an agent that has its own tools, and why the others are not checked.

Pure functions of the scenario's turn, the tools that the agent has, and the scores of its answer. Suites that ship with
assay expect calls of the bundled assistants' tools and the figures of the embedded weather; an agent with other tools
can give neither, and is not failed for that. What a user's own suite expects of other tools, and of questions that are
not about the embedded weather, always applies, unless the agent does not report what it calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.chat.checks import Check
from assay.chat.scoring.answers import Record
from assay.chat.scoring.metric import Entry
from assay.chat.transcript import ToolCall

_TRUTH, _FIGURES, _PLAN = "accuracy", "groundedness", "action_planning"
"""Metrics that compare an answer with the truth, its figures with what tools returned, and its calls with a plan."""
_MADE_UP = Check.model_validate(f"{_FIGURES} >= 0.9")
"""What takes the place of a comparison with a truth that an agent cannot know: its figures come from its tools."""
_UNSEEN = "which tools the agent calls is not known"


@dataclass(frozen=True, slots=True)
class Expectations:
    """What is expected of one turn of one agent."""

    calls: list[ToolCall] | None
    checks: list[Check]
    not_applicable: list[str]
    """What was left out, each with the reason."""


def expectations_of(
    calls: list[ToolCall] | None,
    checks: list[Check],
    *,
    record: Record,
    bundled_tools: Collection[str],
    knows_truth: bool,
) -> Expectations:
    """The expectations that apply to a turn of an agent with tools of its own.

    `bundled_tools` are those of the bundled assistants; `knows_truth` is False if the turn is about the embedded
    weather, which such an agent cannot know.
    """
    expected = [call for call in calls or () if call.name in bundled_tools]
    foreign = [call for call in expected if _lacks(record, call.name, bundled_tools)]
    left_out = [f"calls {name}: the agent has no such tool" for name in _names(foreign)]
    kept_calls = [call for call in calls or () if call not in foreign]
    if not record.knows_tool_calls:
        left_out += [f"calls {name}: {_UNSEEN}" for name in _names(kept_calls)]
    kept = []
    for check in checks:
        reason = _reason(check.metric, bool(foreign), record.knows_tool_calls, knows_truth)
        if reason:
            left_out.append(f"{check}: {reason}")
            if check.metric == _TRUTH and not any(one.metric == _FIGURES for one in checks):
                kept.append(_MADE_UP.implied())
        else:
            kept.append(check.only_if_measured() if check.metric == _FIGURES and not knows_truth else check)
    return Expectations(calls if not foreign else kept_calls or None, kept, left_out)


def unmeasured_checks(checks: Sequence[Check], entries: Mapping[str, Entry]) -> list[str]:
    """Checks that turned out not to apply when the answer was scored, each with the reason."""
    return [
        f"{check}: the agent's tools are its own, and its figures could not be compared with what they returned"
        for check in checks
        if check.is_only_if_measured
        and not check.is_implied
        and check.metric in entries
        and not entries[check.metric].measured
    ]


def _lacks(record: Record, name: str, bundled_tools: Collection[str]) -> bool:
    """Whether an agent does not have a tool: by what it offered to the model, else by the tools that it called."""
    if record.tools_offered is not None:
        return name not in record.tools_offered
    called = {call.name for call in record.tool_calls}
    return bool(called) and called.isdisjoint(bundled_tools)


def _reason(metric: str, lacks_tools: bool, knows_calls: bool, knows_truth: bool) -> str:
    """Why a check of a metric does not apply; empty if it does."""
    if metric == _PLAN and lacks_tools:
        return "the agent does not have the tools that are expected"
    if metric == _PLAN and not knows_calls:
        return _UNSEEN
    if metric == _TRUTH and not knows_truth:
        return "the agent's tools are its own, and it cannot know the embedded weather"
    return ""


def _names(calls: Sequence[ToolCall]) -> list[str]:
    return list(dict.fromkeys(call.name for call in calls))
