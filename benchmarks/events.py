"""Decoding token text, and scoring from two texts to every figure of owa@1 and assay@1."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from assay.events import EventStream, evaluate, synthetic
from assay.events.codecs import codec
from benchmarks import reference
from benchmarks.measuring import Result, at_least, best, show

EPISODES = 1110  # about 2 million events
# The plain decoder and scorer would take minutes for all events, so they are timed on this many.
SAMPLE = 30_000
REPS, FEW = 1000, 3


def main() -> None:
    truth = synthetic.recording(episodes=EPISODES, seed=3)
    predicted = synthetic.prediction(truth, synthetic.GOOD, seed=3)
    texts = ["".join(synthetic.token_text(side)) for side in (predicted, truth)]
    print(f"{len(truth):,} pairs, {sum(map(len, texts)) / 1e6:,.0f} MB of token text")
    _compilation()
    show("Events", [*_decoding(texts[1]), _owa(*texts), _assay(predicted, truth)])


def _decoding(text: str) -> list[Result]:
    hierarchical = codec("hierarchical")
    raw = text.encode()
    n = len(hierarchical.decode(raw))
    ours = best(lambda: hierarchical.decode(raw, threads=1), repeats=7)  # type: ignore[call-arg]
    sample = _first_events(text, SAMPLE)
    plain = best(lambda: reference.decode(sample), repeats=2) / SAMPLE * n
    array = np.frombuffer(raw, np.uint8)
    summing = best(lambda: array.sum(), repeats=7)
    speed = f"{n / ours / 1e6:,.1f} M events/s"
    return [
        at_least(
            "decoding on one core, against a regex per event", speed, f"{n / plain / 1e3:,.0f} k/s", plain / ours, 250
        ),
        at_least(
            "decoding on one core, against NumPy summing the bytes",
            f"{len(raw) / ours / 1e9:.2f} GB/s",
            f"{len(raw) / summing / 1e9:.2f} GB/s",
            summing / ours,
            0.3,
        ),
    ]


def _owa(predicted: str, truth: str) -> Result:
    n = len(codec("hierarchical").decode(truth))
    ours = best(lambda: evaluate(predicted, truth, protocols=("owa",)), repeats=5)
    plain = _plain_owa(_first_events(predicted, SAMPLE), _first_events(truth, SAMPLE), n)
    what = f"owa@1, {n / 1e6:.1f} M pairs of token text to all figures and intervals"
    return at_least(what, f"{ours:.2f} s", f"{plain:,.0f} s", plain / ours, 500)


def _assay(predicted: EventStream, truth: EventStream) -> Result:
    """All of assay@1, including baselines and intervals by episode, against owa@1 on the same events."""
    ours = best(lambda: evaluate(predicted, truth, protocols=("assay",)), repeats=3)
    beside = best(lambda: evaluate(predicted, truth, protocols=("owa",)), repeats=3)
    what = f"assay@1, {len(truth) / 1e6:.1f} M events to all figures, against owa@1"
    return at_least(what, f"{ours:.2f} s", f"{beside:.2f} s", beside / ours, 1 / 3)


def _plain_owa(predicted: str, truth: str, n: int) -> float:
    """Seconds that plain code would take: decoding and scoring timed on a sample, intervals on a few replicates."""
    start = time.perf_counter()
    # A damaged prediction has no end token, and the plain decoder would skip the next event: decode one by one.
    sides = [[f"<EVENT_START>{rest}" for rest in text.split("<EVENT_START>")[1:]] for text in (predicted, truth)]
    guesses, rights = ([reference.decode_event(text) for text in side] for side in sides)
    lists = reference.compare(guesses, [right for right in rights if right is not None])
    reference.summarise(lists)
    seconds = (time.perf_counter() - start) / SAMPLE * n
    for name, values in lists.items():
        if name.endswith("timestamp") or name in ("dx", "dy"):
            array = np.resize(np.array(values), round(len(values) / SAMPLE * n))
            start = time.perf_counter()
            reference.bootstrap(array, reps=FEW)
            seconds += (time.perf_counter() - start) * REPS / FEW
    return seconds


def _first_events(text: str, n: int) -> str:
    return "<EVENT_START>" + "<EVENT_START>".join(text[: n * 200].split("<EVENT_START>")[1 : n + 1])


def _compilation() -> None:
    """Time of the very first call, and of the first call in a later process, with compiled loops cached on disk."""
    code = (
        "from assay.events import decode; decode('<EVENT_START><SCREEN><0><0><0><fake_image_placeholder><EVENT_END>')"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        times = []
        for _ in range(2):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            times.append(time.perf_counter() - start)
    print(
        f"first call in a new installation {times[0]:.1f} s (compiles), in a later process {times[1]:.1f} s (from disk)"
    )
