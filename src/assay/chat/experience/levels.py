"""From figures to the words that the metrics of developer experience take: every threshold, with its reason.

Where a word rests on several figures it is the median of what each says by itself, so that one figure that crosses its
threshold by one line, name or package seldom changes the word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVELS = ("low", "medium", "high")

CLIENT_PACKAGES = 16
"""What the client of a model's endpoint brings by itself, without any framework: `openai` 2.54."""
CLIENT_MEGABYTES = 17
"""The same, in megabytes."""
BARE_NAMES = 10
"""Agent, model, its settings, tool, tool context, session, runner, run settings, result, error: a name for each."""

SETUP: Mapping[str, tuple[float, float]] = {
    # Twice what an assistant without a framework needs is little, four times is medium: the same measure for all three.
    "packages": (2 * CLIENT_PACKAGES, 4 * CLIENT_PACKAGES),
    "megabytes": (2 * CLIENT_MEGABYTES, 4 * CLIENT_MEGABYTES),
    "framework_names": (2 * BARE_NAMES, 4 * BARE_NAMES),
}
"""Most of a figure for setup to be low, and for it to be medium."""

COMPLEXITY: Mapping[str, tuple[float, float]] = {
    # 200 to 400 lines are what one review can take in (Cohen, Best Kept Secrets of Peer Code Review, 2006).
    "lines": (200, 400),
    # One branch in ten lines, at those lengths.
    "branches": (20, 40),
    # McCabe's own limit of a function is 10 (A Complexity Measure, 1976); half of it is simple.
    "worst_complexity": (5, 10),
}
"""Most of a figure for code to be of low complexity, and of medium."""

COMPREHENSIVE = 0.8
"""Share of names with a docstring that is usually asked of a package: what `interrogate` demands by default."""
MODERATE = 0.4
"""Half of that."""


def setup(measured: Mapping[str, Any]) -> str | None:
    """How much there is to set up; None where a figure is missing."""
    return _median(SETUP, measured)


def complexity(measured: Mapping[str, Any]) -> str | None:
    """How complex the assistant's code is; None where a figure is missing."""
    return _median(COMPLEXITY, measured)


def documentation(measured: Mapping[str, Any]) -> str | None:
    """How well documented the names are that the assistant uses; None where it uses none."""
    share = measured.get("documented_share")
    if share is None:
        return None
    return "comprehensive" if share >= COMPREHENSIVE else "moderate" if share >= MODERATE else "none"


def errors(expected: Mapping[str, Any], unexpected: Mapping[str, Any]) -> str:
    """Who deals with a tool that fails: in the way that was foreseen, and in one that nobody thought of.

    The framework does where it caught even the unexpected failure and there was an answer. Where only the foreseen one
    was survived, it was by code that the assistant brought: the framework by itself could not have told them apart.
    """
    if unexpected["answered"]:
        return "framework" if unexpected["caught_by"] == "framework" else "manual"
    return "manual" if expected["answered"] else "none"


def logging(unexpected: Mapping[str, Any]) -> str:
    """Who says that a tool failed in a way that nobody thought of.

    The framework does where a record of its own names the exception. It is basic where only a traceback or what is
    printed does, or where a record says that the tool failed but not why. Else only the model hears of it.
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
    return LEVELS[sorted(places)[len(places) // 2]]
