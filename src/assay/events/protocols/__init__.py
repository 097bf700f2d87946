"""Protocols: ways to score events, each in its own file and with a version.

A protocol consists of two pure functions. `score` turns an aligned pair into named states, `finish` turns a tally of
such states into estimates; between the two, states are only added. Other packages add a protocol by an entry point in
the group `assay.protocols` that refers to an object with the same interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from assay.events.align import Pair
from assay.events.codecs import Codec
from assay.events.tally import Tally
from assay.registry import Registry
from assay.stats import Resampling
from assay.types import Direction, Estimate, State

Pairing = Literal["position", "episode"]


@dataclass(frozen=True, slots=True)
class ProtocolMetric:
    """The declaration of one number, used by tables, reports and comparisons."""

    key: str
    """Its name in flat results."""
    title: str
    """Its name in tables and reports."""
    group: str
    """The heading it is listed under."""
    unit: str = ""
    """'ms', '%', '°', or empty for shares and plain numbers."""
    better: Direction = "higher"
    """Which direction is better; 'none' if it only describes the data."""
    undefined: str = "nothing to measure"
    """When it is None."""
    ends: tuple[str, str] | None = None
    """Names of the two ends of the interval in flat results, if they have keys of their own."""
    headline: bool = False
    """Shown in short tables."""
    listed: bool = True
    """Shown in full tables; one that says nothing about a predictor is only in flat results."""


class EventProtocol(Protocol):
    """The interface of a protocol."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def pairing(self) -> Pairing:
        """'position': any aligned slice can be scored. 'episode': only whole episodes can be scored."""

    @property
    def metrics(self) -> Sequence[ProtocolMetric]: ...

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        """The states of one pair; with `in_order`, also those that the `reference` interval needs."""

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        """An estimate for every metric; its value is None if there was nothing to measure."""

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> EventProtocol:
        """The same protocol for events in the encoding `codec`, with those of `settings` that it has."""

    def settings(self) -> Mapping[str, Any]:
        """Its settings, to be reported with the numbers."""


PROTOCOLS: Registry[EventProtocol] = Registry(
    "protocol", package="assay.events.protocols", attribute="PROTOCOL", group="assay.protocols"
)

_USUAL_ORDER = ("assay", "owa", "sequence", "d2e")


def cautions(protocols: Sequence[EventProtocol], tallies: Mapping[str, Tally]) -> list[str]:
    """Warnings that must be read before the figures of the protocols.

    A protocol may have an additional method `cautions(tally, *, beside)`; `beside` names all scored protocols.
    """
    found: list[str] = []
    for protocol in protocols:
        said = getattr(protocol, "cautions", None)
        found += said(tallies[protocol.name], beside=list(tallies)) if said is not None else []
    return list(dict.fromkeys(found))  # two protocols may warn of the same thing


def check_tallies(protocols: Sequence[EventProtocol], tallies: Mapping[str, Tally]) -> None:
    """Raise an error if a protocol had nothing to compare although both sides have events.

    A protocol may have an additional method `check(tally)`. It is not used while a model is trained: an evaluation
    there must not end the training.
    """
    for protocol in protocols:
        checked = getattr(protocol, "check", None)
        if checked is not None:
            checked(tallies[protocol.name])


def every_protocol() -> list[str]:
    """All names: the built-in protocols in the order of reports, then those of other packages."""
    names = PROTOCOLS.names()
    return [*(name for name in _USUAL_ORDER if name in names), *(name for name in names if name not in _USUAL_ORDER)]
