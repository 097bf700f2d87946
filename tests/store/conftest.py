"""The two databases that the whole suite runs against."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.store import postgres
from tests.store.runs import some_run

from assay.store import open_store
from assay.store.store import Store
from assay.types import Run

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    if postgres.programs() is None:
        if os.environ.get("ASSAY_REQUIRE_POSTGRES"):
            pytest.fail("ASSAY_REQUIRE_POSTGRES is set and there is no PostgreSQL", pytrace=False)
        pytest.skip("needs PostgreSQL's server programs")
    with postgres.running() as running:
        yield running


@pytest.fixture(params=DATABASES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    running: postgres.Server = request.getfixturevalue("server")
    return running.new_schema()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened


MakeRun = Callable[..., Run]


@pytest.fixture
def make_run() -> MakeRun:
    return some_run
