"""Slow, plain second opinions: a regex decoder and list-based scores, written from SPEC.md and not from the code.

They share no code with the package, so that agreement is evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]

_IMAGE = rb"(?:<fake_image_placeholder>|<fake_token_around_image>.*<fake_token_around_image>|<img>.*</img>)"
_N = rb"<(\d{1,9})>"
_SIGN = rb"<SIGN_(PLUS|MINUS)>"
_GRAMMARS = {
    "hierarchical": {
        "keyboard": rb"<KEYBOARD>" + _N * 4 + rb"<(press|release)>",
        "mouse": rb"<MOUSE>" + _N * 14 + rb"(?:" + _N * 2 + rb")?",
        "screen": rb"<SCREEN>" + _N * 3 + _IMAGE,
    },
    "factorized": {
        "keyboard": rb"<KEYBOARD>" + _N * 3 + rb"<VK_(\d{1,9})><(press|release)>",
        "mouse": rb"<MOUSE>" + _N * 3 + (_SIGN + _N * 4) * 2 + rb"<MB_(\d{1,9})>" * 3 + rb"(?:" + _SIGN + _N + rb")?",
        "screen": rb"<SCREEN>" + _N * 3 + _IMAGE,
    },
}
_COMPILED = {
    name: {kind: re.compile(pattern, re.DOTALL) for kind, pattern in kinds.items()} for name, kinds in _GRAMMARS.items()
}
_TIME_BASES = {"hierarchical": (16, 10, 10), "factorized": (10, 10, 10)}
_DELTA_BASES = {"hierarchical": (2, 20, 10, 10), "factorized": (2, 10, 10, 10)}
_SCROLL_BASES = {"hierarchical": (2, 10), "factorized": (10,)}
_INT32 = 2**31 - 1


# --- decoding --------------------------------------------------------------------------------------------------------


def decode_text(text: bytes, encoding: str, *, strict: bool) -> tuple[list[Event | None], int]:
    """Every event of a text, None if it is invalid, and the number of bytes between events."""
    events: list[Event | None] = []
    inside = 0
    begin: int | None = None
    for mark in re.finditer(rb"<EVENT_(START|END)>", text):
        if mark[1] == b"START":
            if begin is not None:
                events.append(None)
                inside += mark.start() - begin
            begin = mark.start()
        elif begin is not None:
            events.append(decode_body(text[begin + len(b"<EVENT_START>") : mark.start()], encoding, strict=strict))
            inside += mark.end() - begin
            begin = None
    if begin is not None:
        events.append(None)
        inside += len(text) - begin
    return events, len(text) - inside


def decode_element(text: bytes, encoding: str, *, strict: bool) -> Event | None:
    """The event of a text with exactly one event and blank space around it; None for anything else."""
    bare = text.strip(bytes(range(33)))
    events, between = decode_text(bare, encoding, strict=strict)
    return events[0] if len(events) == 1 and between == 0 else None


def decode_body(body: bytes, encoding: str, *, strict: bool) -> Event | None:
    for kind, pattern in _COMPILED[encoding].items():
        match = pattern.fullmatch(body)
        if match:
            fields = [group for group in match.groups() if group is not None]
            return _event(kind, fields, encoding, strict)
    return None


def _event(kind: str, fields: list[bytes], encoding: str, strict: bool) -> Event | None:
    time = _number(fields[:3], _TIME_BASES[encoding], strict)
    if time is None:
        return None
    event: Event = {"kind": kind, "ts": time * 10_000_000}
    rest = fields[3:]
    if kind == "keyboard":
        vk = int(rest[0])
        return event | {"vk": vk, "press": rest[1] == b"press"} if vk <= 255 else None
    if kind == "screen":
        return event
    numbers = _hierarchical(rest, strict) if encoding == "hierarchical" else _factorized(rest, strict)
    if numbers is None or any(abs(number) > _INT32 for number in numbers):
        return None
    return event | dict(zip(("dx", "dy", "flags", "data"), numbers, strict=True))


def _hierarchical(rest: list[bytes], strict: bool) -> tuple[int, ...] | None:
    bases, scroll = _DELTA_BASES["hierarchical"], _SCROLL_BASES["hierarchical"]
    dx, dy = (_modular(_number(rest[at:8:2], bases, strict), 4000) for at in (0, 1))
    flags = _flags(rest[8:11], strict)
    data = _modular(_number(rest[11:], scroll, strict), 20) if len(rest) > 11 else 0
    return None if dx is None or dy is None or flags is None or data is None else (dx, dy, flags, data * 120)


def _factorized(rest: list[bytes], strict: bool) -> tuple[int, ...] | None:
    bases, scroll = _DELTA_BASES["factorized"], _SCROLL_BASES["factorized"]
    dx, dy = _number(rest[1:5], bases, strict), _number(rest[6:10], bases, strict)
    flags = _flags(rest[10:13], strict)
    data = _number(rest[14:], scroll, strict) if len(rest) > 13 else 0
    if dx is None or dy is None or flags is None or data is None:
        return None
    turn = -1 if len(rest) > 13 and rest[13] == b"MINUS" else 1
    return (_signed(rest[0], dx), _signed(rest[5], dy), flags, turn * data * 120)


def _number(digits: Sequence[bytes], bases: Sequence[int], strict: bool) -> int | None:
    value = 0
    for digit, base in zip(digits, bases, strict=True):
        if strict and int(digit) >= base:
            return None
        value = value * base + int(digit)
    return value


def _flags(digits: Sequence[bytes], strict: bool) -> int | None:
    value = _number(digits, (16, 16, 16), strict)
    return None if value is None or value > 0xFFF else value


def _modular(value: int | None, span: int) -> int | None:
    return None if value is None else value - span if value >= span // 2 else value


def _signed(sign: bytes, value: int) -> int:
    return -value if sign == b"MINUS" else value


# --- owa@1 -----------------------------------------------------------------------------------------------------------

CATEGORIES = ("keyboard", "mouse_op", "mouse_nop", "screen")


def category(event: Event) -> str:
    if event["kind"] == "mouse":
        return "mouse_op" if event["flags"] else "mouse_nop"
    return str(event["kind"])


def owa(predicted: Sequence[Event | None], truth: Sequence[Event | None]) -> dict[str, float | None]:
    """Every figure of SPEC 1.5 but the intervals, for predictions and truths that are paired by position."""
    padded = [*predicted, *[None] * (len(truth) - len(predicted))]
    scored = [(p, t) for p, t in zip(padded, truth, strict=False) if t is not None]
    compared = [(p, t) for p, t in scored if p is not None and p["kind"] == t["kind"]]
    out: dict[str, float | None] = {"events": float(len(scored)), "comparable": share(len(compared), len(scored))}
    for name in CATEGORIES:
        of = [pair for pair in scored if category(pair[1]) == name]
        good = [pair for pair in compared if category(pair[1]) == name]
        out[f"{name}_comparable"] = share(len(good), len(of))
        out[f"{name}_ratio"] = share(len(of), len(scored))
        out |= _timing(f"{name}_", good)
    out |= _timing("", compared)
    keys = [(p, t) for p, t in compared if t["kind"] == "keyboard"]
    mice = [(p, t) for p, t in compared if t["kind"] == "mouse"]
    buttons, scrolls = [pair for pair in mice if pair[1]["flags"]], [pair for pair in mice if pair[1]["data"]]
    right = [p for p, t in keys if (p["vk"], p["press"]) == (t["vk"], t["press"])]
    out["keyboard_accuracy"] = share(len(right), len(keys))
    out["mouse_action_accuracy"] = share(sum(p["flags"] == t["flags"] for p, t in buttons), len(buttons))
    out["mouse_scroll_accuracy"] = share(sum(p["data"] == t["data"] for p, t in scrolls), len(scrolls))
    true_mice = [t for _, t in scored if t["kind"] == "mouse"]
    out["keyboard_accuracy_all"] = share(len(right), sum(t["kind"] == "keyboard" for _, t in scored))
    hits = sum(p["flags"] == t["flags"] for p, t in buttons), sum(p["data"] == t["data"] for p, t in scrolls)
    out["mouse_action_accuracy_all"] = share(hits[0], sum(t["flags"] != 0 for t in true_mice))
    out["mouse_scroll_accuracy_all"] = share(hits[1], sum(t["data"] != 0 for t in true_mice))
    for size in (1000, 100, 10, 1):
        same = [p for p, t in mice if all(math.floor(p[d] / size) == math.floor(t[d] / size) for d in ("dx", "dy"))]
        out[f"mouse_move_accuracy_{size}"] = share(len(same), len(mice))
    return out | _movement(mice)


def _timing(prefix: str, pairs: Sequence[tuple[Event, Event]]) -> dict[str, float | None]:
    late = [(p["ts"] - t["ts"]) / 1e6 for p, t in pairs]
    of_times = {f"{prefix}timestamp_r2": r2([(p["ts"], t["ts"]) for p, t in pairs])}
    out = {
        f"{prefix}timestamp_abs_error_p{q}_ms": percentile([abs(error) for error in late], q)
        for q in (0, 25, 50, 75, 95, 100)
    }
    return out | of_times | {f"{prefix}timestamp_signed_error_iqm_ms": iqm(late)}


def _movement(pairs: Sequence[tuple[Event, Event]]) -> dict[str, float | None]:
    moving = [(p, t) for p, t in pairs if (t["dx"], t["dy"]) != (0, 0)]
    far = [math.hypot(p["dx"] - t["dx"], p["dy"] - t["dy"]) / math.hypot(t["dx"], t["dy"]) * 100 for p, t in moving]
    turned = []
    for p, t in moving:
        turn = abs(math.atan2(p["dy"], p["dx"]) - math.atan2(t["dy"], t["dx"]))
        turned.append(math.degrees(min(turn, 2 * math.pi - turn)))
    out = {f"mouse_move_pe_euclidean_p{q}": percentile(far, q) for q in (0, 25, 50, 75, 95, 100)}
    out |= {f"mouse_move_direction_error_p{q}": percentile(turned, q) for q in (50, 95)}
    for axis in "xy":
        errors = [(p[f"d{axis}"] - t[f"d{axis}"]) / t[f"d{axis}"] * 100 for p, t in pairs if t[f"d{axis}"]]
        out[f"mouse_move_signed_pe_{axis}_iqm"] = iqm(errors)
    residual = sum((p[d] - t[d]) ** 2 for p, t in pairs for d in ("dx", "dy"))
    total = 0.0
    for d in ("dx", "dy"):
        mean = sum(t[d] for _, t in pairs) / len(pairs) if pairs else 0.0
        total += sum((t[d] - mean) ** 2 for _, t in pairs)
    out["mouse_move_r2"] = 1 - residual / total if total else None
    return out


def r2(pairs: Sequence[tuple[float, float]]) -> float | None:
    if not pairs:
        return None
    mean = math.fsum(truth for _, truth in pairs) / len(pairs)
    total = math.fsum((truth - mean) ** 2 for _, truth in pairs)
    return 1 - math.fsum((p - t) ** 2 for p, t in pairs) / total if total else None


def share(hits: int, total: int) -> float | None:
    return hits / total if total else None


def percentile(values: Sequence[float], q: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    rank = q / 100 * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def iqm(values: Sequence[float]) -> float | None:
    low, high = percentile(values, 25), percentile(values, 75)
    if low is None or high is None:
        return None
    # A quartile that falls on a value may miss it by the last bit.
    inside = [value for value in values if low - 1e-9 <= value <= high + 1e-9]
    return math.fsum(inside) / len(inside) if inside else None
