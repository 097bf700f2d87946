"""Spans that packages recorded (`make_samples.py`) are read as the conversation that took place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.chat.formats.make_samples import ANSWER, FOLDER, QUESTION, get_weather

from assay.chat.formats import read_transcripts
from assay.chat.formats.exported import from_spans
from assay.errors import SourceError

CALLED = [
    "adk.jsonl",
    "console.txt",
    "openinference-langchain.jsonl",
    "openinference-openai.jsonl",
    "pydantic-ai.jsonl",
    "traceloop.jsonl",
]


@pytest.mark.parametrize("name", CALLED)
def test_question_answer_and_tool_call_are_read(name: str) -> None:
    (transcript,) = read_transcripts(FOLDER / name)
    (turn,) = transcript.turns
    assert (turn.user, turn.assistant) == (QUESTION, ANSWER)
    (call,) = turn.tool_calls or []
    assert (call.name, call.arguments, call.error) == ("get_weather", {"city": "Helsinki"}, None)
    assert call.result == get_weather("Helsinki")
    assert turn.response_time is not None


def test_sessions_and_agents_have_their_names() -> None:
    assert [(t.agent, t.scenario) for t in read_transcripts(FOLDER / "adk.jsonl")] == [("weather_bot", "s-1")]
    assert read_transcripts(FOLDER / "openinference-langchain.jsonl")[0].scenario == "s-1"
    assert read_transcripts(FOLDER / "traceloop.jsonl")[0].agent == "weather-bot"


def test_a_prompt_that_was_recorded_as_text_does_not_say_which_tools_were_called() -> None:
    (turn,) = read_transcripts(FOLDER / "openlit.jsonl")[0].turns
    assert (turn.user, turn.assistant, turn.tool_calls) == (QUESTION, ANSWER, None)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("adk-without-content.jsonl", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("pydantic-ai-without-content.jsonl", "include_content=True"),
    ],
)
def test_without_messages_the_error_names_the_setting_that_records_them(name: str, setting: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_transcripts(FOLDER / name)
    assert "2 calls of a model without the messages" in str(caught.value)
    assert setting in str(caught.value)


def test_spans_of_something_else_are_an_error_that_says_so() -> None:
    with pytest.raises(SourceError, match="has 1 span and no call of a model or of an agent"):
        from_spans([("x", _span({"http.method": "GET"}))])


def test_output_of_the_program_between_printed_spans_is_skipped(tmp_path: Path) -> None:
    printed = (FOLDER / "console.txt").read_text("utf-8").replace("\n}\n{\n", "\n}\nHello {you}!\n{\n")
    path = tmp_path / "log.txt"
    path.write_text(f"Starting …\n{printed}Bye\n", "utf-8")
    assert read_transcripts(path)[0].turns[0].assistant == ANSWER


def test_a_printed_span_that_is_cut_off_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text((FOLDER / "console.txt").read_text("utf-8").rstrip()[:-1], "utf-8")
    with pytest.raises(SourceError, match=r"log\.txt:\d+: is not valid JSON"):
        read_transcripts(path)


def _span(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]] | None = None) -> dict[str, Any]:
    return {
        "name": "span",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "attributes": attributes,
        "events": [{"name": name, "attributes": about} for name, about in events or []],
    }


def test_all_messages_of_an_agent_are_split_at_the_last_question() -> None:
    """As Pydantic AI recorded them in its first format: no span of a model call, the history comes first."""
    messages = [
        {"role": "user", "content": "Hi", "event.name": "gen_ai.user.message"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": {"city": "Helsinki"}}}],
        },
        {"role": "tool", "id": "1", "name": "get_weather", "content": '{"error": "no connection"}'},
        {"role": "assistant", "content": ANSWER},
    ]
    (transcript,) = from_spans([("x", _span({"agent_name": "bot", "all_messages_events": json.dumps(messages)}))])
    (turn,) = transcript.turns
    assert (transcript.agent, turn.user, turn.assistant) == ("bot", QUESTION, ANSWER)
    assert [(call.name, call.error) for call in turn.tool_calls or []] == [("get_weather", "no connection")]


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (json.dumps([{"role": "user", "content": QUESTION}]), json.dumps([{"role": "assistant", "content": ANSWER}])),
        (QUESTION, ANSWER),
        (f"system: Be short.\nuser: {QUESTION}", ANSWER),
    ],
)
def test_content_events_hold_messages_or_texts(prompt: str, completion: str) -> None:
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": prompt}),
        ("gen_ai.content.completion", {"gen_ai.completion": completion}),
    ]
    (turn,) = from_spans([("x", _span({"gen_ai.operation.name": "chat"}, events))])[0].turns
    assert (turn.user, turn.assistant) == (QUESTION, ANSWER)


def test_reasoning_is_not_an_answer_and_a_number_is_a_text() -> None:
    output = [
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "4"}]}
    ]
    asked = {"gen_ai.input.messages": json.dumps([{"role": "user", "content": "2 + 2?"}])}
    attributes = {"gen_ai.operation.name": "chat", **asked, "gen_ai.output.messages": json.dumps(output)}
    (turn,) = from_spans([("x", _span(attributes))])[0].turns
    assert (turn.user, turn.assistant, turn.tool_calls) == ("2 + 2?", "4", [])


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message": 5,
            "llm.output_messages.x.message.role": "a",
        },
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "5", "gen_ai.output.messages": '[[{"parts": 3}]]'},
        {"gcp.vertex.agent.llm_request": '{"contents": [{"parts": "x"}, 3]}', "gcp.vertex.agent.llm_response": "[]"},
        {"openinference.span.kind": "LLM", "llm.input_messages.0" + ".a" * 5000: 1},
        {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.tool_calls.0": "x", "gen_ai.prompt.0.role": "tool"},
        {"all_messages_events": '[{"tool_calls": [{"function": 3}, 4]}]'},
    ],
)
def test_nonsense_in_attributes_is_an_error_and_no_crash(attributes: dict[str, Any]) -> None:
    with pytest.raises(SourceError):
        from_spans([("x", _span(attributes))])
