"""Shards of an evaluation add up to the whole, whatever the shards are."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.events.sharded_files import assert_same, report_on, write_sides

from assay.engines import FailedItem, attempted
from assay.engines.local import LocalEngine
from assay.errors import AssayError, SourceError, UsageError
from assay.events import evaluate
from assay.events.evaluation import EventReport
from assay.events.sharded import Sharding
from assay.events.shards import ShardTally, common_cuts, score_shard
from assay.events.tally import Tally
from assay.types import Ratio

HERE = LocalEngine(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sides")
    write_sides(folder, episodes=5, seconds=2.0)
    return folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> EventReport:
    return report_on(folder)


class Backwards:
    """An engine that finishes the last item first."""

    name = "backwards"

    def results(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        for number, item in reversed(list(enumerate(items))):
            self.scored.append(number)
            yield number, self.changed(attempted(work, item) if work is score_shard else work(item))

    def __init__(self, changed: Callable[[Any], Any] = lambda found: found) -> None:
        self.changed = changed
        self.scored: list[int] = []

    def close(self) -> None: ...


def test_files_are_shards_whose_order_does_not_matter(folder: Path, whole: EventReport) -> None:
    engine = Backwards()
    assert_same(report_on(folder, sharding=Sharding(engine)), whole)
    assert engine.scored == [4, 3, 2, 1, 0]


def test_a_parquet_file_is_cut_between_episodes(folder: Path) -> None:
    engine = Backwards()
    assert_same(report_on(folder, ".parquet", Sharding(engine, rows=50)), report_on(folder, ".parquet"))
    assert engine.scored == [0, 4, 3, 2, 1, 0]  # the episodes were found, then scored


def test_shards_that_share_an_episode_become_one(folder: Path, whole: EventReport, tmp_path: Path) -> None:
    # The first half of every episode in one file, the second in another, with other names on each side.
    for side, names in (("predicted", "ab"), ("truth", "cd")):
        (tmp_path / side).mkdir()
        halves = ["", ""]
        for file in sorted((folder / side).iterdir()):
            lines = file.read_text().splitlines(keepends=True)
            halves[0] += "".join(lines[: len(lines) // 2])
            halves[1] += "".join(lines[len(lines) // 2 :])
        for name, half in zip(names, halves, strict=True):
            (tmp_path / side / f"{name}.jsonl").write_text(half)
    settings: dict[str, Any] = {"allow_duplicates": True, "reps": 20, "protocols": [*whole.protocols]}
    sides = str(tmp_path / "predicted"), str(tmp_path / "truth")
    assert_same(evaluate(*sides, **settings, sharding=Sharding(Backwards())), evaluate(*sides, **settings))


def test_an_episode_of_one_side_is_a_shard_too(folder: Path, tmp_path: Path) -> None:
    for side in ("predicted", "truth"):
        (tmp_path / side).mkdir()
        for file in sorted((folder / side).iterdir())[side == "predicted" :]:
            (tmp_path / side / file.name).write_bytes(file.read_bytes())
    whole = report_on(tmp_path)
    assert any("without a prediction" in warning for warning in whole.warnings)
    assert_same(report_on(tmp_path, sharding=Sharding(HERE)), whole)


def test_an_unreadable_shard_is_an_error_or_counted_as_missing(folder: Path, tmp_path: Path) -> None:
    for side in ("predicted", "truth"):
        (tmp_path / side).mkdir()
        for file in (folder / side).iterdir():
            (tmp_path / side / file.name).write_bytes(file.read_bytes())
    broken = sorted((tmp_path / "truth").iterdir())[2]
    broken.write_text("this is no JSON\n")
    with pytest.raises(SourceError, match=broken.name):
        report_on(tmp_path, sharding=Sharding(HERE))
    report = report_on(tmp_path, sharding=Sharding(HERE, allow_missing=True))
    assert list(report.to_json()["inputs"]["truth"]["missing"]) == [broken.stem]
    assert any(f"1 shard could not be read and is left out ({broken.stem}" in text for text in report.warnings)
    for side in ("predicted", "truth"):
        (tmp_path / side / broken.name).unlink()
    assert report.to_json()["estimates"] == report_on(tmp_path).to_json()["estimates"]


@pytest.mark.parametrize(
    ("rubbish", "says"),
    [
        (lambda found: None, "of type NoneType"),
        (lambda found: {"owa": 1}, "of type dict"),
        (lambda found: replace(found, tallies={"owa": found.tallies["owa"]}), "protocols"),
        (lambda found: replace(found, blocks=([b"x"], [])), "digest"),
        (lambda found: replace(found, tallies=dict.fromkeys(found.tallies, _spoiled())), "not a ratio of counts"),
    ],
)
def test_rubbish_of_a_worker_is_refused(folder: Path, rubbish: Callable[[ShardTally], Any], says: str) -> None:
    with pytest.raises(AssayError, match=f"returned something that is not a tally.*{says}"):
        report_on(folder, sharding=Sharding(Backwards(rubbish)))


def test_a_worker_that_counts_too_few_rows_loses_none(folder: Path) -> None:
    """Without rows of the last episodes, and with cuts within episodes."""

    def fewer(found: Any) -> Any:
        if not isinstance(found, tuple):
            return found
        return tuple([(name, max(1, rows // 2)) for name, rows in side[:-1]] for side in found)

    whole = report_on(folder, ".parquet")
    try:
        report = report_on(folder, ".parquet", Sharding(Backwards(fewer), rows=50))
    except AssayError:
        return
    assert_same(report, whole)


@pytest.mark.parametrize("runs", [7, ([], []), ([("a", -5)], [("a", 5)]), ([("a", "b")], []), ["ab", "cd"]])
def test_rubbish_instead_of_episodes_is_refused_or_changes_nothing(folder: Path, runs: Any) -> None:
    engine = Backwards(lambda found: runs if isinstance(found, tuple) else found)
    if runs == ([], []):
        assert_same(report_on(folder, ".parquet", Sharding(engine, rows=50)), report_on(folder, ".parquet"))
        return
    with pytest.raises(AssayError, match="returned something that is not a list of episodes"):
        report_on(folder, ".parquet", Sharding(engine, rows=50))


def _spoiled() -> Tally:
    from assay.events.stream import Episode

    tally = Tally()
    tally.add(Episode("a"), {"hits": Ratio(3, -2)})
    return tally


class Kept:
    """Keeps shards in memory."""

    def __init__(self) -> None:
        self.found: dict[str, ShardTally] = {}

    def load(self, keys: Sequence[str]) -> Mapping[str, ShardTally]:
        return {key: self.found[key] for key in keys if key in self.found}

    def keep(self, key: str, found: ShardTally) -> None:
        self.found[key] = found

    def forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.found.pop(key, None)


def test_what_was_finished_is_not_scored_again(folder: Path, whole: EventReport) -> None:
    kept = Kept()
    failing = Backwards()
    failing.changed = lambda found: found if len(failing.scored) < 4 else FailedItem(AssayError("the machine is gone"))
    with pytest.raises(AssayError, match="the machine is gone"):
        report_on(folder, sharding=Sharding(failing, keeper=kept))
    assert len(kept.found) == 3
    engine = Backwards()
    assert_same(report_on(folder, sharding=Sharding(engine, keeper=kept)), whole)
    assert len(engine.scored) == 2
    assert kept.found == {}


def test_other_settings_and_changed_files_are_other_shards(folder: Path, tmp_path: Path) -> None:
    kept, before = Kept(), set[str]()
    sides = str(folder / "predicted"), str(folder / "truth")
    for tolerance in (50.0, 60.0):
        engine = Backwards()
        kept.forget = lambda keys: None  # type: ignore[method-assign]
        evaluate(*sides, reps=2, settings={"tolerance_ms": tolerance}, sharding=Sharding(engine, keeper=kept))
        assert len(engine.scored) == 5
        assert len(kept.found) == len(before) + 5
        before = set(kept.found)


def test_cuts_are_where_no_episode_is_open() -> None:
    same = [("a", 3), ("b", 2), ("c", 1)]
    assert list(common_cuts(same, same)) == [(3, 3), (5, 5), (6, 6)]
    # 'a' comes again after 'b' in the predictions, so neither can be cut off alone.
    assert list(common_cuts([("a", 1), ("b", 2), ("a", 2), ("c", 1)], same)) == [(5, 5), (6, 6)]
    # Other orders, and episodes that one side lacks.
    assert list(common_cuts([("b", 1), ("a", 1)], [("a", 1), ("b", 1), ("x", 5)])) == [(2, 2), (2, 7)]
    assert list(common_cuts([("a", 1), ("y", 4)], [("a", 1)])) == [(1, 1), (5, 1)]


def test_what_cannot_be_in_shards_is_refused(folder: Path) -> None:
    sides = str(folder / "predicted"), str(folder / "truth")
    with pytest.raises(UsageError, match="depends on the order"):
        evaluate(*sides, interval="reference", sharding=Sharding(HERE))
    with pytest.raises(UsageError, match="only files"):
        evaluate(["<EVENT_START>"], ["<EVENT_START>"], sharding=Sharding(HERE))


@pytest.mark.slow
def test_events_without_episodes_are_one_shard(folder: Path, tmp_path: Path) -> None:
    for side in ("predicted", "truth"):
        (tmp_path / side).mkdir()
        for file in (folder / side).iterdir():
            rows = [{"text": json.loads(line)["text"]} for line in file.read_text().splitlines()[:20]]
            (tmp_path / side / file.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    engine = Backwards()
    assert_same(report_on(tmp_path, sharding=Sharding(engine)), report_on(tmp_path))
    assert engine.scored == [0]
