"""A `torchmetrics.Metric` of events: its state is the events themselves, which any number of processes can exchange.

Everything is computed from all events at the end, so one process and many give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import missing_extra
from assay.events.codecs import Codec
from assay.events.codecs.vocabulary import AnyTokenizer
from assay.events.evaluation import EventReport
from assay.events.training.arrays import Names, array_of
from assay.events.training.figures import figures
from assay.events.training.packets import packed, unpacked
from assay.events.training.tokens import TokenEvaluation, named_rows

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise missing_extra("torchmetrics", "train", "score events as a torchmetrics metric") from error


class EventMetric(Metric):  # type: ignore[misc]
    """Scores of events: `update(logits, labels)` for each batch, `compute()` at the end, in one process or many.

    `compute` gives a dictionary of float64 tensors, the figures that a Trainer gets; `report` gives the whole report.
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False

    def __init__(
        self,
        tokenizer: AnyTokenizer,
        protocols: Sequence[str] = ("assay", "owa"),
        *,
        encoding: str | Codec = "hierarchical",
        strict: bool = False,
        shift: bool = True,
        log_probabilities: bool = False,
        full: bool = False,
        interval: str | None = None,
        reps: int = 1000,
        level: float = 0.95,
        seed: int = 42,
        settings: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """`full` gives every figure, not only those of short tables; `kwargs` go to torchmetrics.

        For the rest see `TokenEvaluation`.
        """
        super().__init__(**kwargs)
        self._evaluation = TokenEvaluation(
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
        self._full = full
        self.packets: list[Any] | Any
        self.add_state("packets", default=[], dist_reduce_fx="cat")

    def update(
        self,
        predictions: Any,
        labels: Any,
        *,
        inputs: Any = None,
        episodes: Names | None = None,
        strata: Names | None = None,
    ) -> None:
        """Read a batch: logits (rows, positions, tokens) or ids, and labels. See `TokenEvaluation.update`."""
        rows = named_rows(self._evaluation.read(predictions, labels, inputs), episodes, strata)
        self.packets.append(_tensor(packed(rows)).to(self.device))

    def compute(self) -> dict[str, Any]:
        """Every figure of all batches of all processes, as `{protocol}_{key}`; undefined figures are left out."""
        found = figures(self._computed_report(), full=self._full)
        return {key: torch.tensor(value, dtype=torch.float64) for key, value in found.items()}

    def report(self) -> EventReport:
        """The whole report on all batches of all processes. With several processes, all must call it."""
        with self.sync_context(should_sync=self._to_sync, should_unsync=self._should_unsync):
            return self._computed_report()

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """As in torchmetrics; a process without data takes part with an empty state of the right type."""
        if isinstance(self.packets, list) and not self.packets:
            self.packets.append(torch.empty(0, dtype=torch.uint8, device=self.device))
        super().sync(*args, **kwargs)

    def _computed_report(self) -> EventReport:
        evaluation = self._evaluation
        evaluation.reset()
        states = self.packets if isinstance(self.packets, list) else [self.packets]
        for state in states:
            for rows in unpacked(array_of(state).tobytes(), evaluation.reader.codec):
                evaluation.score(rows)
        return evaluation.compute()


def _tensor(raw: bytes) -> Any:
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8)
