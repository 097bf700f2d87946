"""TrainerMetrics in a real `transformers.Trainer`, with a tiny model and a tokenizer made on the spot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.events.training.batches import MASKED, batch, hierarchical, vocabulary
from tests.events.training.frameworks import needed

from assay.errors import AssayWarning, UsageError
from assay.events import synthetic
from assay.events.protocols import PROTOCOLS
from assay.events.training.figures import figures
from assay.events.training.tokens import TokenEvaluation

torch = needed("torch")
transformers = needed("transformers")
needed("accelerate")

from assay.events.training.trainer import TrainerMetrics  # noqa: E402 — it needs transformers

pytestmark = pytest.mark.train

CODEC = hierarchical()
TABLE = vocabulary(CODEC)
NAMES = PROTOCOLS.names()
RECORDING = synthetic.recording(episodes=10, seconds=1, seed=2)
ROWS = [RECORDING[RECORDING.episode == at][:20] for at in range(10)]
BATCH = batch(CODEC, TABLE, ROWS, seed=4)
EPISODES = [f"recording {at}" for at in range(10)]
TOKENS = max(TABLE) + 1


class Data(torch.utils.data.Dataset[dict[str, Any]]):  # type: ignore[name-defined, misc]
    """Rows of ids and labels."""

    def __init__(self, chosen: slice = slice(None)) -> None:
        self.inputs, self.labels = (torch.tensor(side[chosen]) for side in (BATCH.inputs, BATCH.labels))
        self.episodes = EPISODES[chosen]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, at: int) -> dict[str, Any]:
        return {"input_ids": self.inputs[at], "labels": self.labels[at]}


class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Knows the next token by heart, but for some; gives more than logits, as many models do."""

    def __init__(self, *, wrong: float = 0.05, breaks: int | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.wrong = wrong
        self.breaks = breaks
        self.calls = 0

    def forward(self, input_ids: Any, labels: Any) -> dict[str, Any]:
        self.calls += 1
        if self.calls == self.breaks:
            raise KeyboardInterrupt
        following = torch.roll(input_ids, -1, dims=1)
        # Wrong or right by the row's content alone: the same in any batch.
        noise = ((input_ids * 31 + torch.cumsum(input_ids, 1) * 17) % 1000) / 1000 < self.wrong
        logits = torch.nn.functional.one_hot(torch.where(noise, input_ids, following), TOKENS).float()
        return {"loss": self.weight.sum() ** 2, "logits": logits, "hidden": logits[..., :2] + self.weight}


def arguments(path: Path, **more: Any) -> Any:
    return transformers.TrainingArguments(
        output_dir=str(path),
        per_device_eval_batch_size=more.pop("size", 3),
        per_device_train_batch_size=5,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        batch_eval_metrics=more.pop("batch_eval_metrics", True),
        save_strategy=more.pop("save_strategy", "no"),
        dataloader_pin_memory=False,
        **more,
    )


def trainer(path: Path, metrics: TrainerMetrics, *, model: Any = None, data: Any = None, **more: Any) -> Any:
    return transformers.Trainer(
        model=model or Model(),
        args=arguments(path, **more),
        train_dataset=Data(),
        eval_dataset=data or Data(),
        compute_metrics=metrics,
        preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
        callbacks=[metrics, *more.pop("callbacks", [])],
    )


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What PyTorch and transformers say about themselves is not ours; what assay says stays an error."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("error", AssayWarning)
        yield


@cache
def expected(first: int = 0, stop: int = 10, *, episodes: bool = True) -> dict[str, float]:
    """The same events, evaluated without a framework."""
    evaluation = TokenEvaluation(TABLE, NAMES, reps=20)
    data = Data(slice(first, stop))
    logits = Model()(data.inputs, data.labels)["logits"]
    evaluation.update(logits.numpy(), data.labels.numpy(), episodes=data.episodes if episodes else None)
    return figures(evaluation.compute())


def scores(found: dict[str, float], prefix: str = "eval_") -> dict[str, float]:
    """What assay gave, without the Trainer's own figures and its prefix."""
    own = ("loss", "runtime", "samples_per_second", "steps_per_second", "model_preparation_time", "epoch")
    bare = {key.removeprefix(prefix): value for key, value in found.items()}
    return {key: value for key, value in bare.items() if key not in own and key != "epoch"}


def made(**options: Any) -> TrainerMetrics:
    return TrainerMetrics(TABLE, NAMES, reps=20, **options)


@pytest.mark.parametrize("size", [1, 3, 10])
def test_batch_by_batch_gives_the_bits_of_an_evaluation_without_a_framework(tmp_path: Path, size: int) -> None:
    found = trainer(tmp_path, made(episodes=EPISODES), size=size).evaluate()
    assert scores(found) == expected()


@pytest.mark.parametrize("more", [{}, {"eval_do_concat_batches": False}, {"eval_accumulation_steps": 1}])
def test_all_at_once_gives_the_same_bits(tmp_path: Path, more: dict[str, Any]) -> None:
    found = trainer(tmp_path, made(episodes=EPISODES), batch_eval_metrics=False, **more).evaluate()
    assert scores(found) == expected()


def test_without_names_events_are_resampled(tmp_path: Path) -> None:
    metrics = made()
    assert scores(trainer(tmp_path, metrics).evaluate()) == expected(episodes=False)
    assert metrics.report is not None
    assert metrics.report.settings["interval"] == "event"


def test_inputs_and_losses_may_be_included(tmp_path: Path) -> None:
    for at_once in (True, False):
        more = {"include_for_metrics": ["inputs", "loss"], "batch_eval_metrics": not at_once}
        found = trainer(tmp_path, made(episodes=EPISODES), **more).evaluate()
        assert scores(found) == expected()


def test_without_preprocessing_logits_are_taken_by_their_largest(tmp_path: Path) -> None:
    metrics = made(episodes=EPISODES)
    whole = trainer(tmp_path, metrics, batch_eval_metrics=False)
    whole.preprocess_logits_for_metrics = None
    assert scores(whole.evaluate()) == expected()


def test_what_is_gathered_is_ids_only() -> None:
    logits = torch.rand(2, 5, 7)
    kept = made().preprocess_logits_for_metrics((logits, logits), torch.zeros(2, 5))
    assert kept.shape == (2, 5)
    assert torch.equal(kept, logits.argmax(-1))


def test_log_probabilities_are_taken_before_anything_is_gathered(tmp_path: Path) -> None:
    """Batch by batch, at once, and without a framework: the same bits; a model with these logits is not very sure."""
    data, evaluation = Data(), TokenEvaluation(TABLE, NAMES, reps=20, log_probabilities=True)
    logits = Model()(data.inputs, data.labels)["logits"]
    kept = made(log_probabilities=True).preprocess_logits_for_metrics(logits, data.labels)
    assert [part.shape for part in kept] == [data.labels.shape] * 3
    evaluation.update(logits.numpy(), data.labels.numpy(), episodes=EPISODES)
    wanted = figures(evaluation.compute(), full=True)
    assert wanted["assay_nll"] > 0
    for more in ({}, {"batch_eval_metrics": False}, {"batch_eval_metrics": False, "eval_do_concat_batches": False}):
        metrics = made(episodes=EPISODES, log_probabilities=True, full=True)
        assert scores(trainer(tmp_path, metrics, **more).evaluate()) == wanted


def test_figures_are_plain_floats_with_intervals_and_without_what_is_undefined(tmp_path: Path) -> None:
    found = scores(trainer(tmp_path, made(episodes=EPISODES, full=True)).evaluate())
    assert all(type(value) is float for value in found.values())
    low, value, high = (found[f"owa_comparable{end}"] for end in ("_low", "", "_high"))
    assert 0 < low <= value <= high < 1
    assert set(expected()) < set(found)


def test_several_sets_one_after_the_other(tmp_path: Path) -> None:
    sets = {"first": Data(slice(0, 4)), "second": Data(slice(4, 10))}
    metrics = made(episodes=lambda data: data.episodes)
    found = trainer(tmp_path, metrics, data=sets).evaluate()
    for name, chosen in (("first", slice(0, 4)), ("second", slice(4, 10))):
        of_set = {key: value for key, value in found.items() if key.startswith(f"eval_{name}_")}
        assert scores(of_set, f"eval_{name}_") == expected(chosen.start, chosen.stop)


def test_an_aborted_evaluation_leaves_nothing_behind(tmp_path: Path) -> None:
    metrics = made(episodes=EPISODES)
    broken = trainer(tmp_path, metrics, model=Model(breaks=3))
    with pytest.raises(KeyboardInterrupt):
        broken.evaluate()
    assert metrics.evaluation.evaluation.truth.events > 0
    assert scores(broken.evaluate()) == expected()


def test_training_continues_after_an_aborted_evaluation(tmp_path: Path) -> None:
    """Evaluated at the start, aborted, then trained with another evaluation each step: every one is whole."""
    metrics = made(episodes=EPISODES)
    more = {"eval_strategy": "steps", "eval_steps": 1, "max_steps": 2, "logging_strategy": "no"}
    model = Model(breaks=2)
    whole = trainer(tmp_path, metrics, model=model, eval_on_start=True, **more)
    with pytest.raises(KeyboardInterrupt):
        whole.train()
    whole.train()
    evaluations = [entry for entry in whole.state.log_history if "eval_owa_comparable" in entry]
    assert len(evaluations) == 3
    for entry in evaluations:
        assert scores({key: value for key, value in entry.items() if key != "step"}) == expected()


def test_the_best_checkpoint_is_chosen_by_a_figure(tmp_path: Path) -> None:
    metrics = made(episodes=EPISODES)
    options = {
        "eval_strategy": "steps",
        "save_strategy": "steps",
        "eval_steps": 1,
        "save_steps": 1,
        "max_steps": 2,
        "metric_for_best_model": "owa_keyboard_accuracy",
        "greater_is_better": True,
        "load_best_model_at_end": True,
    }
    whole = trainer(tmp_path, metrics, **options)
    whole.train()
    assert whole.state.best_metric == expected()["owa_keyboard_accuracy"]


def test_a_real_language_model_and_its_tokenizer(tmp_path: Path) -> None:
    """A tiny GPT-2 with tied embeddings, untrained: a fast tokenizer gives the same bits as a plain dictionary."""
    tokenizers = needed("tokenizers")
    bare = tokenizers.Tokenizer(tokenizers.models.WordLevel({TABLE[at]: at for at in TABLE}, unk_token="<unk>"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bare, unk_token="<unk>", pad_token="<pad>")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=TOKENS, n_positions=512, n_embd=16, n_layer=1, n_head=2)
    config.use_cache = False
    model = transformers.GPT2LMHeadModel(config)
    found = []
    for tokenizer in (fast, bare, TABLE):
        metrics = TrainerMetrics(tokenizer, NAMES, reps=20, full=True, episodes=EPISODES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssayWarning)
            found.append(scores(trainer(tmp_path, metrics, model=model).evaluate()))
    assert found[0] == found[1] == found[2]
    assert found[0]["owa_comparable"] == 0


def test_a_model_that_copies_its_input_is_named_by_the_trainer(tmp_path: Path) -> None:
    metrics = made()
    with pytest.warns(AssayWarning, match="The model copies its input"):
        found = trainer(tmp_path, metrics, model=Model(wrong=1.1), include_for_metrics=["inputs"]).evaluate()
    assert scores(found)["owa_comparable"] == 0


def test_labels_without_events_do_not_end_a_training(tmp_path: Path) -> None:
    data = Data()
    data.labels = torch.full_like(data.labels, MASKED)
    metrics = made()
    with pytest.warns(AssayWarning, match="No events were scored: .*no true events"):
        assert scores(trainer(tmp_path, metrics, data=data).evaluate()) == {}
    assert metrics.report is None


def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="3 episodes for 4 rows or more"):
        trainer(tmp_path, made(episodes=EPISODES[:3]), size=2).evaluate()
    alone = made(episodes=lambda data: data.episodes)
    unseen = transformers.EvalPrediction(BATCH.predictions, BATCH.labels)
    with pytest.raises(UsageError, match="only a callback sees"):
        alone(unseen)


def test_arrays_are_taken_as_tensors_are() -> None:
    metrics = made(episodes=EPISODES)
    whole = metrics(transformers.EvalPrediction((BATCH.predictions, np.zeros(3)), (BATCH.labels,)))
    parts = [
        metrics(
            transformers.EvalPrediction(torch.tensor(BATCH.predictions[part]), torch.tensor(BATCH.labels[part])),
            compute_result=part.stop == 10,
        )
        for part in (slice(0, 7), slice(7, 10))
    ]
    assert parts == [{}, whole]
