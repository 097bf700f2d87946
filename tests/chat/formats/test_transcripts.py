"""Transcripts from files: assay's own form, OpenAI-style messages, OpenTelemetry spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.chat.formats import read_transcripts
from assay.chat.scoring.scores import score
from assay.chat.transcript import write_jsonl
from assay.errors import SourceError, UsageError

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an assistant."},
    {"role": "user", "content": "What's the weather in Helsinki?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Helsinki"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"temp": 15, "condition": "rain"}'},
    {"role": "assistant", "content": [{"type": "text", "text": "It's 15°C with rain in Helsinki."}]},
    {"role": "user", "content": "And in Oslo?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "2", "type": "function", "function": {"name": "get_weather", "arguments": "not json"}}],
    },
    {"role": "tool", "tool_call_id": "2", "content": "Error: timeout"},
    {"role": "assistant", "content": "I couldn't get it."},
]


def _attributes(**values: Any) -> list[dict[str, Any]]:
    def typed(value: Any) -> dict[str, Any]:
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    return [{"key": key.replace("__", "."), "value": typed(value)} for key, value in values.items()]


def _span(trace: str, name: str, start: int, end: int, **attributes: Any) -> dict[str, Any]:
    status = {"code": 2, "message": "timed out"} if attributes.pop("failed", False) else {}
    return {
        "traceId": trace,
        "spanId": name,
        "name": name,
        "startTimeUnixNano": str(start * 10**9),
        "endTimeUnixNano": str(end * 10**9),
        "attributes": _attributes(**attributes),
        "status": status,
    }


def _said(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _otlp() -> dict[str, Any]:
    common = {"gen_ai__conversation__id": "c1", "gen_ai__agent__name": "helper"}
    spans = [
        _span("t1", "invoke_agent helper", 0, 4, gen_ai__operation__name="invoke_agent", **common),
        _span(
            "t1",
            "chat m",
            0,
            1,
            gen_ai__operation__name="chat",
            gen_ai__input__messages=_said("user", "Weather in Helsinki?"),
        ),
        _span(
            "t1",
            "execute_tool get_weather",
            1,
            2,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="get_weather",
            gen_ai__tool__call__arguments='{"city": "Helsinki"}',
            gen_ai__tool__call__result='{"temp": 15}',
        ),
        _span(
            "t1",
            "execute_tool (merged tools)",
            1,
            2,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="(merged tools)",
        ),
        _span(
            "t1",
            "chat m",
            2,
            3,
            gen_ai__operation__name="chat",
            gen_ai__output__messages=_said("assistant", "It's 15°C in Helsinki."),
        ),
        _span(
            "t2",
            "chat m",
            10,
            12,
            gen_ai__operation__name="chat",
            gen_ai__input__messages=_said("user", "And Oslo?"),
            gen_ai__output__messages=_said("assistant", "I couldn't find out."),
            **common,
        ),
        _span(
            "t2",
            "execute_tool get_weather",
            10,
            11,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="get_weather",
            failed=True,
        ),
    ]
    return {
        "resourceSpans": [
            {"resource": {"attributes": _attributes(service__name="svc")}, "scopeSpans": [{"spans": spans}]}
        ]
    }


def _write(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    return path


def test_assays_own_format_survives_a_round_trip(tmp_path: Path) -> None:
    from assay.chat.samples import transcripts

    samples = transcripts()
    write_jsonl(samples, tmp_path / "out.jsonl")
    assert read_transcripts(tmp_path / "out.jsonl") == samples


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"messages": m}], ids=["bare list", "record"])
def test_openai_messages(tmp_path: Path, wrap: Any) -> None:
    (transcript,) = read_transcripts(_write(tmp_path / "m.json", wrap(MESSAGES)), agent="bot")
    assert transcript.agent == "bot"
    first, second = transcript.turns
    assert (first.user, first.assistant) == ("What's the weather in Helsinki?", "It's 15°C with rain in Helsinki.")
    assert first.tool_calls is not None
    assert first.tool_calls[0].arguments == {"city": "Helsinki"}
    assert first.tool_calls[0].result == {"temp": 15, "condition": "rain"}
    assert second.tool_calls is not None
    assert second.tool_calls[0].error == "Error: timeout"
    assert second.tool_calls[0].arguments == {"raw": "not json"}


def test_openai_records_carry_truth_and_names(tmp_path: Path) -> None:
    record = {
        "messages": MESSAGES[:5],
        "model": "m-1",
        "id": 7,
        "truth": {"temperature": 15, "condition": "rain"},
        "response_time": 1.5,
    }
    (transcript,) = read_transcripts(_write(tmp_path / "m.jsonl", record))
    assert (transcript.agent, transcript.scenario) == ("m-1", "7")
    scores = score([transcript])
    assert scores.answers[0].entries["accuracy"].score == 1.0
    assert scores.answers[0].entries["groundedness"].score == 1.0


def test_otlp_spans(tmp_path: Path) -> None:
    (transcript,) = read_transcripts(_write(tmp_path / "spans.json", _otlp()))
    assert (transcript.agent, transcript.scenario) == ("helper", "c1")
    first, second = transcript.turns
    assert (first.user, first.assistant, first.response_time) == ("Weather in Helsinki?", "It's 15°C in Helsinki.", 4.0)
    assert first.tool_calls is not None
    assert [(call.name, call.result, call.error) for call in first.tool_calls] == [("get_weather", {"temp": 15}, None)]
    assert second.tool_calls is not None
    assert second.tool_calls[0].error == "timed out"


def test_printed_spans_with_events(tmp_path: Path) -> None:
    span = {
        "name": "chat m",
        "context": {"trace_id": "0x1"},
        "start_time": "2026-11-15T10:00:00.000000Z",
        "end_time": "2026-11-15T10:00:02.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": {"gen_ai.operation.name": "chat"},
        "events": [
            {"name": "gen_ai.user.message", "attributes": {"content": "Weather in Oslo?"}},
            {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "3°C in Oslo."})}},
        ],
        "resource": {"attributes": {"service.name": "svc"}},
    }
    (transcript,) = read_transcripts(_write(tmp_path / "spans.jsonl", span))
    assert transcript.agent == "svc"
    turn = transcript.turns[0]
    assert (turn.user, turn.assistant, turn.response_time) == ("Weather in Oslo?", "3°C in Oslo.", 2.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no transcripts"),
        ("{", "not valid JSON"),
        ('{"turns": []}', "agent"),
        ('{"agent": "a", "scenario": "s", "turns": [{"user": 5}]}', "turns.0.user"),
        ('{"agent": "a", "scenario": "s", "turns": [], "moon": 1}', "moon: there is no such key. Known: agent, "),
        (
            '{"agent": "a", "scenario": "s", "turns": [{"user": "Hi", "truht": {}}]}',
            "turns.0.truht: there is no such key. Did you mean 'truth'? Known: assistant, ",
        ),
        ('{"agent": "a", "scenario": "s", "turns": [{"response_time": -1}]}', "turns.0.response_time"),
        ("5", "is not in a format that assay knows"),
        ('{"messages": [5]}', "messages"),
        ('{"messages": [{"role": "user", "content": 5}]}', "content"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}', "span"),
    ],
)
def test_the_error_for_a_malformed_file_says_where(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        read_transcripts(path)
    assert says in str(caught.value)
    assert "bad.jsonl" in str(caught.value)


def test_the_error_for_a_malformed_line_gives_its_number(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"agent": "a", "scenario": "s", "turns": []}\n{"agent": "a", "scenario": 3, "turns": []}\n', "utf-8"
    )
    with pytest.raises(SourceError, match=r"t\.jsonl:2"):
        read_transcripts(path)


def test_an_absent_file_and_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_transcripts(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="UTF-8"):
        read_transcripts(tmp_path / "latin.jsonl")
    with pytest.raises(UsageError, match="openai"):
        read_transcripts(tmp_path / "none.jsonl", format="openia")


def test_half_a_surrogate_pair_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    said = "15\\u00b0C \\ud83c in \\ud83c\\udf27 Oslo"
    line = f'{{"agent": "a", "scenario": "s", "turns": [{{"user": "Hi", "assistant": "{said}"}}]}}'
    path.write_text(line, "utf-8")
    (answer,) = score(read_transcripts(path)).answers
    assert answer.response == "15°C \ufffd in \U0001f327 Oslo"
    assert answer.entries["task_completion"].score == 0.1  # under 20 characters
