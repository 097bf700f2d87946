"""One side on a continuous clock: stray times, steps of a wrapping clock, and the order of events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.assay.streams import A, B, flat, frame, key, move

from assay.events import EventStream, codec
from assay.events.actions.clock import _core, _is_dense, clock_side

MINUTE = 60 * 10**9


@pytest.mark.parametrize(
    ("minutes", "core"),
    [
        ([], (0, 0)),
        ([5], (0, 1)),
        ([0, 10], (0, 2)),  # not more than ten minutes apart
        ([0, 11], (0, 2)),  # of equal parts none is stray
        ([0, 11, 12], (1, 3)),
        ([0, 1, 12], (0, 2)),
        ([0, 11, 12, 23, 24, 36], (1, 5)),  # between two parts that stay, nothing is left out
        ([0, 11, 12, 23, 34, 35], (1, 6)),
    ],
)
def test_single_times_far_from_all_others_are_stray(minutes: list[int], core: tuple[int, int]) -> None:
    assert _core(np.array(minutes, np.int64) * MINUTE) == core


@given(st.lists(st.integers(0, 639), min_size=2, max_size=12), st.sampled_from([640, 641]))
def test_a_stream_is_dense_if_its_median_step_is_short(times: list[int], wrap: int) -> None:
    steps = np.diff(times) % wrap
    dense = np.median(np.minimum(steps, wrap - steps)) < wrap / 64
    assert _is_dense(np.array(times, np.int64), wrap) == dense


def test_a_side_has_its_valid_events_in_the_order_of_time() -> None:
    events = [key(30), frame(10), move(20, 5), key(40, press=False), key(45, B), None]
    side = clock_side(EventStream.from_events(events), 10_000_000)
    assert side.at.tolist() == [1, 2, 0, 3, 4]
    assert side.time_ns.tolist() == [0, 10_000_000, 20_000_000, 30_000_000, 35_000_000]
    assert (side.first_ns, side.last_ns) == (10_000_000, 35_000_000)
    assert (side.valid, side.frames, side.stray, side.auto_repeats, side.silences) == (5, 1, 0, 0, 0)
    later = side.shifted(5)
    assert (later.time_ns - side.time_ns).tolist() == [5] * 5
    assert (later.first_ns, later.last_ns) == (10_000_005, 35_000_005)


def test_auto_repeats_are_left_out_and_kept_apart() -> None:
    side = clock_side(EventStream.from_events([key(0), key(500), key(530), key(560, A, press=False)]), 0)
    assert side.at.tolist() == [0, 3]
    assert sorted(side.repeats.tolist()) == [1, 2]
    assert sorted(side.repeats_ns.tolist()) == [500_000_000, 530_000_000]
    assert side.auto_repeats == 2


def test_silences_are_counted_on_a_clock_that_wraps() -> None:
    # 15.5 s, 15.6 s, 0.2 s (of the next turn), 1.2 s: one silence of a second.
    events = [frame(ms) for ms in (15_500, 15_600, 200, 1_200)]
    side = clock_side(EventStream.from_events(events, quantised=codec("hierarchical")), 0)
    assert (side.time_ns // 1_000_000).tolist() == [15_500, 15_600, 16_200, 17_200]
    assert side.silences == 1
    assert (side.first_ns, side.last_ns) == (None, None)


@pytest.mark.parametrize("late_ms", [-200, 80, 300])
def test_slow_auto_repeat_of_a_late_prediction_is_auto_repeat_too(late_ms: int) -> None:
    # Every 90 ms, which is too slow to be auto-repeat beyond doubt: it is if the truth repeats, though at another time.
    events = [key(2500 * at + 910 + 90 * k) for at in range(6) for k in range(10)]
    events += [key(2500 * at + 1800, A, press=False) for at in range(6)]
    events.sort(key=lambda event: event["ts"])
    shifted = [{**event, "ts": event["ts"] + late_ms * 1_000_000} for event in events]
    found = flat(EventStream.from_events(shifted), EventStream.from_events(events))
    assert found["lag_ms"] == late_ms
    assert found["f1_without_lag"] == 1.0
