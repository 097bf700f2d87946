"""Token ids and labels of a teacher-forced model, scored batch by batch. It needs no framework: tensors or arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.errors import AssayWarning, UsageError
from assay.events.codecs import Codec
from assay.events.codecs.tokens import TokenCodec
from assay.events.codecs.vocabulary import AnyTokenizer
from assay.events.evaluation import EventReport
from assay.events.stream import Episode, EventStream
from assay.events.training.alignment import TokenAlignment
from assay.events.training.arrays import (
    Names,
    array_of,
    first_of,
    inputs_of,
    labels_of,
    most_probable,
    predictions_of,
    row_names,
    scored_ids,
)
from assay.events.training.incremental import Evaluation
from assay.events.training.likelihood import row_calibrations, token_log_probabilities
from assay.events.training.spans import RowEvents, SpanReader
from assay.types import Ints


class TokenEvaluation:
    """What a model predicts for each labelled token, scored event by event.

    Predictions are read where the labels say that an event stands, so a wrong token costs one event, and a batch gives
    what its rows give one by one. Each row is scored on its own; rows of one episode add up to it.
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
        interval: str | None = None,
        reps: int = 1000,
        level: float = 0.95,
        seed: int = 42,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`tokenizer`: transformers', `tokenizers.Tokenizer`, or a dictionary {id: token}.

        `shift`: the prediction for label p stands at p − 1, as in a causal language model, and is put beside it here;
        give False if predictions and labels stand side by side already. With `log_probabilities`, the model's
        probabilities are scored too (`nll` and `calibration_error` of assay@1). The rest is as in
        `assay.events.evaluate`.
        """
        self.evaluation = Evaluation(
            protocols,
            encoding=encoding,
            strict=strict,
            interval=interval,
            reps=reps,
            level=level,
            seed=seed,
            settings=settings,
        )
        codec = self.evaluation.scoring.encoder
        if not isinstance(codec, TokenCodec):
            raise UsageError(
                f"the {codec.name} encoding has no tokens of its own, so token ids cannot be scored in it",
                hint="Use hierarchical or factorized, or decode to text and use Evaluation",
            )
        if log_probabilities and "assay" not in {protocol.name for protocol in self.evaluation.scoring.protocols}:
            raise UsageError("log-probabilities are scored by assay@1", hint="Add 'assay' to the protocols")
        self.log_probabilities = log_probabilities
        self.reader = SpanReader(codec, codec.codes_of(tokenizer), shift)
        self.alignment = TokenAlignment()
        """How well predictions fit the labels at, before and after their place, so far."""

    def reset(self) -> None:
        """Forget everything that was scored."""
        self.evaluation.reset()
        self.alignment = TokenAlignment()

    def update(
        self,
        predictions: Any,
        labels: Any,
        *,
        inputs: Any = None,
        episodes: Names | None = None,
        strata: Names | None = None,
    ) -> None:
        """Score a batch: predicted ids (rows, positions) or logits (rows, positions, tokens), and labels.

        Labels of −100 are ignored. `inputs`, the ids that went into the model, help to tell input copying
        from a double shift. `episodes` and `strata` name the recording and the group of each row.
        """
        self.update_rows(self.read(predictions, labels, inputs), episodes=episodes, strata=strata)

    def read(self, predictions: Any, labels: Any, inputs: Any = None) -> RowEvents:
        """The events of a batch, read and not yet scored."""
        truth = labels_of(labels)
        scores = None
        if self.log_probabilities:
            predictions, *given = predictions if scored_ids(predictions) else self.scored(predictions, truth)
            scores = (array_of(given[0]).astype(np.float64), array_of(given[1]).astype(np.float64))
        return self.reader.read(predictions_of(predictions), truth, inputs_of(inputs, truth), scores)

    def scored(self, logits: Any, labels: Any) -> tuple[Any, Any, Any]:
        """The most probable ids, and log-probabilities of the true and of the most probable tokens."""
        whole, truth = first_of(logits), labels_of(labels)
        if getattr(whole, "ndim", 0) != 3:
            raise UsageError("log-probabilities need logits", hint="Give logits (rows, positions, tokens)")
        return most_probable(whole), *token_log_probabilities(whole, truth, shift=self.reader.shift)

    def update_rows(self, rows: RowEvents, *, episodes: Names | None = None, strata: Names | None = None) -> None:
        """Score a batch that has been read."""
        self.score(named_rows(rows, episodes, strata))

    def score(self, rows: RowEvents) -> None:
        """Score a batch whose rows have their names already."""
        beside = {}
        if rows.scores is not None:
            beside["assay"] = row_calibrations(rows.predicted, rows.truth, rows.lengths, rows.scores)
        self.evaluation.update_rows(rows.predicted, rows.truth, rows.lengths, beside=beside)
        self.alignment += rows.alignment

    def merge(self, other: TokenEvaluation) -> None:
        """Add what another evaluation has scored."""
        self.evaluation.merge(other.evaluation)
        self.alignment += other.alignment

    def compute(self) -> EventReport:
        """The report on everything so far; whatever looks wrong about the batches is issued as a warning."""
        report = self.evaluation.compute()
        found = self.alignment.warnings(shift=self.reader.shift)
        for sentence in found:
            warnings.warn(sentence, AssayWarning, stacklevel=2)
        return replace(report, warnings=[*found, *report.warnings])


def named_rows(rows: RowEvents, episodes: Names | None, strata: Names | None) -> RowEvents:
    """The same rows, assigned to these episodes and strata."""
    n = len(rows.lengths)
    names = [""] * n if episodes is None else row_names(episodes, n, "episodes")
    groups = [""] * n if strata is None else row_names(strata, n, "strata")
    known = tuple(Episode(name, group) for name, group in zip(names, groups, strict=True))
    number = np.repeat(np.arange(n, dtype=np.int32), rows.lengths)
    return replace(
        rows,
        predicted=_of_episodes(rows.predicted, known, number),
        truth=_of_episodes(rows.truth, known, number),
    )


def _of_episodes(stream: EventStream, known: tuple[Episode, ...], number: Ints | Any) -> EventStream:
    return replace(stream, episodes=known or (Episode(),), episode=number)
