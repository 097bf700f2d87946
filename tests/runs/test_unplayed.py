"""A suite that no agent can play: that is said before anything is measured, or, if it is known later, in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command import assay_command

from assay import chat
from assay.errors import UsageError
from assay.store import open_store

HERE = Path(__file__).parents[1] / "chat"
RUN = ("chat", "run", "--suite", "cancellation")


def told(message: str) -> str:
    return "It is sunny."


def test_what_can_be_known_before_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    done = assay_command(*RUN, "--agents", "bot=http://127.0.0.1:9/v1", "--experience", "--store", store)
    assert done.returncode == 2
    assert "nothing can be played: no scenario of 'cancellation' is for bot, because whether model and" in done.stderr
    assert "measuring" not in done.stderr
    assert "starting" not in done.stderr
    if store.exists():
        assert open_store(store).list() == []


@pytest.mark.parametrize("suite", ["restart", "consent", "cancellation"])
def test_a_function_of_this_process_is_refused_in_python_too(suite: str) -> None:
    with pytest.raises(UsageError, match=f"no scenario of '{suite}' is for told, because"):
        chat.run(suite, {"told": told})


def test_some_that_can_be_played_are_enough() -> None:
    chosen = ["current-helsinki", "failure-*"]
    result = chat.run("weather", {"told": told}, scenarios=chosen, baselines=False)
    assert {answer.status for answer in result.answers} == {"scored", "skipped"}


@pytest.mark.slow
def test_what_is_known_later_is_one_sentence_without_tables_and_baselines() -> None:
    # Whether a function is an assistant with our tools is known once its module is imported.
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    words = (*RUN, "--agents", "mine=load_agents:careful", "--no-store")
    done = assay_command(*words, environment={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"})
    assert done.returncode == 1
    assert "Nothing was played: every trial was skipped.\nmine: " in done.stdout
    assert "seen by the scripted model and the embedded weather service only" in done.stdout
    for table in ("Metrics ·", "Overall ·", "Repetitions ·", "Skill over baselines", "stock"):
        assert table not in done.stdout
    assert "No turn was scored, so the command exits with 1." in done.stderr
