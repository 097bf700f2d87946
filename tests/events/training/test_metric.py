"""EventMetric in torchmetrics: one process, two of them, merged, pickled, checkpointed — the same bits."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.events.training.batches import batch, hierarchical, vocabulary
from tests.events.training.frameworks import needed

from assay.errors import AssayWarning, SourceError
from assay.events import synthetic
from assay.events.protocols import PROTOCOLS
from assay.events.training.figures import figures
from assay.events.training.packets import packed, unpacked
from assay.events.training.tokens import TokenEvaluation, named_rows

torch = needed("torch")
torchmetrics = needed("torchmetrics")

from assay.events.training.metric import EventMetric  # noqa: E402 — it needs torchmetrics

pytestmark = pytest.mark.train

CODEC = hierarchical()
TABLE = vocabulary(CODEC)
NAMES = PROTOCOLS.names()
RECORDING = synthetic.recording(episodes=6, seconds=1, seed=2)
BATCH = batch(CODEC, TABLE, [RECORDING[RECORDING.episode == at][:20] for at in range(6)], wrong=0.03, seed=4)
EPISODES = [f"recording {at}" for at in range(6)]
STRATA = ["a", "b"] * 3


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What PyTorch says about itself is not ours; what assay says stays an error."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("error", AssayWarning)
        yield


def made(**options: Any) -> EventMetric:
    return EventMetric(TABLE, NAMES, reps=20, full=True, **options)


def feed(metric: Any, *parts: slice) -> Any:
    for part in parts:
        metric.update(
            torch.tensor(BATCH.predictions[part]),
            torch.tensor(BATCH.labels[part]),
            inputs=torch.tensor(BATCH.inputs[part]),
            episodes=EPISODES[part],
            strata=STRATA[part],
        )
    return metric


@cache
def expected() -> dict[str, float]:
    evaluation = TokenEvaluation(TABLE, NAMES, reps=20)
    evaluation.update(BATCH.predictions, BATCH.labels, episodes=EPISODES, strata=STRATA)
    return figures(evaluation.compute(), full=True)


def floats(found: dict[str, Any]) -> dict[str, float]:
    assert all(value.dtype == torch.float64 for value in found.values())
    return {key: value.item() for key, value in found.items()}


def test_one_process_gives_the_bits_of_an_evaluation_without_a_framework() -> None:
    assert floats(feed(made(), slice(0, 6)).compute()) == expected()
    assert floats(feed(made(), slice(4, 6), slice(0, 1), slice(1, 4)).compute()) == expected()


def test_a_metric_can_be_reset_cloned_pickled_and_checkpointed() -> None:
    metric = feed(made(), slice(0, 3))
    metric.compute()
    copies = [metric.clone(), pickle.loads(pickle.dumps(metric))]
    for copy in copies:
        assert floats(feed(copy, slice(3, 6)).compute()) == expected()
    metric.persistent(True)
    loaded = made()
    loaded.load_state_dict(metric.state_dict())
    assert floats(feed(loaded, slice(3, 6)).compute()) == expected()
    metric.reset()
    assert floats(feed(metric, slice(0, 6)).compute()) == expected()


def test_states_merge() -> None:
    first, second = feed(made(), slice(0, 2)), feed(made(), slice(2, 6))
    first.merge_state(second)
    assert floats(first.compute()) == expected()
    empty = made()
    empty.merge_state(feed(made(), slice(0, 6)))
    assert floats(empty.compute()) == expected()


def test_forward_gives_the_batch_and_keeps_the_whole() -> None:
    metric = made()
    for part in (slice(0, 3), slice(3, 6)):
        of_batch = metric(
            torch.tensor(BATCH.predictions[part]),
            torch.tensor(BATCH.labels[part]),
            episodes=EPISODES[part],
            strata=STRATA[part],
        )
        assert floats(of_batch) == floats(feed(made(), part).compute())
    assert floats(metric.compute()) == expected()


def test_it_works_in_a_collection() -> None:
    collection = torchmetrics.MetricCollection({"events": made()})
    feed(collection, slice(0, 6))
    found = collection.compute()
    assert {key.removeprefix("events_"): value.item() for key, value in found.items()} == expected()


def test_log_probabilities_travel_with_the_events() -> None:
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(*BATCH.labels.shape, max(TABLE) + 1)).astype(np.float32))
    evaluation = TokenEvaluation(TABLE, NAMES, reps=20, log_probabilities=True)
    evaluation.update(logits, BATCH.labels, episodes=EPISODES, strata=STRATA)
    metric = made(log_probabilities=True)
    for part in (slice(0, 4), slice(4, 6)):
        labels = torch.tensor(BATCH.labels[part])
        metric.update(logits[part], labels, episodes=EPISODES[part], strata=STRATA[part])
    found = floats(metric.compute())
    assert found == figures(evaluation.compute(), full=True)
    assert found["assay_nll"] > 0


def test_the_report_is_there_too() -> None:
    report = feed(made(), slice(0, 6)).report()
    assert figures(report, full=True) == expected()
    assert (
        report.predicted.events
        == report.truth.events
        == sum(len(RECORDING[RECORDING.episode == at][:20]) for at in range(6))
    )


SHARES = {
    "the second has no data": ((slice(0, 6),), ()),
    "the first has no data": ((), (slice(0, 2), slice(2, 6))),
    "both have data": ((slice(0, 1), slice(3, 6)), (slice(1, 3),)),
}


@pytest.mark.slow(seconds=10)
def test_two_processes_give_the_bits_of_one(tmp_path: Path) -> None:
    """Processes are slow to start, so one pair of them goes through all the ways to share the data."""
    given = {
        "table": TABLE,
        "protocols": NAMES,
        "predictions": BATCH.predictions,
        "labels": BATCH.labels,
        "episodes": EPISODES,
        "strata": STRATA,
        "shares": list(SHARES.values()),
    }
    (tmp_path / "given.pickle").write_bytes(pickle.dumps(given))
    program = Path(__file__).with_name("two_processes.py")
    running = [subprocess.Popen([sys.executable, str(program), str(rank), str(tmp_path)]) for rank in range(2)]
    assert [one.wait(240) for one in running] == [0, 0]
    for rank in range(2):
        found = pickle.loads((tmp_path / f"{rank}.pickle").read_bytes())
        for (computed, whole, batches), (name, shares) in zip(found, SHARES.items(), strict=True):
            assert computed == expected(), name
            assert whole == expected(), name
            assert batches == 2 * len(shares[rank]), name


def test_packets_hold_everything_and_refuse_what_is_damaged() -> None:
    evaluation = TokenEvaluation(TABLE)
    rows = named_rows(evaluation.read(BATCH.predictions, BATCH.labels, BATCH.inputs), EPISODES, STRATA)
    raw = packed(rows)
    first, second = unpacked(raw + raw, CODEC)
    for found in (first, second):
        assert packed(found) == raw
        assert found.alignment == rows.alignment
        assert found.truth.to_events() == rows.truth.to_events()
        assert np.array_equal(found.predicted.problem, rows.predicted.problem)
    for damaged in (raw[:-1], raw[:12], raw[:40]):
        with pytest.raises(SourceError, match="cut short"):
            list(unpacked(damaged, CODEC))
