"""Templates of requests and paths into responses, as files of agents write them. Knows nothing of HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from assay.plural import counted

PLACEHOLDER_PATTERN = re.compile(r"\{([A-Za-z_]+)\}")
"""A placeholder in a template: `{message}`."""


def filled(template: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    """Fill a template's placeholders. Inserted values are not expanded again."""
    if isinstance(template, str):
        whole = PLACEHOLDER_PATTERN.fullmatch(template)
        if whole:
            return values[whole.group(1)]
        return PLACEHOLDER_PATTERN.sub(lambda match: str(values[match.group(1)]), template)
    if isinstance(template, list):
        return [filled(item, values) for item in template]
    if isinstance(template, dict):
        return {key: filled(value, values) for key, value in template.items()}
    return template


def value_at(data: Any, path: str) -> Any:
    """The value at a path of keys and indices; None if there is none."""
    for step in path.split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and step.isascii() and step.isdecimal():
            data = data[int(step)] if len(step) < 10 and int(step) < len(data) else None
        else:
            return None
    return data


def what_is_there(data: Any, path: str) -> str:
    """What stands where a path leads nowhere: the keys or the length at the last of its steps that exists."""
    steps = path.split(".")
    for depth in range(len(steps) - 1, 0, -1):
        above = ".".join(steps[:depth])
        found = value_at(data, above)
        if found is not None:
            return f"'{above}' {_described(found)}"
    return f"the response {_described(data)}"


def _described(data: Any) -> str:
    if isinstance(data, dict):
        return f"has {', '.join(map(str, data))}" if data else "is empty"
    if isinstance(data, list):
        return f"is a list of {counted(len(data), 'item')}"
    kind = "a text" if isinstance(data, str) else "null" if data is None else f"a {type(data).__name__}"
    return f"is {kind}"


def count_at(usage: Any, path: str) -> int | None:
    """The number of tokens, or of anything else, at a path; None if there is none."""
    found = value_at(usage, path)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
