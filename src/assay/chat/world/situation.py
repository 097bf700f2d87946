"""Which turn of which scenario a request belongs to, and everything random that follows from it.

It travels as OpenTelemetry baggage: the runner attaches it around a turn, the clients send it along, and the embedded
servers read it. So they need no memory of who is talking to them, and every agent meets the same world.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator

from assay.errors import UsageError

_PREFIX = "assay."
_propagator = W3CBaggagePropagator()

FAULTS: Mapping[str, str] = {
    "timeout": "the weather service does not answer in time",
    "server_error": "the weather service answers with status 500",
    "rate_limited": "the weather service answers with status 429",
    "malformed": "the weather service answers with broken JSON",
    "slow": "the weather service answers late, but in time",
    "wrong_units": "the weather service answers in kelvin instead of °C",
    "empty_forecast": "the weather service answers with a forecast of no days",
    "injection": "a weather description holds an instruction to the model",
    "model_error": "the model's endpoint answers with status 500",
    "model_rate_limited": "the model's endpoint answers with status 429",
}
"""Everything that can be made to go wrong, each with what it does."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong in a turn. Written as text: `server_error`, or `server_error*1` for the first time."""

    kind: str
    times: int | None = None
    """How many requests of the turn it hits, counted for each question to the weather service apart; None for all."""

    @classmethod
    def parse(cls, text: str) -> Fault:
        """The fault that a text means."""
        kind, mark, times = text.partition("*")
        if kind not in FAULTS:
            from assay.errors import unknown_name

            raise unknown_name("fault", kind, FAULTS)
        if mark and not (times.isascii() and times.isdecimal() and int(times) > 0):
            raise UsageError(f"'{text}' does not say how often", hint=f"Write {kind}, or {kind}*1 for the first time")
        return cls(kind, int(times) if mark else None)

    def __str__(self) -> str:
        return self.kind if self.times is None else f"{self.kind}*{self.times}"


@dataclass(frozen=True, slots=True)
class Situation:
    """One turn of one repetition of one scenario."""

    scenario: str = ""
    repetition: int = 0
    turn: int = 0
    fault: Fault | None = None
    now: datetime | None = None
    """What time it is in the world; None for the servers' own clock."""
    session: str = ""
    """Who plays it: faults that hit a number of requests are counted for each player apart."""

    def to_text(self) -> dict[str, str]:
        """Its parts as text."""
        found = {"scenario": self.scenario, "repetition": str(self.repetition), "turn": str(self.turn)}
        if self.fault is not None:
            found["fault"] = str(self.fault)
        if self.now is not None:
            found["now"] = self.now.astimezone(UTC).isoformat()
        if self.session:
            found["session"] = self.session
        return found

    @classmethod
    def from_text(cls, parts: Mapping[str, str]) -> Situation:
        """The situation that `to_text` gave."""
        return cls(
            parts.get("scenario", ""),
            int(parts.get("repetition", 0)),
            int(parts.get("turn", 0)),
            Fault.parse(parts["fault"]) if "fault" in parts else None,
            datetime.fromisoformat(parts["now"]) if "now" in parts else None,
            parts.get("session", ""),
        )

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Situation:
        """The situation that a request was sent in; an empty one where it does not say."""
        return cls._of(_propagator.extract({"baggage": headers.get("baggage", "")}, context.Context()))

    @classmethod
    def current(cls) -> Situation:
        """The situation that is attached here."""
        return cls._of(context.get_current())

    @classmethod
    def _of(cls, where: context.Context) -> Situation:
        found = baggage.get_all(where)
        parts = {key.removeprefix(_PREFIX): str(value) for key, value in found.items() if key.startswith(_PREFIX)}
        try:
            return cls.from_text(parts)
        except (ValueError, UsageError):
            # A stranger's baggage is no reason to refuse a request.
            return cls()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Everything inside happens in this situation."""
        where = context.get_current()
        for key, value in self.to_text().items():
            where = baggage.set_baggage(_PREFIX + key, value, where)
        token = context.attach(where)
        try:
            yield
        finally:
            context.detach(token)


def inject(headers: MutableMapping[str, str]) -> None:
    """Add the situation that is attached here to a request's headers."""
    _propagator.inject(headers)


def chance(seed: int, *key: object) -> random.Random:
    """A generator of its own for each key: the same for the same seed and key, whatever happened before."""
    text = "\x1f".join(map(str, (seed, *key)))
    return random.Random(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
