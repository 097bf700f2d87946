"""Pages over a store of 1,000 runs and 100,000 answers: server time of each, many readers at once, the first page."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
from tests.report.agent_scores import scores
from tests.web.conftest import experiment

from assay.runs.summaries import SUMMARY_VERSION, RunSummary
from assay.store import open_store
from assay.store.references import new_id
from assay.store.store import Store
from benchmarks.measuring import Result, at_most, show
from benchmarks.store import _addresses

RUNS, SCENARIOS, REPETITIONS = 1000, 20, 2
AGENTS = ("google-adk", "langgraph")
NAMES = 20
ASKED = 40
READERS, SECONDS = 50, 20.0
WANTED, FIRST = 0.050, 1.5


def main() -> None:
    with _addresses() as addresses:
        results = [result for name, address in addresses.items() for result in _measured(name, address)]
    show("Pages", results)


def _measured(name: str, address: str) -> list[Result]:
    with open_store(address) as store:
        paths = _filled(store)
    with _serving(address) as (base, first):
        found = [at_most(f"{name}: first page of a fresh server", f"{first:.2f} s", f"{FIRST} s", first / FIRST, 1)]
        with httpx.Client(base_url=base, timeout=60) as client:
            for what, some in paths.items():
                times, size = [], 0
                for path in some:
                    start = time.perf_counter()
                    answer = client.get(path).raise_for_status()
                    times.append(time.perf_counter() - start)
                    size = max(size, len(answer.content))
                median = statistics.median(times)
                ours = f"{1000 * median:.0f} ms, at most {size / 1000:.0f} kB"
                found.append(at_most(f"{name}: {what}", ours, f"{1000 * WANTED:.0f} ms", median / WANTED, 1))
        times, errors = asyncio.run(_read(base, [path for some in paths.values() for path in some]))
    ranked = sorted(times)
    p50, p99 = ranked[len(ranked) // 2], ranked[int(0.99 * len(ranked))]
    print(
        f"{name}: {READERS} readers for {SECONDS:g} s: {len(times) / SECONDS:,.0f} pages/s, "
        f"median {1000 * p50:,.0f} ms, p99 {1000 * p99:,.0f} ms, {errors} errors"
    )
    return found


def _filled(store: Store) -> dict[str, list[str]]:
    """Fill the store, and give the addresses of pages to ask for."""
    plain = scores(AGENTS, scenarios=SCENARIOS, repetitions=REPETITIONS, seed=1)
    first = experiment(store, plain, "suite 0", tags=("nightly",))
    run, rows = store.load(first), [answer.to_row() for answer in plain.answers]
    summary = RunSummary.of(plain).to_json()
    ids = [first]
    ids += [
        store.save(replace(run, id=new_id(), name=f"suite {number % NAMES}"), answers=rows) for number in range(1, RUNS)
    ]
    for run_id in ids:
        store.keep_summary(run_id, SUMMARY_VERSION, summary)
    print(f"{RUNS:,} runs with {RUNS * len(rows):,} answers", file=sys.stderr)
    step = RUNS // ASKED
    some = ids[::step]
    scenario = plain.answers[0].scenario
    return {
        "list of runs": [f"/runs?page={1 + number % 40}" for number in range(ASKED)],
        "search": [f"/runs?q=suite+{number % NAMES}&tag=nightly" for number in range(ASKED)],
        "a run": [f"/runs/{run_id}" for run_id in some],
        "settings of a run": [f"/runs/{run_id}/settings" for run_id in some],
        "a conversation": [f"/runs/{run_id}/conversation?scenario={scenario}&agent={AGENTS[0]}" for run_id in some],
        "a history": [f"/history?name=suite+{number % NAMES}" for number in range(ASKED)],
        "metrics": ["/metrics"] * ASKED,
        "a whole report, seen before": [f"/runs/{ids[0]}/report"] * ASKED,
        "a difference, seen before": [f"/difference?run={ids[0]}&run={ids[1]}"] * ASKED,
    }


@contextmanager
def _serving(address: str) -> Iterator[tuple[str, float]]:
    """A fresh server, and the seconds until its first page was there."""
    command = [sys.executable, "-m", "assay.cli", "serve", "--store", address, "--port", "0"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stderr is not None
        base = process.stderr.readline().split(" at ")[1].split("/ ")[0]
        httpx.get(f"{base}/runs", timeout=60).raise_for_status()
        yield base, time.perf_counter() - start
    finally:
        process.terminate()
        process.wait()
        process.stderr.close() if process.stderr is not None else None


async def _read(base: str, paths: list[str]) -> tuple[list[float], int]:
    """Times of all pages that the readers asked for, and the number of errors."""
    times: list[float] = []
    errors = 0
    end = time.perf_counter() + SECONDS

    async def reader(number: int, client: httpx.AsyncClient) -> None:
        nonlocal errors
        at = number * 7
        while time.perf_counter() < end:
            start = time.perf_counter()
            answer = await client.get(paths[at % len(paths)])
            times.append(time.perf_counter() - start)
            errors += answer.status_code != 200
            at += 1

    limits = httpx.Limits(max_connections=READERS, max_keepalive_connections=READERS)
    async with httpx.AsyncClient(base_url=base, timeout=60, limits=limits) as client:
        await asyncio.gather(*(reader(number, client) for number in range(READERS)))
    return times, errors


if __name__ == "__main__":
    main()
