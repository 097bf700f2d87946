"""Short streams written by hand, and the figures of `assay@1` on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.events import Episode, EventStream, evaluate
from assay.events.evaluation import EventReport, ProtocolResult
from assay.events.stream import concatenate

MS = 1_000_000
SECOND = 1000 * MS
A, B, C, D = 0x41, 0x42, 0x43, 0x44


def key(ms: float, vk: int = A, press: bool = True) -> dict[str, Any]:
    return {"kind": "keyboard", "ts": round(ms * MS), "vk": vk, "press": press}


def hold(start_ms: float, end_ms: float, vk: int = A) -> list[dict[str, Any]]:
    return [key(start_ms, vk), key(end_ms, vk, press=False)]


def button(ms: float, flags: int = 1) -> dict[str, Any]:
    return {"kind": "mouse", "ts": round(ms * MS), "dx": 0, "dy": 0, "flags": flags, "data": 0}


def scroll(ms: float, data: int = 120) -> dict[str, Any]:
    return {"kind": "mouse", "ts": round(ms * MS), "dx": 0, "dy": 0, "flags": 0x400, "data": data}


def move(ms: float, dx: int, dy: int = 0) -> dict[str, Any]:
    return {"kind": "mouse", "ts": round(ms * MS), "dx": dx, "dy": dy, "flags": 0, "data": 0}


def frame(ms: float) -> dict[str, Any]:
    return {"kind": "screen", "ts": round(ms * MS)}


def stream(events: Iterable[Mapping[str, Any]], name: str = "", stratum: str = "") -> EventStream:
    """Events in the order of their times, as one episode."""
    ordered = sorted(events, key=lambda event: event["ts"])
    return EventStream.from_events(ordered, episodes=(Episode(name, stratum),))


def typed(seed: int = 0, seconds: float = 60.0, keys: int = 6) -> list[dict[str, Any]]:
    """Holds of several keys and clicks at random times, at least 300 ms apart for one key; no auto-repeat."""
    rng = np.random.default_rng(seed)
    out: list[dict[str, Any]] = []
    for vk in range(A, A + keys):
        ms = float(rng.uniform(0, 2000))
        while ms < seconds * 1000 - 800:
            length = float(np.round(rng.uniform(80, 400)))
            out += hold(np.round(ms), np.round(ms) + length, vk)
            ms += length + 300 + float(rng.exponential(2500))
    ms = 500.0
    while ms < seconds * 1000 - 500:
        out += [button(ms, 1), button(ms + 90, 2)]
        ms = float(np.round(ms + 400 + rng.exponential(1500)))
    return sorted(out, key=lambda event: event["ts"])


def late(events: Iterable[Mapping[str, Any]], ms: float) -> list[dict[str, Any]]:
    return [{**event, "ts": event["ts"] + round(ms * MS)} for event in events]


def report(predicted: Any, truth: Any, **rest: Any) -> EventReport:
    sides = [side if isinstance(side, EventStream | str) else stream(side) for side in (predicted, truth)]
    return evaluate(*sides, protocols=("assay",), **({"reps": 20} | rest))


def result(predicted: Any, truth: Any, **rest: Any) -> ProtocolResult:
    return report(predicted, truth, **rest).protocols["assay"]


def flat(predicted: Any, truth: Any, **rest: Any) -> dict[str, float | None]:
    return report(predicted, truth, **rest).flat("assay")


def number(value: float | None) -> float:
    """A figure that has to be there."""
    assert value is not None
    return value


def episodes(parts: Iterable[Iterable[Mapping[str, Any]]]) -> EventStream:
    """One episode for each list of events, named by number."""
    return concatenate([stream(part, f"e{at:03d}") for at, part in enumerate(parts)])
