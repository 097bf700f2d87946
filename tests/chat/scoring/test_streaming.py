"""A file that is scored a part at a time has the result of one that is read whole, and errors name their line."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import assay_command

from assay.chat import formats
from assay.chat.formats import can_stream, read_transcripts
from assay.chat.scoring import streaming
from assay.chat.scoring.scores import Scores, score
from assay.chat.scoring.streaming import score_stream
from assay.engines.local import LocalEngine
from assay.errors import SourceError
from assay.report.export.junit import trials_junit
from assay.report.html.chat import render
from assay.runs import load
from assay.runs.results import scores_of

RAIN = {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "rain"}}
RIGHT = "It's 15°C with rain in Helsinki; take an umbrella."
WRONG = "It's 25°C and sunny in Helsinki."
ASKED = "What's the weather in Helsinki?"


def _line(scenario: str, *answers: str, agent: str = "one", repetition: int = 0) -> str:
    turns = [{"user": ASKED, "assistant": answer, "truth": RAIN} for answer in answers]
    return json.dumps({"agent": agent, "scenario": scenario, "repetition": repetition, "turns": turns})


LINES = [
    _line("a", RIGHT),
    _line("b", WRONG, RIGHT, agent="two"),
    _line("b", RIGHT),
    _line("a", WRONG, repetition=1),
    _line("a", RIGHT, RIGHT, agent="two"),
    _line("c", WRONG, WRONG),
    _line("d", RIGHT, repetition=7),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "transcripts.jsonl"
    path.write_text("\n".join(LINES[:3]) + "\n\n" + "\n".join(LINES[3:]) + "\n", encoding="utf-8")
    return path


def _assert_same(streamed: Scores, whole: Scores) -> None:
    assert streamed.agents == whole.agents == ["one", "two"]
    assert streamed.scenarios == whole.scenarios == ["a", "b", "c", "d"]
    assert streamed.answer_count == whole.answer_count == 10
    assert streamed.lines() == whole.lines()
    assert streamed.inputs == whole.inputs
    for agent in whole.agents:
        assert streamed.trials(agent) == whole.trials(agent)
        assert streamed.passes(agent) == whole.passes(agent)
    assert streamed.as_run().tallies == whole.as_run().tallies


def test_a_streamed_file_has_the_result_of_one_that_is_read_whole(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_CHUNK_LINES", 2)
    whole = score(read_transcripts(file))
    streamed = score_stream(file)
    _assert_same(streamed, whole)
    assert streamed.answers == whole.answers
    assert trials_junit(streamed) == trials_junit(whole)
    assert render(streamed) != ""


def test_trials_and_means_of_a_streamed_file_can_be_counted_by_hand(file: Path) -> None:
    streamed = score_stream(file, metrics=["response_time", "accuracy"])
    assert streamed.trials("one") == {"a": {0: True, 1: False}, "b": {0: True}, "c": {0: False}, "d": {7: True}}
    assert streamed.trials("two") == {"b": {0: False}, "a": {0: True}}
    assert streamed.passes("one")["pass^k"][1].value == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    unmeasured = next(line.estimate for line in streamed.lines() if line.metric == "response_time")
    assert (unmeasured.value, unmeasured.n, unmeasured.n_skipped) == (None, 0, 6)


@pytest.mark.slow(seconds=6)
def test_the_number_of_workers_does_not_change_the_result(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_CHUNK_LINES", 2)
    assert [streaming._workers(wanted, file) for wanted in (None, 2)] == [1, 2]
    with closing(LocalEngine(2)) as both:
        one, two = score_stream(file, workers=1), score_stream(file, engine=both)
        _assert_same(two, one)
        assert two.answers == one.answers
        file.write_text("\n".join([*LINES, '{"turns": 3}']))
        with pytest.raises(SourceError, match=r"transcripts\.jsonl:8: .*agent"):
            score_stream(file, engine=both)


def test_the_first_answers_and_the_first_failed_ones_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEPT", 2)
    monkeypatch.setattr(streaming, "_FAILED_KEPT", 2)
    streamed = score_stream(file)
    assert [(one.agent, one.scenario, one.turn) for one in streamed.answers] == [
        ("one", "a", 0),
        ("two", "b", 0),
        ("one", "a", 0),
        ("one", "c", 0),
    ]
    assert streamed.answer_count == 10
    page = render(streamed)
    assert "10 answers of 2 agents in 4 scenarios" in page
    assert "6 further answers are left out here" in page
    assert "only the first answers that failed are listed" in page
    assert trials_junit(streamed).count("<testcase") == 6


def test_every_part_has_all_answers_if_they_are_wanted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_CHUNK_LINES", 3)
    monkeypatch.setattr(streaming, "KEPT", 1)
    sizes: list[tuple[int, int, int]] = []
    score_stream(
        file,
        metrics=["accuracy"],
        answers=True,
        texts=True,
        each=lambda chunk: sizes.append((chunk.transcripts, len(chunk.answers), len(chunk.texts))),
    )
    assert sizes == [(3, 4, 4), (3, 5, 5), (1, 1, 1)]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", r":3: is not valid JSON"),
        ('{"agent": "x", "scenario": "s", "turns": 4}', r":3: turns"),
        ('{"resourceSpans": []}', r":3: is a span of a trace among transcripts"),
        ("x" * 3_000, r":3: the line is longer than"),
    ],
)
def test_an_error_names_the_line(line: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LONGEST_LINE", 2_000)
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{LINES[0]}\n{LINES[1]}\n{line}\n")
    with pytest.raises(SourceError, match=error):
        score_stream(path, metrics=["accuracy"])


def test_only_files_with_a_transcript_on_each_line_are_streamed(tmp_path: Path, file: Path) -> None:
    def streams(text: str) -> bool:
        path = tmp_path / "some"
        path.write_text(text)
        return can_stream(path)

    assert can_stream(file)
    assert not can_stream(file, format="otel")
    assert streams('{"messages": []}\n{"messages": []}')
    assert not streams(f"[{LINES[0]},\n{LINES[1]}]")
    assert not streams('{"resourceSpans": []}\n{"resourceSpans": []}')
    assert not streams(LINES[0])
    assert not streams("")


def test_conversations_without_names_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_CHUNK_LINES", 2)
    path = tmp_path / "messages.jsonl"
    messages = {"messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": RIGHT}]}
    path.write_text("\n".join([json.dumps(messages)] * 3))
    assert score_stream(path, agent="bot", metrics=["accuracy"]).scenarios == [f"conversation {n}" for n in (1, 2, 3)]


def test_the_command_streams_json_and_run(file: Path, tmp_path: Path) -> None:
    store, whole, streamed = tmp_path / "runs.db", tmp_path / "whole.json", tmp_path / "streamed.json"
    done = assay_command("chat", "score", file, "--json", whole, "--store", store, "--name", "whole")
    assert done.returncode == 0, done.stderr
    words = ("--workers", 1, "--json", streamed, "--store", store, "--name", "streamed")
    done = assay_command("chat", "score", file, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(streamed.read_text("utf-8")) == json.loads(whole.read_text("utf-8"))
    first, second = (scores_of(load(name, store=str(store))) for name in ("whole", "streamed"))
    assert first.answers == second.answers
    assert first.as_run().tallies == second.as_run().tallies
    assert first.inputs == second.inputs


def test_a_file_with_an_error_leaves_neither_json_nor_run(file: Path, tmp_path: Path) -> None:
    file.write_text("\n".join([*LINES, "{"]))
    store, out = tmp_path / "runs.db", tmp_path / "out.json"
    done = assay_command("chat", "score", file, "--workers", 1, "--json", out, "--store", store)
    assert done.returncode == 2
    assert "transcripts.jsonl:8: is not valid JSON" in " ".join(done.stderr.split())
    assert not out.exists()
    assert json.loads(assay_command("runs", "list", "--store", store, "--json", "-").stdout) == []


def test_trials_without_a_number_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [
        {"agent": "x", "scenario": "s", "turns": [{"user": ASKED, "assistant": answer, "truth": RAIN}], **more}
        for answer, more in ((RIGHT, {}), (WRONG, {}), (RIGHT, {"repetition": 3}), (RIGHT, {}), (RIGHT, {}))
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    for scores in (score(read_transcripts(path)), score_stream(path)):
        assert scores.trials("x") == {"s": {0: True, 1: False, 3: True, 2: True, 4: True}}
        assert scores.passes("x")["pass^k"][1].value == 0.8
    path.write_text("\n".join(json.dumps({**line, "repetition": 0}) for line in lines))
    for read in (read_transcripts, score_stream):
        with pytest.raises(SourceError, match=r"log.jsonl:2: is repetition 0 of 's' by x, and so is .*log.jsonl:1"):
            read(path)


def test_messages_of_one_id_are_repetitions_too(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    path.write_text("\n".join(json.dumps({"id": "hello", "model": "m", "messages": messages}) for _ in range(3)))
    for scores in (score(read_transcripts(path)), score_stream(path)):
        assert list(scores.trials("m")["hello"]) == [0, 1, 2]
