"""Events by the million: time and memory of each million in one process, and what a cluster would add to it.

The number of millions is taken from MILLIONS (2 by default, 100 if there is time), and protocols from PROTOCOLS (all
by default). With ENGINE=ray the same events are scored by a Ray of this machine, and every number of the report is
compared; TRANSCRIPTS=200000 scores so many transcripts by both engines and compares. SHARDS=0 leaves out the run in
shards of one process. What a shard returns, and what checking and adding it and a task cost, are measured too:
docs/guides/clusters.md models large clusters with these constants.
"""

from __future__ import annotations

import os
import pickle
import re
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from assay.engines.local import LocalEngine
from assay.events import evaluate
from assay.events.evaluation import EventReport
from assay.events.sharded import Sharding
from assay.events.shards import ShardTally, ShardTask, checked_tally
from assay.events.tally import Tally
from benchmarks.memory import write_blocks
from benchmarks.transcripts import write_transcripts

PROTOCOLS = tuple(os.environ.get("PROTOCOLS", "assay,owa,sequence,d2e").split(","))
_MILLION = 1_000_000
_TASKS = 200
Found = TypeVar("Found")


def main() -> None:
    millions = int(os.environ.get("MILLIONS", "2"))
    with tempfile.TemporaryDirectory() as folder:
        files = write_blocks(Path(folder), millions, alike=millions > 5)
        sides = files.paths("with episodes")
        print(f"{files.pairs:,} pairs in two Parquet files, protocols {', '.join(PROTOCOLS)}")
        whole = _in_one_process(sides)
        if os.environ.get("SHARDS", "1") != "0":
            _in_shards(sides, whole)
        if os.environ.get("ENGINE") == "ray":
            _on_ray(sides, whole)
        if transcripts := int(os.environ.get("TRANSCRIPTS", "0")):
            _transcripts(Path(folder) / "said.jsonl", transcripts)


def _in_one_process(sides: list[str]) -> EventReport:
    last = time.perf_counter(), time.process_time(), 0

    def progress(phase: str, done: int, _total: int | None) -> None:
        nonlocal last
        if phase == "scoring" and done // _MILLION > last[2]:
            now = time.perf_counter(), time.process_time(), done // _MILLION
            rate = now[1] - last[1]
            print(f"  million {now[2]}: {now[0] - last[0]:.1f} s, {rate:.1f} s of CPU, {_memory('VmRSS'):,.0f} MB")
            last = now

    seconds, report = _timed(lambda: evaluate(*sides, protocols=PROTOCOLS, progress=progress))
    print(f"one process: {seconds:.1f} s of CPU with the intervals, at most {_memory('VmHWM'):,.0f} MB")
    return report


class _Measured(LocalEngine):
    """Shards in this process, with what each returns."""

    def __init__(self) -> None:
        super().__init__(1)
        self.sizes: list[int] = []
        self.seconds: list[float] = []
        self.tallies: list[ShardTally] = []
        self.tasks: list[ShardTask] = []

    def results(self, work, items):  # type: ignore[no-untyped-def]
        for number, item in enumerate(items):
            seconds, found = _timed(partial(work, item))
            if isinstance(found, ShardTally):
                self.seconds.append(seconds)
                self.sizes.append(len(pickle.dumps(found)))
                self.tallies.append(found)
                self.tasks.append(item)
            yield number, found


def _in_shards(sides: list[str], whole: EventReport) -> None:
    engine = _Measured()
    report = evaluate(*sides, protocols=PROTOCOLS, sharding=Sharding(engine))
    assert report.to_json() == whole.to_json()
    events = report.truth.events
    episodes = len(report.truth.episodes)
    total = sum(engine.sizes)
    print(f"{len(engine.sizes)} shards: {sum(engine.seconds) / events * _MILLION:.1f} s of CPU for each million events")
    print(
        f"  a shard returns {total / len(engine.sizes) / 1e6:.2f} MB: {total / events:.1f} bytes an event, "
        f"{total / episodes:,.0f} an episode"
    )
    adding, _ = _timed(lambda: _added(engine.tallies))
    pickled = [pickle.dumps(found) for found in engine.tallies]
    unpickling, _ = _timed(lambda: [pickle.loads(found) for found in pickled])
    checking, _ = _timed(lambda: [checked_tally(*both) for both in zip(engine.tallies, engine.tasks, strict=True)])
    shards = len(engine.sizes)
    print(
        f"  of the driver's time a shard takes {1e3 * unpickling / shards:.0f} ms to unpickle, "
        f"{1e3 * checking / shards:.0f} ms to check, {1e3 * adding / shards:.0f} ms to add"
    )
    scoring = report.scoring
    assert scoring is not None
    tallies = {name: result.tally for name, result in report.protocols.items()}
    resampling, _ = _timed(lambda: scoring.report(tallies, report.predicted, report.truth))
    print(f"  the report of {episodes:,} episodes takes {resampling:.1f} s of CPU")


def _added(found: list[ShardTally]) -> dict[str, Tally]:
    whole = {name: Tally() for name in PROTOCOLS}
    for one in found:
        for name, tally in one.tallies.items():
            whole[name].extend(tally)
    return whole


def _on_ray(sides: list[str], whole: EventReport) -> None:
    from assay.engines.ray import RayEngine

    engine = RayEngine()
    try:
        list(engine.results(abs, range(8)))  # the workers have started
        start = time.perf_counter()
        seconds, _ = _timed(lambda: list(engine.results(abs, range(_TASKS))))
        each = 1e3 * (time.perf_counter() - start) / _TASKS
        print(
            f"ray, {engine.slots()} cores: an empty task takes {each:.1f} ms, {1e3 * seconds / _TASKS:.2f} of CPU here"
        )
        start = time.perf_counter()
        report = evaluate(*sides, protocols=PROTOCOLS, sharding=Sharding(engine))
        print(f"ray: {time.perf_counter() - start:.1f} s; every number is the same: {_same(report, whole)}")
    finally:
        engine.close()


def _transcripts(file: Path, number: int) -> None:
    """Score transcripts on this machine's processes and on Ray, and compare every score."""
    from assay.chat.scoring.streaming import score_stream
    from assay.engines.ray import RayEngine

    write_transcripts(file, number)
    start = time.perf_counter()
    local = score_stream(file)
    between = time.perf_counter()
    engine = RayEngine()
    try:
        there = score_stream(file, engine=engine)
    finally:
        engine.close()
    same = there.summary_json() == local.summary_json() and vars(there.table) == vars(local.table)
    here, on_ray = between - start, time.perf_counter() - between
    print(f"{number:,} transcripts: {here:.0f} s on this machine, {on_ray:.0f} s on ray; the same scores: {same}")


def _same(one: EventReport, other: EventReport) -> bool:
    states = [{name: result.tally.states() for name, result in report.protocols.items()} for report in (one, other)]
    return one.to_json() == other.to_json() and states[0] == states[1]


def _timed(function: Callable[[], Found]) -> tuple[float, Found]:
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def _memory(which: str) -> float:
    """Resident memory in MB: VmRSS now, VmHWM at most."""
    found = re.search(rf"{which}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


if __name__ == "__main__":
    main()
