"""What was finished before an evaluation was stopped comes back from the store bit for bit, and is not scored again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.events.sharded_files import assert_same, report_on, write_sides

from assay.chat import samples
from assay.chat.scoring.scores import Scores
from assay.chat.scoring.streaming import ScoredChunk, score_stream
from assay.chat.transcript import write_jsonl
from assay.engines import FailedItem, attempted
from assay.errors import AssayError, SourceError
from assay.events.sharded import Sharding
from assay.runs.finished_shards import ChunksInStore, ShardsInStore
from assay.store import open_store
from assay.store.shards import FinishedShards


class Failing:
    """An engine that works until it has done some items."""

    name = "failing"

    def __init__(self, after: int) -> None:
        self.left = after
        self.rubbish: Callable[[int], Any] = lambda transcripts: None
        self.done = 0

    def results(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        for number, item in enumerate(items):
            self.left -= 1
            self.done += 1
            yield number, attempted(work, item) if self.left >= 0 else FailedItem(AssayError("the driver is gone"))

    def close(self) -> None: ...


def test_an_evaluation_of_events_goes_on(tmp_path: Path) -> None:
    write_sides(tmp_path, episodes=3, seconds=1.0)
    with open_store(tmp_path / "runs.db") as store:
        with pytest.raises(AssayError, match="the driver is gone"):
            report_on(tmp_path, sharding=Sharding(Failing(2), keeper=ShardsInStore(store)))
        keeper, engine = ShardsInStore(store), Failing(9)
        report = report_on(tmp_path, sharding=Sharding(engine, keeper=keeper))
        assert (keeper.reused, engine.done) == (2, 1)
        assert_same(report, report_on(tmp_path))
        # Nothing is left of it.
        engine = Failing(9)
        report_on(tmp_path, sharding=Sharding(engine, keeper=ShardsInStore(store)))
        assert engine.done == 3


def test_a_damaged_shard_is_scored_again(tmp_path: Path) -> None:
    write_sides(tmp_path, episodes=3, seconds=1.0)
    with open_store(tmp_path / "runs.db") as store:
        with pytest.raises(AssayError, match="the driver is gone"):
            report_on(tmp_path, sharding=Sharding(Failing(2), keeper=_Damaging(store)))
        engine = Failing(9)
        assert_same(
            report_on(tmp_path, sharding=Sharding(engine, keeper=ShardsInStore(store))),
            report_on(tmp_path),
        )
        assert engine.done == 3


class _Damaging(ShardsInStore):
    def keep(self, key: str, found: Any) -> None:
        self._shards.keep(key, b"these are no states")


def test_scoring_of_transcripts_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "said.jsonl"
    trials = [
        one.model_copy(update={"repetition": 10 * n + one.repetition})
        for n in range(8)
        for one in samples.transcripts()
    ]
    write_jsonl(trials, file)
    metrics = ["tool_call_count", "response_time"]
    monkeypatch.setattr("assay.chat.scoring.streaming._CHUNK_LINES", 20)

    def scored(**given: Any) -> tuple[Scores, list[str]]:
        texts: list[str] = []
        scores = score_stream(
            file, metrics=metrics, answers=True, texts=True, each=lambda chunk: texts.extend(chunk.texts), **given
        )
        return scores, texts

    whole, texts = scored(workers=1)
    with open_store(tmp_path / "runs.db") as store:
        with pytest.raises(AssayError, match="the driver is gone"):
            scored(engine=_small(Failing(2)), keeper=ChunksInStore(store))
        keeper = ChunksInStore(store)
        again, texts_again = scored(engine=_small(Failing(99)), keeper=keeper)
        keeper.forget()
        assert keeper.reused == 2
        assert not any(FinishedShards(store).has(key) for key in keeper._keys)
    assert texts_again == texts
    assert again.answers == whole.answers
    assert again.summary_json() == whole.summary_json()


def _small(engine: Failing) -> Failing:
    engine.name = "local"  # chunks for processes of this machine are smaller
    return engine


def test_transcripts_that_cannot_be_read_are_an_error_or_counted(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    write_jsonl(samples.transcripts(), file)
    whole = score_stream(file, metrics=["tool_call_count"])
    file.write_text(file.read_text() + "this is no transcript\n")
    with pytest.raises(SourceError, match=r"said.jsonl:"):
        score_stream(file, metrics=["tool_call_count"])
    scores = score_stream(file, metrics=["tool_call_count"], allow_missing=True)
    assert scores.inputs["transcripts"]["missing"] == 1
    assert scores.answers == whole.answers


def test_rubbish_instead_of_scores_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    write_jsonl(samples.transcripts(), file)

    class Rubbish(Failing):
        def results(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
            for number, item in enumerate(items):
                yield number, self.rubbish(len(item.lines))

    for rubbish in (
        lambda n: ScoredChunk([("a", "b", 0, True, b"too long for one metric")], transcripts=n),
        lambda n: ScoredChunk([("a", "b", 0, True, b"\xc8")], transcripts=n),  # 200 hundredths
        lambda n: ScoredChunk(transcripts=n - 1),  # one is lost
        lambda n: ScoredChunk(transcripts=n, missing={"said.jsonl:1": "it is left out"}),
        lambda n: None,
    ):
        engine = Rubbish(1)
        engine.rubbish = rubbish
        with pytest.raises(AssayError, match="not a list of scores, for the transcripts from number 1 on"):
            score_stream(file, metrics=["tool_call_count"], engine=engine)
