"""An empty answer is an answer: it is scored and does not pass, whatever form the transcript has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import assay_command

from assay.chat.formats import read_transcripts
from assay.chat.scoring.scores import score
from assay.chat.transcript import Transcript, Turn

ASKED = {"role": "user", "content": "How much is the Tent?"}
SAID = {"role": "assistant", "content": "The Tent costs €89.90."}
CALL = {"id": "1", "type": "function", "function": {"name": "get_price", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "{}"}
TRUTH = {"product": "Tent", "price": 89.9}
# What follows the question, and the answer that is read; None if nobody answered.
SILENT: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{"role": "assistant", "content": ""}], ""),
    ([{"role": "assistant", "content": None}], ""),
    ([{"role": "assistant"}], ""),
    ([{"role": "assistant", "content": []}], ""),
    ([{"role": "assistant", "content": "  "}], "  "),
    ([CALLED, RESULT, {"role": "assistant", "content": None}], ""),
    ([{"role": "assistant", "content": None, "refusal": "I can't help."}], "I can't help."),
    ([{"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't help."}]}], "I can't help."),
    ([CALLED, RESULT], None),
    ([CALLED], None),
    ([], None),
]


def record(scenario: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"agent": "b", "scenario": scenario, "messages": [ASKED, *messages], "truth": TRUTH}


def write(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return path


@pytest.mark.parametrize(("messages", "answer"), SILENT)
def test_silence_in_a_message_list_is_an_answer_that_does_not_pass(
    tmp_path: Path, messages: list[dict[str, Any]], answer: str | None
) -> None:
    (transcript,) = read_transcripts(write(tmp_path / "m.jsonl", record("s", *messages)), domain="shop")
    assert [turn.assistant for turn in transcript.turns] == [answer]
    (scored,) = score([transcript]).answers
    assert (scored.response, scored.passed) == (answer or "", False)


def test_a_text_before_or_after_an_empty_message_is_the_answer(tmp_path: Path) -> None:
    empty = {"role": "assistant", "content": ""}
    path = write(tmp_path / "m.jsonl", record("a", empty, SAID), record("b", SAID, empty), record("c", CALLED, SAID))
    found = read_transcripts(path, domain="shop")
    assert [transcript.turns[0].assistant for transcript in found] == [SAID["content"]] * 3


def test_a_function_call_of_an_older_message_is_a_tool_call(tmp_path: Path) -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "get_price", "arguments": "{}"}}
    result = {"role": "function", "name": "get_price", "content": '{"price": 89.9}'}
    (transcript,) = read_transcripts(write(tmp_path / "m.jsonl", record("s", called, result, SAID)), domain="shop")
    (turn,) = transcript.turns
    assert [(call.name, call.result) for call in turn.tool_calls or ()] == [("get_price", {"price": 89.9})]


def test_calls_and_results_may_be_parts_of_the_content(tmp_path: Path) -> None:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "get_price", "input": {"a": 1}}]}
    results = [{"type": "tool_result", "tool_use_id": "1", "content": '{"price": 89.9}'}]
    path = write(
        tmp_path / "m.jsonl",
        record("a", called, {"role": "user", "content": results}, SAID),
        record("b", called, {"role": "user", "content": [*results, {"type": "text", "text": "Well?"}]}, SAID),
    )
    one, two = read_transcripts(path, domain="shop")
    assert [(turn.user, turn.assistant) for turn in one.turns] == [(ASKED["content"], SAID["content"])]
    assert [(turn.user, turn.assistant) for turn in two.turns] == [(ASKED["content"], None), ("Well?", SAID["content"])]
    for transcript in (one, two):
        (call,) = transcript.turns[0].tool_calls or []
        assert (call.name, call.arguments, call.result) == ("get_price", {"a": 1}, {"price": 89.9})


def test_every_message_of_the_user_has_a_turn(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", record("s", {"role": "assistant", "content": ""}, ASKED, ASKED, SAID))
    scores = score(read_transcripts(path, domain="shop"))
    assert [(answer.turn, answer.response) for answer in scores.answers] == [(0, ""), (1, ""), (2, SAID["content"])]
    assert scores.trials("b") == {"s": {0: False}}
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    path = write(tmp_path / "m.jsonl", {"messages": [picture]})
    assert [answer.passed for answer in score(read_transcripts(path)).answers] == [False]


@pytest.mark.parametrize("side", [{"assistant": ""}, {"assistant": None}, {}])
def test_an_answer_of_null_is_empty(tmp_path: Path, side: dict[str, Any]) -> None:
    turns = [{"user": "How much is the Tent?", "truth": TRUTH, **side}]
    path = write(tmp_path / "t.jsonl", {"agent": "b", "scenario": "s", "domain": "shop", "turns": turns})
    (answer,) = score(read_transcripts(path)).answers
    assert (answer.response, answer.passed) == ("", False)


@pytest.mark.parametrize("user", ["Thank you!", "How much is the Tent?", "Hi"])
def test_an_empty_answer_never_passes_by_the_default_rule(user: str) -> None:
    turn = Turn(user=user, assistant="", truth=TRUTH)
    for metrics in (None, ["accuracy"], ["response_time"]):
        scores = score([Transcript(agent="b", scenario="s", domain="shop", turns=[turn])], metrics=metrics)
        assert [str(failed) for failed in scores.answers[0].failures] == ["gives an answer: the answer is empty"]


def test_a_turn_without_either_side_is_not_scored() -> None:
    transcript = Transcript(agent="b", scenario="s", turns=[Turn(), Turn(assistant="Hello, how can I help you?")])
    assert [answer.turn for answer in score([transcript]).answers] == [1]


@pytest.mark.parametrize("more", [(), ("--workers", "1"), ("--workers", "2")])
def test_a_note_counts_messages_that_nobody_answered(tmp_path: Path, more: tuple[str, ...]) -> None:
    records = [
        record("answered", SAID),
        record("empty", {"role": "assistant", "content": ""}),
        record("ends", CALLED, RESULT),
        record("ends too"),
        record("goes on", ASKED, SAID),
        {"agent": "b", "scenario": "nothing", "messages": [{"role": "system", "content": "Be kind."}]},
    ]
    path = write(tmp_path / "m.jsonl", *records)
    done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--json", "-", *more)
    assert json.loads(done.stdout)["passes"]["b"]["pass^k"]["1"] == pytest.approx(1 / 5)
    assert done.stderr.splitlines() == [
        "note: 3 messages have no answer, 2 of them at the end of a conversation; each counts as an empty answer, "
        "which does not pass",
        "note: 1 conversation has neither a message of a user nor an answer and is left out",
    ]
    path = write(tmp_path / "m.jsonl", *records[2:4])
    told = assay_command("chat", "score", path, "--domain", "shop", "--no-store", *more).stderr
    assert told.startswith("note: 2 messages at the end of a conversation have no answer; each counts as")
    path = write(tmp_path / "m.jsonl", *records[:2], records[1] | {"scenario": "empty too"})
    assert assay_command("chat", "score", path, "--domain", "shop", "--no-store", *more).stderr == ""
