"""Exported spans → transcripts: OTLP's JSON, or spans as an SDK prints them.

What the attributes of a span mean is read by `conventions.py`; here spans become turns, and turns conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.chat.formats.conventions import INPUT, OUTPUT, how_to_capture, is_silent, text_in, translated
from assay.chat.formats.otel import Span, call_of, failure_of
from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import Transcript, parse
from assay.errors import SourceError
from assay.plural import counted

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_spans(
    records: Iterable[tuple[str, Any]], *, agent: str | None = None, notify: Callable[[str], object] | None = None
) -> list[Transcript]:
    """Transcripts from exported spans: OTLP JSON (`resourceSpans`) or one span per record, as SDKs print them.

    A trace is a turn; traces with the same `gen_ai.conversation.id` are one conversation, in the order of their start.
    Tool calls are `execute_tool` spans, or the calls in messages if there are no such spans; texts are the messages of
    the model's spans, or of the agent's. A turn whose answer was not recorded is left out; `notify` is told how many.
    """
    records = list(records)
    conversations: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    traces = _by_trace(records)
    unrecorded: list[list[Span]] = []
    for trace, spans in traces.items():
        turn = _turn_of(spans)
        if turn is None:
            unrecorded += [spans] if any(map(_is_call, spans)) else []
            continue
        name = agent or _first(spans, "gen_ai.agent.name") or next((s.service for s in spans if s.service), None)
        key = (str(name or "assistant"), str(_first(spans, "gen_ai.conversation.id") or trace))
        conversations.setdefault(key, []).append((min(span.start_ns for span in spans), turn))
    if records and not conversations:
        raise _without_content([span for spans in traces.values() for span in spans], records[0][0])
    if unrecorded and notify is not None:
        turns = len(unrecorded) + sum(map(len, conversations.values()))
        how = how_to_capture(span for spans in unrecorded for span in spans)
        notify(
            f"{len(unrecorded):,} of {counted(turns, 'turn')} left out, because no answer was recorded. "
            f"Switch on the recording of messages: {how}"
        )
    return [
        parse(
            {"agent": name, "scenario": conversation, "turns": [turn for _, turn in sorted(turns, key=lambda t: t[0])]},
            f"conversation {conversation}",
        )
        for (name, conversation), turns in conversations.items()
    ]


def _without_content(spans: Sequence[Span], where: str) -> SourceError:
    calls = sum(span.is_model_call for span in spans)
    agents = sum(span.operation == "invoke_agent" for span in spans)
    if not calls and not agents:
        return SourceError(
            f"has {counted(len(spans), 'span')} and no call of a model or of an agent",
            where=where,
            hint="assay reads the GenAI conventions of OpenTelemetry, OpenInference, Traceloop, ADK and Pydantic AI",
        )
    what = f"{counted(calls, 'call')} of a model" if calls else f"{counted(agents, 'call')} of an agent"
    texts = "answers" if any(_texts(span, INPUT, "user") for span in spans) else "messages"
    return SourceError(
        f"has {what} without the {texts}, so there is nothing to score",
        where=where,
        hint=f"Switch on the recording of messages and record again: {how_to_capture(spans)}",
    )


def _by_trace(records: Iterable[tuple[str, Any]]) -> dict[str, list[Span]]:
    traces: dict[str, list[Span]] = {}
    for where, record in records:
        for span in _spans_of(record, where):
            traces.setdefault(span.trace, []).append(span)
    for spans in traces.values():
        spans.sort(key=lambda span: span.start_ns)
    return traces


def _spans_of(record: Any, where: str) -> list[Span]:
    try:
        if "resourceSpans" not in record:
            return [translated(_printed_span(record))]
        found = []
        for resource in record["resourceSpans"]:
            service = _attributes(resource.get("resource", {}).get("attributes", [])).get("service.name")
            for scope in resource.get("scopeSpans", []):
                found += [translated(_otlp_span(span, service)) for span in scope.get("spans", [])]
        return found
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise SourceError(f"a span cannot be read: {error!r}", where=where, hint="Export spans as OTLP JSON") from error


def _otlp_span(span: Mapping[str, Any], service: str | None) -> Span:
    attributes = _attributes(span.get("attributes", []))
    events = [(event["name"], _attributes(event.get("attributes", []))) for event in span.get("events", [])]
    failed = span.get("status", {}).get("code") in (2, "STATUS_CODE_ERROR")
    return Span(
        str(span.get("name", "")),
        str(span["traceId"]),
        int(span["startTimeUnixNano"]),
        int(span["endTimeUnixNano"]),
        attributes,
        str(span.get("spanId") or ""),
        str(span.get("parentSpanId") or "") or None,
        events,
        service,
        failure_of(attributes, failed, span.get("status", {}).get("message"), events),
    )


def _printed_span(span: Mapping[str, Any]) -> Span:
    """A span as an SDK's console exporter prints it: attributes are a table, times are ISO texts."""
    attributes = dict(span.get("attributes") or {})
    events = [(event["name"], dict(event.get("attributes") or {})) for event in span.get("events") or ()]
    context = span.get("context") or {}
    status = span.get("status") or {}
    return Span(
        str(span.get("name", "")),
        str(context.get("trace_id") or span.get("traceId") or span.get("trace_id")),
        _nanoseconds(span["start_time"]),
        _nanoseconds(span["end_time"]),
        attributes,
        str(context.get("span_id") or ""),
        str(span.get("parent_id") or "") or None,
        events,
        ((span.get("resource") or {}).get("attributes") or {}).get("service.name"),
        failure_of(attributes, status.get("status_code") == "ERROR", status.get("description"), events),
    )


def _nanoseconds(moment: Any) -> int:
    if isinstance(moment, (int, float)):
        return int(moment)
    return (datetime.fromisoformat(str(moment)).astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000


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


def _first(spans: Sequence[Span], name: str) -> Any:
    return next((span.attributes[name] for span in spans if name in span.attributes), None)


# --- one turn -------------------------------------------------------------------------------------------------------


def _turn_of(spans: Sequence[Span]) -> dict[str, Any] | None:
    """The turn that a trace records; None if it has no text, or if its answer was not recorded."""
    speaking = [span for span in spans if span.is_model_call and _has_text(span)]
    speaking = speaking or [span for span in spans if span.operation == "invoke_agent" and _has_text(span)]
    if not speaking:
        return None
    # The history comes first; the last message of the user in the first request is the question.
    questions = [texts[-1] for span in speaking if (texts := _texts(span, INPUT, "user"))]
    agents = [span for span in spans if span.operation == "invoke_agent"]
    answers = [text for span in [*agents, *speaking] for text in _texts(span, OUTPUT, "assistant")]
    if not answers and not (questions and _is_silent([span for span in spans if span.is_model_call] or speaking)):
        return None
    return {
        "user": questions[0] if questions else None,
        "assistant": answers[-1] if answers else None,
        "tool_calls": _calls(spans, speaking[-1]),
        "response_time": (max(span.end_ns for span in spans) - min(span.start_ns for span in spans)) / 1e9,
    }


def _is_silent(calls: Sequence[Span]) -> bool:
    """Whether nothing was answered: the last call failed, or it was recorded and has no text."""
    said = [one for one in calls[-1].attributes[OUTPUT] if one["role"] == "assistant"]
    return bool(calls[-1].failed) or (bool(said) and all(map(is_silent, said)))


def _is_call(span: Span) -> bool:
    return span.is_model_call or span.operation == "invoke_agent"


def _has_text(span: Span) -> bool:
    return bool(_texts(span, INPUT, "user") or _texts(span, OUTPUT, "assistant"))


def _texts(span: Span, name: str, role: str) -> list[str]:
    """Texts of one role. Assistant messages in the input are history; only the output is an answer."""
    return [text for one in span.attributes[name] if one["role"] == role and (text := text_in(one))]


def _calls(spans: Sequence[Span], last: Span) -> list[dict[str, Any]] | None:
    """Tool calls of a turn: the spans of tools, else the calls in the messages of the last request and its response.

    Some packages record for a tool only the text of its input; its messages have the arguments. None if neither
    spans nor messages can tell: a prompt that was recorded as one text has no calls.
    """
    asked = [at for at, one in enumerate(last.attributes[INPUT]) if one["role"] == "user" and text_in(one)]
    since = [*last.attributes[INPUT][asked[-1] + 1 if asked else 0 :], *last.attributes[OUTPUT]]
    in_messages = _calls_in(since)
    found = [call_of(span) for span in spans if span.is_tool_call]
    if not found:
        is_text = any(name.startswith("gen_ai.content.") for name, _ in last.events)
        return in_messages or (None if is_text else [])
    waiting = list(in_messages)
    for call in found:
        same = next((one for one in waiting if one["name"] == call["name"]), None)
        if same is None:
            continue
        waiting.remove(same)
        if "raw" in call["arguments"] or not call["arguments"]:
            call["arguments"] = same["arguments"]
        if same["result"] is not None and (call["result"] is None or _is_message(call["result"])):
            call["result"] = same["result"]
    return found


def _is_message(result: Any) -> bool:
    """Whether a result is a message of LangChain, as OpenInference records it, and not what the tool returned."""
    return isinstance(result, Mapping) and result.get("type") == "tool" and "data" in result


def _calls_in(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls in messages, with their results, matched by id or else by their order."""
    calls: list[tuple[Any, dict[str, Any]]] = []
    for part in (part for message in messages for part in message["parts"]):
        if part["type"] == "tool_call":
            made = {"name": part["name"], "arguments": arguments_of(part["arguments"]), "result": None}
            calls.append((part["id"], made))
        elif part["type"] == "tool_call_response":
            open_calls = [(id, call) for id, call in calls if call["result"] is None]
            same = [call for id, call in open_calls if id == part["id"]] or [call for _, call in open_calls]
            if same:
                same[0]["result"] = parsed(part["response"])
                same[0]["error"] = failure_in(same[0]["result"])
    return [call for _, call in calls]
