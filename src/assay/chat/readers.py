"""Transcripts from what people have: assay's JSONL, OpenAI-style message lists, and OpenTelemetry GenAI spans as JSON.

Each reader turns its form into `Transcript`; what a form does not carry (the truth, the scenario's name) stays empty
or is taken from where the record keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.chat.trajectory import failure_in
from assay.chat.transcript import Transcript, json_lines, load_json, parse
from assay.errors import SourceError, unknown_name

FORMS = ("assay", "openai", "otel")

# GenAI semantic conventions: which operations are calls of a model.
_MODEL_CALLS = frozenset({"chat", "generate_content", "text_completion"})
# One framework adds this span around parallel calls that have spans of their own.
_NOT_A_TOOL = "(merged tools)"


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
        text = _content(message.get("content"), f"{where} messages[{at}]")
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


def _content(content: Any, where: str) -> str | None:
    """The text of a message: a string, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part if isinstance(part, str) else part.get("text") or part.get("content") for part in content]
        return "\n".join(part for part in parts if isinstance(part, str)) or None
    raise SourceError(f"content is of type {type(content).__name__}, not a text", where=where)


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
    return {"name": function["name"], "arguments": _arguments(function.get("arguments"))}


def _arguments(raw: Any) -> dict[str, Any]:
    """Arguments as a table; text that is no JSON object is kept under 'raw'."""
    parsed = _json(raw)
    if isinstance(parsed, Mapping):
        return dict(parsed)
    return {} if parsed in (None, "") else {"raw": parsed}


def _give_result(call: dict[str, Any], text: str | None) -> None:
    result = _json(text)
    call["result"] = result
    failure = failure_in(result)
    if failure is not None:
        call["error"] = failure


def _json(text: Any) -> Any:
    """Parsed JSON, or the value as it is where it is no JSON."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return text


# --- OpenTelemetry GenAI spans --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Span:
    name: str
    trace: str
    start: float
    end: float
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    service: str | None = None
    failed: str | None = None

    @property
    def operation(self) -> str:
        return str(self.attributes.get("gen_ai.operation.name", ""))


def from_spans(records: Iterable[tuple[str, Any]], *, agent: str | None = None) -> list[Transcript]:
    """Transcripts from exported spans: OTLP JSON (`resourceSpans`) or one span to a record, as SDKs print them.

    A trace is a turn; traces with the same `gen_ai.conversation.id` are one conversation, in the order of their start.
    Tool calls are `execute_tool` spans; texts are the messages of the model's spans, or of the agent's.
    """
    conversations: dict[tuple[str, str], list[tuple[float, dict[str, Any]]]] = {}
    for trace, spans in _by_trace(records).items():
        turn = _turn_of(spans)
        if turn is None:
            continue
        name = agent or _first(spans, "gen_ai.agent.name") or next((s.service for s in spans if s.service), None)
        conversation = _first(spans, "gen_ai.conversation.id") or _first(spans, "session.id") or trace
        key = (str(name or "assistant"), str(conversation))
        conversations.setdefault(key, []).append((min(span.start for span in spans), turn))
    return [
        parse(
            {"agent": name, "scenario": conversation, "turns": [turn for _, turn in sorted(turns, key=lambda t: t[0])]},
            f"conversation {conversation}",
        )
        for (name, conversation), turns in conversations.items()
    ]


def _by_trace(records: Iterable[tuple[str, Any]]) -> dict[str, list[_Span]]:
    traces: dict[str, list[_Span]] = {}
    for where, record in records:
        for span in _spans_of(record, where):
            traces.setdefault(span.trace, []).append(span)
    for spans in traces.values():
        spans.sort(key=lambda span: span.start)
    return traces


def _spans_of(record: Any, where: str) -> list[_Span]:
    try:
        if "resourceSpans" not in record:
            return [_printed_span(record)]
        found = []
        for resource in record["resourceSpans"]:
            service = _attributes(resource.get("resource", {}).get("attributes", [])).get("service.name")
            for scope in resource.get("scopeSpans", []):
                found += [_otlp_span(span, service) for span in scope.get("spans", [])]
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(f"a span cannot be read: {error!r}", where=where, hint="Export spans as OTLP JSON") from error


def _otlp_span(span: Mapping[str, Any], service: str | None) -> _Span:
    attributes = _attributes(span.get("attributes", []))
    failed = span.get("status", {}).get("code") in (2, "STATUS_CODE_ERROR")
    return _Span(
        str(span.get("name", "")),
        str(span["traceId"]),
        int(span["startTimeUnixNano"]) / 1e9,
        int(span["endTimeUnixNano"]) / 1e9,
        attributes,
        [(event["name"], _attributes(event.get("attributes", []))) for event in span.get("events", [])],
        service,
        _failure(attributes, failed, span.get("status", {}).get("message")),
    )


def _printed_span(span: Mapping[str, Any]) -> _Span:
    """A span as an SDK's console exporter prints it: attributes are a table, times are ISO texts."""
    attributes = dict(span.get("attributes") or {})
    context = span.get("context") or {}
    status = span.get("status") or {}
    return _Span(
        str(span.get("name", "")),
        str(context.get("trace_id") or span.get("traceId") or span.get("trace_id")),
        _seconds(span["start_time"]),
        _seconds(span["end_time"]),
        attributes,
        [(event["name"], dict(event.get("attributes") or {})) for event in span.get("events") or ()],
        ((span.get("resource") or {}).get("attributes") or {}).get("service.name"),
        _failure(attributes, status.get("status_code") == "ERROR", status.get("description")),
    )


def _failure(attributes: Mapping[str, Any], failed: bool, message: str | None) -> str | None:
    kind = attributes.get("error.type")
    return str(message or kind or "error") if failed or kind else None


def _seconds(moment: Any) -> float:
    if isinstance(moment, (int, float)):
        return moment / 1e9
    return datetime.fromisoformat(str(moment)).timestamp()


def _attributes(pairs: Any) -> dict[str, Any]:
    """A table from OTLP's list of keys and typed values."""
    return {pair["key"]: _value(pair.get("value", {})) for pair in pairs}


def _value(typed: Mapping[str, Any]) -> Any:
    for kind, value in typed.items():
        if kind == "arrayValue":
            return [_value(item) for item in value.get("values", [])]
        if kind == "kvlistValue":
            return _attributes(value.get("values", []))
        return int(value) if kind == "intValue" else value
    return None


def _first(spans: Sequence[_Span], name: str) -> Any:
    return next((span.attributes[name] for span in spans if name in span.attributes), None)


def _turn_of(spans: Sequence[_Span]) -> dict[str, Any] | None:
    """The turn that a trace records, or None where it has no text."""
    speaking = [span for span in spans if span.operation in _MODEL_CALLS]
    speaking = speaking or [span for span in spans if span.operation == "invoke_agent"]
    user = assistant = None
    for span in speaking:
        for role, text in _messages(span):
            if role == "user" and user is None:
                user = text
            elif role == "user" and span is speaking[0]:
                user = text  # the history comes first; the last user message is the question
            elif role == "assistant":
                assistant = text
    if user is None and assistant is None:
        return None
    tools = [s for s in spans if s.operation == "execute_tool" and s.attributes.get("gen_ai.tool.name") != _NOT_A_TOOL]
    return {
        "user": user,
        "assistant": assistant,
        "tool_calls": [_call_of(span) for span in tools],
        "response_time": max(span.end for span in spans) - min(span.start for span in spans),
    }


def _messages(span: _Span) -> list[tuple[str, str]]:
    """Roles and texts, from message attributes (current conventions) or from events (earlier ones).

    An assistant's text among the input is history; only what the span put out is an answer.
    """
    found: list[tuple[str, str]] = []
    for name, is_output in (("gen_ai.input.messages", False), ("gen_ai.output.messages", True)):
        for message in _json(span.attributes.get(name)) or ():
            if isinstance(message, Mapping):
                text = _content(message.get("parts") or message.get("content"), span.name)
                role = "assistant" if is_output else message.get("role")
                if text and (is_output or role == "user"):
                    found.append((str(role), text))
    for name, attributes in span.events:
        if name == "gen_ai.user.message":
            text = _content(_json(attributes.get("content")), span.name)
            if text:
                found.append(("user", text))
        elif name == "gen_ai.choice":
            message = _json(attributes.get("message")) or attributes
            text = _content(message.get("content") if isinstance(message, Mapping) else message, span.name)
            if text:
                found.append(("assistant", text))
    return found


def _call_of(span: _Span) -> dict[str, Any]:
    return {
        "name": str(span.attributes.get("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")),
        "arguments": _arguments(span.attributes.get("gen_ai.tool.call.arguments")),
        "result": _json(span.attributes.get("gen_ai.tool.call.result")),
        "error": span.failed,
        "duration": span.end - span.start,
    }
