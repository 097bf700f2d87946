"""Converts any Python value to what JSON can represent, so that an agent's data can be sent, stored and shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any

DEEPEST = 64
"""Levels of nesting that are kept; Python's own JSON gives up at about a thousand."""
_LONGEST_INTEGER = 4000  # digits; Python refuses to print much longer ones
_BITS_A_DIGIT = math.log2(10)


def json_safe(value: Any) -> Any:
    """The value, made of dictionaries with text keys, lists, texts, finite numbers, booleans and None.

    NaN and infinities become the texts "NaN", "Infinity" and "-Infinity"; bytes and other objects become text; sets
    become lists; what contains itself or is nested too deeply is cut off and marked.
    """
    return _safe(value, ())


def whole_text(text: str) -> str:
    """The text with each half of a surrogate pair, which no encoding can write, replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _safe(value: Any, inside: tuple[int, ...]) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _safe(value.value, inside)
    if isinstance(value, str):
        return whole_text(str.__str__(value))
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, date | time):
        return value.isoformat()
    if id(value) in inside:
        return "(contains itself)"
    if len(inside) >= DEEPEST:
        return f"(nested deeper than {DEEPEST} levels)"
    try:
        return _composed(value, (*inside, id(value)))
    except Exception:  # a method of a third-party object
        return f"({type(value).__name__})"


def _composed(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _safe(inner, inside) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(inner, inside) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((_safe(inner, inside) for inner in value), key=repr)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _safe(getattr(value, one.name), inside) for one in fields(value)}
    for method in ("model_dump", "tolist"):  # of pydantic's models; of NumPy's scalars and arrays
        if callable(found := getattr(value, method, None)) and not isinstance(value, type):
            return _safe(found(), inside)
    return whole_text(str(value))


def _key(key: Any) -> str:
    """A key as JSON writes it; one that is not text, a number, a boolean or None becomes text."""
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    safe = _safe(key, ())
    return safe if isinstance(safe, str) else str(safe)


def _integer(value: int) -> int | str:
    digits = int(value.bit_length() / _BITS_A_DIGIT)
    return value if digits < _LONGEST_INTEGER else f"(an integer of about {digits} digits)"


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
