"""A run holds what is needed to repeat it, and gives back the report it was made from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import UsageError
from assay.events import evaluate, synthetic
from assay.events.codecs import codec
from assay.events.digest import StreamDigest
from assay.events.evaluation import rebuilt_report
from assay.events.protocols import every_protocol
from assay.events.stream import EventStream
from assay.report.html.events import render
from assay.runs import load_answers
from assay.runs.from_results import recorded_run
from assay.runs.machine import environment
from assay.store import open_store
from assay.store.store import Store
from assay.types import Distribution


@pytest.fixture(scope="module")
def truth() -> EventStream:
    return synthetic.recording(episodes=3, seconds=2, seed=1)


@pytest.fixture(scope="module")
def predicted(truth: EventStream) -> EventStream:
    return synthetic.prediction(truth, synthetic.POOR, seed=1)


def kept(store: Store, *arguments: Any, **settings: Any) -> tuple[Any, Any]:
    """A report, and the one that its stored run gives."""
    report = evaluate(*arguments, **settings)
    return report, rebuilt_report(store.load(store.save(recorded_run(report))))


@pytest.mark.parametrize("interval", [None, "event", "reference"])
@pytest.mark.slow
def test_a_stored_report_is_the_report(
    store: Store, predicted: EventStream, truth: EventStream, interval: str | None
) -> None:
    report, again = kept(
        store, predicted, truth, protocols=every_protocol(), interval=interval, reps=50, settings={"bin_ms": 100.0}
    )
    assert again.to_json() == report.to_json()
    assert render({"": again}) == render({"": report})


def test_other_encodings_are_rebuilt_with_their_settings(tmp_path: Path, truth: EventStream) -> None:
    """The digits of sequence@1 are in the encoding's own bases, so a run must know them."""
    encoder = codec("factorized", time_bases=(7, 11, 13), unit_ns=5_000_000, strict=True)
    texts = encoder.encode_each(truth)
    with open_store(tmp_path / "runs.db") as store:
        report, again = kept(
            store, texts[1:] + texts[:1], texts, encoding=encoder, protocols=("sequence", "owa"), reps=20
        )
    assert report.settings["encoding"]["time_bases"] == [7, 11, 13]
    assert report.settings["encoding"]["strict"] is True
    assert again.to_json() == report.to_json()


def test_episodes_that_only_one_side_has_are_remembered(tmp_path: Path, truth: EventStream) -> None:
    with open_store(tmp_path / "runs.db") as store:
        report, again = kept(store, truth[truth.episode != 1], truth, reps=20)
    assert (len(again.predicted.episodes), len(again.truth.episodes)) == (2, 3)
    assert again.to_json() == report.to_json()


@pytest.mark.slow
def test_stored_scores_of_conversations_are_the_scores(store: Store, tmp_path: Path) -> None:
    from assay.chat import samples
    from assay.chat.scoring.scores import rebuilt_scores, score
    from assay.report.html import chat

    transcripts = samples.transcripts()
    scores = score(transcripts)
    run = store.load(store.save(recorded_run(scores), answers=[answer.to_row() for answer in scores.answers]))
    again = rebuilt_scores(run, load_answers(run.id, store=store))
    assert again.to_json() == scores.to_json()
    assert chat.render(again) == chat.render(scores)
    assert list(run.tallies) == scores.agents
    assert set(run.versions.values()) == {1}
    line = scores.lines()[0]
    kept_states = [states[line.metric] for states in run.tallies[line.agent].values()]
    assert sum(state.n for state in kept_states if isinstance(state, Distribution)) == line.estimate.n


def test_every_repetition_is_tallied_as_a_trial_that_passes_or_not() -> None:
    from assay.chat.scoring.answers import Answer, Record, Status
    from assay.chat.scoring.tallies import tallies_of

    def turn(scenario: str, repetition: int, turn: int, status: Status = "scored", passed: bool = True) -> Answer:
        record = Record(status=status, reason="" if status == "scored" else "why")
        return Answer(
            agent="adk",
            scenario=scenario,
            repetition=repetition,
            turn=turn,
            query="",
            response="",
            entries={},
            passed=passed and status == "scored",
            record=record,
        )

    (by_case,) = tallies_of(
        [
            *(turn("one", 0, at) for at in range(2)),
            turn("one", 1, 0),
            turn("one", 1, 1, passed=False),
            turn("one", 2, 0, "failed"),
            turn("one", 2, 1, "skipped"),
            # Not installed when its turn came: no trial at all, however many turns there would have been.
            *(turn("one", 3, at, "skipped") for at in range(2)),
            *(turn("two", 0, at, "skipped") for at in range(2)),
        ]
    ).values()
    one, two = by_case.values()
    assert one["trials_passed"] == Distribution.of([1.0, 0.0, 0.0])
    assert one["turns_failed"] == Distribution.of([1.0] + [0.0] * 7)
    assert one["turns_skipped"] == Distribution.of([1.0] * 3 + [0.0] * 5)
    assert two["trials_passed"] == Distribution()


def test_a_run_of_a_protocol_that_changed_is_not_recomputed(predicted: EventStream, truth: EventStream) -> None:
    run = recorded_run(evaluate(predicted, truth, reps=20))
    with pytest.raises(UsageError, match="there is no owa@2"):
        rebuilt_report(replace(run, versions={"owa": 2}))


def test_a_run_says_what_is_needed_to_repeat_it(predicted: EventStream, truth: EventStream) -> None:
    report = evaluate(predicted, truth, reps=20, seed=7)
    command = ["assay", "events", "eval", "https://me:hunter2@host/p", "t", "--token", "abc"]
    run = recorded_run(report, command=command, name="n", tags=["t"])
    assert run.command == "assay events eval 'https://***@host/p' t --token ***"
    assert (run.kind, run.name, run.tags, run.seed) == ("events", "n", ("t",), 7)
    assert run.versions == {"assay": 1, "owa": 1}
    assert {"assay", "python", "numpy", "machine", "system"} <= set(environment())
    assert run.inputs["truth"]["sha256"] != run.inputs["predicted"]["sha256"]


def test_an_address_with_a_password_is_kept_without_it(predicted: EventStream, truth: EventStream) -> None:
    report = evaluate(predicted, truth, reps=20)
    report.truth.source = "s3://key:hunter2@bucket/truth.parquet"
    run = recorded_run(report)
    assert run.inputs["truth"]["source"] == "s3://***@bucket/truth.parquet"
    report.truth.source = "a stream"


@pytest.mark.slow
def test_a_digest_is_of_the_events_whatever_file_holds_them(tmp_path: Path, truth: EventStream) -> None:
    texts = codec("hierarchical").encode_each(truth)
    names = [truth.episodes[at] for at in truth.episode.tolist()]
    rows = [{"episode": e.name, "stratum": e.stratum, "text": text} for e, text in zip(names, texts, strict=True)]
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    halves = tmp_path / "halves"
    halves.mkdir()
    for name, part in (("a", rows[:100]), ("b", rows[100:])):
        (halves / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "truth.parquet", row_group_size=7)

    def digest(source: str) -> str | None:
        return evaluate(source, source, reps=2).truth.sha256

    whole = digest(str(tmp_path / "truth.jsonl"))
    assert whole is not None
    assert len(whole) == 64
    assert digest(str(halves)) == digest(str(tmp_path / "truth.parquet")) == whole
    rows[50]["text"] = rows[51]["text"]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert digest(str(tmp_path / "other.jsonl")) != whole


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_digest_does_not_depend_on_the_batches(truth: EventStream, size: int) -> None:
    whole, parts = StreamDigest(), StreamDigest()
    whole.update(truth)
    for start in range(0, len(truth), size):
        parts.update(truth[start : start + size])
    assert parts.hexdigest() == whole.hexdigest()
    parts.update(truth[:1])
    assert parts.hexdigest() != whole.hexdigest()


def test_other_names_of_episodes_are_another_digest(truth: EventStream) -> None:
    renamed = replace(truth, episodes=tuple(replace(one, name=one.name + "x") for one in truth.episodes))
    digests = [StreamDigest(), StreamDigest()]
    for digest, stream in zip(digests, (truth, renamed), strict=True):
        digest.update(stream)
    assert digests[0].hexdigest() != digests[1].hexdigest()


def test_transcripts_are_read_once_and_know_their_digest(tmp_path: Path) -> None:
    from assay.chat import read_transcripts, samples, score
    from assay.chat.transcript import write_jsonl

    file = tmp_path / "said.jsonl"
    write_jsonl(samples.transcripts(), file)
    run = recorded_run(score(read_transcripts(file)))
    assert run.inputs["transcripts"] == {
        "source": str(file),
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
