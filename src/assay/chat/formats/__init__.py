"""Transcripts from what people have: assay's JSONL, OpenAI-style message lists, and OpenTelemetry spans.

Each reader turns its form into `Transcript`; what a form does not carry (the truth, the scenario's name) stays empty
or is taken from where the record keeps it. Spans are read in `tracing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.chat.formats.otel import from_spans
from assay.chat.formats.payload import arguments_of, parsed, text_of
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import Transcript, json_lines, load_json, parse
from assay.errors import SourceError, unknown_name

FORMS = ("assay", "openai", "otel")


def read_transcripts(path: Path, *, form: str = "auto", agent: str | None = None) -> list[Transcript]:
    """The transcripts of a file, in the form it is in; `agent` names the agent where the file does not."""
    if form not in ("auto", *FORMS):
        raise unknown_name("form of transcripts", form, ("auto", *FORMS))
    records = _records(path)
    found: list[Transcript] = []
    spans: list[tuple[str, Any]] = []
    for where, record in records:
        this = form if form != "auto" else _form_of(record, where)
        if this == "assay":
            found.append(parse(record, where))
        elif this == "openai":
            found.append(from_messages(record, where, agent=agent, scenario=f"conversation {len(found) + 1}"))
        else:
            spans.append((where, record))
    if spans:
        found += from_spans(spans, agent=agent)
    if not found:
        raise SourceError("has no transcripts", where=str(path), hint="One JSON object to a line")
    return found


def _records(path: Path) -> list[tuple[str, Any]]:
    """The file's JSON objects: one to a line, or one for the whole file, or the elements of one list."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise SourceError("is not UTF-8 text", where=str(path), hint="Save it as UTF-8") from error
    try:
        whole = load_json(text)
    except (json.JSONDecodeError, RecursionError):
        return list(json_lines(path))
    if isinstance(whole, list) and not _is_message_list(whole):
        return [(f"{path}[{at}]", record) for at, record in enumerate(whole)]
    return [(str(path), whole)]


def _form_of(record: object, where: str) -> str:
    if _is_message_list(record):
        return "openai"
    if isinstance(record, Mapping):
        if "turns" in record:
            return "assay"
        if "messages" in record:
            return "openai"
        if "resourceSpans" in record or ("attributes" in record and ("context" in record or "traceId" in record)):
            return "otel"
    raise SourceError(
        "is in no form that assay knows",
        where=where,
        hint="A transcript has 'turns', a message list has 'messages', a trace has 'resourceSpans'",
    )


# --- OpenAI-style message lists -------------------------------------------------------------------------------------


def from_messages(
    record: Mapping[str, Any] | Sequence[Mapping[str, Any]], where: str, *, agent: str | None = None, scenario: str = ""
) -> Transcript:
    """A transcript from a list of messages, or from a record that has one under `messages` beside other fields.

    Those other fields are the transcript's own (agent, scenario, repetition, preferences, …) and, for the last turn,
    truth, response_time, expected_calls and checks. `model` and `id` serve as agent and scenario where need be.
    """
    fields: Mapping[str, Any] = {} if isinstance(record, Sequence) else record
    messages = record if isinstance(record, Sequence) else record["messages"]
    if not _is_message_list(messages):
        raise SourceError("messages is no list of messages with a role", where=where)
    turns: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    for at, message in enumerate(messages):
        role = message["role"]
        text = text_of(message.get("content"), f"{where} messages[{at}]")
        if role == "user":
            turns.append({"user": text, "tool_calls": []})
        elif role == "assistant":
            turn = _last(turns)
            if text:
                turn["assistant"] = text
            for call in message.get("tool_calls") or ():
                made = _tool_call(call, f"{where} messages[{at}]")
                turn["tool_calls"].append(made)
                calls[str(call.get("id"))] = made
        elif role in ("tool", "function"):
            answered = calls.get(str(message.get("tool_call_id"))) or _by_name(_last(turns), message.get("name"))
            if answered is not None:
                _give_result(answered, text)
    if turns:
        turns[-1] |= {
            name: fields[name] for name in ("truth", "response_time", "expected_calls", "checks") if name in fields
        }
    own = ("repetition", "domain", "language", "names", "preferences", "characteristics")
    return parse(
        {
            "agent": agent or fields.get("agent") or fields.get("model") or "assistant",
            "scenario": str(fields.get("scenario") or fields.get("id") or scenario or where),
            "turns": turns,
            **{name: fields[name] for name in own if name in fields},
        },
        where,
    )


def _is_message_list(value: object) -> bool:
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
    """The first call of that name without a result: older messages name the function instead of the call."""
    return next((call for call in turn["tool_calls"] if call["name"] == name and "result" not in call), None)


def _tool_call(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise SourceError("a tool call has no function with a name", where=where)
    return {"name": function["name"], "arguments": arguments_of(function.get("arguments"))}


def _give_result(call: dict[str, Any], text: str | None) -> None:
    result = parsed(text)
    call["result"] = result
    failure = failure_in(result)
    if failure is not None:
        call["error"] = failure
