"""Recordings as files, for the tests and the benchmark of timelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.events import synthetic
from assay.events.stream import Episode, EventStream, concatenate


def write_recording(stream: EventStream, path: Path) -> None:
    """All events of a stream as a table; their problems are not written."""
    kinds = pa.DictionaryArray.from_arrays(pa.array(stream.kind), pa.array(["keyboard", "mouse", "screen"]))
    columns = {name: getattr(stream, name) for name in ("vk", "press", "dx", "dy", "flags", "data")}
    names = pa.array([episode.name for episode in stream.episodes])
    episode = pa.DictionaryArray.from_arrays(pa.array(stream.episode), names)
    pq.write_table(pa.table({"kind": kinds, "ts": stream.time_ns, "episode": episode, **columns}), path)


def write_long_episode(folder: Path, *, events: int, seconds: float = 200.0) -> tuple[Path, Path]:
    """A prediction that is 80 ms late and its truth, of about so many events together, as two files."""
    part = synthetic.recording(episodes=3, seconds=seconds, seed=3)
    part = part[part.episode == 1].of_episode(Episode("long"))
    repeats = -(-events // (2 * len(part)))
    step = np.int64(seconds * 1e9)
    truth = concatenate([replace(part, time_ns=part.time_ns + at * step) for at in range(repeats)])
    model = replace(synthetic.LATE, wrong_key=0.01, wrong_button=0.01)
    paths = folder / "late.parquet", folder / "truth.parquet"
    for stream, path in zip((synthetic.prediction(truth, model, seed=3), truth), paths, strict=True):
        write_recording(stream, path)
    return paths
