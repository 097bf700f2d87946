"""Two sides in bins of time, against a slow comparison with dictionaries; and clocks that wrap around."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import events
from assay.events import EventStream
from assay.events.actions import clock, labels, pointer, positions
from assay.events.align import Bins
from assay.events.protocols import _bins
from assay.events.protocols._bins import BinnedMatches, RunningSide, compare_bins
from assay.events.stream import Kind

DAY_NS = 24 * 3600 * 10**9


def frames(*times: int, **rest: object) -> EventStream:
    return EventStream.from_events([{"kind": "screen", "ts": ts} for ts in times], **rest)


def keys(*times: int) -> RunningSide:
    rows = [{"kind": "keyboard", "ts": ts, "vk": 65, "press": True} for ts in times]
    return RunningSide.of(EventStream.from_events(rows))


def test_compiled_loops_know_the_kinds_of_events() -> None:
    for module in (_bins, clock, labels, pointer, positions):
        for kind in (Kind.KEYBOARD, Kind.MOUSE, Kind.SCREEN):
            assert getattr(module, f"_{kind.name}", kind) == kind


# --- bins ------------------------------------------------------------------------------------------------------------


def test_the_last_bin_may_be_shorter() -> None:
    # 100 … 230 in bins of 50: 100, 150, 200 (short).
    assert Bins(100, 230, 50).count == 3
    assert Bins(100, 100, 50).count == 0
    assert Bins(200, 100, 50).count == 0


@pytest.mark.parametrize(
    ("times", "other", "found"),
    [
        ([100], [149], (1, 1)),  # the same bin
        ([149], [150], (0, 2)),  # two bins
        ([99, 100], [149], (1, 1)),  # before the range
        ([229, 230], [200], (1, 1)),  # the very end is outside
    ],
)
def test_times_are_assigned_to_bins(times: list[int], other: list[int], found: tuple[int, int]) -> None:
    assert compare_bins(keys(*times), keys(*other), (0, 0), Bins(100, 230, 50)).keys == found


def random_stream(seed: int, n: int) -> EventStream:
    rng = np.random.default_rng(seed)
    stream = EventStream.allocate(n)
    stream.kind[:] = rng.integers(0, 3, n)
    stream.time_ns[:] = rng.integers(0, 400, n)
    stream.vk[:] = np.where(stream.kind == Kind.KEYBOARD, rng.choice([0, 65, 255], n), 0)
    stream.press[:] = (stream.kind == Kind.KEYBOARD) & (rng.random(n) < 0.5)
    mouse = stream.kind == Kind.MOUSE
    stream.dx[:], stream.dy[:] = rng.integers(-9, 10, n) * mouse, rng.integers(-(2**31), 2**31, n) * mouse
    stream.flags[:] = rng.choice([0, 0, 1, 2, 5, 0x3F, 0x40, 0x400, 0xFFF], n) * mouse
    stream.problem[:] = rng.random(n) < 0.1
    return stream


def slowly(predicted: EventStream, truth: EventStream, shifts: tuple[int, int], bins: Bins) -> BinnedMatches:
    moved: dict[int, list[int]] = {}
    counts: list[list[Counter[tuple[int, ...]]]] = [[Counter(), Counter()], [Counter(), Counter()]]
    for side, (stream, shift) in enumerate(((truth, shifts[1]), (predicted, shifts[0]))):
        for event in stream.to_events():
            time = event["ts"] - shift if event else bins.end_ns
            if not event or not bins.start_ns <= time < bins.end_ns or event["kind"] == "screen":
                continue
            at = (time - bins.start_ns) // bins.width_ns
            if event["kind"] == "keyboard":
                counts[0][side][at, event["vk"], event["press"]] += 1
            elif event["flags"] == 0:
                sums = moved.setdefault(at, [0, 0, 0, 0])
                sums[side] += event["dx"]
                sums[2 + side] += event["dy"]
            for bit in range(6):
                if event.get("flags", 0) >> bit & 1:
                    counts[1][side][at, bit] += 1
    rows = np.array([moved[at] for at in sorted(moved)], np.int64).reshape(-1, 4).T
    equal = [(sum(true[label] == guess[label] for label in true | guess), len(true | guess)) for true, guess in counts]
    return BinnedMatches(rows, np.abs(rows).sum(axis=1).tolist(), *equal)


@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(0, 40), st.integers(1, 120), st.integers(-30, 60))
def test_bins_are_compared_as_by_a_slow_program(seed: int, n: int, m: int, width: int, shift: int) -> None:
    predicted, truth = random_stream(seed, n), random_stream(seed + 1, m)
    shifts, bins = (shift, 7), Bins(20, 350, width)
    found = compare_bins(RunningSide.of(predicted), RunningSide.of(truth), shifts, bins)
    expected = slowly(predicted, truth, shifts, bins)
    assert found.moved.tolist() == expected.moved.tolist()
    assert (found.distance, found.keys, found.buttons) == (expected.distance, expected.keys, expected.buttons)


# --- clocks that start anew ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 7900), max_size=30), st.integers(0, 40_000))
def test_a_wrapped_clock_runs_on(steps_ms: list[int], start_ms: int) -> None:
    """Events less than half a wrap apart come back as they were, up to whole rounds at the start."""
    unit = 10_000_000
    times = [ms // 10 * unit for ms in np.cumsum([start_ms, *steps_ms]).tolist()]
    side = RunningSide.of(events.codec("hierarchical").quantise(frames(*times)))
    assert (side.time_ns - side.time_ns[0]).tolist() == [ts - times[0] for ts in times]
    assert side.high_ns - side.low_ns == times[-1] - times[0]


def test_events_slightly_out_of_order_run_on() -> None:
    # 15.99 s, 0 s, 15.98 s, 0.01 s on a clock of 16 s: two devices that disagree by a little.
    times = [ts * 10_000_000 for ts in (1599, 0, 1598, 1)]
    side = RunningSide.of(frames(*times, quantised=events.codec("hierarchical")))
    assert (side.time_ns // 10_000_000).tolist() == [1599, 1600, 1598, 1601]
    assert (side.low_ns, side.begin_ns) == (15_980_000_000, 15_990_000_000)


def test_an_invalid_event_is_not_a_step_of_the_clock() -> None:
    stream = frames(*(ts * 10_000_000 for ts in (1599, 700, 1598, 1)), quantised=events.codec("hierarchical"))
    stream.problem[1] = 1
    side = RunningSide.of(stream)
    assert (side.time_ns[[0, 2, 3]] // 10_000_000).tolist() == [1599, 1598, 1601]
    assert side.n == 3


def test_a_clock_that_does_not_wrap_is_unchanged() -> None:
    side = RunningSide.of(frames(5, 1, 10**15))
    assert side.time_ns.tolist() == [5, 1, 10**15]
    assert (side.n, side.low_ns, side.high_ns, side.begin_ns, side.frames) == (3, 1, 10**15, 1, True)
    assert RunningSide.of(replace(frames(3), quantised=events.codec("hierarchical"))).time_ns.tolist() == [3]
    assert RunningSide.of(frames()).n == 0


def test_a_time_more_than_30_days_from_the_median_is_left_out() -> None:
    side = RunningSide.of(frames(0, 10, 30 * DAY_NS + 10, 31 * DAY_NS, 5))
    assert side.time_ns.tolist() == [0, 10, 30 * DAY_NS + 10, 5]
    assert (side.n, side.low_ns, side.high_ns) == (4, 0, 30 * DAY_NS + 10)
