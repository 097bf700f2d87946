"""Runs are started, stopped and resumed from the page, and are the same as any other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.chat.agents.spec import AgentSpec
from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site

ROOT = Path(__file__).parents[2]


def wait(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow(seconds=8)
def test_a_run_is_started_stopped_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:{ROOT}")
    spec = AgentSpec(name="bot", function="tests.web.bot:answer_after_a_pause")
    with open_store(tmp_path / "runs.db") as store:
        site = Site(store, agents=[spec], suites=tmp_path / "suites")
        with TestClient(make_app(site, Access()), base_url="http://127.0.0.1") as client:
            client.headers["origin"] = "http://127.0.0.1"
            assert "Start a run" in client.get("/runs/new").text
            fields = {"suite": "weather", "agent": "bot", "limit": "40", "repeat": "5", "name": "from the page"}
            assert client.post("/runs/new", data=fields | {"limit": "0"}).status_code == 400
            assert client.post("/runs/new", data=fields | {"agent": "nobody"}).status_code == 400
            assert client.post("/runs/new", data=fields | {"suite": "../secret.yaml"}).status_code == 400
            page = client.post("/runs/new", data=fields)
            run_id = page.url.path.split("/")[2]
            wait(lambda: store.progress(run_id) > 3)
            assert ">Stop<" in client.get(f"/runs/{run_id}").text
            stopped = client.post(f"/runs/{run_id}/stop").text
            played = store.progress(run_id)
            assert ">Resume<" in stopped
            assert not store.describe(run_id).complete
            client.post(f"/runs/{run_id}/resume")
            wait(lambda: store.progress(run_id) > played)
            site.started.stop(run_id)
            assert store.describe(run_id).run.name == "from the page"
