"""`assay chat run` and `assay compare` as gates in CI: exit codes, and files that name scenarios and answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.outcomes.robustness import QuirkOutcome
from assay.chat.scoring.scores import Scores
from assay.chat.suites import load_suite
from assay.errors import UsageError
from assay.runs.gates import RunGate
from tests.command import assay_command as assay

_BOT = """
def good(message): return f"The answer is 42, and {message}"
def bad(message): return "I do not know."
def broken(message): raise ValueError("no answer")
"""
_SUITE = """
name: sums
version: 1
scenarios:
  - {id: first, kind: sum, turns: [{user: What is 6 times 7?, says: ["42"], checks: [task_completion >= 0]}]}
  - {id: second, kind: sum, turns: [{user: What is 21 times 2?, says: ["42"], checks: [task_completion >= 0]}]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("gates")
    (path / "gate_bot.py").write_text(_BOT)
    (path / "suite.yaml").write_text(_SUITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("ASSAY_STORE", str(path / "runs.db"))
        yield path


def run(function: str, *more: str) -> tuple[int, str]:
    options = ("--suite", "suite.yaml", "--agents", f"bot=gate_bot:{function}", "--no-experience", "--no-baselines")
    done = assay("chat", "run", *options, "--name", function, *more)
    return done.returncode, done.stderr


@pytest.mark.slow
def test_a_run_is_a_gate_and_so_is_a_comparison(folder: Path) -> None:
    assert run("good", "--fail-on", "checks,errors", "--require", "trials_passed>=1")[0] == 0
    code, told = run("bad", "--fail-on", "checks", "--require", "trials_passed>=0.5")
    assert code == 1
    assert "gate: bot: 2 of 2 trials do not pass" in told
    assert "gate: bot: trials_passed>=0.5 is not met: the value is 0 (n = 2)" in told
    assert run("bad")[0] == 0  # without a gate, results are results
    code, told = run("broken", "--fail-on", "errors")
    assert (code, "gate: bot: 2 of 2 turns failed" in told) == (1, True)
    assert "ValueError: no answer (gate_bot.py, line 4)" in told

    gate = assay("compare", "good", "bad", "--fail-on", "regressions", "--junit", "g.xml", "--markdown", "g.md")
    assert gate.returncode == 1
    assert "first passed 1 of 1 trial in the baseline and 0 of 1 now" in gate.stderr
    assert "first:\n  asked: What is 6 times 7?\n  before: The answer is 42, and What is 6" in gate.stderr
    assert "\n  now: I do not know.\n  why: " in gate.stderr
    cases = {case.get("name"): case for case in Xml.parse(folder / "g.xml").iter("testcase")}
    failure = cases["first"].find("failure")
    assert failure is not None
    lines = str(failure.text).splitlines()
    assert lines[:3] == [
        "asked: What is 6 times 7?",
        "before: The answer is 42, and What is 6 times 7?",
        "now: I do not know.",
    ]
    assert lines[3].startswith("why: ")
    assert "42" in lines[3]
    summary = (folder / "g.md").read_text()
    assert "- first passed 1 of 1 trial" in summary
    assert "  - before: The answer is 42" in summary
    assert assay("compare", "bad", "good", "--fail-on", "regressions").returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--fail-on", "worse"), "cannot fail on 'worse'. Use: checks, errors, skipped"),
        (("--require", "acuracy>=1"), "Did you mean 'accuracy'"),
    ],
)
def test_a_gate_that_is_wrong_is_refused_before_anything_is_played(
    folder: Path, options: tuple[str, str], words: str
) -> None:
    code, told = run("good", *options)
    assert (code, words in told) == (2, True), told


@pytest.mark.slow
def test_a_figure_is_followed_over_the_runs_of_a_name(folder: Path) -> None:
    for function in ("good", "bad"):
        run(function, "--name", "nightly")
    shown = assay("runs", "trend", "nightly", "--metric", "trials_passed", "--html", "t.html", "--json", "t.json")
    lines = [line for line in shown.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("nightly · trials that pass")
    assert [line.split()[3] for line in lines[2:4]] == ["1.000", "0.000"], shown.stdout
    assert lines[-1].endswith("█▁")
    points = json.loads((folder / "t.json").read_text())["points"]
    assert [point["figures"][0]["value"] for point in points] == [1.0, 0.0]
    assert 'data-chart="run_history"' in (folder / "t.html").read_text()
    assert "there is no complete run called 'other'" in assay("runs", "trend", "other").stderr
    assert "Did you mean 'pass_rate'" in assay("runs", "trend", "nightly", "--metric", "pass_rat").stderr


@pytest.mark.parametrize("status", [None, 401, 404, 200])
@pytest.mark.slow
def test_an_endpoint_that_cannot_be_used_stops_the_run_at_once(folder: Path, status: int | None) -> None:
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(status or 500)
            self.end_headers()
            self.wfile.write(b"<html>It works!</html>")

        def log_message(self, *given: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        if status is not None:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        else:
            server.server_close()  # nobody listens
        options = ("--suite", "suite.yaml", "--agents", f"bot={address}", "--no-experience", "--store", "refused.db")
        done = assay("chat", "run", *options)
        if status is not None:
            server.shutdown()
    assert done.returncode == 2
    assert "the endpoint of 'bot' cannot be used" in done.stderr
    hints = {
        404: f"It was sent to {address}/chat/completions for the model 'none', because no `model` is named for it",
        200: "where a web page answers and no API",
    }
    assert hints.get(status or 0, "Check its address and its key") in done.stderr
    # Nothing was played, so that there is nothing to continue.
    assert "no runs" in assay("runs", "list", "--store", "refused.db").stderr
    assert len(asked) == (0 if status is None else 1)


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize(("status", "said"), [(401, "answered with status 401"), (None, "cannot be reached")])
def test_a_model_that_cannot_be_used_is_refused_before_developer_experience_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, status: int | None, said: str
) -> None:
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status or 500)
            self.end_headers()

        def log_message(self, *given: object) -> None:
            """Nothing is printed."""

    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        if status is not None:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        else:
            server.server_close()  # nobody listens
        options = ("--agents", "google-adk", "--limit", "1", "--store", "refused.db")
        done = assay("chat", "run", *options, "--model", "m", "--model-url", address, "--experience")
        if status is not None:
            server.shutdown()
    assert done.returncode == 2
    assert f"the endpoint of 'm' cannot be used: {address}" in done.stderr
    assert said in done.stderr
    assert "measuring developer experience" not in done.stderr
    assert asked == (["/v1/models"] if status else [])


def answers_with(outcome: QuirkOutcome, scenario: str) -> list[Answer]:
    """A trial with a quirk in its first turn and a plain second one."""
    common: dict[str, Any] = {"agent": "bot", "scenario": scenario, "repetition": 0, "response": "", "entries": {}}
    quirk = Record(quirk="length", outcome=outcome)
    return [
        Answer(**common, turn=0, query="?", passed=outcome == "recovered", record=quirk),
        Answer(**common, turn=1, query="?", passed=True, record=Record()),
    ]


def test_what_came_of_quirks_can_be_required() -> None:
    outcomes: tuple[QuirkOutcome, ...] = ("recovered", "degraded", "failed_clearly", "failed_silently")
    scores = Scores(tuple(one for at, outcome in enumerate(outcomes) for one in answers_with(outcome, f"s{at}")), ())

    def failures(*require: str) -> list[str]:
        return RunGate.parsed([], require).failures(scores)

    assert failures("quirks_handled>=0.75", "quirks_recovered>=0.25", "next_turns_passed==1") == []
    assert failures("quirks_handled>=0.8") == [
        "bot: quirks_handled>=0.8 is not met: the value is 0.75 (n = 4)",
    ]
    assert failures("quirks_handled.low>=0.75")
    assert "no user hung up" in failures("hang_ups_stopped>=0.5")[0]


def test_what_cannot_be_required_is_an_error_that_lists_what_can() -> None:
    with pytest.raises(UsageError, match=r"there is no metric called 'quirk_handled'") as caught:
        RunGate.parsed([], ["quirk_handled>=0.8"])
    assert "Did you mean 'quirks_handled'?" in str(caught.value.hint)
    assert "decisions_kept" in str(caught.value.hint)
    with pytest.raises(UsageError, match="quirks_handled"):  # a transcript from a file has none
        RunGate.parsed([], ["quirks_handled>=0.8"], shares=())
    gate = RunGate.parsed([], ["quirks_handled>=0.8", "next_turns_passed>=0.5"])
    gate.check(load_suite("robustness"))
    with pytest.raises(UsageError, match="quirks_handled cannot be required: no turn of the suite 'weather' has"):
        gate.check(load_suite("weather"))
