"""Processes that use a store at the same time, forked from one that has imported everything and opened nothing.

Each is a process of its own, as if a user had started it, without the second that an interpreter takes to import what a
store needs. `multiprocessing` starts the parent when the first is wanted, and ends it with the tests.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from tests.store import killed
from tests.store.runs import some_run

from assay.store import open_store

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        __name__,
        "assay.store.store",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite.pysqlite",
        "psycopg",
    ]
)


def exit_codes(work: Callable[..., None], arguments: Sequence[tuple[Any, ...]]) -> list[int | None]:
    """How processes ended that did the same work at once, each with its arguments; they start together."""
    begin = _FORKING.Event()
    processes = [_FORKING.Process(target=_work_after, args=(begin, work, given)) for given in arguments]
    for process in processes:
        process.start()
    begin.set()
    for process in processes:
        process.join(200)
    return [process.exitcode for process in processes]


def _work_after(begin: Event, work: Callable[..., None], given: tuple[Any, ...]) -> None:
    begin.wait()
    work(*given)


def write_runs(address: str, number: int) -> None:
    """Save five runs as a whole and five in parts."""
    with open_store(address) as store:
        for n in range(5):
            store.save(some_run(f"whole {number} {n}", cases=30))
            run = some_run(f"parts {number} {n}", cases=9)
            store.begin(run)
            for case in run.tallies["owa"]:
                store.add_cases(run.id, {group: {case: run.tallies[group][case]} for group in run.tallies})
            store.finish(run.id)


def resume_run(address: str, run_id: str, step: int) -> None:
    """Add the cases of a run, forwards or backwards."""
    tallies = some_run(cases=40).tallies
    with open_store(address) as store:
        for case in list(tallies["owa"])[::step]:
            store.add_cases(run_id, {group: {case: tallies[group][case]} for group in tallies})


def load_first(address: str) -> None:
    """Load the run called `first`."""
    open_store(address).load("first")


def add_tag(address: str, run_id: str) -> None:
    """Tag a run."""
    with open_store(address) as store:
        store.tag(run_id, "from elsewhere")


def kill_writers(address: str, kills: int, target: Path) -> None:
    """Kill writers so many times, and write what came of it into a file."""
    target.write_text(json.dumps(killed.kill_writers(address, kills)), encoding="utf-8")
