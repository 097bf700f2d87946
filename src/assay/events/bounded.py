"""Bounded tallies: errors of time rounded to a few significant bits, so that an episode has few distinct ones.

Times that no encoding has quantised, such as those of recordings, give nearly as many distinct errors as events, and a
tally keeps each. Rounding comes before counting, so that tallies still add up exactly and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.types import Estimate, Ints, State

if TYPE_CHECKING:
    from assay.events.align import Pair
    from assay.events.codecs import Codec
    from assay.events.protocols import EventProtocol, Pairing, ProtocolMetric
    from assay.events.tally import Tally
    from assay.stats.plan import Resampling


BITS = 8
"""Significant bits that are kept."""
RELATIVE_ERROR = 2.0**-BITS
"""How far a rounded value is from the true one, at most, as a share of it."""
SETTING = "bounded_tallies"
_PERCENT = f"{100 * RELATIVE_ERROR:.1f} %"
WORDS = (
    f"Tallies are bounded: each error of a time is rounded to {BITS} significant bits and so at most {_PERCENT} off. "
    "Percentiles and means of their sizes are off by no more, means of signed errors by at most this share of their "
    f"mean size, and R² by at most {200 * RELATIVE_ERROR:.1f} % of 1 − R². Nothing else is rounded."
)


def rounded(values: NDArray[np.integer[Any]]) -> Ints:
    """Integers of up to 62 bits, shape (n,), with BITS significant bits each: the nearest, and if two are, the larger
    by size.

    Example:
        >>> rounded(np.array([0, -255, 257, 1_000_003])).tolist()
        [0, -255, 258, 999424]

    """
    whole = values.astype(np.int64)
    size = np.abs(whole)
    high = size >> 32
    # Of 32 bits at a time, because a float would round those of large numbers.
    length = np.where(high > 0, 32 + np.frexp(high.astype(np.float64))[1], np.frexp(size.astype(np.float64))[1])
    shift = np.maximum(length - BITS, 0).astype(np.int64)
    half = np.left_shift(np.int64(1), shift) >> 1
    return cast("Ints", np.sign(whole) * (((size + half) >> shift) << shift))


def rounded_shares(parts: NDArray[np.integer[Any]], wholes: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
    """Fractions of integers, shape (n,) each, as the nearest ones with BITS significant bits and a power of two below.

    Example:
        >>> rounded_shares(np.array([1, 2]), np.array([3, 2]))
        (array([171,   1]), array([512,   1]))

    """
    top, below = parts.astype(np.int64), wholes.astype(np.int64)
    share = np.divide(top, below, out=np.zeros(len(top)), where=below != 0)
    fraction, exponent = np.frexp(share)
    digits = np.rint(np.ldexp(fraction, BITS)).astype(np.int64)
    power = exponent - BITS
    # In lowest terms, so that equal fractions are equal rows.
    common = np.where(digits == 0, 1, digits & -digits)
    spare = np.minimum(np.frexp(common.astype(np.float64))[1] - 1, np.maximum(-power, 0))
    digits, power = digits >> spare, power + spare
    # Beyond 61 bits, and below 0, fractions stay as they are.
    fits = (below > 0) & (np.abs(power) <= 61 - BITS)
    up, down = np.clip(power, 0, 61), np.clip(-power, 0, 61)
    return (
        np.where(fits, np.left_shift(digits, up), top),
        np.where(fits, np.left_shift(np.ones_like(digits), down), below),
    )


@dataclass(frozen=True)
class BoundedProtocol:
    """A protocol whose states are bounded. It has a method `bounded` that rounds them."""

    protocol: EventProtocol

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def version(self) -> int:
        return self.protocol.version

    @property
    def pairing(self) -> Pairing:
        return self.protocol.pairing

    @property
    def metrics(self) -> Sequence[ProtocolMetric]:
        return self.protocol.metrics

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        found: Mapping[str, State] = self.protocol.bounded(self.protocol.score(pair))  # type: ignore[attr-defined]
        return found

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        return self.protocol.finish(tally, plan)

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> EventProtocol:
        return BoundedProtocol(self.protocol.configured(codec, settings))

    def settings(self) -> Mapping[str, Any]:
        return {**self.protocol.settings(), SETTING: True}

    def cautions(self, tally: Tally, *, beside: Sequence[str]) -> list[str]:
        said = getattr(self.protocol, "cautions", None)
        return [WORDS, *(said(tally, beside=beside) if said is not None else [])]

    def __getattr__(self, name: str) -> Any:
        """Whatever else the protocol has, such as `details` and `check`."""
        if name == "protocol" or name.startswith("__"):  # asked for before there is one, by pickle
            raise AttributeError(name)
        return getattr(self.protocol, name)


def bounded_protocols(protocols: Sequence[EventProtocol], interval: str | None = None) -> list[EventProtocol]:
    """The protocols, with bounded states of those that can have them; raises UsageError if the interval forbids it."""
    if interval == "reference":
        raise UsageError(
            "the interval 'reference' keeps every value, so its tallies cannot be bounded",
            hint="Use --interval event or episode, or leave out --bounded-tallies",
        )
    return [BoundedProtocol(one) if hasattr(one, "bounded") else one for one in protocols]
