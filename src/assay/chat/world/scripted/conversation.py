"""The messages of a request as a conversation: the user's messages, the tools' results and the answers.

Accepts every form that agent frameworks send: content as text, as parts or absent; results as JSON, as Python literals
or as plain text. Knows nothing about the weather.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Longer results are not parsed; no assistant's tool needs that much, even if it misbehaves.
_LONGEST_RESULT = 2_000_000
_DEEPEST = 4
_ENVELOPES = ("result", "output", "data", "response", "content", "value")
_FAILURE = re.compile(
    r"^\s*(\W*(tool |function )?(error|exception|failed|failure)\b|an error occurred|sorry\b|\d+ validation errors?\b)"
    r"|\b(error occurred|error executing|failed to|function failed|could not|couldn't|timed out|unavailable"
    r"|exception|traceback)\b",
    re.IGNORECASE,
)
# ADK tells an agent what another one did in messages of the user, newer versions between marks.
_RELAYED = "For context:"
_QUOTED = r":\s*(?:<<<\w+>>>\n)?(?P<{}>.*?)(?=\n<<<|\n\[|\Z)"
_RELAYED_PART = re.compile(
    r"^\[[^\]\n]*\] (?:called tool `(?P<call>[^`]*)` with parameters" + _QUOTED.format("arguments")
    + r"|`(?P<tool>[^`]*)` tool returned result" + _QUOTED.format("result")
    + r"|said" + _QUOTED.format("text") + ")",
    re.DOTALL | re.MULTILINE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool call and its result."""

    name: str
    arguments: Mapping[str, Any]
    result: Any = None
    failure: str | None = None
    """The tool's error message; None if it succeeded."""


@dataclass(slots=True)
class UserTurn:
    """One message of the user, with the tool calls and the answer that follow it."""

    said: str
    outcomes: list[ToolOutcome] = field(default_factory=list)
    answer: str | None = None
    relayed: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Calls of another agent whose results have not come yet."""


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> list[UserTurn]:
    """The turns of a conversation; the last one is to be answered. System and developer messages are ignored."""
    turns: list[UserTurn] = []
    open_calls: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for message in messages:
        role = message.get("role")
        if role == "user":
            said = message_text(message.get("content"))
            if turns and said.startswith(_RELAYED):
                _add_relayed(said, turns[-1])
            else:
                turns.append(UserTurn(said))
        elif not turns:
            continue
        elif role == "assistant":
            open_calls |= _calls(message)
            text = message_text(message.get("content"))
            if text:
                turns[-1].answer = text
        elif role in ("tool", "function"):
            waiting = open_calls.get(str(message.get("tool_call_id"))) or [(str(message.get("name", "")), {})]
            name, arguments = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            result, failure = read_result(message_text(message.get("content")))
            turns[-1].outcomes.append(ToolOutcome(name, arguments, result, failure))
    return turns or [UserTurn("")]


def _add_relayed(text: str, turn: UserTurn) -> None:
    """Add what another agent did in this turn: its calls, their results, what it said."""
    for found in _RELAYED_PART.finditer(text):
        if found["call"] is not None:
            # Its result comes later, in another message of this kind.
            turn.relayed.append((found["call"], _arguments(found["arguments"])))
        elif found["tool"] is not None:
            arguments: Mapping[str, Any] = {}
            asked = next((one for one in turn.relayed if one[0] == found["tool"]), None)
            if asked is not None:
                turn.relayed.remove(asked)
                arguments = asked[1]
            result, failure = read_result(found["result"].strip())
            turn.outcomes.append(ToolOutcome(found["tool"], arguments, result, failure))
        else:
            turn.answer = found["text"].strip()


def _calls(message: Mapping[str, Any]) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """The calls of a message by their id. Some models give several the same id; their results come in this order."""
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        asked = (str(function.get("name", "")), _arguments(function.get("arguments")))
        found.setdefault(str(call.get("id")), []).append(asked)
    return found


def message_text(content: Any) -> str:
    """The text of a message's content, which may be a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part if isinstance(part, str) else part.get("text") for part in content if part]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


@functools.lru_cache(maxsize=2048)
def read_result(text: str) -> tuple[Any, str | None]:
    """The data in a tool's message, and the error message if the tool failed.

    The data is cached and must not be modified.
    """
    data = _data(text)
    if isinstance(data, Mapping):
        status = data.get("status")
        message = data.get("error") or data.get("error_message")
        if message or (isinstance(status, str) and status.lower() in ("error", "failed", "failure")):
            return data, str(message or data.get("message") or status)
        return data, None
    if isinstance(data, str) and (_FAILURE.search(data[:2000]) or not data.strip()):
        return data, data.strip() or "the tool gave nothing"
    return data, None


def _data(value: Any, depth: int = 0) -> Any:
    """The data inside strings and wrapper objects such as `{"result": "{…}"}`."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        parsed = _parsed(value)
        return value if parsed is None else _data(parsed, depth + 1)
    if isinstance(value, Mapping) and len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in _ENVELOPES:
            return _data(inner, depth + 1)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        return _data(value[0].get("text", value[0]), depth + 1)
    return value


def _parsed(text: str) -> Any:
    """Data written as JSON or as a Python literal, as `str` of a dictionary gives it; None if it is neither."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "[", '"') or len(stripped) > _LONGEST_RESULT:
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(stripped)  # literals only; nothing is executed
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _arguments(written: Any) -> Mapping[str, Any]:
    found = _parsed(written) if isinstance(written, str) else written
    return found if isinstance(found, Mapping) else {}
