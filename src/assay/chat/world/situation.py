"""Which turn of which scenario a request belongs to, and the random generators that are seeded from it.

It travels as OpenTelemetry baggage: the runner attaches it for the length of a turn, the clients send it as a header,
and the embedded servers read it. So the servers keep no state about their clients, and every agent gets the same
weather, faults and model behaviour. Calls that are too long for baggage travel compressed, in a header of their own.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import random
import zlib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import quote_plus

from assay.chat.world.faults import Fault
from assay.chat.world.quirks import Quirk
from assay.chat.world.wanted_calls import WantedCall, read_calls, written_calls
from assay.errors import UsageError

if TYPE_CHECKING:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator
    from opentelemetry.context import Context

HangUpMoment = Literal["text", "tool", "between"]
"""When the user hangs up: while the answer comes, while a tool runs, or between its result and the next request."""
UserDecision = Literal["approve", "refuse", "ignore"]
"""What the user does if a tool needs their approval."""

_PREFIX = "assay."
_CALLS = f"{_PREFIX}calls"
# An entry of baggage may have 4,096 bytes with its name; a longer one is dropped by who reads it, with a warning.
_LONGEST_ENTRY = 4_000
_LONG_CALLS = "x-assay-calls"
LONGEST_HEADERS = 1_000_000
"""Bytes of headers that the embedded servers accept."""
_LONGEST_HEADER = LONGEST_HEADERS // 2
_LONGEST_TEXT = 8_000_000


@dataclass(frozen=True, slots=True)
class Situation:
    """One turn of one repetition of one scenario."""

    scenario: str = ""
    repetition: int = 0
    turn: int = 0
    fault: Fault | None = None
    now: datetime | None = None
    """The simulated time; None to use the servers' own clock."""
    session: str = ""
    """The client's session: faults that hit a number of requests are counted separately for each session."""
    quirk: Quirk | None = None
    hang_up: HangUpMoment | None = None
    consent: UserDecision | None = None
    speed: float = 0.0
    """Tokens a second of the scripted model's streams in this turn; 0 for those of its server."""
    calls: tuple[WantedCall, ...] = ()
    """Calls of an agent's own tools that the turn expects: the scripted model makes them."""

    def to_text(self) -> dict[str, str]:
        """The fields as text, without those that are not set."""
        found = {"scenario": self.scenario, "repetition": str(self.repetition), "turn": str(self.turn)}
        if self.fault is not None:
            found["fault"] = str(self.fault)
        if self.now is not None:
            found["now"] = self.now.astimezone(UTC).isoformat()
        if self.session:
            found["session"] = self.session
        if self.quirk is not None:
            found["quirk"] = str(self.quirk)
        if self.hang_up is not None:
            found["hang_up"] = self.hang_up
        if self.consent is not None:
            found["consent"] = self.consent
        if self.speed:
            found["speed"] = repr(self.speed)
        if self.calls:
            found["calls"] = written_calls(self.calls)
        return found

    @classmethod
    def from_text(cls, parts: Mapping[str, str]) -> Situation:
        """The inverse of `to_text`."""
        return cls(
            parts.get("scenario", ""),
            int(parts.get("repetition", 0)),
            int(parts.get("turn", 0)),
            Fault.parse(parts["fault"]) if "fault" in parts else None,
            datetime.fromisoformat(parts["now"]) if "now" in parts else None,
            parts.get("session", ""),
            Quirk.parse(parts["quirk"]) if "quirk" in parts else None,
            cast("HangUpMoment | None", parts.get("hang_up")),
            cast("UserDecision | None", parts.get("consent")),
            float(parts.get("speed", 0.0)),
            read_calls(parts["calls"]) if "calls" in parts else (),
        )

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Situation:
        """The situation in a request's headers; an empty one if they have none."""
        from opentelemetry.context import Context

        where = _propagator().extract({"baggage": headers.get("baggage", "")}, Context())
        calls = _unpacked(headers.get(_LONG_CALLS, ""))
        if calls:
            from opentelemetry import baggage

            where = baggage.set_baggage(_CALLS, calls, where)
        return cls._from_context(where)

    @classmethod
    def current(cls) -> Situation:
        """The situation attached to the current context; an empty one if there is none."""
        from opentelemetry import context

        return cls._from_context(context.get_current())

    @classmethod
    def _from_context(cls, where: Context) -> Situation:
        from opentelemetry import baggage

        found = baggage.get_all(where)
        parts = {key.removeprefix(_PREFIX): str(value) for key, value in found.items() if key.startswith(_PREFIX)}
        try:
            return cls.from_text(parts)
        except (ValueError, UsageError):
            # Baggage of other origin is ignored; it must not make a request fail.
            return cls()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Attach this situation to the current context while a `with` block runs."""
        from opentelemetry import baggage, context

        where = context.get_current()
        for key, value in self.to_text().items():
            where = baggage.set_baggage(_PREFIX + key, value, where)
        token = context.attach(where)
        try:
            yield
        finally:
            context.detach(token)


def inject(headers: MutableMapping[str, str], *, is_embedded: bool = True) -> None:
    """Add the current situation to a request's headers.

    Only the embedded servers accept headers that are long enough for long calls; no other service gets them.
    """
    from opentelemetry import baggage, context

    where = context.get_current()
    calls = baggage.get_baggage(_CALLS, where)
    if isinstance(calls, str) and len(quote_plus(calls)) > _LONGEST_ENTRY:
        where = baggage.remove_baggage(_CALLS, where)
        packed = base64.b64encode(zlib.compress(calls.encode("utf-8", "surrogatepass"))).decode("ascii")
        if is_embedded and len(packed) <= _LONGEST_HEADER:
            headers[_LONG_CALLS] = packed
    _propagator().inject(headers, where)


def _unpacked(header: str) -> str:
    """The inverse of how long calls are packed; empty if it is anything else."""
    try:
        data = base64.b64decode(header, validate=True)
        return zlib.decompressobj().decompress(data, _LONGEST_TEXT).decode("utf-8", "surrogatepass")
    except (binascii.Error, zlib.error, ValueError):
        return ""


@functools.cache
def _propagator() -> W3CBaggagePropagator:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator

    return W3CBaggagePropagator()


def chance(seed: int, *key: object) -> random.Random:
    """A random generator for a key. The same seed and key give the same generator, independent of earlier draws."""
    text = "\x1f".join(map(str, (seed, *key)))
    return random.Random(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
