"""A protocol of another package: the share of presses among predicted keys, against that among true ones.

It uses assay's public contract only, and shows how little a protocol needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.events.align import Pair
from assay.events.codecs import Codec
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.stream import Kind
from assay.events.tally import Tally
from assay.stats import Resampling, ratio_interval
from assay.types import Estimate, Ratio, State


@dataclass(frozen=True)
class Presses:
    """Of the true presses, how many were predicted as presses of any key."""

    name: str = "presses"
    version: int = 1
    pairing: Pairing = "position"
    metrics: Sequence[ProtocolMetric] = (
        ProtocolMetric("press_recall", "Presses found", "Keys", undefined="no true press", headline=True),
    )

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        pressed, found = (
            side.valid & (side.kind == Kind.KEYBOARD) & side.press for side in (pair.truth, pair.predicted)
        )
        return {"presses": Ratio(int((pressed & found).sum()), int(pressed.sum()))}

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        strata = [episode.stratum for episode in tally.episodes]
        return {"press_recall": ratio_interval(tally.parts("presses", Ratio), plan, strata=strata)}

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> Presses:
        return self

    def settings(self) -> Mapping[str, Any]:
        return {}


PROTOCOL = Presses()
