"""Each evaluation of a training is a stored run that is compared with the best one before it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.events.training.batches import batch, hierarchical, vocabulary
from tests.events.training.frameworks import needed

from assay.errors import UsageError
from assay.events import synthetic
from assay.store import open_store

torch = needed("torch")
transformers = needed("transformers")
needed("accelerate")

from assay.events.training.trainer import TrainerMetrics  # noqa: E402 — these need transformers
from assay.runs.training import KeepEvaluations  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.slow]

CODEC = hierarchical()
TABLE = vocabulary(CODEC)
# So many that two equal evaluations are shown to be the same.
N = 80
RECORDING = synthetic.recording(episodes=N, seconds=1, seed=2)
ROWS = [RECORDING[RECORDING.episode == at][:8] for at in range(N)]
EPISODES = [f"recording {at}" for at in range(N)]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def evaluated(keeper: KeepEvaluations, step: int, wrong: float, prefix: str = "eval", **arguments: Any) -> None:
    """What a Trainer does at the end of an evaluation, for a model that gets this share of tokens wrong."""
    made = batch(CODEC, TABLE, ROWS, wrong=wrong, seed=4)
    found = keeper.metrics(transformers.EvalPrediction(made.predictions, made.labels))
    state = transformers.TrainerState(global_step=step)
    args = transformers.TrainingArguments(output_dir="unused", report_to=[], use_cpu=True, **arguments)
    logged = {f"{prefix}_{key}": value for key, value in found.items()}
    keeper.on_evaluate(args, state, transformers.TrainerControl(), metrics=logged)


def keeper(tmp_path: Path, **options: Any) -> KeepEvaluations:
    metrics = TrainerMetrics(TABLE, ["owa"], reps=200, episodes=EPISODES)
    return KeepEvaluations(metrics, store=tmp_path / "runs.db", **options)


def test_evaluations_are_kept_by_step_and_compared_with_the_best(tmp_path: Path) -> None:
    said: list[str] = []
    kept = keeper(tmp_path, name="small", by="owa_comparable", say=said.append, tags=["night"])
    for step, wrong in ((0, 0.5), (100, 0.02), (200, 0.3), (300, 0.02)):
        evaluated(kept, step, wrong)
    calls = [one.line.verdict.call if one.line else None for one in kept.kept]
    assert calls == [None, "better", "worse", "same"]
    assert [one.best.step if one.best else None for one in kept.kept] == [None, 0, 100, 100]
    with open_store(tmp_path / "runs.db") as store:
        runs = [stored.run for stored in store.list(tag="training")]
        assert [run.name for run in runs] == [f"small, step {step}" for step in (300, 200, 100, 0)]
        assert all(set(run.tags) == {"training", "night"} for run in runs)
        whole = store.load("small, step 100")
        assert len(whole.tallies["owa"]) == N
    assert said[0].startswith("owa@1 comparable, step 0: 0.")
    assert ", better than step 0: +0." in said[1]
    assert ", worse than step 100: -0." in said[2]
    assert ", same against step 100: +0 [" in said[3]
    assert said[1].count("[") == 2


def test_each_evaluation_set_has_its_own_best(tmp_path: Path) -> None:
    kept = keeper(tmp_path, by="owa_comparable", say=None)
    evaluated(kept, 1, 0.02, prefix="eval_games")
    evaluated(kept, 1, 0.5, prefix="eval_office")
    evaluated(kept, 2, 0.02, prefix="eval_office")
    assert [one.subset for one in kept.kept] == ["games", "office", "office"]
    assert [one.line is not None for one in kept.kept] == [False, False, True]
    assert kept.kept[2].run.name == "training, step 2, office"
    assert kept.best["games"].step == 1
    assert kept.best["office"].step == 2


def test_the_trainers_own_choice_decides(tmp_path: Path) -> None:
    kept = keeper(tmp_path, say=None)
    evaluated(kept, 1, 0.02, metric_for_best_model="eval_owa_timestamp_abs_error_p95_ms")
    expected = kept.metrics.report.flat()["timestamp_abs_error_p95_ms"]  # type: ignore[union-attr]
    assert kept.kept[0].value.value == expected
    first = keeper(tmp_path, say=None)
    evaluated(first, 1, 0.02)
    assert first.kept[0].value.value == first.metrics.report.flat()["comparable"]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="nonsense"):
        evaluated(keeper(tmp_path, by="nonsense"), 1, 0.02)


def test_lower_is_better_where_it_is(tmp_path: Path) -> None:
    kept = keeper(tmp_path, say=None, by="owa_timestamp_abs_error_p95_ms")
    for step, wrong in ((1, 0.3), (2, 0.0), (3, 0.3)):
        evaluated(kept, step, wrong)
    assert kept.best[""].step == 2


def test_only_the_first_process_stores(tmp_path: Path) -> None:
    kept = keeper(tmp_path, say=None)
    made = batch(CODEC, TABLE, ROWS, seed=4)
    kept.metrics(transformers.EvalPrediction(made.predictions, made.labels))
    state = transformers.TrainerState(global_step=1, is_world_process_zero=False)
    args = transformers.TrainingArguments(output_dir="unused", report_to=[], use_cpu=True)
    kept.on_evaluate(args, state, transformers.TrainerControl(), metrics={})
    assert kept.kept == []


def test_an_evaluation_without_events_is_not_kept(tmp_path: Path) -> None:
    kept = keeper(tmp_path, say=None)
    args = transformers.TrainingArguments(output_dir="unused", report_to=[], use_cpu=True)
    kept.on_evaluate(args, transformers.TrainerState(), transformers.TrainerControl(), metrics={"eval_loss": 1.0})
    assert kept.kept == []


def test_an_open_store_may_be_given(tmp_path: Path) -> None:
    with open_store(tmp_path / "open.db") as store:
        kept = KeepEvaluations(TrainerMetrics(TABLE, reps=50, episodes=EPISODES), store=store, say=None)
        evaluated(kept, 5, 0.1)
        assert len(store.list()) == 1
