"""A store with runs of every kind, and the application over it, called without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.report.agent_scores import scores
from tests.report.conftest import browser  # noqa: F401 — one browser for every page

from assay.chat.scoring.scores import Scores
from assay.runs.from_results import recorded_run
from assay.runs.loading import record
from assay.store import open_store
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site

AGENTS = ("google-adk", "langgraph")


def experiment(store: Store, scored: Scores, name: str, *, tags: tuple[str, ...] = (), finish: bool = True) -> str:
    """Store answers as a run of agents, as an experiment leaves it."""
    run = recorded_run(scored, name=name, tags=tags)
    scenarios = list(dict.fromkeys(answer.scenario for answer in scored.answers))
    settings = dict(run.settings) | {
        "suite": {"name": "made-up", "version": 1, "scenarios": scenarios},
        "agents": [{"name": agent} for agent in scored.agents],
        "repeat": len({answer.repetition for answer in scored.answers}),
        "baselines": [],
        "notes": ["Times and tokens are made up."],
        "experience": {},
    }
    run = replace(run, kind="experiment", settings=settings)
    rows = [answer.to_row() for answer in scored.answers]
    if finish:
        return store.save(run, answers=rows)
    store.begin(run)
    store.add_cases(run.id, {}, answers=rows)
    return run.id


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("web") / "runs.db") as opened:
        for seed in (1, 2):
            experiment(opened, scores(AGENTS, seed=seed, scenarios=10), "nightly", tags=("ci",))
        experiment(opened, scores(AGENTS, seed=3, scenarios=4), "going on", finish=False)
        record(scores(AGENTS[:1], seed=4, scenarios=4), store=opened, name="read from a file")
        yield opened


@pytest.fixture(scope="module")
def ids(store: Store) -> dict[str, str]:
    """Ids by name, the newest of each; the older nightly run is 'before'."""
    entries = store.list()
    found = {entry.run.name: entry.run.id for entry in reversed(entries)}
    return found | {"before": min(entry.run.id for entry in entries if entry.run.name == "nightly")}


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as made:
        made.headers["origin"] = "http://127.0.0.1"
        yield made
