"""What a tool returned as single values, and whether an answer has them. Knows neither rules nor scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_OUTER_FIELDS = frozenset({"status", "success", "ok"})


def stands_in(value: str, text: str) -> bool:
    """Whether a value stands in a text, both in lower case, as a word or a figure of its own; 25 is 25.0."""
    zeros = r"(?:[.,]0+)?" if value.lstrip("-").isdecimal() else ""
    return re.search(rf"(?<![\w.]){re.escape(value)}{zeros}(?!\w|[.,]\d)", text) is not None


def values_in(result: object) -> Iterator[str]:
    """Texts and numbers in a table or a list, at any depth; how the call went is none."""
    if isinstance(result, Mapping):
        for name, value in result.items():
            if name not in _OUTER_FIELDS or isinstance(value, (Mapping, list)):
                yield from values_in(value)
    elif isinstance(result, list):
        for value in result:
            yield from values_in(value)
    elif isinstance(result, str) and result.strip():
        yield result.strip().casefold()
    elif isinstance(result, (int, float)) and not isinstance(result, bool):
        yield f"{result:g}" if isinstance(result, float) and result.is_integer() else str(result)
