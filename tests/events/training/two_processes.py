"""One of two processes of a training, started by test_metric: it computes what it is told and leaves it in a file.

Run as a program: `python two_processes.py RANK FOLDER`, where FOLDER/given.pickle says what to compute.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from assay.events.training import EventMetric
from assay.events.training.figures import figures


def main(rank: int, folder: Path) -> None:
    warnings.simplefilter("ignore")
    meeting = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    given = pickle.loads((folder / "given.pickle").read_bytes())
    found = []
    for shares in given["shares"]:
        metric = EventMetric(given["table"], given["protocols"], reps=20, full=True)
        feed(metric, given, shares[rank])
        computed = {key: value.item() for key, value in metric.compute().items()}
        whole = figures(metric.report(), full=True)
        feed(metric, given, shares[rank])  # it goes on with its own data, and not with the other's
        own = metric.packets if isinstance(metric.packets, list) else [metric.packets]
        found.append((computed, whole, sum(len(part) > 0 for part in own)))
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(found))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def feed(metric: EventMetric, given: dict[str, Any], parts: tuple[slice, ...]) -> None:
    for part in parts:
        metric.update(
            torch.tensor(given["predictions"][part]),
            torch.tensor(given["labels"][part]),
            episodes=given["episodes"][part],
            strata=given["strata"][part],
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
