"""Two stored runs of 100,000 cases with 15 metrics each, compared."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assay.compare import compare
from assay.store import open_store
from assay.types import Case, Distribution, Run, State
from benchmarks.measuring import at_most, show

CASES, METRICS = 100_000, 15
LIMIT_S = 5.0


def main() -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "runs.db") as store:
        for seed, name in enumerate(("a", "b")):
            store.save(_run(name, seed))
        start = time.perf_counter()
        runs = [store.load(name) for name in ("a", "b")]
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        comparison = compare(runs[0], runs[1])
        compared = time.perf_counter() - start
    assert comparison.n_common == CASES
    what = f"two runs of {CASES:,} cases and {METRICS} metrics"
    limit = f"{LIMIT_S:g} s"
    show(
        "Comparison",
        [
            at_most(f"comparing {what}", f"{compared:.1f} s", limit, compared / LIMIT_S, 1),
            at_most(
                f"reading and comparing {what}", f"{loaded + compared:.1f} s", limit, (loaded + compared) / LIMIT_S, 1
            ),
        ],
    )


def _run(name: str, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.beta(4, 1.5, (CASES, METRICS)), 2)
    kept: dict[float, State] = {score: Distribution.of([score]) for score in np.unique(scores).tolist()}
    tally = {
        Case(f"scenario-{at:06d}"): {f"metric_{m:02d}": kept[score] for m, score in enumerate(row)}
        for at, row in enumerate(scores.tolist())
    }
    run = Run(f"0{seed}", "chat", name, "2026-01-01T00:00:00+00:00", "", {}, 42, {"chat": 1}, {}, {}, {"agent": tally})
    return replace(run, id=f"{seed:014d}")


if __name__ == "__main__":
    main()
