"""What people write first: a decoder with a regular expression per event, and a scorer over lists.

Straightforward, right, and slow; the benchmarks measure how much slower. It shares no code with the package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EVENT = re.compile(r"<EVENT_START>(.*?)<EVENT_END>", re.DOTALL)
_TOKEN = re.compile(r"<([^<>]+)>")

Event = dict[str, Any]


def decode(text: str) -> list[Event | None]:
    """All events of a hierarchical token text."""
    return [decode_event(body) for body in _EVENT.findall(text)]


def decode_event(body: str) -> Event | None:
    """One event from what stands between its start and its end, or None."""
    tokens = _TOKEN.findall(body)
    try:
        kind, digits, data = tokens[0], [int(token) for token in tokens[1:4]], tokens[4:]
        ts = _number(digits, (16, 10, 10)) * 10_000_000
        if kind == "KEYBOARD" and len(data) == 2 and data[1] in ("press", "release"):
            return {"kind": "keyboard", "ts": ts, "vk": int(data[0]), "press": data[1] == "press"}
        if kind == "MOUSE" and len(data) in (11, 13):
            numbers = [int(token) for token in data]
            dx, dy = _signed(numbers[0:8:2], (2, 20, 10, 10)), _signed(numbers[1:8:2], (2, 20, 10, 10))
            flags = _number(numbers[8:11], (16, 16, 16))
            scroll = _signed(numbers[11:], (2, 10)) * 120 if len(data) == 13 else 0
            return {"kind": "mouse", "ts": ts, "dx": dx, "dy": dy, "flags": flags, "data": scroll}
        if kind == "SCREEN" and data == ["fake_image_placeholder"]:
            return {"kind": "screen", "ts": ts}
    except (IndexError, ValueError):
        return None
    return None


def _number(digits: Sequence[int], bases: Sequence[int]) -> int:
    value = 0
    for digit, base in zip(digits, bases, strict=True):
        value = value * base + digit
    return value


def _signed(digits: Sequence[int], bases: Sequence[int]) -> int:
    value, span = _number(digits, bases), math.prod(bases)
    return value - span if 2 * value >= span else value


def category(event: Event) -> str:
    """Keyboard, mouse_op, mouse_nop or screen."""
    if event["kind"] != "mouse":
        return str(event["kind"])
    return "mouse_op" if event["flags"] else "mouse_nop"


def compare(predicted: Sequence[Event | None], truth: Sequence[Event]) -> dict[str, list[float]]:
    """Lists of errors and hits, event by event."""
    out: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        out.setdefault(name, []).append(value)

    for guess, right in zip(predicted, truth, strict=True):
        same = guess is not None and guess["kind"] == right["kind"]
        note("comparable", float(same))
        note(f"{category(right)}_comparable", float(same))
        if guess is None or not same:
            continue
        late = (guess["ts"] - right["ts"]) / 1e6
        note("timestamp", late)
        note(f"{category(right)}_timestamp", late)
        if right["kind"] == "keyboard":
            note("keyboard", float(guess["vk"] == right["vk"] and guess["press"] == right["press"]))
        if right["kind"] == "mouse":
            _compare_moves(guess, right, note)
    return out


def _compare_moves(guess: Event, right: Event, note: Any) -> None:
    if right["flags"]:
        note("buttons", float(guess["flags"] == right["flags"]))
    if right["data"]:
        note("scrolls", float(guess["data"] == right["data"]))
    length = math.hypot(right["dx"], right["dy"])
    if length:
        note("euclidean", math.hypot(guess["dx"] - right["dx"], guess["dy"] - right["dy"]) / length * 100)
        turn = abs(math.atan2(guess["dy"], guess["dx"]) - math.atan2(right["dy"], right["dx"]))
        note("direction", math.degrees(min(turn, 2 * math.pi - turn)))
    for axis in ("dx", "dy"):
        if right[axis]:
            note(axis, (guess[axis] - right[axis]) / right[axis] * 100)


def summarise(lists: dict[str, list[float]]) -> dict[str, float]:
    """Percentiles and means of the lists; intervals are made apart."""
    out = {}
    for name, values in lists.items():
        array = np.array(values)
        if name.endswith("timestamp") or name in ("euclidean", "direction"):
            for q in (0, 25, 50, 75, 95, 100):
                out[f"{name}_p{q}"] = float(np.percentile(np.abs(array), q))
        else:
            out[name] = float(array.mean())
    return out


def bootstrap(values: NDArray[np.float64], *, reps: int, seed: int = 42) -> tuple[float, float]:
    """The published interval of the interquartile mean: resample, cut at the quartiles, average."""
    generator = np.random.RandomState(seed)
    means = []
    for _ in range(reps):
        sample = generator.choice(values, size=len(values), replace=True)
        q25, q75 = np.percentile(sample, [25, 75])
        means.append(sample[(sample >= q25) & (sample <= q75)].mean())
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
