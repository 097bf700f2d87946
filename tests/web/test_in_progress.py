"""A run that is being played says so, wherever it is played; one that was left says that it is unfinished."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.store.runs import some_run

from assay.runs.background import progress_of
from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site


def _answer(agent: str) -> dict[str, Any]:
    where = {"agent": agent, "scenario": "rain", "repetition": 0, "turn": 0}
    return where | {"query": "?", "response": "8 °C", "metrics": {}, "passed": True, "failures": [], "record": None}


def test_a_run_of_another_process_is_in_progress_until_that_process_ends(tmp_path: Path) -> None:
    run = some_run("mine")
    with open_store(tmp_path / "runs.db") as store, open_store(tmp_path / "runs.db") as other:
        other.begin(run)
        with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as client:

            def is_in_progress() -> bool:
                found: bool = client.get(f"/api/runs/{run.id}/progress").json()["in_progress"]
                return found

            with other.locked(run.id):
                assert is_in_progress()
                for page in ("/runs", f"/runs/{run.id}"):
                    assert "<span>in progress" in client.get(page).text
            # What a page says at first may be older; its script asks every two seconds.
            assert not is_in_progress()
            assert "<span>unfinished" in client.get(f"/runs/{run.id}?again=1").text
            other.finish(run.id)
            assert not is_in_progress()


def test_progress_counts_what_the_terminal_counts(tmp_path: Path) -> None:
    settings = {
        "suite": {"name": "s", "scenarios": ["rain", "sun"]},
        "agents": [{"name": "a"}, {"name": "b"}],
        "baselines": ["stock", "echo"],
        "repeat": 3,
    }
    run = replace(some_run("mine"), kind="experiment", settings=settings, tallies={})
    with open_store(tmp_path / "runs.db") as store:
        store.begin(run)
        assert progress_of(store, run.id) == (0, 2 * 2 * 3)
        for agent in ("a", "stock"):
            store.add_cases(run.id, {agent: {}}, answers=[_answer(agent)])
        assert progress_of(store, run.id) == (1, 12)
        with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as client:
            assert "unfinished: 1 of 12 trials" in client.get(f"/runs/{run.id}").text
            assert "unfinished: 1 of 12 trials" in client.get("/runs").text


@pytest.mark.parametrize("agents", [["a"], ["a", "b"]])
def test_the_agents_of_a_run_can_be_compared_if_there_are_several(agents: list[str], tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        run = replace(some_run("mine"), kind="experiment", settings={"baselines": ["stock"]}, tallies={})
        store.begin(run)
        named = (*agents, "stock")
        store.add_cases(run.id, {agent: {} for agent in named}, answers=[_answer(agent) for agent in named])
        store.finish(run.id)
        with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as client:
            page = client.get(f"/runs/{run.id}/settings")
            assert page.status_code == 200
            assert ("Compare its agents" in page.text) is (len(agents) > 1)
