"""Recordings in many files, and both ways to evaluate them, for the tests of shards on any engine."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.events import evaluate, synthetic
from assay.events.evaluation import EventReport
from assay.events.sharded import Sharding
from assay.events.stream import EventStream

PROTOCOLS = ("assay", "owa", "sequence", "d2e")


def write_sides(folder: Path, *, episodes: int = 6, seconds: float = 4.0) -> None:
    """A folder of JSONL files and a Parquet file for each side, with one episode per JSONL file."""
    truth = synthetic.recording(episodes=episodes, seconds=seconds)
    predicted = synthetic.prediction(truth, synthetic.GOOD)
    for side, stream in (("predicted", predicted), ("truth", truth)):
        rows = rows_of(stream)
        (folder / side).mkdir(parents=True)
        for name in dict.fromkeys(row["episode"] for row in rows):
            text = "".join(json.dumps(row) + "\n" for row in rows if row["episode"] == name)
            (folder / side / f"{name}.jsonl").write_text(text)
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{side}.parquet", row_group_size=97)


def rows_of(stream: EventStream) -> list[dict[str, str]]:
    names = [stream.episodes[at] for at in stream.episode.tolist()]
    texts = synthetic.token_text(stream)
    return [{"episode": one.name, "stratum": one.stratum, "text": text} for one, text in zip(names, texts, strict=True)]


def report_on(folder: Path, suffix: str = "", sharding: Sharding | None = None) -> EventReport:
    sides = [str(folder / f"{side}{suffix}") for side in ("predicted", "truth")]
    return evaluate(*sides, protocols=PROTOCOLS, reps=20, sharding=sharding)


def assert_same(one: EventReport, other: EventReport) -> None:
    """Every number, sentence, digest and state of two reports is the same."""
    assert one.to_json() == other.to_json()
    assert {name: result.tally.states() for name, result in one.protocols.items()} == {
        name: result.tally.states() for name, result in other.protocols.items()
    }
