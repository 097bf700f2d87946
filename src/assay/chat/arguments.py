"""The arguments of `ChatbotEvaluator`, checked and converted; a wrong type is an error that names the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from assay.chat.metrics._characteristics import check
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import ToolCall
from assay.errors import UsageError


def checked_text(value: object, field: str) -> str:
    """The value, if it is a text."""
    if not isinstance(value, str):
        raise UsageError(f"{field} is {type_of(value)}, not a text", hint="Give a string")
    return value


def checked_content(value: object, field: str) -> str:
    """The text of one side: itself, or the texts of its parts (`[{"type": "text", "text": …}]`)."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        return checked_text(value, field)
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
    return "\n".join(checked_text(part, f"{field}[{at}]") for at, part in enumerate(parts) if part is not None)


def checked_sequence(value: Any, field: str) -> Sequence[Any]:
    """The value, if it is a list or another sequence."""
    if type(value) is list or type(value) is tuple:  # the usual types, without a search in the abstract ones
        return value
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise UsageError(f"{field} is {type_of(value)}, not a list", hint="Give a list")
    return value


def checked_seconds(value: object) -> float | None:
    """A response time, if it is a number of seconds."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"response_time is {type_of(value)}, not a number of seconds", hint="Give a number")
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"response_time is {value}, not a number of seconds", hint="Give a finite number, 0 or more")
    return float(value)


def checked_count(value: object) -> int | None:
    """A number of calls, if it is one."""
    if value is None:
        return None
    if type(value) is int and value >= 0:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise UsageError(f"tool_call_count is {value!r:.60}, not a number of calls", hint="Give an integer, 0 or more")
    return int(value)


def checked_calls(value: Any, field: str) -> tuple[ToolCall, ...] | None:
    """Calls of tools, from objects or tables."""
    if value is None:
        return None
    return tuple(_call(call, f"{field}[{at}]") for at, call in enumerate(checked_sequence(value, field)))


def _parsed(arguments: Any) -> Any:
    """Arguments as a dictionary; many services give them as JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments) if arguments.strip() else None
    except (ValueError, RecursionError):
        return arguments


def _call(value: Any, field: str) -> ToolCall:
    if isinstance(value, ToolCall):
        return value if value.error else value.model_copy(update={"error": failure_in(value.result)})
    if not isinstance(value, Mapping):
        raise UsageError(f"{field} is {type_of(value)}, not a call", hint="Give a dictionary with name and arguments")
    arguments = _parsed(value.get("arguments"))
    if arguments is not None and not isinstance(arguments, Mapping):
        raise UsageError(f"{field}.arguments is {type_of(arguments)}, not a table", hint="Give a dictionary")
    error = value.get("error")
    duration = value.get("duration")
    if duration is not None and (isinstance(duration, bool) or not isinstance(duration, (int, float))):
        raise UsageError(f"{field}.duration is {type_of(duration)}, not a number of seconds", hint="Give a number")
    return ToolCall(
        name=checked_text(value.get("name"), f"{field}.name"),
        arguments={str(name): argument for name, argument in (arguments or {}).items()},
        result=value.get("result"),
        error=str(error) if error else failure_in(value.get("result")),
        duration=duration,
    )


def checked_characteristics(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is known of an assistant's source, if it is known in full."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise UsageError(f"characteristics is {type_of(value)}, not a table", hint="Give a dictionary")
    check(value)
    return value


def type_of(value: object) -> str:
    """What a value is, in words."""
    return "missing" if value is None else f"of type {type(value).__name__}"
