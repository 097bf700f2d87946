"""Agents on the nodes of a real Ray cluster: answers and scores as on one machine, also if a node is killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.chat.running.trials import Pace
from assay.errors import UsageError
from assay.runs.planning import plan_experiment
from assay.runs.results import ExperimentResult
from assay.runs.starting import start_run
from tests.cluster.clusters import nodes, require_ray

require_ray()
pytestmark = pytest.mark.ray

from assay.engines.ray import RayEngine  # noqa: E402

_MEASURED = {"wall", "first_text", "model", "tools", "overhead", "response_time", "duration", "memory"}
MINE = "answering_on_nodes"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("agents")
    with pytest.MonkeyPatch.context() as patched:
        # Inherited by the nodes of the cluster, as the environment of a machine would be.
        patched.setenv("ASSAY_TEST_FOLDER", str(folder))
        # Agents of one's own are looked for in the current folder, on the nodes too.
        shutil.copy(Path(__file__).with_name("answering.py"), folder / f"{MINE}.py")
        patched.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Any]:
    with nodes(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[RayEngine]:
    engine = RayEngine(cluster.address)
    yield engine
    engine.close()


def played(agents: dict[str, str], cluster: RayEngine | None, suite: str = "weather", **given: Any) -> ExperimentResult:
    pace = Pace(jobs=2, concurrency=2) if cluster is not None else None
    experiment = plan_experiment(suite, agents, pace=pace, baselines=False, **given)
    return asyncio.run(start_run(experiment, cluster=cluster))


def without_times(result: ExperimentResult) -> list[Any]:
    """Every answer; times and memory differ from run to run."""

    def untimed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: untimed(inner) for name, inner in value.items() if name not in _MEASURED}
        return [untimed(inner) for inner in value] if isinstance(value, list) else value

    return [untimed(answer.to_json()) for answer in result.answers]


def test_a_framework_gives_the_same_answers_and_scores(engine: RayEngine) -> None:
    agents = {"adk": "google-adk"}
    here, there = (played(agents, where, limit=6) for where in (None, engine))
    assert without_times(there) == without_times(here)
    assert {answer.status for answer in there.answers} == {"scored"}


def test_a_process_that_is_killed_on_a_node_finds_its_conversation_again(engine: RayEngine) -> None:
    """The suite kills the agent's process; what it stored is on the node where it starts again."""
    agents = {"ai": "pydantic-ai"}
    here, there = (played(agents, where, suite="restart", limit=2) for where in (None, engine))
    assert without_times(there) == without_times(here)


def test_an_agent_that_crashes_fails_and_one_that_is_missing_is_refused_as_on_one_machine(engine: RayEngine) -> None:
    found = played({"mine": f"{MINE}:exits"}, engine, limit=2)
    assert {answer.status for answer in found.answers} == {"failed"}
    assert "its process ended with exit code 7" in str(found.answers[0].record and found.answers[0].record.reason)
    for where in (None, engine):
        with pytest.raises(UsageError, match="the agent 'mine' cannot be found, so nothing was played"):
            played({"mine": f"{MINE}:missing"}, where, limit=2)


def test_agents_on_other_machines_use_the_services_with_a_key(
    engine: RayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "driver_host", lambda: "127.0.0.1")  # as if the nodes were elsewhere
    agents = {"adk": "google-adk"}
    assert without_times(played(agents, engine, limit=2)) == without_times(played(agents, None, limit=2))


def test_the_command_plays_on_a_cluster(cluster: Any, engine: RayEngine, tmp_path: Path) -> None:
    """In a process of its own, with the address of the cluster; a finished run is not resumed."""
    store, out = str(tmp_path / "runs.db"), tmp_path / "out.json"
    where = ["--engine", "ray", "--address", cluster.address, "--store", store]
    command = [sys.executable, "-m", "assay", "chat", "run"]
    given = ["--agents", f"mine={MINE}:answers", "--limit", "2", "--json", str(out)]
    done = subprocess.run([*command, *given, *where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "I heard:" in out.read_text()
    again = subprocess.run([*command, "--resume", "@unfinished", *where], capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "there is no unfinished run" in again.stderr


def test_a_killed_node_costs_only_its_conversations(cluster: Any, folder: Path) -> None:
    """Runs last: an agent is known to be in a conversation on the node when that is killed."""
    engine = RayEngine(cluster.address)
    thread = threading.Thread(target=_kill_one_node, args=(cluster, folder))
    thread.start()
    try:
        there = played({"mine": f"{MINE}:waits"}, engine, limit=6)
    finally:
        thread.join()
        engine.close()
    here = played({"mine": f"{MINE}:answers"}, None, limit=6)
    assert without_times(there) == without_times(here)
    assert all(answer.record is not None and answer.record.attempts == 1 for answer in there.answers)
    assert not _running(folder)


def _kill_one_node(cluster: Any, folder: Path) -> None:
    """Kill a node with the actor and the agent on it, once agents on both nodes are in a conversation."""
    while len({actor for actor, _ in _running(folder)}) < 2:
        time.sleep(0.05)
    lost = next(iter(cluster.worker_nodes))
    import ray

    on_node = {
        actor["pid"] for actor in ray.util.state.list_actors() if actor["node_id"] == lost.node_id
    } if hasattr(ray.util, "state") else set()  # fmt: skip
    cluster.remove_node(lost, allow_graceful=False)
    for actor, _ in _running(folder):
        if actor in on_node:  # a machine that is gone takes its processes with it
            os.kill(actor, signal.SIGKILL)
    (folder / "release").touch()


def _running(folder: Path) -> list[tuple[int, int]]:
    """Process ids of actors and of agents that they started, as far as these still run."""
    found = {(int(name.split("-")[1]), int(name.split("-")[2])) for name in os.listdir(folder) if "started" in name}
    return [(actor, agent) for actor, agent in sorted(found) if Path(f"/proc/{agent}").exists()]
