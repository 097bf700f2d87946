"""Validation of chat-completion requests, with errors in OpenAI's format. Knows nothing about how they are answered."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.chat.transcript import load_json
from assay.chat.world.tokens import count_tokens

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
# Tokens of a message besides its text, as with OpenAI's models.
_TOKENS_PER_MESSAGE = 3
# What an answer looks like if it must be JSON, whatever it contains.
_ANY_OBJECT = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


class ApiError(Exception):
    """An error response, in OpenAI's format."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class CompletionRequest:
    """A validated request. Unknown fields are ignored, as are those that have no effect on the scripted model."""

    def __init__(self, raw: bytes) -> None:
        try:
            body = load_json(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            raise ApiError(400, "We could not parse the JSON body of your request") from None
        if not isinstance(body, dict):
            raise ApiError(400, "The body of the request must be a JSON object")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise _invalid("model", "you must provide a model parameter, as a string")
        self.messages = _messages(body.get("messages"))
        self.tools = _tools(body.get("tools"))
        self.tool_choice = _tool_choice(body.get("tool_choice"), self.tools)
        self.parallel = body.get("parallel_tool_calls") is not False
        self.stream = _flag(body, "stream")
        options = body.get("stream_options")
        if options is not None and not isinstance(options, dict):
            raise _invalid("stream_options", "must be an object")
        if options is not None and not self.stream:
            raise _invalid("stream_options", "is only allowed when 'stream' is true")
        self.include_usage = _flag(options or {}, "include_usage", "stream_options.include_usage")
        if _limit(body, "n") not in (None, 1):
            raise _invalid("n", "this model gives one answer only; n must be 1")
        limits = [_limit(body, name) for name in ("max_completion_tokens", "max_tokens")]
        self.max_tokens = next((limit for limit in limits if limit is not None), None)
        self.stop = _stop(body.get("stop"))
        self.answer_schema = _answer_schema(body.get("response_format"))
        """The JSON schema that the answer must satisfy; None if it may be any text."""
        self.raw_tools = body.get("tools")

    @functools.cached_property
    def prompt_tokens(self) -> int:
        """Tokens of all messages and of the tools' descriptions."""
        total = _TOKENS_PER_MESSAGE
        for message in self.messages:
            total += _TOKENS_PER_MESSAGE
            for name, value in message.items():
                if isinstance(value, str):
                    total += count_tokens(value)
                elif value is not None:
                    total += count_tokens(json.dumps(value, ensure_ascii=False)) if name != "role" else 0
        if self.raw_tools:
            total += count_tokens(json.dumps(self.raw_tools, ensure_ascii=False))
        return total


def _invalid(param: str, message: str) -> ApiError:
    return ApiError(400, f"Invalid value for '{param}': {message}", param=param)


def _flag(table: Mapping[str, Any], name: str, param: str | None = None) -> bool:
    value = table.get(name)
    if value is not None and not isinstance(value, bool):
        raise _invalid(param or name, "must be true or false")
    return bool(value)


def _limit(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise _invalid(name, "must be an integer of at least 1")
    return value


def _stop(value: Any) -> list[str]:
    if value is None:
        return []
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise _invalid("stop", "must be a string or a list of strings")
    return [one for one in stops if one]


def _answer_schema(value: Any) -> Mapping[str, Any] | None:
    """The schema in `response_format`."""
    kind = value.get("type") if isinstance(value, dict) else None
    if value is None or kind == "text":
        return None
    if kind == "json_object":
        return _ANY_OBJECT
    named = value.get("json_schema") if kind == "json_schema" else None
    schema = named.get("schema", {}) if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        raise _invalid("response_format", "must be of type 'text', 'json_object' or 'json_schema', with its schema")
    return schema


def _messages(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise _invalid("messages", "must be a list of at least one message")
    open_calls: set[str] = set()
    unanswered: set[str] = set()
    for at, message in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise _invalid(where, "must be an object")
        role = message.get("role")
        if role not in _ROLES:
            raise _invalid(f"{where}.role", f"must be one of {', '.join(sorted(_ROLES))}")
        _check_content(message.get("content"), f"{where}.content", optional=role in ("assistant", "tool", "function"))
        if role != "tool" and unanswered:
            raise _without_result(unanswered)
        if role == "assistant":
            unanswered = _check_calls(message.get("tool_calls"), f"{where}.tool_calls")
            open_calls |= unanswered
        if role == "tool" and message.get("tool_call_id") not in open_calls:
            raise _invalid(where, "a message with role 'tool' must answer a preceding message with 'tool_calls'")
        if role == "tool":
            unanswered.discard(message["tool_call_id"])
    if unanswered:
        raise _without_result(unanswered)
    return value


def _without_result(ids: Iterable[str]) -> ApiError:
    """Calls in the history without a result, in the words of OpenAI's endpoint."""
    listed = ", ".join(sorted(f"{one:.60}" for one in ids))
    return ApiError(
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {listed}",
        param="messages",
    )


def _check_content(content: Any, where: str, *, optional: bool) -> None:
    if content is None and optional:
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not all(isinstance(part, (str, dict)) for part in content):
        raise _invalid(where, "must be a string or a list of parts")


def _check_calls(calls: Any, where: str) -> set[str]:
    if calls is None:
        return set()
    if not isinstance(calls, list):
        raise _invalid(where, "must be a list")
    ids = set()
    for at, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if (
            not isinstance(function, dict)
            or not isinstance(function.get("name"), str)
            or not isinstance(call.get("id"), str)
        ):
            raise _invalid(f"{where}[{at}]", "must have an id and a function with a name")
        ids.add(call["id"])
    return ids


def _tools(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _invalid("tools", "must be a list")
    for at, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _invalid(f"tools[{at}].function", "must be a function with a name")
        if not isinstance(function.get("parameters"), (dict, type(None))):
            raise _invalid(f"tools[{at}].function.parameters", "must be a JSON schema")
    return value


def _tool_choice(value: Any, tools: Sequence[Mapping[str, Any]]) -> str:
    if value is None:
        return "auto"
    if value in ("none", "auto", "required"):
        if value == "required" and not tools:
            raise _invalid("tool_choice", "is only allowed when 'tools' are given")
        return str(value)
    function = value.get("function") if isinstance(value, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _invalid("tool_choice", "must be 'none', 'auto', 'required' or name a function")
    if all(tool["function"]["name"] != name for tool in tools):
        raise _invalid("tool_choice", f"there is no tool '{name:.100}'")
    return name
