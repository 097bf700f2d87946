"""Synthetic but plausible recordings, and predictions of them by models whose errors are known.

For the demo, the benchmarks and the tests: everything is determined by a seed, and the errors of a prediction are known
in advance. Keys are held and repeat, the mouse moves in bursts, buttons click, wheels turn, frames arrive at 20 Hz.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import Episode, EventStream, Kind, concatenate
from assay.outputs import replacing

SECOND = 1_000_000_000
_MILLISECOND = 1_000_000

_GAMES = ("platformer", "shooter", "desktop")
_KEYS = {
    "platformer": (0x25, 0x27, 0x20, 0x26),
    "shooter": (0x57, 0x41, 0x53, 0x44, 0x52, 0x10),
    "desktop": (*range(0x41, 0x5B), 0x20, 0x0D, 0x08),
}
# Windows' defaults: half a second until a held key repeats, then about thirty times a second.
_REPEAT_DELAY_NS, _REPEAT_EVERY_NS = 500 * _MILLISECOND, 33 * _MILLISECOND
_FRAME_NS = SECOND // 20
_MOUSE_NS = SECOND // 125


def recording(*, episodes: int = 12, seconds: float = 30.0, seed: int = 7, long_holds: bool = False) -> EventStream:
    """The truth: `episodes` recordings of `seconds` each, in three games.

    With `long_holds` keys are held one at a time for about a second, so that most key events are auto-repeat.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for number in range(episodes):
        game = _GAMES[number % len(_GAMES)]
        events = _episode(game, int(seconds * SECOND), rng, long_holds)
        parts.append(events.of_episode(Episode(f"{game}-{number:03d}", game)))
    return concatenate(parts)


def _episode(game: str, length_ns: int, rng: np.random.Generator, long_holds: bool) -> EventStream:
    moves = _bursts(length_ns, rng, per_second=0.4 if game == "platformer" else 1.2)
    keys = _keys(game, length_ns, rng, long_holds)
    parts = [_frames(length_ns), keys, *moves, _clicks(length_ns, rng), _scrolls(length_ns, rng)]
    whole = concatenate(parts)
    order = np.argsort(whole.time_ns, kind="stable")
    return whole[order[whole.time_ns[order] < length_ns]]


def _events(kind: Kind, time_ns: NDArray[np.int64], **columns: NDArray[np.generic] | int) -> EventStream:
    stream = EventStream.allocate(len(time_ns))
    stream.kind.fill(kind)
    stream.time_ns[:] = time_ns
    for name, values in columns.items():
        getattr(stream, name)[:] = values
    return stream


def _frames(length_ns: int) -> EventStream:
    return _events(Kind.SCREEN, np.arange(0, length_ns, _FRAME_NS))


def _keys(game: str, length_ns: int, rng: np.random.Generator, long_holds: bool) -> EventStream:
    """Presses, repeats while held, and releases."""
    n = max(1, int(length_ns / SECOND * (0.7 if long_holds else 3)))
    starts = np.sort(rng.integers(0, length_ns, n))
    holds = np.clip(
        rng.lognormal(np.log(1.0 if long_holds else 0.14), 0.9, n) * SECOND, 30 * _MILLISECOND, 4 * SECOND
    ).astype(np.int64)
    keys = rng.choice(_KEYS[game], n)
    if long_holds:
        holds = np.minimum(holds, np.diff(starts, append=length_ns) - 150 * _MILLISECOND)
    times, codes, presses = [], [], []
    free_ns: dict[int, int] = {}  # from when on each key can be pressed again
    for start, hold, key in zip(starts.tolist(), holds.tolist(), keys.tolist(), strict=True):
        if hold <= 0 or start < free_ns.get(key, 0):
            continue  # the next key comes too soon, or this one is still held
        free_ns[key] = start + hold + 30 * _MILLISECOND
        repeats = list(range(start + _REPEAT_DELAY_NS, start + hold, _REPEAT_EVERY_NS))
        times += [start, *repeats, start + hold]
        codes += [key] * (len(repeats) + 2)
        presses += [True] * (len(repeats) + 1) + [False]
    return _events(Kind.KEYBOARD, np.array(times), vk=np.array(codes), press=np.array(presses))


def _bursts(length_ns: int, rng: np.random.Generator, *, per_second: float) -> list[EventStream]:
    """Movements that speed up and slow down again, each in a direction that bends a little."""
    parts = []
    for start in np.sort(rng.integers(0, length_ns, max(1, int(length_ns / SECOND * per_second)))):
        steps = int(rng.integers(8, 60))
        speed = np.sin(np.linspace(0.15, np.pi - 0.1, steps)) * rng.lognormal(2.0, 0.7)
        direction = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.05, steps))
        dx, dy = np.rint(speed * np.cos(direction)), np.rint(speed * np.sin(direction))
        moved = (dx != 0) | (dy != 0)
        times = start + np.arange(steps) * _MOUSE_NS + rng.integers(0, _MILLISECOND, steps)
        parts.append(_events(Kind.MOUSE, times[moved], dx=dx[moved], dy=dy[moved]))
    return parts


def _clicks(length_ns: int, rng: np.random.Generator) -> EventStream:
    n = max(1, int(length_ns / SECOND * 0.8))
    down = np.sort(rng.integers(0, length_ns, n))
    up = down + rng.integers(50 * _MILLISECOND, 180 * _MILLISECOND, n)
    button = np.where(rng.random(n) < 0.8, 0x1, 0x4)
    return _events(Kind.MOUSE, np.concatenate([down, up]), flags=np.concatenate([button, button << 1]))


def _scrolls(length_ns: int, rng: np.random.Generator) -> EventStream:
    starts = rng.integers(0, length_ns, max(1, int(length_ns / SECOND * 0.1)))
    times, notches = [], []
    for start in starts.tolist():
        n = int(rng.integers(2, 7))
        times += [start + step * 60 * _MILLISECOND for step in range(n)]
        notches += [120 * int(rng.choice((-1, 1)))] * n
    return _events(Kind.MOUSE, np.array(times), flags=0x400, data=np.array(notches))


@dataclass(frozen=True, slots=True)
class SyntheticModel:
    """The errors of a synthetic model: every number is a known error that the scores must show."""

    late_ms: float
    """Mean delay."""
    jitter_ms: float
    """Standard deviation of its timing."""
    gain: float
    """Length of its movements relative to the true ones."""
    wobble: float
    """Spread of length and, in radians, of direction."""
    wrong_key: float
    """Share of keys that are replaced by another key."""
    wrong_button: float
    """Share of button events with other flags."""
    wrong_kind: float
    """Share of events that are predicted as another kind."""
    spoiled: float
    """Share of events whose tokens do not decode."""


GOOD = SyntheticModel(2.0, 9.0, 0.97, 0.08, 0.04, 0.04, 0.02, 0.005)
POOR = SyntheticModel(35.0, 45.0, 0.65, 0.55, 0.35, 0.25, 0.12, 0.05)
SOUND = SyntheticModel(2.0, 9.0, 0.97, 0.08, 0.002, 0.04, 0.004, 0.002)
"""Good also if keys are held: a wrong key among hundreds of repeats is a press that never happened."""
LATE = SyntheticModel(80.0, 9.0, 0.97, 0.08, 0.0, 0.0, 0.0, 0.0)
"""Right in everything but 80 ms late."""


def prediction(truth: EventStream, model: SyntheticModel, *, seed: int = 11) -> EventStream:
    """The predictions of `model`, event by event, given the true past: teacher-forced, with the same length."""
    rng = np.random.default_rng(seed)
    n = len(truth)

    def some(share: float) -> NDArray[np.bool_]:
        return rng.random(n) < share

    time_ns = truth.time_ns + np.rint(rng.normal(model.late_ms, model.jitter_ms, n) * _MILLISECOND).astype(np.int64)
    length, turn = model.gain * np.exp(rng.normal(0, model.wobble, n)), rng.normal(0, model.wobble, n)
    dx, dy = truth.dx.astype(np.float64), truth.dy.astype(np.float64)
    vk = np.where(some(model.wrong_key), rng.integers(0x30, 0x5B, n), truth.vk)
    flags = np.where(some(model.wrong_button) & (truth.flags != 0), truth.flags ^ 0x5, truth.flags)
    kind = truth.kind.copy()
    confused = some(model.wrong_kind)
    kind[confused] = rng.integers(0, 3, int(confused.sum()))
    mouse, key = kind == Kind.MOUSE, kind == Kind.KEYBOARD
    problem = np.where(some(model.spoiled), 2, 0)
    return replace(
        truth,
        kind=kind,
        time_ns=np.maximum(time_ns, 0),
        vk=np.where(key, np.where(vk == 0, 0x41, vk), 0).astype(np.int16),
        press=truth.press & key,
        dx=np.where(mouse, np.rint(length * (dx * np.cos(turn) - dy * np.sin(turn))), 0).astype(np.int32),
        dy=np.where(mouse, np.rint(length * (dx * np.sin(turn) + dy * np.cos(turn))), 0).astype(np.int32),
        flags=np.where(mouse, flags, 0).astype(np.int32),
        data=np.where(mouse, truth.data, 0).astype(np.int32),
        problem=problem.astype(np.uint8),
    )


def echo(truth: EventStream, *, seed: int = 11) -> EventStream:
    """The predictions of a model that has learned to repeat: the last key event, movement or frame again at the right
    time.

    If keys are held, most key events are auto-repeat, and most of its predictions of them are right. It never clicks.
    """
    rng = np.random.default_rng(seed)
    n = len(truth)
    order = np.arange(n)
    for number in range(len(truth.episodes)):
        for kind in Kind.KEYBOARD, Kind.MOUSE:
            same = np.flatnonzero((truth.episode == number) & (truth.kind == kind))
            before = same[truth.flags[same] == 0]  # all of the keys, the plain movements of the mouse
            if len(before):
                order[same] = before[np.maximum(np.searchsorted(before, same) - 1, 0)]
    time_ns = truth.time_ns + np.rint(rng.normal(0, 6, n) * _MILLISECOND).astype(np.int64)
    return replace(truth[order], time_ns=np.maximum(time_ns, 0))


def token_text(stream: EventStream, encoding: str = "hierarchical") -> list[str]:
    """One token string per event; an invalid event has no <EVENT_END>."""
    from assay.events.codecs import codec

    texts = codec(encoding).encode_each(replace(stream, problem=np.zeros_like(stream.problem)))
    spoiled = np.flatnonzero(stream.problem)
    for at in spoiled.tolist():
        texts[at] = texts[at][: -len("<EVENT_END>")]
    return texts


def write_events(stream: EventStream, path: str | Path) -> None:
    """Write one row of token text for each event, with its episode and stratum."""
    texts = token_text(stream)
    with replacing(Path(path)) as new, new.open("w", encoding="utf-8") as file:
        for text, at in zip(texts, stream.episode.tolist(), strict=True):
            episode = stream.episodes[at]
            file.write(json.dumps({"episode": episode.name, "stratum": episode.stratum, "text": text}) + "\n")
