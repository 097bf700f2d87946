"""The result of a tool in words: its sentences as they stand, tables as short sentences. Knows no subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.chat.world.scripted.conversation import ToolOutcome

_SENTENCE_WORDS = 4
_IS_ERROR = re.compile(r"\W*(\d+ validation |tool |function )?(errors?|exception|failed|failure)\b", re.IGNORECASE)
_GOOD = frozenset({"success", "ok", "done", "succeeded"})


def told(outcome: ToolOutcome) -> str:
    """What a call returned, in words."""
    result = outcome.result
    if outcome.failure is not None:
        is_plain = isinstance(result, str) and result.strip() and not _IS_ERROR.match(result)
        return str(result).strip() if is_plain else f"I could not do that: {outcome.failure.strip().rstrip('.')}."
    name = outcome.name.replace("_", " ").strip()
    if isinstance(result, Mapping):
        return " ".join(_sentences(result)) or f"{_capital(name)}: done."
    if isinstance(result, list):
        return f"{_capital(name)}: {_listed(result)}."
    text = "" if result is None else _plain(result)
    # A bare figure, or a word, says of what it is.
    return text if len(text.split()) > 1 else f"{_capital(name)}: {text or 'done'}."


def _sentences(table: Mapping[Any, Any]) -> Iterator[str]:
    """A table as short sentences; a sentence in it stands as it is."""
    for name, value in table.items():
        if value is None or value == "" or (str(name) == "status" and str(value).lower() in _GOOD):
            continue
        if isinstance(value, str) and len(value.split()) >= _SENTENCE_WORDS:
            yield value.strip()
        elif isinstance(value, Mapping):
            yield from _sentences(value)
        else:
            words = _capital(str(name).replace("_", " "))
            yield f"{words}: {_listed(value) if isinstance(value, list) else _plain(value)}."


def _listed(rows: Sequence[Any]) -> str:
    return ", ".join(
        "; ".join(text.rstrip(".") for text in _sentences(row)) if isinstance(row, Mapping) else _plain(row)
        for row in rows
    )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
