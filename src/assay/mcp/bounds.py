"""Answers of bounded size: an assistant reads every character of what it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.errors import UsageError
from assay.json_safe import json_safe

MOST_CHARACTERS = 30_000
"""The longest answer of a tool."""
# Longest texts and most entries of a list or table, tried in this order until the answer fits.
_STEPS = ((4000, 200), (2000, 100), (1000, 50), (500, 25), (250, 12), (120, 6), (60, 3))


def bounded_json(content: Any, most: int = MOST_CHARACTERS) -> str:
    """The content as JSON, cut where it is too long; every cut is marked with what was left off.

    Example:
        >>> bounded_json({"answer": "yes"})
        '{"answer": "yes"}'

    """
    safe = json_safe(content)
    text = json.dumps(safe, ensure_ascii=False)
    for longest, entries in _STEPS:
        if len(text) <= most:
            return text
        text = json.dumps(_cut(safe, longest, entries), ensure_ascii=False)
    if len(text) <= most:
        return text
    raise UsageError(f"the answer has more than {most:,} characters", hint="Ask for less, e.g. with a smaller limit")


def _cut(value: Any, longest: int, entries: int) -> Any:
    if isinstance(value, str):
        more = len(value) - longest
        return value if more <= 0 else f"{value[:longest]} … ({more:,} more characters)"
    if isinstance(value, list):
        found = [_cut(one, longest, entries) for one in value[:entries]]
        return found if len(value) <= entries else [*found, {"left_off": len(value) - entries}]
    if isinstance(value, Mapping):
        cut = {key: _cut(one, longest, entries) for key, one in list(value.items())[:entries]}
        return cut if len(value) <= entries else cut | {"left_off": len(value) - entries}
    return value
