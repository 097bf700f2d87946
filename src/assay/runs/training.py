"""A Trainer's evaluations as runs: each is stored by its step and compared with the best one so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.compare import ComparisonLine, Margin, compare
from assay.errors import UsageError, missing_extra, unknown_name
from assay.events.evaluation import EventReport
from assay.events.protocols import ProtocolMetric
from assay.events.training.figures import figures
from assay.runs.from_results import recorded_run
from assay.store import open_store
from assay.store.store import Store
from assay.types import Estimate, Run

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise missing_extra("transformers", "train", "keep a Trainer's evaluations") from error

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

    from assay.events.training.trainer import TrainerMetrics


@dataclass(frozen=True)
class KeptEvaluation:
    """One evaluation during training, as stored."""

    step: int
    """The training step after which it was made."""
    subset: str
    """The name of the evaluation set; empty if there is only one."""
    run: Run
    value: Estimate
    """The figure that evaluations are compared by."""
    best: KeptEvaluation | None
    """The best one before it, on the same set; None for the first."""
    line: ComparisonLine | None
    """This one against the best one before it, in that figure; None for the first."""

    @property
    def sentence(self) -> str:
        """The result in words."""
        where = f"step {self.step}" + (f", {self.subset}" if self.subset else "")
        value = "undefined" if self.value.value is None else _with_interval(self.value.value, self.value)
        if self.line is None or self.best is None:
            return f"{where}: {value}"
        verdict = self.line.verdict
        against = (
            f"than step {self.best.step}" if verdict.call in ("better", "worse") else f"against step {self.best.step}"
        )
        if verdict.difference is None:
            return f"{where}: {value}, {verdict.call} {against}"
        return f"{where}: {value}, {verdict.call} {against}: {_with_interval(verdict.difference, verdict, '+')}"


class KeepEvaluations(TrainerCallback):  # type: ignore[misc]
    """Stores each evaluation as a run, and says whether it is better, the same or worse than the best so far.

        metrics = TrainerMetrics(tokenizer)
        Trainer(..., compute_metrics=metrics, callbacks=[metrics, KeepEvaluations(metrics, name="small model")])

    Each of several evaluation sets has its own best. If there are several processes, the first one stores.
    """

    def __init__(
        self,
        metrics: TrainerMetrics,
        *,
        name: str = "training",
        by: str | None = None,
        margin: float | Margin = 0.05,
        store: str | Path | Store | None = None,
        tags: Iterable[str] = (),
        say: Callable[[str], object] | None = print,
    ) -> None:
        """`by` is the figure that decides, as it is logged without 'eval_', e.g. 'owa_keyboard_accuracy'.

        By default it is the Trainer's `metric_for_best_model` if that is one of ours, else the first figure of the
        first protocol. `margin` is how large a difference may be and still not matter. `say` is called with a sentence
        for each evaluation.
        """
        self.metrics = metrics
        self.name = name
        self.by = by
        self.margin = margin
        self.store = store
        self.tags = tuple(tags)
        self.say = say
        self.kept: list[KeptEvaluation] = []
        """All evaluations so far, in order."""
        self.best: dict[str, KeptEvaluation] = {}
        """The best one of each evaluation set."""

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Called after each evaluation, with what was logged."""
        report = self.metrics.report
        if report is None or not state.is_world_process_zero:
            return
        subset = _subset(report, metrics or {})
        protocol, metric = self._deciding(report, args, subset)
        name = f"{self.name}, step {state.global_step}" + (f", {subset}" if subset else "")
        run = recorded_run(report, name=name, tags=("training", *self.tags))
        self._save(run)
        value = report.protocols[protocol].estimates[metric.key]
        best = self.best.get(subset)
        line = None
        if best is not None:
            compared = compare(best.run, run, margin=self.margin, full=not metric.headline)
            line = compared.line(f"{protocol}:{metric.key}")
        kept = KeptEvaluation(state.global_step, subset, run, value, best, line)
        self.kept.append(kept)
        if best is None or _is_better(value, best.value, metric):
            self.best[subset] = kept
        if self.say is not None:
            self.say(f"{protocol}@{report.protocols[protocol].version} {metric.title.lower()}, {kept.sentence}")

    def _save(self, run: Run) -> None:
        if isinstance(self.store, Store):
            self.store.save(run)
            return
        with open_store(self.store) as store:
            store.save(run)

    def _deciding(self, report: EventReport, args: TrainingArguments, subset: str) -> tuple[str, ProtocolMetric]:
        """The protocol and the metric by which evaluations are compared."""
        known = {
            f"{result.name}_{metric.key}": (result.name, metric)
            for result in report.protocols.values()
            for metric in result.metrics
            if metric.better != "none"
        }
        if self.by is not None:
            if self.by not in known:
                raise unknown_name("figure", self.by, known)
            return known[self.by]
        wanted = (args.metric_for_best_model or "").removeprefix("eval_")
        for key in (wanted, wanted.removeprefix(f"{subset}_")):
            if key in known:
                return known[key]
        for protocol, metric in known.values():
            if metric.headline:
                return protocol, metric
        raise UsageError("none of the protocols has a figure to compare by", hint="Name one with `by`")


def _subset(report: EventReport, logged: dict[str, float]) -> str:
    """The evaluation set whose figures were logged: the part between 'eval_' and a figure's own name."""
    for figure in figures(report):
        for key in logged:
            if key.endswith(f"_{figure}"):
                return key.removesuffix(f"_{figure}").removeprefix("eval").removeprefix("_")
    return ""


def _is_better(value: Estimate, best: Estimate, metric: ProtocolMetric) -> bool:
    if value.value is None:
        return False
    if best.value is None:
        return True
    if metric.better == "zero":
        return abs(value.value) < abs(best.value)
    return value.value > best.value if metric.better == "higher" else value.value < best.value


def _with_interval(value: float, ends: Any, sign: str = "") -> str:
    text = f"{value:{sign}.4g}"
    if ends.low is None or ends.high is None:
        return text
    return f"{text} [{ends.low:{sign}.4g}, {ends.high:{sign}.4g}]"
