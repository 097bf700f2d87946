"""From transcripts to the table: means and intervals by scenario, passes, JSON, HTML, the command line, the demo."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from assay.chat import samples
from assay.chat.scoring.scores import Scores, score
from assay.chat.transcript import Transcript
from assay.cli.chat import app
from assay.errors import UsageError
from assay.report.html.chat import render
from assay.report.html.conversation import highlight
from assay.report.terminal.chat import conversations

RAIN = {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "rain"}}
RIGHT = "It's 15°C with rain in Helsinki; take an umbrella."
WRONG = "It's 25°C and sunny in Helsinki."


def _transcript(scenario: str, *answers: str, agent: str = "one", repetition: int = 0) -> Transcript:
    turns = [{"user": "What's the weather in Helsinki?", "assistant": answer, "truth": RAIN} for answer in answers]
    return Transcript.model_validate({"agent": agent, "scenario": scenario, "repetition": repetition, "turns": turns})


@pytest.fixture
def scores() -> Scores:
    return score(
        [
            _transcript("a", RIGHT),
            _transcript("a", WRONG, repetition=1),
            _transcript("b", RIGHT),
            _transcript("b", RIGHT, repetition=1),
            _transcript("c", WRONG, WRONG),
        ]
    )


def test_mean_and_counts(scores: Scores) -> None:
    line = next(line for line in scores.lines() if line.metric == "accuracy")
    # Three right answers score 1.0, three wrong ones 1.0 − 0.3 − 0.2.
    assert line.estimate.value == pytest.approx(0.75)
    assert (line.estimate.n, line.estimate.n_skipped, line.estimate.n_units, line.estimate.unit) == (
        6,
        0,
        3,
        "scenario",
    )
    assert line.estimate.low is not None
    assert line.estimate.high is not None
    assert line.estimate.low <= 0.75 <= line.estimate.high
    time = next(line for line in scores.lines() if line.metric == "response_time")
    assert (time.estimate.value, time.estimate.n, time.estimate.n_skipped) == (None, 0, 6)


def test_one_scenario_has_no_interval() -> None:
    line = score([_transcript("a", RIGHT)]).lines()[0]
    assert (line.estimate.value, line.estimate.low, line.estimate.high) == (1.0, None, None)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("a.jsonl", "transcripts is str, not several transcripts"),
        (Path("a.jsonl"), "transcripts is PosixPath, not several transcripts"),
        (_transcript("a", RIGHT), "transcripts is Transcript, not several transcripts"),
        (None, "transcripts is NoneType, not several transcripts"),
        ([_transcript("a", RIGHT), {"turns": []}], r"transcripts\[1\] is dict, not a Transcript"),
    ],
)
def test_what_is_no_transcript_is_an_error(given: Any, what: str) -> None:
    with pytest.raises(UsageError, match=what) as error:
        score(given)
    assert "read_transcripts" in str(error.value.hint)


def test_passes_are_counted_by_trial(scores: Scores) -> None:
    # a: 1 of 2 passes, b: 2 of 2, c: 0 of 1.
    passes = scores.passes("one")
    assert passes["pass^k"][1].value == pytest.approx(0.5)
    assert passes["pass^k"][2].value == pytest.approx(0.5)
    assert passes["pass@k"][2].value == pytest.approx(1.0)
    assert passes["pass^k"][2].n_skipped == 1
    assert passes["pass^k"][3].value is None


def test_a_scenarios_own_checks_decide() -> None:
    def passed(check: dict[str, object]) -> bool:
        turn = {"user": "Weather in Helsinki?", "assistant": WRONG, "truth": RAIN, "checks": [check]}
        made = Transcript.model_validate({"agent": "a", "scenario": "s", "turns": [turn]})
        return score([made]).answers[0].passed

    assert passed({"metric": "accuracy", "is": "<", "value": 0.7})
    assert not passed({"metric": "accuracy", "is": ">=", "value": 0.7})
    assert not passed({"metric": "response_time", "is": ">=", "value": 0.1})
    assert passed({"metric": "response_time", "is": "measured", "value": 0})
    assert not passed({"metric": "no_such_metric", "is": ">=", "value": 0})


def test_earlier_turns_are_history(scores: Scores) -> None:
    assert scores.answers[-1].entries["repeatability"].measured
    assert not scores.answers[0].entries["repeatability"].measured


def test_the_page_escapes_texts() -> None:
    attack = "<script>alert(1)</script> It's 15°C with rain & more in Helsinki"
    page = render(score([_transcript("<i>s</i>", attack, agent="<b>bot</b>")]))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<i>s</i>" not in page
    assert "<b>bot</b>" not in page


def test_the_page_marks_the_words_that_moved_a_score() -> None:
    page = render(score([_transcript("s", WRONG)]))
    assert '<mark class="down">25°C</mark>' in page or "25°C</mark>" in page
    assert "figure_wrong" in page
    assert "−0.3" in page


def test_overlapping_marks_keep_the_text_whole() -> None:
    import html
    import re

    entries = score([_transcript("s", RIGHT)]).answers[0].entries
    marked = highlight(RIGHT, [line for entry in entries.values() for line in entry.evidence])
    assert html.unescape(re.sub(r"<sup>[^<]*</sup>|<[^>]*>", "", marked)) == RIGHT


def test_the_table_names_the_unit_of_its_intervals(scores: Scores) -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(conversations(scores))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "intervals by scenario" in shown
    assert "accuracy" in shown
    assert "pass^k" in shown


def test_the_command_prints_a_table_and_writes_json_and_html(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(_transcript("a", RIGHT).model_dump_json(), "utf-8")
    out, page = tmp_path / "o.json", tmp_path / "o.html"
    result = CliRunner().invoke(app, ["score", str(file), "--json", str(out), "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert "accuracy" in result.output
    data = json.loads(out.read_text("utf-8"))
    assert data["protocol"] == "chat@1"
    assert data["summary"][0]["unit"] == "scenario"
    assert data["answers"][0]["metrics"]["accuracy"]["score"] == 1.0
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_json_on_standard_output_is_nothing_but_json(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(_transcript("a", RIGHT).model_dump_json(), "utf-8")
    result = CliRunner().invoke(app, ["score", str(file), "--json", "-", "--metrics", "accuracy,task_completion"])
    assert set(json.loads(result.stdout)["metrics"]) == {"accuracy", "task_completion"}


def test_a_file_without_answers_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"agent": "a", "scenario": "s", "turns": [{"truth": {}}]}', "utf-8")
    result = CliRunner().invoke(app, ["score", str(file)])
    assert "no answers to score" in str(result.exception)


@pytest.mark.slow
def test_an_error_of_use_exits_2_without_a_traceback(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from assay.cli import main; main()", "chat", "score", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "cannot be read" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_bundled_conversations_show_that_the_careful_assistant_is_better() -> None:
    scores = score(samples.transcripts())
    assert scores.agents == ["careful", "hasty"]
    means = {(line.agent, line.metric): line.estimate.value for line in scores.lines()}
    for metric in (
        "accuracy",
        "task_completion",
        "groundedness",
        "context_retention",
        "error_recovery",
        "repeatability",
    ):
        careful, hasty = means["careful", metric], means["hasty", metric]
        assert careful is not None
        assert hasty is not None
        assert careful > hasty, metric
    passes = {agent: scores.passes(agent)["pass^k"][1].value for agent in scores.agents}
    assert passes["careful"] == 1.0
    assert (passes["hasty"] or 0) < 0.2
