"""Ways to score events, each in a file of its own, each with a version.

A protocol is two pure functions. `score` turns an aligned pair into named states, `finish` turns a tally of such states
into estimates; everything between the two is addition. A third party adds one by an entry point in the group
`assay.protocols` that points at an object like these.
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
    """What one number is: declared once, read by tables, reports and comparisons."""

    key: str
    """Its name in flat results."""
    title: str
    """Its name for people."""
    group: str
    """The heading it stands under."""
    unit: str = ""
    """'ms', '%', '°', or empty for shares and plain numbers."""
    better: Direction = "higher"
    """Which way is better; 'none' where it only describes the data."""
    undefined: str = "nothing to measure"
    """When it is None."""
    ends: tuple[str, str] | None = None
    """Names of the interval's two ends in flat results, if they have keys of their own."""
    headline: bool = False
    """Shown in short tables."""


class EventProtocol(Protocol):
    """The whole contract of a protocol."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def pairing(self) -> Pairing:
        """'position': any aligned slice can be scored. 'episode': a whole one is needed at a time."""

    @property
    def metrics(self) -> Sequence[ProtocolMetric]: ...

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        """The states of one pair; with `in_order`, also what the `reference` interval needs."""

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        """An estimate for every metric; one with value None where there was nothing to measure."""

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> EventProtocol:
        """The same protocol for events in the encoding `codec`, with those of `settings` that it knows."""

    def settings(self) -> Mapping[str, Any]:
        """What was chosen, to be reported beside the numbers."""


PROTOCOLS: Registry[EventProtocol] = Registry(
    "protocol", package="assay.events.protocols", attribute="PROTOCOL", group="assay.protocols"
)

_USUAL_ORDER = ("assay", "owa", "sequence", "d2e")


def cautions(protocols: Sequence[EventProtocol], tallies: Mapping[str, Tally]) -> list[str]:
    """What protocols say must be read before their figures, or before those of the others.

    A protocol may have a method `cautions(tally, *, beside)` beside its contract; `beside` names all that were scored.
    """
    found: list[str] = []
    for protocol in protocols:
        said = getattr(protocol, "cautions", None)
        found += said(tallies[protocol.name], beside=list(tallies)) if said is not None else []
    return found


def every_protocol() -> list[str]:
    """All names: the built-in ones in the order people read them, then what other packages add."""
    names = PROTOCOLS.names()
    return [*(name for name in _USUAL_ORDER if name in names), *(name for name in names if name not in _USUAL_ORDER)]
