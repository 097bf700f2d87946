"""Peak memory of scoring Parquet files: ten times the pairs must not take much more."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.events import synthetic
from benchmarks.measuring import Result, at_most, peak_memory_of, show

BLOCK_EPISODES = 550  # about a million events
BLOCKS = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, ten = (_write(Path(folder), blocks) for blocks in (1, BLOCKS))
        show("Memory", [_peak("with episodes", one, ten, []), _peak("without", one, ten, _WITHOUT)])


_WITHOUT = ["--column", "episode=none", "--column", "stratum=none"]


def _peak(what: str, one: tuple[Path, Path, int], ten: tuple[Path, Path, int], options: list[str]) -> Result:
    small, large = (
        peak_memory_of(["assay.cli", "events", "eval", str(p), str(t), "--protocol", "owa", "--json", "-", *options])
        for p, t, _ in (one, ten)
    )
    pairs = f"{ten[2] / 1e6:.1f} M pairs against {one[2] / 1e6:.1f} M"
    return at_most(
        f"peak memory, Parquet {what}, {pairs}",
        f"{large / 2**20:,.0f} MB",
        f"{small / 2**20:,.0f} MB",
        large / small,
        1.3,
    )


def _write(folder: Path, blocks: int) -> tuple[Path, Path, int]:
    """Predictions and truths of `blocks` million events, a row per event; each block has its own episodes."""
    truth = synthetic.recording(episodes=BLOCK_EPISODES, seed=5)
    texts = synthetic.token_text(truth)
    names = [episode.name for episode in truth.episodes]
    schema = pa.schema({"episode": pa.string(), "stratum": pa.string(), "text": pa.string()})
    strata = pa.array([truth.episodes[at].stratum for at in truth.episode.tolist()])
    paths = folder / f"predicted-{blocks}.parquet", folder / f"truth-{blocks}.parquet"
    with pq.ParquetWriter(paths[0], schema) as predicted_file, pq.ParquetWriter(paths[1], schema) as truth_file:
        for block in range(blocks):
            guess = synthetic.token_text(synthetic.prediction(truth, synthetic.GOOD, seed=block))
            episodes = pa.array([f"{block}-{names[at]}" for at in truth.episode.tolist()])
            for file, column in ((predicted_file, guess), (truth_file, texts)):
                table = pa.table({"episode": episodes, "stratum": strata, "text": column}, schema=schema)
                file.write_table(table, row_group_size=100_000)
    return (*paths, len(truth) * blocks)
