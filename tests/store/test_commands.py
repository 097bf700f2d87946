"""`assay runs`, and what the commands that make runs do about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.command import assay_command
from tests.store.runs import some_run

from assay.store import default_address, open_store


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from assay.events import synthetic

    folder = tmp_path_factory.mktemp("data")
    truth = synthetic.recording(episodes=2, seconds=1, seed=1)
    for name, stream in (("truth", truth), ("pred", synthetic.prediction(truth, synthetic.GOOD, seed=1))):
        rows = zip(synthetic.token_text(stream), stream.episode.tolist(), strict=True)
        lines = [json.dumps({"episode": f"e{at}", "text": text}) for text, at in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def assay(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_STORE"} | variables
    return assay_command(*words, cwd=cwd, environment=environment)


@pytest.mark.slow
def test_an_evaluation_is_stored_listed_shown_exported_tagged_and_deleted(data: Path, tmp_path: Path) -> None:
    store = {"ASSAY_STORE": str(tmp_path / "runs.db")}
    made = assay(
        *("events", "eval", data / "pred.jsonl", data / "truth.jsonl", "--reps", 20, "--name", "mine", "--tag", "t1"),
        *("--json", "live.json"),
        cwd=tmp_path,
        **store,
    )
    assert made.returncode == 0, made.stderr
    run = made.stderr.split("Stored as run ")[1].split()[0].rstrip(".")
    assert run in assay("runs", "list", cwd=tmp_path, **store).stdout
    (listed,) = json.loads(assay("runs", "list", "--json", "-", cwd=tmp_path, **store).stdout)
    assert (listed["id"], listed["name"], listed["tags"], listed["cases"]) == (run, "mine", ["t1"], 2)
    assert listed["inputs"]["truth"]["sha256"]

    shown = assay("runs", "show", "mine", cwd=tmp_path, **store)
    for word in (run, "assay@1", "owa@1", "sequence@1", "d2e@1", "Comparable", "sha256"):
        assert word in shown.stdout
    for printed in (made.stdout, shown.stdout):
        assert printed.index("Verdict") < printed.index("trivial baseline") < printed.index("assay@1 ·")

    for name in ("out.json", "out.html", "out.parquet"):
        exported = assay("runs", "export", "@last", name, cwd=tmp_path, **store)
        assert exported.returncode == 0, exported.stderr
    live, stored = (json.loads((tmp_path / name).read_text()) for name in ("live.json", "out.json"))
    assert stored["protocols"] == live["protocols"]
    assert stored["verdict"] == live["verdict"] != []
    assert stored["details"] == live["details"]
    assert (tmp_path / "out.html").read_text().startswith("<!")
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert {row["group"] for row in table} == {"assay", "owa", "sequence", "d2e"}
    assert {row["case"] for row in table} == {"e0", "e1"}

    assert assay("runs", "tag", run[:12], "t2", "--remove", "t1", cwd=tmp_path, **store).stdout == "t2\n"
    refused = assay("runs", "delete", "mine", cwd=tmp_path, **store)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert assay("runs", "delete", "mine", "--yes", cwd=tmp_path, **store).returncode == 0
    assert "no runs" in assay("runs", "list", cwd=tmp_path, **store).stderr


@pytest.mark.slow
def test_scored_conversations_are_stored_shown_and_exported(tmp_path: Path) -> None:
    from assay.chat import samples
    from assay.chat.transcript import write_jsonl

    store = {"ASSAY_STORE": str(tmp_path / "runs.db")}
    write_jsonl(samples.transcripts(), tmp_path / "said.jsonl")
    made = assay("chat", "score", "said.jsonl", "--name", "talk", "--json", "live.json", cwd=tmp_path, **store)
    assert made.returncode == 0, made.stderr
    assert "Stored as run " in made.stderr
    shown = assay("runs", "show", "talk", cwd=tmp_path, **store)
    assert made.stdout.strip() in shown.stdout
    for name in ("out.json", "out.html", "out.parquet"):
        exported = assay("runs", "export", "talk", name, cwd=tmp_path, **store)
        assert exported.returncode == 0, exported.stderr
    live, stored = (json.loads((tmp_path / name).read_text()) for name in ("live.json", "out.json"))
    assert (stored["summary"], stored["passes"], stored["answers"]) == (
        live["summary"],
        live["passes"],
        live["answers"],
    )
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert len(rows) == sum(len(answer["metrics"]) for answer in live["answers"])


def test_without_a_store_nothing_is_kept(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    words = ("events", "eval", data / "pred.jsonl", data / "truth.jsonl", "--reps", 20, "--no-store")
    made = assay(*words, cwd=tmp_path, ASSAY_STORE=str(store))
    assert made.returncode == 0
    assert "run:" not in made.stderr
    assert not store.exists()


def test_the_default_store_is_in_the_data_folder(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_address() == str(tmp_path / "assay" / "assay.db")
    monkeypatch.setenv("ASSAY_STORE", "elsewhere.db")
    assert default_address() == "elsewhere.db"


@pytest.mark.slow
def test_a_default_store_that_fails_breaks_no_evaluation_and_a_named_one_does(data: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way of a folder")
    words = ("events", "eval", data / "pred.jsonl", data / "truth.jsonl", "--reps", 20)
    default = assay(*words, cwd=tmp_path, XDG_DATA_HOME=str(blocked))
    assert default.returncode == 0
    assert "note: the run was not stored" in default.stderr
    assert "Comparable" in default.stdout
    for named in (
        assay(*words, "--store", blocked / "runs.db", cwd=tmp_path),
        assay(*words, cwd=tmp_path, ASSAY_STORE=str(blocked / "runs.db")),
    ):
        assert named.returncode == 2
        assert "the folder cannot be created" in named.stderr
        assert "Traceback" not in named.stderr


def test_an_unfinished_run_is_shown_as_such(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = some_run("broken off")
    with open_store(path) as store:
        store.begin(run)
        store.add_cases(run.id, run.tallies)
    assert "unfinished" in assay("runs", "list", "--store", path, cwd=tmp_path).stdout
    shown = assay("runs", "show", run.id, "--store", path, cwd=tmp_path)
    assert (shown.returncode, "unfinished" in shown.stdout) == (0, True)
    # What can be resumed is a run of agents, and so is what is shown by the same word.
    none = assay("runs", "show", "@unfinished", "--store", path, cwd=tmp_path)
    assert (none.returncode, "no unfinished run of agents" in none.stderr) == (2, True)
    with open_store(path) as store:
        played = replace(some_run("half"), kind="experiment")
        store.begin(played)
        turn = {"agent": "bot", "scenario": "rain", "repetition": 0, "turn": 0, "query": "?", "response": "!"}
        store.add_cases(played.id, {}, answers=[turn | {"passed": True, "failures": [], "metrics": {}}])
        store.begin(replace(some_run("refused"), kind="experiment"))  # newer, and without a turn
    newest = assay("runs", "show", "@unfinished", "--store", path, cwd=tmp_path)
    assert (newest.returncode, played.id in newest.stdout) == (0, True)
    refused = assay("runs", "export", run.id, "x.json", "--store", path, cwd=tmp_path)
    assert (refused.returncode, "unfinished" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("show", "nothing"), "there is no run 'nothing'"),
        (("export", "@last", "x.docx"), "there is no format 'docx'"),
        (("export", "@last", "-", "--format", "html"), "cannot be written to standard output"),
        (("list", "--store", "mysql://x/y"), "'mysql://' is not a supported store"),
    ],
)
def test_mistakes_give_one_sentence(tmp_path: Path, words: tuple[str, ...], complaint: str) -> None:
    done = assay("runs", *words, cwd=tmp_path, ASSAY_STORE=str(tmp_path / "runs.db"))
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_database(tmp_path: Path) -> None:
    code = (
        "import sys; from assay.cli import app; app(['--help'], standalone_mode=False); "
        "print('sqlalchemy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
