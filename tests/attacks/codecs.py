"""Spoiled token text for the compiled decoders, a hundred thousand texts in each call; and JSON events, one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.events.codecs import codec
from assay.events.codecs.tokens import TokenCodec
from assay.events.stream import EventStream
from tests.attacks import Attack, Outcomes
from tests.attacks.files import spoiled
from tests.events import fuzzing

_AT_ONCE = 100_000
_CHECKED = 20
# Bytes that mean something to a decoder, next to any others.
_LETTERS = np.frombuffer(b"<>_0123456789EVNTSARKMBSIG \n\0\xff\xc3/-", np.uint8)
_SEEDS = {"hierarchical": "hierarchical", "hierarchical-time-first": "hierarchical", "factorized": "factorized"}
_COLUMNS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")


def _batch(
    texts: list[NDArray[np.uint8]], n: int, chance: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of n texts with changed bytes and moved ends, and where each begins, shape (n + 1,)."""
    chosen = [texts[at] for at in chance.integers(0, len(texts), n).tolist()]
    raw = np.concatenate(chosen)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in chosen])]).astype(np.int64)
    changed = chance.integers(0, len(raw), 2 * n)
    raw[changed] = np.where(
        chance.random(2 * n) < 0.8, chance.choice(_LETTERS, 2 * n), chance.integers(0, 256, 2 * n, np.uint8)
    )
    # An end that is moved cuts one text and leaves a rest before the next.
    moved = offsets[1:-1] + np.where(chance.random(n - 1) < 0.2, chance.integers(-60, 60, n - 1), 0)
    offsets[1:-1] = np.sort(np.clip(moved, 0, len(raw)))
    return raw, offsets


def _differs(one: TokenCodec, raw: NDArray[np.uint8], offsets: NDArray[np.int64], stream: EventStream) -> bool:
    """Whether a few of the texts have other events if they are decoded alone."""
    step = max(1, (len(offsets) - 1) // _CHECKED)
    for at in range(0, len(offsets) - 1, step):
        alone = one.decode_each([raw[offsets[at] : offsets[at + 1]].tobytes()])
        if any(getattr(alone, name)[0] != getattr(stream, name)[at] for name in _COLUMNS):
            return True
    return False


def spoiled_token_text(times: int, folder: Path) -> Outcomes:
    """Three token encodings: as many events as texts, the same events as of each text alone, and no error."""
    chance = np.random.default_rng(4)
    for name, seed in _SEEDS.items():
        one = codec(name)
        assert isinstance(one, TokenCodec)
        texts = [np.frombuffer(text, np.uint8) for text in fuzzing.texts(seed, 3000, seed=5) if text]
        left = times // len(_SEEDS)
        while left > 0:
            n = min(left, _AT_ONCE)
            left -= n
            raw, offsets = _batch(texts, n, chance)
            try:
                stream = one.decode_slices(raw, offsets)
                wrong = "lost an event" if len(stream) != n else ""
                wrong = wrong or ("has other events at once" if _differs(one, raw, offsets, stream) else "")
            except Exception as error:
                wrong = f"ended in {type(error).__name__}: {error!s:.80}"
            yield from [None] * (n - 1)
            yield f"{name} {wrong}, in a batch of {n}" if wrong else None


def spoiled_whole_texts(times: int, folder: Path) -> Outcomes:
    """Texts of many events, with all their ends spoiled: decoded whole and in threads, with the same events."""
    chance = random.Random(6)
    for name, seed in _SEEDS.items():
        one: Any = codec(name)
        good = list(fuzzing.texts(seed, 400, seed=7))
        for _ in range(max(1, times // len(_SEEDS))):
            text = spoiled(b"".join(chance.choices(good, k=chance.randint(1, 60))), chance)
            try:
                alone, threads = one.decode(text, threads=1), one.decode(text, threads=3)
                same = all(np.array_equal(getattr(alone, key), getattr(threads, key)) for key in _COLUMNS)
                yield None if same else f"{name}: threads decode other events"
            except Exception as error:
                yield f"{name} ended in {type(error).__name__}: {error!s:.80}"


def spoiled_json_events(times: int, folder: Path) -> Outcomes:
    """The JSON encoding, one text after another."""
    chance, one = random.Random(8), codec("json")
    token = codec("hierarchical")
    events = [token.decode_each([line]) for line in fuzzing.lines("hierarchical")[:200]]
    good = [one.encode_each(event)[0].encode() for event in events if not event.problem.any()]
    for start in range(0, times, 500):
        batch = [spoiled(chance.choice(good), chance) for _ in range(min(500, times - start))]
        try:
            wrong = "" if len(one.decode_each(batch)) == len(batch) else "lost an event"
        except Exception as error:
            wrong = f"ended in {type(error).__name__}: {error!s:.80}"
        yield from [None] * (len(batch) - 1)
        yield f"json {wrong}, in a batch of {len(batch)}" if wrong else None


ATTACKS = [
    Attack("spoiled token text, three encodings", spoiled_token_text, 6_000, 10_500_000, seconds=2),
    Attack("spoiled texts of many events", spoiled_whole_texts, 30, 30_000),
    Attack("spoiled JSON events", spoiled_json_events, 500, 200_000),
]
