"""A store in a process of its own does what the store does, and loses nothing that it was sent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.runs import some_run

from assay.errors import StoreError
from assay.store import open_store
from assay.store.encoding import encode_states
from assay.store.process import StoreProcess
from assay.types import Case, Run

_ANSWER = {
    "agent": "owa",
    "scenario": "one",
    "repetition": 0,
    "turn": 0,
    "query": "How warm is it?",
    "response": "Very.",
    "passed": True,
    "failures": [],
    "metrics": {"accuracy": {"score": 0.5, "measured": True}},
    "record": {"status": "scored"},
}


@pytest.fixture
def process(tmp_path: Path) -> Iterator[StoreProcess]:
    with StoreProcess(str(tmp_path / "runs.db")) as opened:
        yield opened.opened()


@pytest.mark.slow
def test_a_run_is_the_same_as_one_that_was_stored_here(process: StoreProcess, tmp_path: Path) -> None:
    run = some_run("mine", cases=5)
    with process.locked(run.id):
        assert process.begin(run) == run.id
        assert process.add_cases(run.id, {"owa": {}}) == 0
        first, *others = run.tallies
        assert process.add_cases(run.id, {first: run.tallies[first]}, answers=[_ANSWER]) == len(run.tallies[first])
        process.add_cases(run.id, {}, answers=[{**_ANSWER, "turn": 1}])
        assert process.drop_conversation(run.id, "owa", "one", 0) == 2
        process.add_cases(run.id, {}, answers=[_ANSWER])
        process.change_settings(run.id, {**run.settings, "spent": 1.5})
        process.finish(run.id, {name: run.tallies[name] for name in others}, ("1", {"figures": []}))
    with open_store(tmp_path / "runs.db", create=False) as store:
        assert _as_bytes(store.load(run.id)) == _as_bytes(run)
        assert store.load(run.id).settings["spent"] == 1.5
        assert [row["response"] for row in store.answers(run.id)] == ["Very."]
        assert store.summaries([run.id], "1") == {run.id: {"figures": []}}


def _as_bytes(run: Run) -> dict[str, dict[Case, bytes]]:
    return {group: {case: encode_states(one) for case, one in cases.items()} for group, cases in run.tallies.items()}


@pytest.mark.slow
def test_errors_are_those_of_the_store(process: StoreProcess, tmp_path: Path) -> None:
    run = some_run("mine")
    process.begin(run)
    with pytest.raises(TypeError), process.locked(run.id):
        process.add_cases(run.id, {}, answers=[{**_ANSWER, "query": None}])
    with (
        open_store(tmp_path / "runs.db") as store,
        process.locked(run.id),  # it is free again, and then held
        pytest.raises(StoreError, match="another process is filling"),
        store.locked(run.id),
    ):
        pass
    process.finish(run.id)
    with pytest.raises(StoreError, match="is finished"):
        process.add_cases(run.id, {})
    with pytest.raises(StoreError, match="is a folder"), StoreProcess(str(tmp_path)) as refused:
        refused.opened()


@pytest.mark.slow
def test_nothing_is_created_before_it_is_opened(tmp_path: Path) -> None:
    with StoreProcess(str(tmp_path / "runs.db")):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_if_the_process_is_killed_the_next_call_says_so(process: StoreProcess) -> None:
    run = some_run("mine")
    process.begin(run)
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(StoreError, match="has ended"):
        process.finish(run.id)


_KILLED = """
import os, signal, sys
from tests.store.runs import some_run
from assay.store.process import StoreProcess
from tests.store.test_process import _ANSWER

process = StoreProcess(sys.argv[1]).opened()
run = some_run("killed")
process.begin(run)
process.locked(run.id).__enter__()
process._send(99, ("add_cases", (run.id, {}), {"answers": [_ANSWER]}))  # sent, and nobody waits for the answer
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_what_was_sent_is_stored_even_if_the_sender_is_killed(tmp_path: Path) -> None:
    address = str(tmp_path / "runs.db")
    done = subprocess.run([sys.executable, "-c", _KILLED, address], check=False)
    assert done.returncode == -signal.SIGKILL
    with open_store(address, create=False) as store:
        (entry,) = store.list()
        deadline = time.monotonic() + 20
        while not store.answers(entry.run.id) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [row["response"] for row in store.answers(entry.run.id)] == ["Very."]
        while list(tmp_path.glob("*.lock")) and time.monotonic() < deadline:
            time.sleep(0.02)
        with store.locked(entry.run.id):  # it ended with its sender, and its lock with it
            pass
