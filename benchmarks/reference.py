"""A plain implementation: a decoder with one regular expression per event, and a scorer over lists.

It is correct and slow; the benchmarks measure how much slower. It shares no code with the package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EVENT = re.compile(r"<EVENT_START>(?:(?!<EVENT_START>).)*?<EVENT_END>", re.DOTALL)
_FRAMED = re.compile(r"<EVENT_START>((?:<[^<>]+>)*)<EVENT_END>")
_TOKEN = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"\d+")

_TIME_BASES, _DELTA_BASES, _SCROLL_BASES, _FLAG_BASES = (16, 10, 10), (2, 20, 10, 10), (2, 10), (16, 16, 16)

Event = dict[str, Any]


def decode(text: str) -> list[Event | None]:
    """All whole events of a hierarchical token text."""
    return [decode_event(match.group()) for match in _EVENT.finditer(text)]


def decode_event(text: str) -> Event | None:
    """One event from its tokens, or None if the text is not exactly one event, as in the golden file."""
    framed = _FRAMED.fullmatch(text)
    if framed is None:
        return None
    tokens = _TOKEN.findall(framed.group(1))
    if len(tokens) < 5:
        return None
    time = _digits(tokens[1:4], _TIME_BASES)
    if time is None:
        return None
    kind, ts, data = tokens[0], time * 10_000_000, tokens[4:]
    if kind == "KEYBOARD":
        return _keyboard(ts, data)
    if kind == "MOUSE":
        return _mouse(ts, data)
    if kind == "SCREEN" and data == ["fake_image_placeholder"]:
        return {"kind": "screen", "ts": ts}
    return None


def _keyboard(ts: int, data: list[str]) -> Event | None:
    if len(data) != 2 or data[1] not in ("press", "release") or not _NUMBER.fullmatch(data[0]):
        return None
    vk = int(data[0])
    return {"kind": "keyboard", "ts": ts, "vk": vk, "press": data[1] == "press"} if vk <= 255 else None


def _mouse(ts: int, data: list[str]) -> Event | None:
    if len(data) not in (11, 13):
        return None
    dx, dy = _signed(data[0:8:2], _DELTA_BASES), _signed(data[1:8:2], _DELTA_BASES)
    flags = _digits(data[8:11], _FLAG_BASES)
    notches = _signed(data[11:], _SCROLL_BASES) if len(data) == 13 else 0
    if dx is None or dy is None or flags is None or notches is None:
        return None
    return {"kind": "mouse", "ts": ts, "dx": dx, "dy": dy, "flags": flags, "data": notches * 120}


def _digits(tokens: Sequence[str], bases: Sequence[int]) -> int | None:
    """The number that the tokens spell in these bases; None if one of them is not a digit."""
    value = 0
    for token, base in zip(tokens, bases, strict=True):
        if not _NUMBER.fullmatch(token):
            return None
        value = value * base + int(token)
    return value


def _signed(tokens: Sequence[str], bases: Sequence[int]) -> int | None:
    value, span = _digits(tokens, bases), math.prod(bases)
    if value is None:
        return None
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
    """Percentiles and means of the lists; intervals are computed separately."""
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
