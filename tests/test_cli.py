"""The command line: results on standard output, one sentence and exit code 2 if the arguments are wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay import __version__
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.metrics._characteristics import CLAIMED
from assay.cli import app
from assay.events import encode, synthetic
from assay.events.protocols import PROTOCOLS, every_protocol
from assay.report.export.markdown import trials_markdown
from assay.runs import ExperimentResult, load, load_answers
from assay.runs.results import scores_of
from assay.store import open_store
from tests.chat.experience.framework_faults import IN_THE_DEMO, assert_as_listed
from tests.command import assay_command

NUMBERS = (int, float, type(None))


def run(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in this process, as wide as a terminal of 80 columns."""
    return assay_command(*arguments, cwd=cwd, environment={**os.environ, "COLUMNS": "80", **environment})


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "assay.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        timeout=600,  # the first run after a change compiles the kernels
        check=False,
    )


def refusal(*arguments: str | Path) -> str:
    """What is said about a wrong call: one line, and nothing else anywhere."""
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("assay: ")
    return line


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A prediction and its truth as files of token text."""
    folder = tmp_path_factory.mktemp("cli")
    truth = synthetic.recording(episodes=1, seconds=5, seed=2)
    paths = folder / "predicted.txt", folder / "truth.txt"
    for path, stream in zip(paths, (synthetic.prediction(truth, synthetic.GOOD), truth), strict=True):
        path.write_text("".join(synthetic.token_text(stream)), encoding="utf-8")
    return paths


# --- eval ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_json_on_standard_output_is_json_and_nothing_else(files: tuple[Path, Path]) -> None:
    done = process("events", "eval", *files, "--json", "-", "--reps", "50")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["assay"] == __version__
    assert {"assay", "protocols", "inputs", "settings"} <= set(found)
    labels = [f"{name}@{PROTOCOLS.get(name).version}" for name in every_protocol()]
    assert list(found["protocols"]) == labels
    for flat in found["protocols"].values():
        assert all(isinstance(value, NUMBERS) for value in flat.values())
    assert set(found["inputs"]) == {"predicted", "truth"}
    assert found["inputs"]["truth"]["source"] == str(files[1])
    assert (found["settings"]["encoding"]["name"], found["settings"]["reps"]) == ("hierarchical", 50)
    assert (found["settings"]["seed"], found["settings"]["level"]) == (42, 0.95)


def test_json_into_a_file_leaves_the_table(files: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = run("events", "eval", *files, "--json", target, "--protocol", "owa", "--reps", "20")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(target.read_text(encoding="utf-8"))["protocols"]) == ["owa@1"]
    assert "owa@1" in done.stdout


@pytest.mark.parametrize("full", [(), ("--full",)], ids=["headlines", "full"])
@pytest.mark.slow
def test_the_table_fits_80_columns(files: tuple[Path, Path], full: tuple[str, ...]) -> None:
    done = run("events", "eval", *files, "--reps", "20", *full)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for title in ("owa@1", "sequence@1", "d2e@1", "Keys right", "95% intervals by event"):
        assert any(title in line for line in lines), title
    assert "…" not in done.stdout  # nothing was cut off to fit


def test_what_is_undefined_says_why(tmp_path: Path) -> None:
    only = tmp_path / "frames.txt"
    only.write_text("<EVENT_START><SCREEN><0><0><5><fake_image_placeholder><EVENT_END>" * 3, encoding="utf-8")
    done = run("events", "eval", only, only, "--protocol", "owa", "--reps", "20")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "Keys right, of comparable" in line]
    assert "–" in line
    assert "no comparable keyboard event" in line


def test_the_report_is_written_where_asked(files: tuple[Path, Path], tmp_path: Path) -> None:
    done = run("events", "eval", *files, "--html", tmp_path / "r.html", "--reps", "20", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "r.html") in done.stderr
    assert (tmp_path / "r.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    json.loads(done.stdout)


def test_notes_go_to_standard_error(files: tuple[Path, Path], tmp_path: Path) -> None:
    longer = tmp_path / "longer.txt"
    longer.write_text("junk" + files[1].read_text(encoding="utf-8") * 2, encoding="utf-8")
    done = run("events", "eval", longer, files[1], "--json", "-", "--reps", "5", "--protocol", "owa")
    assert "note: " in done.stderr
    assert "4 bytes between events, ignored" in done.stderr
    assert any("4 bytes between events" in warning for warning in json.loads(done.stdout)["warnings"])


def test_settings_reach_the_codec_and_the_protocols(tmp_path: Path) -> None:
    truth = synthetic.recording(episodes=1, seconds=3, seed=2)
    text = encode(truth, "factorized", time_bases=(100, 10), unit_ns=20_000_000, image="<pic>")
    path = tmp_path / "custom.txt"
    path.write_text(text, encoding="utf-8")
    options = ["--encoding", "factorized", "--time-bases", "100,10", "--unit-ms", "20", "--image-token", "<pic>"]
    arguments = ["events", "eval", str(path), str(path), *options, "--bin-ms", "100", "--json", "-", "--reps", "5"]
    result = CliRunner().invoke(app, [*arguments, "--strict"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["inputs"]["truth"]["invalid"] == {}
    assert found["protocols"]["owa@1"]["comparable"] == 1.0
    assert found["settings"]["protocols"]["d2e"]["bin_ms"] == 100.0
    assert found["settings"]["encoding"]["strict"] is True


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--protocol", "owaa"], "Did you mean 'owa'?"),
        (["--encoding", "heirarchical"], "Did you mean 'hierarchical'?"),
        (["--interval", "events"], "Use one of: reference, event, episode"),
        (["--seed", "-1"], "seed must be between 0 and 4294967295, got -1"),
        (["--unit-ms", "nan"], "--unit-ms must be a finite number, got nan"),
        (["--threads", "-3"], "threads must be at least 1, got -3"),
        (["--time-bases", "16,x"], "--time-bases takes whole numbers"),
        (["--column", "text"], "OURS=THEIRS"),
        (["--json", "no/such/folder/out.json"], "no/such/folder/out.json"),
        (["--html", "no/such/folder/out.html"], "no/such/folder/out.html"),
    ],
)
def test_a_wrong_call_is_one_sentence(files: tuple[Path, Path], options: list[str], sentence: str) -> None:
    assert sentence in refusal(
        "events", "eval", *files, *options, *([] if "--protocol" in options else ["--protocol", "owa"])
    )


def test_a_missing_file_is_one_sentence(files: tuple[Path, Path]) -> None:
    assert "nowhere.jsonl" in refusal("events", "eval", "nowhere.jsonl", files[1])
    assert "nowhere.jsonl" in refusal("events", "decode", "nowhere.jsonl")


def test_debug_shows_the_traceback_and_still_exits_2(files: tuple[Path, Path]) -> None:
    done = run("--debug", "events", "eval", "nowhere.jsonl", files[1])
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert "SourceError" in done.stderr


def test_typer_refuses_what_it_can_see_itself() -> None:
    for arguments in (["events", "eval"], ["events", "nonsense"], ["nonsense"], ["demo", "--seed", "-1"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2, arguments


# --- the rest --------------------------------------------------------------------------------------------------------


def test_help_groups_options_by_their_purpose() -> None:
    shown = run("chat", "run", "--help").stdout
    headings = re.findall(r"^(\S.*):$", shown, re.M)
    assert headings == ["What to run", "Model and weather", "Pace", "Gate", "Output", "Storing", "Engine", "Options"]
    of_output = shown[shown.index("\nOutput:") : shown.index("\nStoring:")]
    assert re.findall(r"^  (--\w+)", of_output, re.M) == ["--json", "--html", "--junit", "--markdown"]
    assert shown.rstrip().endswith("-h, --help  Show this message and exit.")
    assert re.findall(r"^(\S.*):$", run("runs", "list", "--help").stdout, re.M) == ["Options", "Storing"]


@pytest.mark.parametrize("group", [(), ("chat",), ("events",), ("runs",)])
def test_help_shows_the_whole_first_sentence_of_every_command(group: tuple[str, ...]) -> None:
    commands = run(*group, "--help").stdout.partition("Commands:")[2]
    assert commands.strip()
    assert "..." not in commands
    assert commands.rstrip().endswith(".")


def test_help_and_version() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).stdout.strip() == f"assay {__version__}"
    shown = runner.invoke(app, ["--help"])
    assert shown.exit_code == 0
    for command in ("events", "demo"):
        assert command in shown.stdout
    assert runner.invoke(app, ["events", "eval", "-h"]).exit_code == 0


def test_decode_says_what_is_in_a_file(files: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(app, ["events", "decode", str(files[1]), "--json", "-"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    truth = synthetic.recording(episodes=1, seconds=5, seed=2)
    assert found["events"] == len(truth)
    shown = CliRunner().invoke(app, ["events", "decode", str(files[0]), "-n", "2"])
    assert shown.exit_code == 0, shown.output


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(files: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "assay.cli", "events", "eval", *map(str, files), "--json", "-", "--reps", "5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        process.stderr.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("demo")
    return folder, run("demo", cwd=folder, ASSAY_STORE=str(folder / "mine.db"))


@pytest.mark.frameworks
@pytest.mark.slow(seconds=90)
def test_the_demo_runs_end_to_end(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = demo
    assert done.returncode == 0, done.stderr
    out = folder / "assay-demo"
    assert {path.name for path in out.iterdir()} >= {"report.html", "truth.jsonl", "good.jsonl", "agents.html"}
    assert (out / "report.html").stat().st_size > 100_000
    for name in every_protocol():
        assert f"{name}@{PROTOCOLS.get(name).version}" in done.stdout
    said = " ".join(done.stdout.split())
    assert "Verdict on good ✓ Better than the best trivial baseline" in said
    assert "Constantly 80 ms late [75, 85]: without that lag F1 would be 0.99" in said
    assert "Verdict on echo ✗ Not better than the best trivial baseline" in said
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.frameworks
@pytest.mark.slow
def test_the_demo_runs_two_frameworks_and_keeps_its_runs_in_its_own_folder(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = demo
    assert "google-adk" in done.stdout
    assert "agent-framework" in done.stdout
    assert "stand-in" in done.stdout
    with open_store(folder / "assay-demo" / "assay.db") as store:
        assert [entry.run.name for entry in store.list(tag="demo")] == [
            "robustness",
            "agents",
            "echo",
            "late",
            "good",
        ]
        statuses = {answer.record.status for answer in load_answers("agents", store=store) if answer.record}
    assert statuses == {"scored"}
    assert "Stored as run" in done.stderr
    assert not (folder / "mine.db").exists()


@pytest.mark.frameworks
@pytest.mark.slow
def test_the_demo_measures_developer_experience_beside_what_was_claimed(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    result = load("agents", store=demo[0] / "assay-demo" / "assay.db")
    assert isinstance(result, ExperimentResult)
    for name in IN_THE_DEMO:
        measured = result.experience[name].measured
        assert_as_listed(name, measured["expected_fault"], measured["unexpected_fault"])
    found = result.experience["agent-framework"]
    assert found.claimed == CLAIMED["MS"]
    assert set(found.characteristics) == set(CLAIMED["MS"])
    assert found.measured["smallest"] == "agent-framework"
    assert found.measured["import_seconds"] > 0
    entries = ChatbotEvaluator().evaluate_response("Hi", "Hi", "MS", characteristics=found.characteristics)
    assert entries["integration_simplicity"].score == 1.0
    assert "the claims were files 4, memory manual" in entries["integration_simplicity"].details


@pytest.mark.frameworks
@pytest.mark.slow
def test_the_demo_shows_what_came_of_a_model_that_misbehaves(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = demo
    said = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "refusal SILENT told" in said
    assert "arguments-object error ok" in said
    assert "empty-call-id ok ok !" in said
    result = load("robustness", store=folder / "assay-demo" / "assay.db")
    matrix = result.to_json()["robustness"]["matrix"]
    assert len(matrix) == 10
    [refused] = [row["agents"] for row in matrix if row["scenario"] == "refusal"]
    assert {agent: cell["outcome"] for agent, cell in refused.items()} == {
        "google-adk": "failed_silently",
        "agent-framework": "degraded",
    }
    # Rebuilt from the store, the page is the one that was written; every cell leads to its transcript.
    written = (folder / "assay-demo" / "robustness.html").read_text("utf-8")
    assert len(set(re.findall(r'href="#(s\d+-a\d+)"', written))) == 20
    assert set(re.findall(r'id="(s\d+-a\d+)"', written)) == set(re.findall(r'href="#(s\d+-a\d+)"', written))
    assert "Spans of the turn" in written
    assert " of log<" in written
    markdown = trials_markdown(scores_of(result))
    assert "| refusal | silent | degraded |" in markdown


@pytest.mark.frameworks
@pytest.mark.slow
def test_the_commands_that_the_demo_suggests_work(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = demo
    lines = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("assay ")]
    commands = [words for words in lines if words[1:3] != ["chat", "run"]]  # all five frameworks take minutes
    assert len(commands) >= 2
    for command in commands:
        again = run(*command[1:], cwd=folder)
        assert again.returncode == 0, again.stderr


def test_the_demo_needs_a_folder_it_can_write_to(files: tuple[Path, Path]) -> None:
    assert "is a file" in refusal("demo", "--out", files[0])
    assert "truth.txt" in refusal("demo", "--out", files[1] / "below")
