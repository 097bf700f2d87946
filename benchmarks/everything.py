"""All protocols together over Parquet files, intervals by episode included: CPU time by million pairs, peak memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measuring import Cost, Result, at_most, cost_of, show
from benchmarks.memory import Files, write_blocks

BLOCKS = 5
LIMIT = 2.5
"""CPU seconds by million pairs."""
WHOLE = "assay,owa,sequence,d2e"
BY_POSITION = "owa,sequence"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, large = (write_blocks(Path(folder), blocks) for blocks in (1, BLOCKS))
        _cost(small, WHOLE)  # compiles, if that has not been done
        results = []
        for protocols in (WHOLE, BY_POSITION):
            results += _results(protocols, small, large)
    show("Everything", results)


def _results(protocols: str, small: Files, large: Files) -> list[Result]:
    one, several = _cost(small, protocols), _cost(large, protocols)
    millions = [files.pairs / 1e6 for files in (small, large)]
    each = [cost.cpu_seconds / n for cost, n in zip((one, several), millions, strict=True)]
    title = f"{protocols.replace(',', ', ')}, {millions[1]:.1f} M pairs against {millions[0]:.1f} M"
    return [
        at_most(f"{title}: CPU seconds by million", f"{each[1]:.2f} s", f"{each[0]:.2f} s", each[1] / LIMIT, 1.0),
        at_most(
            f"{title}: peak memory",
            f"{several.peak_memory / 2**20:,.0f} MB",
            f"{one.peak_memory / 2**20:,.0f} MB",
            several.peak_memory / one.peak_memory,
            1.2,
        ),
    ]


def _cost(files: Files, protocols: str) -> Cost:
    paths = files.paths("with episodes")
    return cost_of(["assay.cli", "events", "eval", *paths, "--protocol", protocols, "--json", "-", "--no-store"])
