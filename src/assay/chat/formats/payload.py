"""Values that messages and spans carry as text: arguments, results, contents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import SourceError


def parsed(text: Any) -> Any:
    """Parsed JSON, or the value unchanged if it is not JSON."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def arguments_of(raw: Any) -> dict[str, Any]:
    """Arguments as a dictionary; text that is not a JSON object is kept under 'raw'."""
    value = parsed(raw)
    if isinstance(value, Mapping):
        return dict(value)
    # Agent Framework writes Python's None if a call has no arguments.
    return {} if value in (None, "", "None") else {"raw": value}


def text_of(content: Any, where: str) -> str | None:
    """The text of a message: a string, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(part for part in map(_text_in, content) if isinstance(part, str)) or None
    raise SourceError(f"content is of type {type(content).__name__}, not a text", where=where)


def _text_in(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return part.get("text") or part.get("content") or part.get("refusal")
