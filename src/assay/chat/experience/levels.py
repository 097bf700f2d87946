"""Turns figures into the levels that the developer-experience metrics take: every threshold, with its reason.

A level that depends on several figures is the median of the levels of each, so that one figure that crosses its
threshold by one line, name or package seldom changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEVEL_NAMES = ("low", "medium", "high")

CLIENT_PACKAGES = 16
"""Packages that a model's client requires without any framework: `openai` 2.54."""
CLIENT_MEGABYTES = 17
"""Their size in megabytes."""
BARE_NAMES = 10
"""Names that an assistant needs at least: agent, model, model settings, tool, tool context, session, runner, run
settings, result, error."""

SETUP: Mapping[str, tuple[float, float]] = {
    # Up to twice what an assistant without a framework needs is low, up to four times is medium, for all three.
    "packages": (2 * CLIENT_PACKAGES, 4 * CLIENT_PACKAGES),
    "megabytes": (2 * CLIENT_MEGABYTES, 4 * CLIENT_MEGABYTES),
    "framework_names": (2 * BARE_NAMES, 4 * BARE_NAMES),
}
"""For each figure, the upper limit of low setup and of medium setup."""

COMPLEXITY: Mapping[str, tuple[float, float]] = {
    # One code review can cover 200 to 400 lines (Cohen, Best Kept Secrets of Peer Code Review, 2006).
    "lines": (200, 400),
    # One branch per ten lines, at those lengths.
    "branches": (20, 40),
    # McCabe's limit for a function is 10 (A Complexity Measure, 1976); half of it is simple.
    "worst_complexity": (5, 10),
}
"""For each figure, the upper limit of low complexity and of medium complexity."""

COMPREHENSIVE = 0.8
"""The share of names with a docstring that `interrogate` requires by default."""
MODERATE = 0.4
"""Half of that."""


def setup(measured: Mapping[str, Any]) -> str | None:
    """The level of setup effort; None if a figure is missing."""
    return _median(SETUP, measured)


def complexity(measured: Mapping[str, Any]) -> str | None:
    """The level of complexity of the assistant's code; None if a figure is missing."""
    return _median(COMPLEXITY, measured)


def documentation(measured: Mapping[str, Any]) -> str | None:
    """The level of documentation of the names that the assistant uses; None if it uses none."""
    share = measured.get("documented_share")
    if share is None:
        return None
    return "comprehensive" if share >= COMPREHENSIVE else "moderate" if share >= MODERATE else "none"


def errors(expected: Mapping[str, Any], unexpected: Mapping[str, Any]) -> str:
    """Who handles a failing tool: 'framework', 'manual' or 'none'.

    'framework' if it caught even the unexpected exception and there was an answer. If only the expected failure was
    survived, it was by code of the assistant, because the framework itself cannot tell the two apart.
    """
    if unexpected["answered"]:
        return "framework" if unexpected["caught_by"] == "framework" else "manual"
    return "manual" if expected["answered"] else "none"


def logging(unexpected: Mapping[str, Any]) -> str:
    """How an unexpected exception in a tool is logged: 'framework', 'basic' or 'none'.

    'framework' if a log record of the framework names the exception; 'basic' if only a traceback or printed output
    does, or a record says that the tool failed but not why; 'none' if only the model receives the error.
    """
    if unexpected["named_by"]:
        return "framework"
    return "basic" if any(unexpected["named_in"].values()) or unexpected["failure_noted_by"] else "none"


def _median(thresholds: Mapping[str, tuple[float, float]], measured: Mapping[str, Any]) -> str | None:
    places = []
    for name, most in thresholds.items():
        figure = measured.get(name)
        if figure is None:
            return None
        places.append(sum(figure > limit for limit in most))
    return _LEVEL_NAMES[sorted(places)[len(places) // 2]]
