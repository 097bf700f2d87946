"""The compiled counts of `sequence@1` against the plain comparison of tokens with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from assay.events.align import Pair
from assay.events.codecs import codec
from assay.events.protocols import _token_counts as counts
from assay.events.protocols._digits import (
    SECTIONS,
    VALID,
    StreamComparison,
    levels_as_written,
    share_of_time,
    time_error,
)
from assay.events.protocols.sequence import _wrong_tokens, score
from assay.events.stream import Episode, EventStream, Kind, Problem
from assay.types import Distribution, Joint

ENCODINGS = [
    codec("hierarchical"),
    codec("factorized"),
    codec("hierarchical", delta_bases=(2, 20, 4, 25), time_bases=(7, 9), scroll_bases=(5,)),
    codec("factorized", delta_bases=(50,), scroll_bases=(3, 3)),
    # More numbers than tables hold: digits are found by dividing.
    codec("hierarchical", delta_bases=(30, 30, 30), time_bases=(60, 60, 10)),
    codec("factorized", delta_bases=(3, 10_000), time_bases=(100_000,)),
]


def streams(encoding: object, seed: int, n: int = 400) -> EventStream:
    """Random events of every kind, valid and invalid, in this encoding."""
    rng = np.random.default_rng(seed)
    stream = EventStream.allocate(n)
    stream.kind[:] = rng.choice([-1, 0, 1, 1, 2], n)
    stream.time_ns[:] = rng.integers(0, 40, n) * 10_000_000
    keys, mice = stream.kind == Kind.KEYBOARD, stream.kind == Kind.MOUSE
    stream.vk[keys] = rng.integers(60, 64, keys.sum())
    stream.press[keys] = rng.integers(0, 2, keys.sum())
    for name in ("dx", "dy"):
        getattr(stream, name)[mice] = rng.choice([0, 1, -1, 12, -13, 130, 900], mice.sum())
    stream.flags[mice] = rng.choice([0, 0, 1, 0x400, 0x411], mice.sum())
    stream.data[mice] = rng.choice([0, 0, 120, -120, 360], mice.sum())
    stream.problem[:] = rng.choice([0, 0, 0, 0, Problem.WRONG_LENGTH, Problem.MISSING, Problem.BAD_ROW], n)
    stream.problem[stream.kind < 0] = Problem.UNKNOWN_TYPE
    return encoding.quantise(stream)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: f"{encoding.name} {encoding.delta_bases}")
@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_counts_are_those_of_the_plain_comparison(encoding: object, seed: int) -> None:
    truth, predicted = streams(encoding, seed), streams(encoding, seed + 100)
    predicted.kind[::2], predicted.problem[::2] = truth.kind[::2], truth.problem[::2]
    comparison = StreamComparison(predicted, truth, encoding)  # type: ignore[arg-type]
    states = score(Pair(Episode(), predicted, truth), encoding)  # type: ignore[arg-type]
    comparable = comparison.status == VALID
    assert comparable.sum() > 50
    sums = states["sums"]
    assert isinstance(sums, Joint)
    found = dict(zip(sums.column(0).tolist(), sums.counts.tolist(), strict=True))
    simple = {name: found.get(at, 0) for at, name in enumerate(counts.SIMPLE)}
    present = {name: side.problem != Problem.MISSING for name, side in (("predicted", predicted), ("true", truth))}
    expected = {
        "total": len(truth),
        "comparable": comparable.sum(),
        "same_type": comparison.same_type.sum(),
        "predicted": present["predicted"].sum(),
        "true": present["true"].sum(),
    }
    wrong, levels = [], {}
    for kind in SECTIONS.values():
        chosen = comparable & (truth.kind == kind)
        guess, right = predicted[chosen], truth[chosen]
        name = Kind(kind).name.lower()
        expected[f"true_{name}"] = (present["true"] & (truth.kind == kind)).sum()
        wrong.append(_wrong_tokens(comparison, guess, right, kind))
        for value, agree in levels_as_written(comparison, guess, right).items():
            levels[f"time_{name}" if value == "timestamp" else value] = [*agree.sum(axis=0).tolist(), len(right)]
        if kind == Kind.KEYBOARD:
            vk, action = guess.vk == right.vk, guess.press == right.press
            expected |= {"vk": vk.sum(), "action": action.sum(), "combined": (vk & action).sum()}
    assert simple == expected
    first = len(counts.SIMPLE)
    for group, row in enumerate(counts.GROUPS):
        assert [found.get(first + 4 * group + at, 0) for at in range(4)] == levels[row], row
    assert states["wrong_tokens"] == Joint.merge(wrong)
    right, guess = truth[comparable], predicted[comparable]
    times = states["times"]
    assert isinstance(times, Joint)
    errors = time_error(guess.time_ns, right.time_ns, encoding.wrap_ns)  # type: ignore[attr-defined]
    known = ~np.isnan(errors)
    shares = share_of_time(times.column(1), times.column(2))
    assert Distribution.of(shares, times.counts) == Distribution.of(errors[known])
    assert times.n == known.sum()
    assert np.array_equal(np.gcd(times.column(1), times.column(2)), np.ones(len(times)))
    mice = right.kind == Kind.MOUSE
    assert states["moves"] == Joint.of(right.dx[mice], right.dy[mice], guess.dx[mice], guess.dy[mice])


def test_the_numbers_of_kinds_and_problems_are_those_of_streams() -> None:
    assert (counts._KEYBOARD, counts._MOUSE, counts._MISSING) == (Kind.KEYBOARD, Kind.MOUSE, Problem.MISSING)
