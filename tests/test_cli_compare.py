"""`assay compare` from the command line, on runs in a real store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import AssayError
from assay.store import open_store
from assay.types import Case, Distribution, Run

RUNNER = CliRunner(env={"COLUMNS": "80"})


def chat_run(name: str, agents: dict[str, float], *, scenarios: int = 40, seed: int = 1) -> Run:
    rng = np.random.default_rng(seed)
    tallies: dict[str, Any] = {
        agent: {
            Case(f"scenario-{at}"): {
                metric: Distribution.of(np.clip(level + rng.normal(0, 0.05, 2), 0, 1).round(2))
                for metric in ("accuracy", "task_completion")
            }
            for at in range(scenarios)
        }
        for agent, level in agents.items()
    }
    return Run(f"id-{name}", "chat", name, "2026-01-01T00:00:00+00:00", "", {}, 42, {"chat": 1}, {}, {}, tallies)


@pytest.fixture
def store(tmp_path: Path) -> str:
    address = str(tmp_path / "runs.db")
    with open_store(address) as kept:
        for at, run in enumerate(
            (
                chat_run("base", {"x": 0.8}),
                chat_run("good", {"x": 0.95}, seed=2),
                chat_run("bad", {"x": 0.5}, seed=3),
                chat_run("pair", {"x": 0.8, "y": 0.3}, seed=4),
                chat_run("few", {"x": 0.86}, scenarios=3, seed=5),
            )
        ):
            kept.save(Run(**{**{f: getattr(run, f) for f in run.__slots__}, "id": f"0{at}-{run.name}"}))
    return address


def call(*words: str) -> Any:
    return RUNNER.invoke(app, ["compare", *words])


def test_a_table_and_exit_code_0(store: str) -> None:
    done = call("base", "good", "--store", store)
    assert done.exit_code == 0
    assert "good:x against base:x: 2 better" in done.output
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_gate_that_fails_exits_1_with_a_reason(store: str) -> None:
    done = call("base", "bad", "--store", store, "--fail-on", "worse,inconclusive")
    assert done.exit_code == 1
    assert "gate: accuracy is worse" in done.stderr
    assert call("base", "good", "--store", store, "--fail-on", "worse").exit_code == 0


def test_requirements_look_at_the_candidate(store: str) -> None:
    assert call("base", "good", "--store", store, "--require", "accuracy>=0.9").exit_code == 0
    done = call("base", "bad", "--store", store, "--require", "accuracy>=0.9", "--require", "task_completion<0.9")
    assert done.exit_code == 1
    assert "accuracy>=0.9 is not met" in done.stderr


def test_every_form_is_written(store: str, tmp_path: Path) -> None:
    paths = {form: tmp_path / f"out.{form}" for form in ("junit", "markdown", "html", "json")}
    options = [word for form, path in paths.items() for word in (f"--{form}", str(path))]
    done = call("base", "bad", "--store", store, "--fail-on", "worse", *options)
    assert done.exit_code == 1
    suite = Xml.parse(paths["junit"]).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "2"
    assert "❌ worse" in paths["markdown"].read_text()
    assert "Differences from the baseline" in paths["html"].read_text()
    content = json.loads(paths["json"].read_text())
    assert [verdict["call"] for verdict in content["comparisons"][0]["verdicts"]] == ["worse", "worse"]
    assert len(content["failures"]) == 2
    alone = call("base", "good", "--store", store, "--json", "-")
    assert json.loads(alone.stdout)["failures"] == []


@pytest.mark.slow
def test_agents_are_named_with_a_colon(store: str) -> None:
    done = call("pair:x", "pair:y", "--store", store, "--json", "-")
    assert json.loads(done.stdout)["comparisons"][0]["candidate"]["agent"] == "y"
    alone = call("pair", "--store", store, "--json", "-")
    assert len(json.loads(alone.stdout)["comparisons"]) == 1
    same = call("base", "pair", "--store", store, "--json", "-")
    assert [entry["candidate"]["agent"] for entry in json.loads(same.stdout)["comparisons"]] == ["x"]


def test_several_candidates_are_shown_with_their_baseline(store: str) -> None:
    done = call("base", "good", "bad", "few", "--store", store)
    assert done.exit_code == 0
    for word in ("Against base:x", "good:x", "bad:x", "better", "worse"):
        assert word in done.output


def test_margins_may_be_given_by_metric(store: str) -> None:
    wide = call("base", "good", "--store", store, "--margin", "0.5", "--json", "-")
    assert {v["call"] for v in json.loads(wide.stdout)["comparisons"][0]["verdicts"]} == {"same"}
    one = call("base", "good", "--store", store, "--margin", "accuracy=0.5", "--json", "-")
    assert [v["call"] for v in json.loads(one.stdout)["comparisons"][0]["verdicts"]] == ["same", "better"]


@pytest.mark.parametrize(
    "words",
    [
        ("base",),
        ("base", "nothing"),
        ("base:z", "good"),
        ("base", "good", "--fail-on", "better"),
        ("base", "good", "--require", "accuracy"),
        ("base", "good", "--require", "acuracy>=1"),
        ("base", "good", "--margin", "wide"),
        ("base", "good", "--margin", "-1"),
        ("base", "good", "--junit", "/nowhere/out.xml"),
    ],
)
def test_errors_of_use_are_ours(store: str, words: tuple[str, ...]) -> None:
    done = call(*words, "--store", store)
    assert isinstance(done.exception, AssayError)
