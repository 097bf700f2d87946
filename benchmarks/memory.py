"""Peak memory of scoring Parquet files: ten times the pairs must not take much more."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.events import synthetic
from benchmarks.measuring import Result, at_most, peak_memory_of, show

BLOCK_EPISODES = 550  # about a million events
BLOCKS = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, ten = (write_blocks(Path(folder), blocks) for blocks in (1, BLOCKS))
        show("Memory", [_peak(kind, one, ten) for kind in ("with episodes", "without episodes")])


def _peak(kind: str, one: Files, ten: Files) -> Result:
    small, large = (
        peak_memory_of(["assay.cli", "events", "eval", *files.paths(kind), "--protocol", "owa", "--json", "-"])
        for files in (one, ten)
    )
    what = f"peak memory, Parquet {kind}, {ten.pairs / 1e6:.1f} M pairs against {one.pairs / 1e6:.1f} M"
    return at_most(what, f"{large / 2**20:,.0f} MB", f"{small / 2**20:,.0f} MB", large / small, 1.3)


@dataclass(frozen=True)
class Files:
    """Predictions and truths, with the episode of each row and without."""

    folder: Path
    pairs: int

    def paths(self, kind: str) -> list[str]:
        return [str(self.folder / f"{side} {kind}.parquet") for side in ("predicted", "truth")]


def write_blocks(parent: Path, blocks: int, *, alike: bool = False) -> Files:
    """`blocks` million events, a row per event; each block has its own episodes. If all are `alike`, they have the same
    predictions, which takes a tenth of the time, and there is no file without episodes.
    """
    folder = parent / str(blocks)
    folder.mkdir()
    truth = synthetic.recording(episodes=BLOCK_EPISODES, seed=5)
    files = Files(folder, len(truth) * blocks)
    texts = pa.array(synthetic.token_text(truth))
    at = truth.episode.tolist()
    strata = pa.array([truth.episodes[index].stratum for index in at])
    named = pa.schema({"episode": pa.string(), "stratum": pa.string(), "text": pa.string()})
    plain = pa.schema({"text": pa.string()})
    with ExitStack() as stack:
        writers = [
            [stack.enter_context(pq.ParquetWriter(path, schema)) for path in files.paths(kind)]
            for kind, schema in (("with episodes", named), *(() if alike else [("without episodes", plain)]))
        ]
        guess = texts
        for block in range(blocks):
            if block == 0 or not alike:
                guess = pa.array(synthetic.token_text(synthetic.prediction(truth, synthetic.GOOD, seed=block)))
            names = pa.array([f"{block}-{truth.episodes[index].name}" for index in at])
            for side, column in enumerate((guess, texts)):
                whole = pa.table({"episode": names, "stratum": strata, "text": column}, schema=named)
                writers[0][side].write_table(whole, row_group_size=100_000)
                if not alike:
                    writers[1][side].write_table(whole.select(["text"]), row_group_size=100_000)
    return files
