"""OpenAI-style message lists → transcripts; tool calls may also be parts of the content, as Anthropic has them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from assay.chat.formats.payload import arguments_of, parsed, text_of
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import Transcript, parse
from assay.errors import SourceError

_ROLES = ("user", "assistant", "tool", "function", "system", "developer")
_OF_TRANSCRIPT = ("repetition", "domain", "language", "names", "preferences", "characteristics")
_OF_LAST_TURN = ("truth", "response_time", "expected_calls", "checks")


def from_messages(
    record: Mapping[str, Any] | Sequence[Mapping[str, Any]], where: str, *, agent: str | None = None, scenario: str = ""
) -> Transcript:
    """A transcript from a list of messages, or from a record with the list under `messages` and other fields.

    The other fields belong to the transcript (agent, scenario, repetition, preferences, …) or to the last turn (truth,
    response_time, expected_calls, checks). `model` and `id` are used if there is no agent or scenario.
    """
    fields: Mapping[str, Any] = {} if isinstance(record, Sequence) else record
    messages = record if isinstance(record, Sequence) else record["messages"]
    if not is_message_list(messages):
        raise SourceError("messages is not a list of messages with a role", where=where)
    _refuse_truths(fields, where)
    turns: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    apart = [(at, one) for at, message in enumerate(messages) for one in _with_results_apart(message)]
    for at, message in apart:
        role = message["role"]
        text = text_of(message.get("content"), f"{where} messages[{at}]")
        if role == "user":
            turns.append({"user": text or "", "tool_calls": []})
        elif role == "assistant":
            turn = _last(turns)
            made = _calls_of(message)
            for call in made:
                turn["tool_calls"].append(_tool_call(call, f"{where} messages[{at}]"))
                calls[str(call.get("id"))] = turn["tool_calls"][-1]
            said = text or message.get("refusal")
            if said:
                turn["assistant"] = said
            elif not made:
                turn.setdefault("assistant", "")
        elif role in ("tool", "function"):
            answered = calls.get(str(message.get("tool_call_id"))) or _by_name(_last(turns), message.get("name"))
            if answered is not None:
                _set_result(answered, text)
        elif (near := difflib.get_close_matches(role, _ROLES, n=1, cutoff=0.7)) and role not in _ROLES:
            # Others, such as a tool's own progress, are left out; this one is misspelt.
            raise SourceError(
                f"messages[{at}]: there is no role '{role:.60}'", where=where, hint=f"Did you mean '{near[0]}'?"
            )
    if turns:
        turns[-1] |= {name: fields[name] for name in _OF_LAST_TURN if name in fields}
    return parse(
        {
            "agent": agent_of(fields, agent),
            "scenario": scenario_of(fields) or scenario or where,
            "turns": turns,
            **{name: fields[name] for name in _OF_TRANSCRIPT if name in fields},
        },
        where,
    )


def _refuse_truths(fields: Mapping[str, Any], where: str) -> None:
    for name in ("truth", "truths"):
        if isinstance(fields.get(name), list):
            raise SourceError(
                f"{name}: a message list has one truth, of its last turn, and this is a list",
                where=where,
                hint="Give a table of fields, or write 'turns' in place of 'messages', each with its own truth",
            )


def agent_of(fields: Mapping[str, Any], agent: str | None) -> Any:
    """The agent of a record of messages; `agent` is its name if that is known."""
    return agent or fields.get("agent") or fields.get("model") or "assistant"


def scenario_of(fields: Mapping[str, Any]) -> str:
    """The scenario of a record of messages; empty if it names none."""
    return str(fields.get("scenario") or fields.get("id") or "")


def is_message_list(value: object) -> bool:
    """Whether a value is a list of messages: at least one, each with a role."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(message, Mapping) and "role" in message for message in value)
    )


def _last(turns: list[dict[str, Any]]) -> dict[str, Any]:
    if not turns:
        turns.append({"user": None, "tool_calls": []})
    return turns[-1]


def _by_name(turn: dict[str, Any], name: object) -> dict[str, Any] | None:
    """The first call of that name without a result; older messages name the function instead of the call."""
    return next((call for call in turn["tool_calls"] if call["name"] == name and "result" not in call), None)


def _calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls of a message: beside its content, as parts of it, or, in an older one, one call without an id."""
    older = message.get("function_call")
    parts = [
        {"id": part.get("id"), "function": {"name": part.get("name"), "arguments": part.get("input")}}
        for part in _parts(message, "tool_use")
    ]
    return [*(message.get("tool_calls") or ()), *parts, *([{"function": older}] if older else ())]


def _with_results_apart(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The message; results of tools that are parts of a user's message become messages of their own."""
    results = _parts(message, "tool_result") if message["role"] == "user" else []
    if not results:
        return [message]
    rest = [part for part in message["content"] if part not in results]
    return [
        *({"role": "tool", "tool_call_id": one.get("tool_use_id"), "content": one.get("content")} for one in results),
        *([{**message, "content": rest}] if rest else ()),
    ]


def _parts(message: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, Mapping) and part.get("type") == kind]


def _tool_call(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise SourceError("a tool call has no function with a name", where=where)
    return {"name": function["name"], "arguments": arguments_of(function.get("arguments"))}


def _set_result(call: dict[str, Any], text: str | None) -> None:
    result = parsed(text)
    call["result"] = result
    failure = failure_in(result)
    if failure is not None:
        call["error"] = failure
