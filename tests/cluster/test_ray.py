"""Events on a real Ray cluster of two nodes: the same bits as in one process, also if a node is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.engines import FailedItem
from assay.errors import AssayError, UsageError
from tests.cluster.clusters import nodes, require_ray

require_ray()
pytestmark = pytest.mark.ray

from assay.engines.ray import RayEngine  # noqa: E402
from assay.events.evaluation import EventReport  # noqa: E402
from assay.events.sharded import Sharding  # noqa: E402
from tests.events.sharded_files import assert_same, report_on, write_sides  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sides")
    write_sides(folder, episodes=6, seconds=2.0)
    return folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> EventReport:
    return report_on(folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with nodes(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[RayEngine]:
    engine = RayEngine(cluster.address)
    yield engine
    engine.close()


def test_ray_and_one_process_agree_to_the_last_bit(engine: RayEngine, folder: Path, whole: EventReport) -> None:
    assert engine.slots() == 2
    assert_same(report_on(folder, sharding=Sharding(engine)), whole)
    assert_same(report_on(folder, ".parquet", Sharding(engine, rows=50)), report_on(folder, ".parquet"))


def test_transcripts_have_the_same_scores(engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.chat import samples
    from assay.chat.scoring.streaming import score_stream
    from assay.chat.transcript import write_jsonl

    file = tmp_path / "said.jsonl"
    several = [(n, one) for n in range(8) for one in samples.transcripts()]
    write_jsonl([one.model_copy(update={"repetition": 10 * n + one.repetition}) for n, one in several], file)
    monkeypatch.setattr("assay.chat.scoring.streaming._CHUNK_LINES", 4)  # 32 for a cluster: five shards
    found: list[Any] = []
    for given in ({"workers": 1}, {"engine": engine}):
        texts: list[str] = []
        scores = score_stream(file, texts=True, each=partial(_take_texts, texts), **given)
        found.append((scores.summary_json(), scores.answers, texts))
    assert found[0] == found[1]


def _take_texts(texts: list[str], chunk: Any) -> None:
    texts += chunk.texts


def test_few_tasks_are_in_flight(engine: RayEngine) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    most = 0
    for done, (number, result) in enumerate(engine.results(abs, items())):
        assert number == result
        most = max(most, len(taken) - done)
    assert most <= 2 * 2 + 1  # two for each core, and the one that waits


def test_errors_and_rubbish_come_back_as_such(engine: RayEngine) -> None:
    found = dict(engine.results(_fails, [1, 2]))
    assert found[1] == 2
    failure = found[0]
    assert isinstance(failure, FailedItem)
    assert isinstance(failure.error, UsageError)
    assert str(failure.error) == "here: one is wrong. Take two"


def test_an_address_that_is_none_is_an_error_at_once() -> None:
    for address in ("nowhere", "ray://", "host:99999", "127.0.0.1:1"):
        with pytest.raises(UsageError, match=r"address|answers"):
            RayEngine(address)


def test_ray_is_imported_only_if_it_is_used() -> None:
    code = "import sys, assay.cli, assay.engines, assay.events.sharded; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_worker_without_the_function_is_an_error(engine: RayEngine) -> None:
    from assay.engines import ray

    found = ray._task(abs, 1, "0.0.0")
    assert isinstance(found, FailedItem)
    with pytest.raises(AssayError, match="a node has assay"):
        raise found.error


def test_a_killed_node_changes_nothing(cluster: Any, folder: Path, whole: EventReport, tmp_path: Path) -> None:
    """Runs last on the shared cluster: a task is known to run on the node when it is killed."""
    engine = RayEngine(cluster.address)
    try:
        results = engine.results(_held, [str(tmp_path)] * 4)
        # Both nodes have started a task before one is killed; its task starts again on the other node.
        starting = engine._ray.remote(_await_starts).options(num_cpus=0).remote(str(tmp_path), 2)
        found = [result for _, result in _released(results, engine, starting, cluster, tmp_path)]
        assert found == ["done"] * 4
        assert len(list(tmp_path.glob("started-*"))) > 4  # at least one task began twice
        assert_same(report_on(folder, sharding=Sharding(engine)), whole)
    finally:
        engine.close()


def _released(results: Any, engine: RayEngine, starting: Any, cluster: Any, folder: Path) -> Iterator[Any]:
    import threading

    def kill() -> None:
        engine._ray.get(starting)
        lost = next(iter(cluster.worker_nodes))
        running = [path.name.split("-")[2] for path in folder.glob(f"started-{lost.node_id}-*")]
        cluster.remove_node(lost, allow_graceful=False)
        for process in running:  # a machine that is gone takes its workers with it
            os.kill(int(process), signal.SIGKILL)
        (folder / "release").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    yield from results
    thread.join()


def _held(folder: str) -> str:
    """Says that it runs, and ends when it may."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    (Path(folder) / f"started-{node}-{os.getpid()}-{time.monotonic_ns()}").touch()
    while not (Path(folder) / "release").exists():
        time.sleep(0.02)
    return "done"


def _await_starts(folder: str, count: int) -> None:
    while len(list(Path(folder).glob("started-*"))) < count:
        time.sleep(0.02)


def _fails(number: int) -> int:
    if number == 1:
        raise UsageError("one is wrong", where="here", hint="Take two")
    return number
