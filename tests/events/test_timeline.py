"""The timeline of an episode: tiles and windows add up, and every figure is the one that `evaluate` gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from assay.errors import UsageError
from assay.events import synthetic
from assay.events.actions.labels import HEADLINE
from assay.events.align import Pair
from assay.events.evaluation import evaluate
from assay.events.protocols.assay import Assay
from assay.events.stream import Episode, EventStream
from assay.events.timeline.episode import EpisodeTimeline, ShiftedTimeline, lane_name
from assay.events.timeline.tiles import BINS, FINEST_NS, MOST_ACTIONS, tile
from assay.events.timeline.windows import next_error, whole, window

A, B, LEFT_BUTTON = 0x41, 0x42, 256


def key(ms: int, vk: int, press: bool) -> dict[str, Any]:
    return {"kind": "keyboard", "ts": ms * 10**6, "vk": vk, "press": press}


def mouse(ms: int, **values: int) -> dict[str, Any]:
    return {"kind": "mouse", "ts": ms * 10**6, **values}


TRUTH = EventStream.from_events(
    [
        key(0, A, True),
        {"kind": "screen", "ts": 50 * 10**6},
        key(100, A, False),
        mouse(200, dx=3, dy=4),
        mouse(300, flags=1),
        mouse(400, flags=2),
        key(1000, B, True),
        key(1100, B, False),
    ]
)
# 30 ms late; A instead of B, a click that nobody made, and the true click is missed.
PREDICTED = EventStream.from_events(
    [
        key(30, A, True),
        key(130, A, False),
        mouse(230, dx=3, dy=4),
        key(1030, A, True),
        key(1130, A, False),
        mouse(2000, flags=1),
        mouse(2100, flags=2),
    ]
)


@pytest.fixture(scope="module")
def small() -> EpisodeTimeline:
    return EpisodeTimeline.of(Pair(Episode("small"), PREDICTED, TRUTH), Assay())


@pytest.fixture(scope="module")
def model() -> tuple[EventStream, EventStream]:
    """A prediction that is 80 ms late and errs, and its truth, in one episode."""
    truth = synthetic.recording(episodes=1, seconds=120.0, seed=5)
    late = replace(synthetic.LATE, wrong_key=0.05, wrong_button=0.05)
    return synthetic.prediction(truth, late, seed=5), truth


@pytest.fixture(scope="module")
def large(model: tuple[EventStream, EventStream]) -> EpisodeTimeline:
    predicted, truth = model
    return EpisodeTimeline.of(Pair(truth.episodes[0], predicted, truth), Assay())


def test_lanes_are_keys_and_buttons_that_are_used(small: EpisodeTimeline) -> None:
    assert [lane_name(lane) for lane in small.lanes] == ["A", "left button", "B"]
    assert (small.origin_ns, small.span_ns) == (0, 2_100_000_000)


def test_every_outcome_is_where_it_happened(small: EpisodeTimeline) -> None:
    found = tile(ShiftedTimeline.of(small, 0), 10, 0)  # 8.6 s
    assert found["counts"] is None
    true, predicted = ([row[1:] for row in found["actions"] if row[0] == side] for side in (0, 1))
    assert true == [
        [A, 0, 1, 0, 30_000, A],  # matched 30 ms later
        [A, 100_000, 0, 0, 130_000, A],
        [LEFT_BUTTON, 300_000, 1, 1, None, None],  # missed
        [LEFT_BUTTON, 400_000, 0, 1, None, None],
        [B, 1_000_000, 1, 3, 1_030_000, A],  # substituted by A
        [B, 1_100_000, 0, 3, 1_130_000, A],
    ]
    assert [row[3] for row in predicted] == [0, 0, 3, 3, 2, 2]
    assert [row for row in found["holds"] if row[0] == 0] == [
        [0, A, 0, 100_000, 0],
        [0, LEFT_BUTTON, 300_000, 400_000, 1],
        [0, B, 1_000_000, 1_100_000, 3],
    ]
    assert sum(found["frames"][0]) == 1
    assert sum(found["frames"][1]) == 0
    # 5 px of the truth's way, as long as a bin is wide.
    assert max(found["speed"][0]) > 0


def test_a_shift_moves_the_prediction_to_earlier_times(small: EpisodeTimeline) -> None:
    found = tile(ShiftedTimeline.of(small, 30_000_000), 10, 0)
    assert [row[2] for row in found["actions"] if row[0] == 1][:2] == [0, 100_000]
    assert next(row[2:4] for row in found["holds"] if row[0] == 1) == [0, 100_000]


def test_figures_of_a_window_can_be_counted_by_hand(small: EpisodeTimeline) -> None:
    matched = ShiftedTimeline.of(small, 0)
    found = window(matched, 0, 500_000)
    # Four true and two predicted actions, of which two match: F1 is (2 + 2) / 6.
    figures = found["figures"]
    assert (figures["true"], figures["predicted"], figures["matched"], figures["missed"]) == (4, 2, 2, 2)
    assert (figures["precision"], figures["recall"], figures["f1"]) == (1.0, 0.5, 4 / 6)
    assert found["timing"] == {"median_ms": 30.0, "median_absolute_ms": 30.0}
    assert (found["pointer"]["true_px"], found["pointer"]["predicted_px"]) == (5.0, 5.0)
    assert [one["action"] for one in found["errors"]] == ["left down", "left up"]
    nothing = window(matched, 5_000_000, 6_000_000)
    assert (nothing["figures"]["f1"], nothing["pointer"], nothing["errors"]) == (None, None, [])


def test_errors_are_gone_through_in_both_directions(small: EpisodeTimeline) -> None:
    matched = ShiftedTimeline.of(small, 0)
    forwards, at = [], -1
    while (found := next_error(matched, at)) is not None:
        at = found["us"]
        forwards.append((at, found["name"]))
    # A substitution is one error, at the time of its truth.
    assert [us for us, _ in forwards] == [300_000, 400_000, 1_000_000, 1_100_000, 2_000_000, 2_100_000]
    assert forwards[2] == (1_000_000, "B")
    backwards, at = [], 10**9
    while (found := next_error(matched, at, backwards=True)) is not None:
        at = found["us"]
        backwards.append((at, found["name"]))
    assert backwards == forwards[::-1]
    assert next_error(matched, -1, lane=B) == {"us": 1_000_000, "lane": B, "name": "B"}
    assert next_error(matched, 1_100_000, lane=B) is None


@pytest.mark.parametrize("level", [8, 12, 15, 20])
def test_tiles_of_every_level_have_each_action_once(large: EpisodeTimeline, level: int) -> None:
    matched = ShiftedTimeline.of(large, 80_000_000)
    length = BINS * FINEST_NS << level
    counts = np.zeros(6, np.int64)
    both = set()
    for at in range(-1, large.span_ns // length + 2):
        found = tile(matched, level, at)
        both.add(found["counts"] is None)
        if found["counts"] is not None:
            counts += np.array(found["counts"])[:, 2:].sum(axis=0)
            continue
        assert len(found["actions"]) <= MOST_ACTIONS
        for side, _, _, _, outcome, _, _ in found["actions"]:
            counts[{(0, 0): 0, (0, 1): 1, (0, 3): 2, (1, 0): 3, (1, 2): 4, (1, 3): 5}[side, outcome]] += 1
    assert counts[:3].sum() == len(large.paired.true)
    assert counts[3:].sum() == len(large.paired.predicted)
    assert counts[0] == counts[3]
    assert counts[2] == counts[5]
    assert (False in both) == (level > 12)


def test_windows_side_by_side_add_up_to_the_whole(large: EpisodeTimeline) -> None:
    matched = ShiftedTimeline.of(large, 0)
    edges = [-(10**6), 10**7, 10**7 + 1, 5 * 10**7, 10**9]
    parts = [window(matched, *ends)["figures"] for ends in pairwise(edges)]
    figures = whole(matched)["figures"]
    for name in ("true", "predicted", "matched", "missed", "inserted", "substituted"):
        assert sum(part[name] for part in parts) == figures[name], name
    found = whole(matched)
    assert sum(found["errors"]) == figures["missed"] + figures["inserted"] + figures["substituted"] + _wheel(matched)
    assert found["worst"] == sorted(found["worst"], key=lambda one: (-one["errors"], one["from_us"]))


def _wheel(matched: ShiftedTimeline) -> int:
    """Errors of wheels, which enter no figure without a kind."""
    scrolls = window(matched, -(10**9), 10**9)["kinds"]["scroll"]
    return int(scrolls["missed"] + scrolls["inserted"] + scrolls["substituted"])


def test_figures_at_a_shift_are_those_of_evaluate(
    model: tuple[EventStream, EventStream], large: EpisodeTimeline
) -> None:
    predicted, truth = model
    assert large.lag_ms == 80.0
    by_shift = dict(large.f1_by_shift)
    assert max(by_shift, key=lambda shift: (by_shift[shift], -abs(shift - 80))) == 80.0
    for shift_ms in (0, 80):
        moved = replace(predicted, time_ns=np.maximum(predicted.time_ns - shift_ms * 10**6, 0))
        flat = evaluate(moved, truth, protocols=("assay",), reps=10).flat("assay")
        found = whole(ShiftedTimeline.of(large, shift_ms * 10**6))["figures"]
        assert {name: found[name] for name in ("precision", "recall", "f1")} == pytest.approx(
            {name: flat[name] for name in ("precision", "recall", "f1")}
        )
        assert by_shift[shift_ms] == pytest.approx(flat["f1"])


def test_worst_moments_begin_where_reports_begin_them(
    model: tuple[EventStream, EventStream], large: EpisodeTimeline
) -> None:
    moments = evaluate(*model, protocols=("assay",), reps=10).protocols["assay"].details["moments"]
    origin_us = ((large.paired.true_side.first_ns or 0) - large.origin_ns) // 1000
    # A report keeps the two worst windows of an episode.
    reported = {(1000 * moment["start_ms"] + origin_us, moment["errors"]) for moment in moments}
    found = [(one["from_us"], one["errors"]) for one in whole(ShiftedTimeline.of(large, 0))["worst"]]
    assert len(reported) == 2
    assert {(round(us, -3), errors) for us, errors in found[:2]} == {(round(us, -3), errors) for us, errors in reported}


def test_actions_keep_their_order_when_they_are_shifted(large: EpisodeTimeline) -> None:
    actions = large.paired.predicted
    order = actions.order
    moved = actions.shifted(5)
    assert moved.order is order
    assert (np.diff(moved.time_ns[moved.order]) >= 0).all()
    assert int(moved.edges[HEADLINE]) == int(actions.edges[HEADLINE])


def test_an_episode_without_truth_is_refused() -> None:
    with pytest.raises(UsageError, match="'gone' has no truth"):
        EpisodeTimeline.of(Pair(Episode("gone"), PREDICTED, EventStream.allocate(0)), Assay())
    frames = EventStream.from_events([{"kind": "screen", "ts": 1}])
    with pytest.raises(UsageError, match="neither actions nor movements"):
        EpisodeTimeline.of(Pair(Episode(), frames, frames), Assay())
