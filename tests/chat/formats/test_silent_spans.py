"""Spans of a turn without an answer: silence is an empty answer; what was not recorded is none, and a note says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import assay_command

from assay.chat.formats.exported import from_spans
from assay.chat.scoring.scores import score
from assay.errors import SourceError

ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}]
CALL = {"type": "tool_call", "id": "1", "name": "get_weather", "arguments": {"city": "Oslo"}}
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
CHAT = {"gen_ai.operation.name": "chat", INPUT: json.dumps(ASKED)}
LLM = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Weather in Oslo?",
}
TRACELOOP = {"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Weather in Oslo?"}
REQUEST = json.dumps({"contents": [{"role": "user", "parts": [{"text": "Weather in Oslo?"}]}]})
USER_EVENT = ("gen_ai.user.message", {"content": "Weather in Oslo?"})


def span(attributes: dict[str, Any], *events: tuple[str, Any], trace: str = "0x1", failed: bool = False) -> Any:
    record = {
        "name": "span",
        "context": {"trace_id": trace, "span_id": "0x2"},
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "status": {"status_code": "ERROR" if failed else "UNSET"},
        "attributes": attributes,
        "events": [{"name": name, "attributes": about} for name, about in events],
    }
    return "spans.jsonl", record


def said(*parts: Any) -> str:
    return json.dumps([{"role": "assistant", "parts": list(parts)}])


def listed(*messages: Any) -> dict[str, Any]:
    return {"agent_name": "bot", "pydantic_ai.all_messages": json.dumps([*ASKED, *messages])}


SILENT = {
    "a message without parts": span(CHAT | {OUTPUT: said()}),
    "an empty text": span(CHAT | {OUTPUT: said({"type": "text", "content": ""})}),
    "only reasoning": span(CHAT | {OUTPUT: said({"type": "reasoning", "content": "Hm."})}),
    "a call that nothing follows": span(CHAT | {OUTPUT: said(CALL)}),
    "an event without content": span({"gen_ai.operation.name": "chat"}, USER_EVENT, ("gen_ai.choice", {"index": 0})),
    "a call of the model that failed": span(CHAT, failed=True),
    "ADK, no parts": span(
        {
            "gcp.vertex.agent.llm_request": REQUEST,
            "gcp.vertex.agent.llm_response": '{"content": {"role": "model", "parts": []}}',
        }
    ),
    "ADK, no content": span(
        {"gcp.vertex.agent.llm_request": REQUEST, "gcp.vertex.agent.llm_response": '{"finish_reason": "STOP"}'}
    ),
    "OpenInference": span(LLM | {"llm.output_messages.0.message.role": "assistant"}),
    "OpenInference, an agent": span(
        {"openinference.span.kind": "AGENT", "input.value": "Weather in Oslo?", "output.value": ""}
    ),
    "Traceloop": span(TRACELOOP | {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": ""}),
    "Pydantic AI": span(listed({"role": "assistant", "parts": []})),
}
UNRECORDED = {
    "no output": (span(CHAT), "CAPTURE_MESSAGE_CONTENT=true"),
    "a part without its text": (span(CHAT | {OUTPUT: said({"type": "text"})}), "CAPTURE_MESSAGE_CONTENT=true"),
    "ADK": (span({"gcp.vertex.agent.llm_request": REQUEST, "gcp.vertex.agent.llm_response": "{}"}), "SPAN_ONLY"),
    "OpenInference, hidden": (span(LLM), "OPENINFERENCE_HIDE_OUTPUTS=false"),
    "OpenInference, redacted": (
        span(
            LLM
            | {
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "__REDACTED__",
            }
        ),
        "OPENINFERENCE_HIDE_OUTPUTS=false",
    ),
    "OpenInference, an agent": (
        span(
            {"openinference.span.kind": "AGENT", "input.value": "Weather in Oslo?", "output.value": "__REDACTED__"},
        ),
        "OPENINFERENCE_HIDE_OUTPUTS=false",
    ),
    "Traceloop": (span(TRACELOOP), "TRACELOOP_TRACE_CONTENT=true"),
    "Pydantic AI": (
        span(listed({"role": "assistant", "parts": [{"type": "text"}]}) | {"model_request_parameters": "{}"}),
        "include_content=True",
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_recorded_turn_without_a_text_is_an_empty_answer(name: str) -> None:
    (transcript,) = from_spans([SILENT[name]])
    (answer,) = score([transcript]).answers
    assert (answer.query, answer.response, answer.passed) == ("Weather in Oslo?", "", False)


@pytest.mark.parametrize("name", UNRECORDED)
def test_an_answer_that_was_not_recorded_is_not_an_empty_one(name: str) -> None:
    record, setting = UNRECORDED[name]
    with pytest.raises(SourceError) as caught:
        from_spans([record])
    assert "without the answer" in str(caught.value)
    assert setting in str(caught.value)


def test_the_answer_of_an_agent_counts_if_the_calls_of_its_model_have_none() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", OUTPUT: said({"type": "text", "content": "Sorry, it is down."})}
    (transcript,) = from_spans([span(CHAT, failed=True), span(agent)])
    assert transcript.turns[0].assistant == "Sorry, it is down."


def test_a_note_counts_turns_whose_answer_was_not_recorded(tmp_path: Path) -> None:
    spans = [
        span(CHAT | {OUTPUT: said({"type": "text", "content": "It is 5 °C in Oslo."})}),
        span(LLM, trace="0x2"),
        span({"http.method": "GET"}, trace="0x3"),
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(json.dumps(record) for _, record in spans), "utf-8")
    done = assay_command("chat", "score", path, "--no-store", "--json", "-")
    assert len(json.loads(done.stdout)["answers"]) == 1
    assert done.stderr == (
        "note: 1 of 2 turns left out, because no answer was recorded. Switch on the recording of messages: "
        "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false (OpenInference)\n"
    )
