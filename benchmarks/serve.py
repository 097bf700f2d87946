"""Pages over a store of 1,000 runs and 100,000 answers, read by 50 readers; the first page; the first text of an agent.

A reader is someone who reads: asks for a page, looks at it for about a second, asks for the next one. Fifty of them ask
for about fifty pages a second. They read a store that nobody changes, and one to which another process adds answers
five times a second. A second measurement lets them ask again at once, which shows how many pages a second the server
sends at most; how long each then takes says only how many wait.

Times are those of the reader, from the first byte of the request to the last of the answer: waiting in the server's
queue and in the reader's own process are included.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
from tests.report.agent_scores import scores
from tests.web.conftest import experiment

from assay.runs.summaries import SUMMARY_VERSION, RunSummary
from assay.store import open_store
from assay.store.ids import new_id
from assay.store.store import Store
from benchmarks.first_text import AGENT, first_text_results
from benchmarks.measuring import Result, at_most, show
from benchmarks.readers import read_pages
from benchmarks.store import _addresses

RUNS, SCENARIOS, REPETITIONS = 1000, 20, 2
AGENTS = ("google-adk", "langgraph")
NAMES = 20
ASKED = 40
READERS, SECONDS = 50, 20.0
WANTED, FIRST, HEAVIEST = 0.050, 1.5, 300_000
STARTS = 5
# Adds an answer to an unfinished run five times a second, until it is ended.
_WRITER = """
import sys, time
from assay.store import open_store
with open_store(sys.argv[1]) as store:
    rows = store.answers(sys.argv[2])
    for number in range(10**6):
        row = rows[number % len(rows)]
        store.add_cases(sys.argv[3], {}, answers=[row | {"repetition": number}])
        time.sleep(0.2)
"""


def main() -> None:
    with _addresses() as addresses:
        results = [result for name, address in addresses.items() for result in _measured(name, address)]
        with _serving(next(iter(addresses.values())), "--agents", AGENT) as server:
            results += first_text_results(server.base)
    show("Pages", results)


def _measured(name: str, address: str) -> list[Result]:
    with open_store(address) as store:
        pages, writer = _filled(store, address)
    found = [_first_page(name, address)]
    with _serving(address) as server:
        sizes = {kind: _largest(server.base, some) for kind, some in pages.items()}
        for what, is_written in (("nobody writes", False), ("an answer is added every 0.2 s", True)):
            with _writing(writer if is_written else []):
                read = asyncio.run(read_pages(server.port, pages, readers=READERS, seconds=SECONDS, pauses=True))
            print(f"{name}, {READERS} readers, {what}: {read.in_words()}; load {os.getloadavg()[0]:.0f}")
            for kind, median in read.medians().items():
                p99 = sorted(read.by_kind[kind])[int(0.99 * len(read.by_kind[kind]))]
                ours = f"{1000 * median:.1f} ms, p99 {1000 * p99:.0f} ms"
                limit = f"{1000 * WANTED:.0f} ms"
                found.append(at_most(f"{name}, {what}: {kind}", ours, limit, median / WANTED, 1))
            found.append(at_most(f"{name}, {what}: errors", f"{read.errors}", "0", float(read.errors), 0))
        read = asyncio.run(read_pages(server.port, pages, readers=READERS, seconds=SECONDS, pauses=False))
        print(f"{name}, {READERS} readers without a pause: {read.in_words()}; load {os.getloadavg()[0]:.0f}")
        print(f"{name}: memory of the server {server.peak_memory / 1e6:.0f} MB at its peak")
    kind, heaviest = max(sizes.items(), key=lambda one: one[1])
    weight = f"{heaviest / 1000:.0f} kB"
    found.append(at_most(f"{name}: heaviest page ({kind})", weight, "300 kB", heaviest / HEAVIEST, 1))
    return found


def _first_page(name: str, address: str) -> Result:
    """Seconds from the command to the first page; the median of several fresh servers."""
    walls, cpus = [], []
    for _ in range(STARTS):
        with _serving(address) as server:
            walls.append(server.seconds)
            cpus.append(server.cpu_seconds)
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    ours = f"{wall:.2f} s ({min(walls):.2f} to {max(walls):.2f}), {cpu:.2f} s of CPU"
    return at_most(f"{name}: first page of a fresh server", ours, f"{FIRST} s", wall / FIRST, 1)


def _largest(base: str, paths: list[str]) -> int:
    """Bytes of the largest of the pages, which also have been rendered once after this."""
    with httpx.Client(base_url=base, timeout=60) as client:
        return max(len(client.get(path).raise_for_status().content) for path in paths)


def _filled(store: Store, address: str) -> tuple[dict[str, list[str]], list[str]]:
    """Fill the store; gives the addresses of pages to ask for, and what the process that writes is told."""
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
    growing = experiment(store, plain, "going on", finish=False)
    print(f"{RUNS:,} runs with {RUNS * len(rows):,} answers", file=sys.stderr)
    some = ids[:: RUNS // ASKED]
    scenario = plain.answers[0].scenario
    pages = {
        "list of runs": [f"/runs?page={1 + number % 40}" for number in range(ASKED)],
        "search": [f"/runs?q=suite+{number % NAMES}&tag=nightly" for number in range(ASKED)],
        "a run": [f"/runs/{run_id}" for run_id in some],
        "settings of a run": [f"/runs/{run_id}/settings" for run_id in some],
        "a conversation": [f"/runs/{run_id}/conversation?scenario={scenario}&agent={AGENTS[0]}" for run_id in some],
        "a history": [f"/history?name=suite+{number % NAMES}" for number in range(ASKED)],
        "metrics": ["/metrics"],
        "a whole report": [f"/runs/{run_id}/report" for run_id in some[:5]],
        "a difference": [f"/difference?run={one}&run={other}" for one, other in zip(ids[:5], ids[5:10], strict=True)],
    }
    return pages, [address, first, growing]


class _Fresh:
    """A server that was just started."""

    def __init__(self, process: subprocess.Popen[str], base: str, seconds: float) -> None:
        self.base = base
        self.port = int(base.rpartition(":")[2])
        self.seconds = seconds
        """From the command to its first page."""
        self._folder = Path(f"/proc/{process.pid}")
        self.cpu_seconds = self._cpu_seconds()
        """What it took for that."""

    @property
    def peak_memory(self) -> int:
        found = re.search(r"VmHWM:\s+(\d+)", (self._folder / "status").read_text())
        return int(found[1]) * 1024 if found else 0

    def _cpu_seconds(self) -> float:
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _serving(address: str, *options: str) -> Iterator[_Fresh]:
    """A fresh server, when its first page has been read."""
    command = [sys.executable, "-m", "assay", "serve", "--store", address, "--port", "0", *options]
    # As a user runs it: a shell that forbids bytecode would compile every imported module again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        base = process.stderr.readline().split(" at ")[1].split("/ ")[0]
        httpx.get(f"{base}/runs", timeout=60).raise_for_status()
        yield _Fresh(process, base, time.perf_counter() - start)
    finally:
        process.terminate()
        process.wait()
        process.stderr.close() if process.stderr is not None else None


@contextmanager
def _writing(arguments: list[str]) -> Iterator[None]:
    """Another process that writes, if it is told where."""
    if not arguments:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _WRITER, *arguments])
    try:
        time.sleep(2.0)
        yield
        assert process.poll() is None, "the process that writes has ended"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
