"""Streams of desktop events: reading, encoding, and scoring predictions against the truth.

events.decode(source)                      the events of a file, a string or a recording
events.encode(stream)                      the events as token text
events.evaluate(predicted, truth)          scores with intervals, under one or more protocols
events.Evaluation()                        the same, batch by batch: update, merge, compute
events.compute_metrics_for_event(p, t)     nested figures for two token strings (protocol sequence@1)
events.synthetic                           synthetic recordings and predictions, for examples and tests
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

if TYPE_CHECKING:
    from assay.events import synthetic
    from assay.events.codecs import codec, encode
    from assay.events.evaluation import EventReport, decode, evaluate
    from assay.events.protocols.sequence import compute_metrics_for_event
    from assay.events.stream import Episode, EventStream, Kind, Problem
    from assay.events.training.incremental import Evaluation

# Compiled loops are slow to load, so each name is imported when it is first used.
_HOMES = {
    "Episode": "assay.events.stream",
    "Evaluation": "assay.events.training.incremental",
    "EventReport": "assay.events.evaluation",
    "EventStream": "assay.events.stream",
    "Kind": "assay.events.stream",
    "Problem": "assay.events.stream",
    "codec": "assay.events.codecs",
    "compute_metrics_for_event": "assay.events.protocols.sequence",
    "decode": "assay.events.evaluation",
    "encode": "assay.events.codecs",
    "evaluate": "assay.events.evaluation",
    "synthetic": "",
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
    "synthetic",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
