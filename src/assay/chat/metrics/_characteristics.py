"""Characteristics of an assistant's code and framework: measured, or as claimed.

The three metrics of developer experience read these; claims are named as claims wherever they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.chat.scoring.context import ScoringContext
from assay.errors import UsageError

CLAIMED: Mapping[str, Mapping[str, Any]] = {
    "GADK": {
        "files": 5,
        "setup": "medium",
        "complexity": "medium",
        "tool_files": 2,
        "memory": "built-in",
        "errors": "framework",
        "logging": "framework",
        "documentation": "comprehensive",
    },
    "MS": {
        "files": 4,
        "setup": "low",
        "complexity": "low",
        "tool_files": 1,
        "memory": "manual",
        "errors": "manual",
        "logging": "basic",
        "documentation": "moderate",
    },
}
"""What was claimed for two frameworks before they were measured."""

ALLOWED: Mapping[str, tuple[str, ...]] = {
    "setup": ("low", "medium", "high"),
    "complexity": ("low", "medium", "high"),
    "memory": ("built-in", "manual", "none"),
    "errors": ("framework", "manual", "none"),
    "logging": ("framework", "basic", "none"),
    "documentation": ("comprehensive", "moderate", "none"),
}
COUNTS = ("files", "tool_files")


def characteristics(context: ScoringContext) -> Mapping[str, Any]:
    """The measured characteristics, else the claimed ones, else none."""
    return context.characteristics if context.characteristics is not None else CLAIMED.get(context.framework, {})


def source(context: ScoringContext) -> str:
    """How the characteristics are known, for the details of an entry."""
    claimed, measured = CLAIMED.get(context.framework), context.characteristics
    if measured is None:
        return "As claimed for the framework, not measured." if claimed else ""
    if claimed is None:
        return "Measured."
    names = [name for name in claimed if name in measured and claimed[name] != measured[name]]
    differing = ", ".join(f"{name} {claimed[name]}" for name in names)
    return f"Measured; the claims were {differing}." if differing else "Measured, as claimed."


def unknown(*names: str) -> Any:
    """A predicate: why the metric that needs `names` is not measured."""
    nothing_known = f"not known of the assistant: {', '.join(names)}"

    def reason(context: ScoringContext) -> str | None:
        known = characteristics(context)
        if not known:
            return nothing_known
        missing = [name for name in names if known.get(name) is None]
        return f"not known of the assistant: {', '.join(missing)}" if missing else None

    return reason


def check(data: Mapping[str, Any]) -> None:
    """Raise UsageError for a characteristic of the wrong type or with an unknown value; unknown names are ignored."""
    for name in COUNTS:
        value = data.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise UsageError(f"characteristics.{name} is {value!r:.60}, not a number of files", hint="Give an integer")
    for name, allowed in ALLOWED.items():
        value = data.get(name)
        if value is not None and value not in allowed:
            raise UsageError(f"characteristics.{name} is {value!r:.60}", hint=f"Use one of: {', '.join(allowed)}")
