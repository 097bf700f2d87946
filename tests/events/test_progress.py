"""What `evaluate` reports while it works: which phase, how much of it is done, and how much there is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from assay.cli import _output
from assay.events import EventStream, evaluate, scoring, synthetic
from assay.events.protocols import PROTOCOLS

PHASES = ["reading predictions", "reading truths", "scoring", "resampling"]
TRUTH = synthetic.recording(episodes=12, seed=4)
PREDICTED = synthetic.prediction(TRUTH, synthetic.GOOD, seed=4)
Told = list[tuple[str, int, int | None]]


def write_shards(folder: Path, stream: EventStream, shards: int) -> int:
    """The stream as so many Parquet files; their size together."""
    folder.mkdir()
    texts = synthetic.token_text(stream)
    names = [stream.episodes[at].name for at in stream.episode.tolist()]
    edges = [len(stream) * at // shards for at in range(shards + 1)]
    for at, (start, stop) in enumerate(pairwise(edges)):
        part = pa.table({"episode": names[start:stop], "text": texts[start:stop]})
        pq.write_table(part, folder / f"part-{at:03}.parquet", row_group_size=500)
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, dict[str, int]]:
    folder = tmp_path_factory.mktemp("shards")
    sizes = {
        "reading predictions": write_shards(folder / "predicted", PREDICTED, 17),
        "reading truths": write_shards(folder / "truth", TRUTH, 9),
    }
    calls: Told = []
    evaluate(
        str(folder / "predicted"),
        str(folder / "truth"),
        protocols=("owa", "d2e"),
        reps=20,
        progress=lambda *call: calls.append(call),
    )
    return calls, sizes


@pytest.mark.slow
def test_phases_begin_in_order(told: tuple[Told, dict[str, int]]) -> None:
    begun = list(dict.fromkeys(phase for phase, _, _ in told[0]))
    assert sorted(begun[:2]) == PHASES[:2]
    assert begun[2:] == PHASES[2:]
    # Nothing is read or scored any more once resampling has begun.
    first = next(at for at, call in enumerate(told[0]) if call[0] == "resampling")
    assert {phase for phase, _, _ in told[0][first:]} == {"resampling"}


@pytest.mark.parametrize("phase", ["reading predictions", "reading truths"])
def test_bytes_are_those_of_all_shards(told: tuple[Told, dict[str, int]], phase: str) -> None:
    calls, sizes = told
    done = [n for name, n, _ in calls if name == phase]
    assert {total for name, _, total in calls if name == phase} == {sizes[phase]}
    assert done == sorted(done)
    assert done[-1] == sizes[phase]
    assert len(set(done)) >= 9  # at least one step for each shard


def test_pairs_are_counted_to_the_last(told: tuple[Told, dict[str, int]]) -> None:
    done = [(n, total) for name, n, total in told[0] if name == "scoring"]
    assert [n for n, _ in done] == sorted(n for n, _ in done)
    assert done[-1] == (len(TRUTH), len(TRUTH))


def test_figures_are_counted(told: tuple[Told, dict[str, int]]) -> None:
    total = sum(len(PROTOCOLS.get(name).metrics) for name in ("owa", "d2e"))
    done = [(n, of) for name, n, of in told[0] if name == "resampling"]
    assert {of for _, of in done} == {total}
    assert done[0][0] == 0
    assert [n for n, _ in done] == sorted(n for n, _ in done)
    assert done[-1][0] == total
    assert len({n for n, _ in done}) > 20


def test_amounts_name_their_unit_and_rate() -> None:
    assert _output.amount_done("reading truths", 3_100_000, 9_600_000, 2e6) == "3.1 MB of 9.6 MB, 2.0 MB/s"
    assert _output.amount_done("scoring", 65_536, None, None) == "65,536 pairs"
    assert _output.amount_done("resampling", 12, 40, 7.0) == "12 of 40 figures, 7/s"


def test_each_phase_has_its_bar() -> None:
    with _output.phase_bars(Console(file=None, quiet=True)) as (bar, update):
        for phase in PHASES:
            update(phase, 1, 4)
            update(phase, 2, 4)
        assert [task.description for task in bar.tasks] == PHASES
        assert [(task.completed, task.total) for task in bar.tasks] == [(2, 4)] * 4


@pytest.mark.slow
def test_an_episode_that_ended_before_it_was_closed_is_one_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path / "predicted", PREDICTED, 3)
    write_shards(tmp_path / "truth", TRUTH, 5)
    sides = str(tmp_path / "predicted"), str(tmp_path / "truth")
    usual = evaluate(*sides, protocols=("d2e",), reps=20)
    monkeypatch.setattr(scoring, "_KEPT", 100)
    assert evaluate(*sides, protocols=("d2e",), reps=20).flat("d2e") == usual.flat("d2e")
