"""Metrics for `transformers.Trainer`: what its `compute_metrics`, `preprocess_logits_for_metrics` and `callbacks` take.

A Trainer hands over tensors that it has gathered from all processes already, so nothing is synchronised here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import AssayWarning, SourceError, TruthError, UsageError, missing_extra
from assay.events.codecs import Codec
from assay.events.codecs.vocabulary import AnyTokenizer
from assay.events.evaluation import EventReport
from assay.events.training.arrays import array_of, batches_of, first_of, most_probable
from assay.events.training.figures import figures
from assay.events.training.tokens import TokenEvaluation

try:
    import torch
    from transformers import TrainerCallback
except ImportError as error:
    raise missing_extra("transformers", "train", "score events in a Trainer") from error

if TYPE_CHECKING:
    from transformers import EvalPrediction, TrainerControl, TrainerState, TrainingArguments

Episodes = Sequence[str] | Callable[[Any], Sequence[str]]
"""Names of the recordings that the rows of the evaluation set come from, in its order; or a function from the data set
that is being evaluated to such names."""


class TrainerMetrics(TrainerCallback):  # type: ignore[misc]
    """Scores of events for a Trainer, batch by batch or at the end.

        metrics = TrainerMetrics(tokenizer)
        Trainer(
            ...,
            args=TrainingArguments(..., batch_eval_metrics=True),
            compute_metrics=metrics,
            preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
            callbacks=[metrics],
        )

    As a callback it notices that an evaluation was aborted, and begins anew.
    """

    def __init__(
        self,
        tokenizer: AnyTokenizer,
        protocols: Sequence[str] = ("assay", "owa"),
        *,
        encoding: str | Codec = "hierarchical",
        strict: bool = False,
        shift: bool = True,
        log_probabilities: bool = False,
        episodes: Episodes | None = None,
        full: bool = False,
        interval: str | None = None,
        reps: int = 1000,
        level: float = 0.95,
        seed: int = 42,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`full` gives every figure, not only those of short tables. For the rest see `TokenEvaluation`."""
        self.evaluation = TokenEvaluation(
            tokenizer,
            protocols,
            encoding=encoding,
            strict=strict,
            shift=shift,
            log_probabilities=log_probabilities,
            interval=interval,
            reps=reps,
            level=level,
            seed=seed,
            settings=settings,
        )
        self.full = full
        self.report: EventReport | None = None
        """The report on the last evaluation; None before the first, and if there was nothing to score."""
        self._episodes = episodes
        self._names: Sequence[str] | None = episodes if isinstance(episodes, Sequence) else None
        self._rows = 0
        self._loader: Any = None

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """The most probable token of each position: much less has to be gathered and kept.

        If log-probabilities are asked for, those of the true and of the most probable token stand beside it.
        """
        if self.evaluation.log_probabilities:
            return tuple(torch.as_tensor(part) for part in self.evaluation.scored(logits, labels))
        return torch.as_tensor(most_probable(first_of(logits)))

    def __call__(self, prediction: EvalPrediction, compute_result: bool | None = None) -> dict[str, float]:
        """What a Trainer calls: after each batch (`batch_eval_metrics=True`), or once with everything."""
        at_once = compute_result is None
        if at_once:
            self.reset()
        inputs = prediction.inputs
        parts = [batches_of(side) for side in (prediction.predictions, prediction.label_ids)]
        seen = batches_of(inputs) if len(parts[1]) > 1 and inputs is not None else [inputs] * len(parts[1])
        for predictions, labels, given in zip(*parts, seen, strict=True):
            self._update(predictions, labels, given)
        return self._result() if compute_result in (None, True) else {}

    def reset(self) -> None:
        """Discard what was scored of an evaluation that did not end."""
        self.evaluation.reset()
        self._rows = 0

    def _update(self, predictions: Any, labels: Any, inputs: Any) -> None:
        rows = self.evaluation.read(predictions, labels, inputs)
        n = len(rows.lengths)
        names = None
        if self._episodes is not None:
            if self._names is None:
                raise UsageError(
                    "the names of the episodes depend on the data set, which only a callback sees",
                    hint="Give the metrics to the Trainer as a callback too: callbacks=[metrics]",
                )
            names = self._names[self._rows : self._rows + n]
            if len(names) < n:
                raise UsageError(
                    f"{len(self._names)} episodes for {self._rows + n} rows or more",
                    hint="Give one name for each row of the evaluation set, in its order",
                )
        self._rows += n
        self.evaluation.update_rows(rows, episodes=names)

    def _result(self) -> dict[str, float]:
        """The figures; everything is reset for the next evaluation. Bad data must not end a long training run."""
        self.report = None
        try:
            self.report = self.evaluation.compute()
        except (SourceError, TruthError) as error:
            warnings.warn(f"No events were scored: {error}", AssayWarning, stacklevel=3)
        finally:
            self.reset()
            self._loader = None
        return {} if self.report is None else figures(self.report, full=self.full)

    # --- as a callback ----------------------------------------------------------------------------------------------

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Called before each batch is scored. A new loader means a new evaluation, even if the last one did not end."""
        loader = kwargs.get("eval_dataloader")
        if loader is self._loader:
            return
        self.reset()
        self._loader = loader
        if self._episodes is not None and not isinstance(self._episodes, Sequence):
            names = self._episodes(getattr(loader, "dataset", None))
            self._names = array_of(names).tolist() if hasattr(names, "detach") else list(names)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Training continues: an evaluation that has not ended by now never will."""
        self._abandon()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """As `on_step_begin`."""
        self._abandon()

    def _abandon(self) -> None:
        if self._rows:
            self.reset()
        self._loader = None
