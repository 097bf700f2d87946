"""Spans by other conventions → the same spans by OpenTelemetry's conventions for generative AI.

Known are ADK's own attributes, OpenInference, Traceloop, Pydantic AI's lists of messages, and the events of earlier
versions of the conventions. Messages become lists of parts; what a span already says by the conventions stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.chat.formats.otel import Events, Span
from assay.chat.formats.payload import parsed

Part = dict[str, Any]
Attributes = Mapping[str, Any]

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SILENCE: Mapping[str, Any] = {"role": "model", "parts": []}
_KINDS = {"LLM": "chat", "TOOL": "execute_tool", "AGENT": "invoke_agent"}
_SESSIONS = (
    "session.id",
    "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
)
# OpenInference writes this in place of a text that it was told to hide.
_HIDDEN = "__REDACTED__"
# OpenLIT writes a list of messages as one text.
_ROLE = re.compile(r"^(user|assistant|system|developer|tool): ", re.MULTILINE)

CAPTURE = {
    "gcp.vertex.agent.": "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (ADK)",
    "openinference.": "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false (OpenInference)",
    "traceloop.": "TRACELOOP_TRACE_CONTENT=true (Traceloop)",
    "llm.request.type": "TRACELOOP_TRACE_CONTENT=true (Traceloop)",
    "model_request_parameters": "InstrumentationSettings(include_content=True) (Pydantic AI)",
    "gen_ai.provider.name=microsoft.agent_framework": "ENABLE_SENSITIVE_DATA=true (Agent Framework)",
}
"""How to switch on the recording of messages, by the beginning of an attribute that the package writes."""
CAPTURE_OTHERWISE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, or your framework's own setting"


def translated(span: Span) -> Span:
    """The span with what it says by other conventions added in the terms of the GenAI conventions."""
    own = span.attributes
    added: dict[str, Any] = {}
    for translate in (_openinference, _adk, _traceloop, _pydantic_ai):
        added |= {name: value for name, value in translate(own).items() if value not in (None, [])}
    asked, said = _of_events(span.events)
    added.setdefault(INPUT, asked)
    added.setdefault(OUTPUT, said)
    session = next((own[name] for name in _SESSIONS if own.get(name)), None)
    if session is not None:
        added["gen_ai.conversation.id"] = session
    known = {name: value for name, value in own.items() if value is not None}
    told = added | known
    for name in (INPUT, OUTPUT):
        told[name] = [_message(one) for one in _listed(parsed(told.get(name)))]
    return replace(span, attributes=told)


def how_to_capture(spans: Iterable[Span]) -> str:
    """Which setting makes the package that recorded these spans record messages."""
    names = {f"{name}={value}" for span in spans for name, value in span.attributes.items()}
    return next(
        (how for start, how in CAPTURE.items() if any(name.startswith(start) for name in names)), CAPTURE_OTHERWISE
    )


# --- one convention each --------------------------------------------------------------------------------------------


def _openinference(own: Attributes) -> dict[str, Any]:
    kind = own.get("openinference.span.kind")
    if kind is None:
        return {}
    found: dict[str, Any] = {
        "gen_ai.operation.name": _KINDS.get(str(kind)),
        "gen_ai.agent.name": own.get("agent.name"),
        "gen_ai.usage.input_tokens": own.get("llm.token_count.prompt"),
        "gen_ai.usage.output_tokens": own.get("llm.token_count.completion"),
    }
    if kind == "LLM":
        for name, ours in (("llm.input_messages", INPUT), ("llm.output_messages", OUTPUT)):
            found[ours] = [message.get("message", {}) for message in _unflattened(own, name)]
    elif kind == "TOOL":
        found |= {
            "gen_ai.tool.name": own.get("tool.name"),
            "gen_ai.tool.call.arguments": own.get("tool.parameters", own.get("input.value")),
            "gen_ai.tool.call.result": own.get("output.value"),
        }
    elif kind == "AGENT":
        for name, ours, role in (("input.value", INPUT, "user"), ("output.value", OUTPUT, "assistant")):
            if isinstance(own.get(name), str):
                found[ours] = [{"role": role, "content": own[name]}]
    return found


def _adk(own: Attributes) -> dict[str, Any]:
    request = parsed(own.get("gcp.vertex.agent.llm_request"))
    told = parsed(own.get("gcp.vertex.agent.llm_response"))
    response = told if isinstance(told, Mapping) else {}
    found: dict[str, Any] = {
        "gen_ai.tool.call.arguments": own.get("gcp.vertex.agent.tool_call_args"),
        "gen_ai.tool.call.result": own.get("gcp.vertex.agent.tool_response"),
    }
    # Spans of tools have both, empty.
    if isinstance(request, Mapping) and (request or response):
        found["gen_ai.operation.name"] = "generate_content"
        found[INPUT] = [_from_gemini(content) for content in _listed(request.get("contents"))]
        # A model that says nothing may leave out the content.
        found[OUTPUT] = [_from_gemini(response.get("content") or _SILENCE)] if response else []
    return found


def _traceloop(own: Attributes) -> dict[str, Any]:
    kind = own.get("traceloop.span.kind")
    found: dict[str, Any] = {
        "gen_ai.usage.input_tokens": own.get("gen_ai.usage.prompt_tokens"),
        "gen_ai.usage.output_tokens": own.get("gen_ai.usage.completion_tokens"),
    }
    if own.get("llm.request.type") in ("chat", "completion"):
        found["gen_ai.operation.name"] = "chat"
    if kind == "tool":
        written = parsed(own.get("traceloop.entity.input"))
        if isinstance(written, Mapping):  # of the SDK's decorator, or of its callbacks for LangChain
            written = written.get("kwargs") or written.get("inputs") or written
        result = parsed(own.get("traceloop.entity.output"))
        found |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": own.get("traceloop.entity.name"),
            "gen_ai.tool.call.arguments": written,
            "gen_ai.tool.call.result": result,
        }
    elif kind == "agent":
        found["gen_ai.agent.name"] = own.get("traceloop.entity.name")
    found[INPUT] = _unflattened(own, "gen_ai.prompt")
    found[OUTPUT] = _unflattened(own, "gen_ai.completion")
    return found


def _pydantic_ai(own: Attributes) -> dict[str, Any]:
    found: dict[str, Any] = {"gen_ai.agent.name": own.get("agent_name")}
    if "gen_ai.tool.name" in own and ("tool_arguments" in own or "tool_response" in own):
        found |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.arguments": own.get("tool_arguments"),
            "gen_ai.tool.call.result": own.get("tool_response"),
        }
    for name in ("pydantic_ai.all_messages", "all_messages", "all_messages_events", "events"):
        if name in own:
            messages = [_message(one) for one in _listed(parsed(own[name]))]
            if name != "events":  # on the span of a model call
                found["gen_ai.operation.name"] = "invoke_agent"
            asked = max(
                (at + 1 for at, one in enumerate(messages) if one["role"] == "user" and text_in(one)), default=0
            )
            found[INPUT], found[OUTPUT] = messages[:asked], messages[asked:]
            break
    return found


def _of_events(events: Events) -> tuple[list[Any], list[Any]]:
    """Messages in the events of a span, as earlier versions of the conventions have them."""
    asked: list[Any] = []
    said: list[Any] = []
    for name, about in events:
        if name in ("gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message"):
            asked.append({"role": name.split(".")[1], **about})
        elif name == "gen_ai.choice":
            message = parsed(about.get("message")) or about
            said.append(message if isinstance(message, Mapping) else {"content": message})
        elif name == "gen_ai.content.prompt":
            asked += _listed(_if_messages(about.get("gen_ai.prompt")), role="user")
        elif name == "gen_ai.content.completion":
            said += _listed(_if_messages(about.get("gen_ai.completion")), role="assistant", divide=False)
    return asked, said


# --- messages -------------------------------------------------------------------------------------------------------


def text_in(message: Mapping[str, Any]) -> str | None:
    """The text of a translated message; without its reasoning, calls and results."""
    return "\n".join(part["content"] for part in message["parts"] if part["type"] == "text") or None


def is_silent(message: Mapping[str, Any]) -> bool:
    """Whether a translated message of the assistant has no text, not even one that was not recorded."""
    return message["role"] == "assistant" and not message["hidden"] and not text_in(message)


def _listed(value: Any, *, role: str = "user", divide: bool = True) -> list[Any]:
    """Messages from a list of them, a single one, or a text, which has roles at the beginnings of its lines."""
    if value is None:
        return []
    if isinstance(value, str):
        pieces = _ROLE.split(value) if divide else [value]
        if len(pieces) == 1:
            return [{"role": role, "content": value}]
        return [
            {"role": name, "content": text.rstrip("\n")} for name, text in zip(pieces[1::2], pieces[2::2], strict=True)
        ]
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, Sequence) else [value]


def _if_messages(text: Any) -> Any:
    """Parsed JSON if it is a list of messages or of their parts; a text that happens to be other JSON stays a text."""
    value = parsed(text)
    listed = value if isinstance(value, list) else [value]
    return value if listed and all(isinstance(one, dict) and one.keys() & {"role", "type"} for one in listed) else text


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the form of the conventions: a role and parts of the types text, tool_call, tool_call_response.

    It is `hidden` if a text was there and not recorded.
    """
    contents = _contents(message)
    hidden = bool(message.get("hidden")) or any(map(_is_hidden, contents))
    parts = [made for part in contents if (made := _part(part)) is not None]
    calls = parsed(message.get("tool_calls"))
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        parts += [_call(call) for call in calls]
    role = str(message.get("role") or "assistant")
    answered = message.get("tool_call_id") or (message.get("id") if role == "tool" else None)
    if role == "tool" and not any(part["type"] == "tool_call_response" for part in parts):
        result = "\n".join(part["content"] for part in parts if part["type"] == "text")
        parts = [_response(answered, result)]
    role = {"model": "assistant", "human": "user", "ai": "assistant"}.get(role, role)
    return {"role": role, "parts": parts, "hidden": hidden}


def _contents(message: Mapping[str, Any]) -> list[Any]:
    """What a message contains, under the names that the conventions have for it."""
    for name in ("parts", "contents", "content"):
        content = message.get(name)
        content = _if_messages(content)
        if content is not None and content != []:
            return [content] if isinstance(content, str) or not isinstance(content, Sequence) else list(content)
    return []


def _is_hidden(part: Any) -> bool:
    """Whether a part is a text that was not recorded: Pydantic AI then writes only its type."""
    if not isinstance(part, Mapping):
        return bool(part == _HIDDEN)
    part = part.get("message_content", part)
    if not isinstance(part, Mapping) or part.get("type", part.get("kind")) != "text":
        return False
    return _HIDDEN in (part.get("content"), part.get("text")) or not part.keys() & {"content", "text"}


def _part(part: Any) -> Part | None:
    if isinstance(part, str):
        return {"type": "text", "content": part} if part and part != _HIDDEN else None
    if not isinstance(part, Mapping) or _is_hidden(part):
        return None
    part = part.get("message_content", part)  # OpenInference
    kind = part.get("type", part.get("kind", "text"))
    if kind in ("tool_call", "tool-call", "function_call"):
        return _call(part)
    if kind in ("tool_call_response", "tool-return", "function_response"):
        result = next((part[name] for name in ("response", "result", "content") if name in part), None)
        return _response(part.get("id"), result)
    text = next((part[name] for name in ("content", "text") if isinstance(part.get(name), str)), None)
    return {"type": "text", "content": text} if kind in ("text", "output_text", "input_text") and text else None


def _response(id: Any, result: Any) -> Part:
    return {"type": "tool_call_response", "id": id, "response": parsed(result)}


def _call(call: Any) -> Part:
    call = call if isinstance(call, Mapping) else {}
    call = call.get("tool_call", call)  # OpenInference
    function = call.get("function") if isinstance(call.get("function"), Mapping) else call
    return {
        "type": "tool_call",
        "id": call.get("id"),
        "name": str(function.get("name") or "unknown"),
        "arguments": parsed(function.get("arguments", function.get("args"))),
    }


def _from_gemini(content: Any) -> dict[str, Any]:
    """A message from Gemini's `Content`, whose parts differ by their fields."""
    parts: list[Part] = []
    if not isinstance(content, Mapping):
        return {"role": "user", "parts": parts}
    for part in _listed(content.get("parts")):
        call, answer = part.get("function_call"), part.get("function_response")
        if isinstance(call, Mapping):
            parts.append(_call(call))
        elif isinstance(answer, Mapping):
            parts.append(_response(answer.get("id"), answer.get("response")))
        elif part.get("text") and not part.get("thought"):
            parts.append({"type": "text", "content": part["text"]})
    return {"role": content.get("role") or "user", "parts": parts}


def _unflattened(own: Attributes, prefix: str) -> list[dict[str, Any]]:
    """The list of tables that attributes such as `prefix.0.message.role` write out."""
    whole: dict[str, Any] = {}
    for name, value in own.items():
        if name.startswith(f"{prefix}.") and name[len(prefix) + 1 : len(prefix) + 2].isdigit():
            steps = name[len(prefix) + 1 :].split(".")
            at = whole
            for step in steps[:-1]:
                inside = at.setdefault(step, {})
                at = inside if isinstance(inside, dict) else {}
            at[steps[-1]] = value
    listed = _in_order(whole)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _in_order(table: Any) -> Any:
    """Tables whose keys are numbers as lists."""
    if not isinstance(table, dict):
        return table
    if table and all(key.isascii() and key.isdecimal() and len(key) < 10 for key in table):
        return [_in_order(table[key]) for key in sorted(table, key=int)]
    return {key: _in_order(value) for key, value in table.items()}
