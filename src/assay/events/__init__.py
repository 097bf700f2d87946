"""Streams of desktop events: reading, encoding, and scoring predictions against the truth.

events.decode(source)                      what is in a file, a string, a recording
events.encode(stream)                      the way back to token text
events.evaluate(predicted, truth)          numbers with intervals, under one or more protocols
events.Evaluation()                        the same, batch by batch: update, merge, compute
events.compute_metrics_for_event(p, t)     seed 002's dictionary for two token strings
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.events.codecs import codec, encode
    from assay.events.evaluation import EventReport, decode, evaluate
    from assay.events.protocols.sequence import compute_metrics_for_event
    from assay.events.stream import Episode, EventStream, Kind, Problem
    from assay.events.training.incremental import Evaluation

# Compiled loops take a while to load, so each name is imported when it is first used.
_HOMES = {
    "Episode": "stream",
    "Evaluation": "training.incremental",
    "EventReport": "evaluation",
    "EventStream": "stream",
    "Kind": "stream",
    "Problem": "stream",
    "codec": "codecs",
    "compute_metrics_for_event": "protocols.sequence",
    "decode": "evaluation",
    "encode": "codecs",
    "evaluate": "evaluation",
}

__all__ = [
    "Episode",
    "Evaluation",
    "EventReport",
    "EventStream",
    "Kind",
    "Problem",
    "codec",
    "compute_metrics_for_event",
    "decode",
    "encode",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay.events' has no attribute '{name}'")
    return getattr(importlib.import_module(f"assay.events.{_HOMES[name]}"), name)
