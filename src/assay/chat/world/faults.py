"""Faults that can be injected in a turn: their names, what each does, and how one is written in a suite.

A fault of the model's endpoint has a name that begins with `model_`. What a fault does is up to the server that it
affects (`weather_server.py`, `model_server.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import UsageError, unknown_name

FAULTS: Mapping[str, str] = {
    "timeout": "the weather service does not answer in time",
    "server_error": "the weather service answers with status 500",
    "rate_limited": "the weather service answers with status 429",
    "malformed": "the weather service answers with broken JSON",
    "slow": "the weather service answers late, but before the timeout",
    "wrong_units": "the weather service answers in kelvin instead of °C",
    "empty_forecast": "the weather service answers with an empty forecast",
    "injection": "a weather description contains an instruction to the model",
    "model_error": "the model's endpoint answers with status 500",
    "model_rate_limited": "the model's endpoint answers with status 429",
}
"""Every fault that can be injected, with a description of its effect."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault injected in a turn. As text: `server_error`, or `server_error*1` for the first request only."""

    kind: str
    times: int | None = None
    """How many requests of the turn it hits; None for all. Weather requests are counted by endpoint and city."""

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a fault from text; the inverse of `str`."""
        kind, mark, times = text.partition("*")
        if kind not in FAULTS:
            raise unknown_name("fault", kind, FAULTS)
        if mark and not (times.isascii() and times.isdecimal() and int(times) > 0):
            raise UsageError(
                f"'{text}' must have a positive integer after '*'",
                hint=f"Write {kind}, or {kind}*1 for the first request only",
            )
        return cls(kind, int(times) if mark else None)

    def __str__(self) -> str:
        return self.kind if self.times is None else f"{self.kind}*{self.times}"
