"""Values as the text that both databases store. Imports no database, so that rows can be made anywhere."""

from __future__ import annotations

import json
from typing import Any

_ESCAPE = "\x1b"


def plain_text(text: str) -> str:
    """Text in a form that both databases accept."""
    return text if _is_plain(text) else _ESCAPE + json.dumps(text)


def kept_text(text: str | bytes) -> str:
    """The text that was given to `plain_text`. SQLite keeps bytes in a column of text if a damaged file has them."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    if not text.startswith(_ESCAPE):
        return text
    try:
        return str(json.loads(text[1:]))
    except (ValueError, RecursionError):  # damaged; shown as it is
        return text


def json_text(value: Any) -> str:
    """A value as compact JSON."""
    return _encoder.encode(value)


def _is_plain(text: str) -> bool:
    if "\0" in text or text.startswith(_ESCAPE):
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: object) -> object:
    """Values that JSON lacks: paths become text, sets become lists, NumPy numbers become numbers."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


# Created once: creating an encoder takes longer than encoding an answer.
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)
