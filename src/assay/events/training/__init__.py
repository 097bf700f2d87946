"""Scores inside a training loop: batches as they come, from any number of processes, with the numbers of `evaluate`.

Evaluation         streams of events, batch by batch; needs no framework
TokenEvaluation    token ids and labels of a teacher-forced model; needs no framework
TrainerMetrics     for transformers.Trainer
EventMetric        for torchmetrics, and so for Lightning

All four give the same bits for the same events, and so does `assay.events.evaluate` on the same events in a file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.events.training.incremental import Evaluation
    from assay.events.training.metric import EventMetric
    from assay.events.training.tokens import TokenEvaluation
    from assay.events.training.trainer import TrainerMetrics

# PyTorch and what builds on it are imported only when one of their names is used.
_HOMES = {
    "Evaluation": "incremental",
    "EventMetric": "metric",
    "TokenEvaluation": "tokens",
    "TrainerMetrics": "trainer",
}

__all__ = ["Evaluation", "EventMetric", "TokenEvaluation", "TrainerMetrics"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay.events.training' has no attribute '{name}'")
    return getattr(importlib.import_module(f"assay.events.training.{_HOMES[name]}"), name)
