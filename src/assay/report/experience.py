"""Developer experience for every output format: what was measured, in words, and why a figure is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assay.report.text import shorten

# A cell of a table has no room for a whole log.
MAX_VALUE_CHARACTERS = 160

# Which part of a measurement gives the figures that the metrics read, and which part gives all others. If a part could
# not be measured, its reason is shown in place of its figures.
_READ_BY_METRICS: Mapping[str, Sequence[str]] = {
    "source": ("files", "complexity", "tool_files"),
    "installation": ("setup",),
    "framework": ("memory", "documentation"),
    "fault": ("errors", "logging"),
}
_OTHER_FIGURES: Mapping[str, Sequence[str]] = {
    "source": ("lines", "functions", "branches", "worst_complexity", "worst_function", "account_lines"),
    "installation": ("packages", "megabytes", "beyond_smallest", "own_packages"),
    "framework": (
        "import_seconds", "import_modules", "framework_names", "memory_class", "memory_through", "documented_names",
        "public_names", "documented_share", "undocumented",
    ),
    "fault": ("expected_fault", "unexpected_fault"),
}  # fmt: skip
# Parts that another part depends on: a framework is imported only if it is installed, and inspected only for names that
# the source uses; its import time is part of its setup.
_DEPENDS_ON = {"framework": ("installation", "source"), "installation": ("framework",)}


class MeasuredExperience(Protocol):
    """What was measured about one agent; `assay.chat.experience.Experience` has this shape."""

    @property
    def agent(self) -> str: ...
    @property
    def measured(self) -> Mapping[str, Any]:
        """Name to value."""

    @property
    def characteristics(self) -> Mapping[str, Any]:
        """What the metrics of developer experience read."""

    @property
    def claimed(self) -> Mapping[str, Any] | None:
        """What was claimed before it was measured; None if there was no claim."""

    @property
    def method(self) -> Mapping[str, str]:
        """Name to one sentence on how it was measured."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Parts that could not be measured, each with the reason."""


def missing_reason(key: str, one: MeasuredExperience) -> str:
    """Why a figure could not be measured; empty if that is not known."""
    if key in one.absent:
        return one.absent[key]
    part = next((part for part in _READ_BY_METRICS if key in (*_READ_BY_METRICS[part], *_OTHER_FIGURES[part])), "")
    return next((one.absent[name] for name in (part, *_DEPENDS_ON.get(part, ())) if name in one.absent), "")


def unmeasured_keys(one: MeasuredExperience) -> list[str]:
    """Figures that the metrics would read from the parts that could not be measured."""
    return [key for part in one.absent for key in _READ_BY_METRICS.get(part, ()) if key not in one.characteristics]


def value_words(value: Any) -> str:
    """A measured value as text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        if all(isinstance(part, bool) for part in value.values()):
            return ", ".join(str(key) for key, part in value.items() if part) or "none"
        return shorten(", ".join(f"{key} {value_words(part)}" for key, part in value.items()), MAX_VALUE_CHARACTERS)
    if isinstance(value, list | tuple | set | frozenset):
        return shorten(", ".join(map(value_words, value)), MAX_VALUE_CHARACTERS) or "none"
    return shorten(str(value), MAX_VALUE_CHARACTERS)
