"""Which expectations of a scenario apply to an agent that has its own tools, and why the others are not checked.

Pure functions of the scenario's turn, the tools that the agent has, and its answer. Suites that ship with assay expect
calls of the bundled assistants' tools and the figures of the embedded weather; an agent with other tools can give
neither, and is not failed for that. What a user's own suite expects of other tools always applies, unless the agent
does not report what it calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.chat.checks import Check
from assay.chat.scoring.answers import Record
from assay.chat.transcript import ToolCall

_TRUTH, _FIGURES, _PLAN = "accuracy", "groundedness", "action_planning"
"""Metrics that compare an answer with the truth, its figures with what tools returned, and its calls with a plan."""


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
    response: str,
    bundled_tools: Collection[str],
    knows_truth: bool,
) -> Expectations:
    """The expectations that apply to a turn of an agent with tools of its own.

    `bundled_tools` are those of the bundled assistants; `knows_truth` is False if the turn is about the embedded
    weather, which such an agent cannot know.
    """
    foreign = [call for call in calls or () if call.name in bundled_tools and _lacks(record, call.name, bundled_tools)]
    left_out = [f"calls {name}: the agent has no such tool" for name in dict.fromkeys(call.name for call in foreign)]
    kept_calls = [call for call in calls or () if call not in foreign]
    if not record.knows_tool_calls:
        names = dict.fromkeys(call.name for call in kept_calls)
        left_out += [f"calls {name}: the agent does not report which tools it calls" for name in names]
    kept = []
    for check in checks:
        reason = _reason(check.metric, bool(foreign), response, knows_truth)
        if reason:
            left_out.append(f"{check}: {reason}")
        else:
            kept.append(check)
    return Expectations(calls if not foreign else kept_calls or None, kept, left_out)


def _lacks(record: Record, name: str, bundled_tools: Collection[str]) -> bool:
    """Whether an agent does not have a tool: by what it offered to the model, else by the tools that it called."""
    if record.tools_offered is not None:
        return name not in record.tools_offered
    called = _names(record.tool_calls)
    return bool(called) and called.isdisjoint(bundled_tools)


def _reason(metric: str, lacks_tools: bool, response: str, knows_truth: bool) -> str:
    """Why a check of a metric does not apply; empty if it does."""
    if metric == _PLAN and lacks_tools:
        return "the agent does not have the tools that are expected"
    if metric == _TRUTH and not knows_truth:
        return "the agent's tools are its own, and it cannot know the embedded weather"
    if metric == _FIGURES and not knows_truth and not re.search(r"\d", response):
        return "the agent's tools are its own, and the answer has no figure"
    return ""


def _names(calls: Sequence[ToolCall]) -> set[str]:
    return {call.name for call in calls}
