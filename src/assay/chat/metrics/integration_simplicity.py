"""integration_simplicity: how easily are tools and memory connected?"""

from __future__ import annotations

from collections.abc import Callable

from assay.chat.metrics._characteristics import characteristics, source, unknown
from assay.chat.metrics.implementation_effort import is_level
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule


def _tool_files(number: int) -> Callable[[ScoringContext], Finding | None]:
    return lambda context: Finding() if characteristics(context)["tool_files"] == number else None


METRIC = Metric(
    name="integration_simplicity",
    group="developer experience",
    by_words=False,
    base=0.5,
    asks="How easily are tools and memory connected?",
    unmeasured=unknown("tool_files", "memory"),
    rules=(
        Rule("one_file", +0.3, "a tool is added in one file", when=_tool_files(1)),
        Rule("two_files", +0.1, "a tool is added in two files", when=_tool_files(2)),
        Rule("built_in_memory", +0.2, "the framework manages memory", when=is_level("memory", "built-in")),
        Rule("manual_memory", -0.1, "memory is managed in the assistant's own code", when=is_level("memory", "manual")),
    ),
    remark=source,
)
