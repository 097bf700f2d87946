"""`d2e@1`: two streams with their own lengths, on one clock, compared bin by bin (SPEC 1.7)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import events
from assay.errors import SourceError, UsageError
from assay.events import Episode, EventStream, synthetic
from assay.events.stream import concatenate
from assay.events.training import Evaluation

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "binned.json").read_text(encoding="utf-8"))
MS = 1_000_000

Event = dict[str, Any]


def key(ts_ms: float, vk: int = 65, press: bool = True) -> Event:
    return {"kind": "keyboard", "ts": round(ts_ms * MS), "vk": vk, "press": press}


def move(ts_ms: float, dx: int = 0, dy: int = 0, flags: int = 0) -> Event:
    return {"kind": "mouse", "ts": round(ts_ms * MS), "dx": dx, "dy": dy, "flags": flags, "data": 0}


def screen(ts_ms: float) -> Event:
    return {"kind": "screen", "ts": round(ts_ms * MS)}


def figures(
    predicted: EventStream | list[Event], truth: EventStream | list[Event], **settings: Any
) -> dict[str, float | None]:
    sides = [side if isinstance(side, EventStream) else EventStream.from_events(side) for side in (predicted, truth)]
    return events.evaluate(*sides, protocols=["d2e"], settings=settings).flat("d2e")


def test_every_figure_equals_the_golden_file_within_a_billionth() -> None:
    found = figures(GOLDEN["predicted"], GOLDEN["truth"], bin_ms=GOLDEN["bin_ns"] / 1e6)
    assert {name: found[name] for name in GOLDEN["metrics"]} == pytest.approx(GOLDEN["metrics"], abs=1e-9, rel=0)
    assert set(found) - set(GOLDEN["metrics"]) == {"coverage", "scale_x", "scale_y"}


def test_correlation_and_scale_of_two_bins() -> None:
    # Two bins. Truth sums 10 and −5, prediction 20 and −10: correlation 1, truth ÷ prediction ½, inverted: 2.
    truth = [screen(0), move(0, 7), move(49, 3), move(50, -5), screen(100)]
    found = figures([screen(0), move(10, 20), move(90, -10), screen(100)], truth)
    assert found["bins"] == 2
    assert found["pearson_x"] == pytest.approx(1.0)
    assert found["scale_ratio_x"] == pytest.approx(2.0)
    # Nobody moved along y.
    assert found["pearson_y"] is None
    assert found["scale_ratio_y"] is None


def test_the_scale_ratio_is_at_least_one_in_both_directions() -> None:
    sides = [[screen(0), move(10, size), screen(100)] for size in (3, 12)]
    assert figures(sides[0], sides[1])["scale_ratio_x"] == pytest.approx(4)
    assert figures(sides[1], sides[0])["scale_ratio_x"] == pytest.approx(4)


def test_the_scale_shows_its_direction() -> None:
    sides = [[screen(0), move(10, size), screen(100)] for size in (3, 12)]
    assert figures(sides[0], sides[1])["scale_x"] == pytest.approx(0.25)  # too little
    assert figures(sides[1], sides[0])["scale_x"] == pytest.approx(4)  # too much


def test_coverage_is_the_share_of_the_true_time_span() -> None:
    truth = [key(at) for at in range(0, 1001, 100)]
    assert figures(truth[:2], truth)["coverage"] == pytest.approx(0.1)
    assert figures(truth[:2], truth)["key_accuracy"] == 1.0  # which is why coverage stands beside it
    assert figures(truth, truth[:2])["coverage"] == 1.0


def test_scale_compares_sums_of_bins_not_events() -> None:
    # Within a bin, 10 and −10 cancel: the sum is 0.
    found = figures(
        [screen(0), move(1, 10), move(2, -10), move(60, 4), screen(100)], [screen(0), move(60, 8), screen(100)]
    )
    assert found["scale_ratio_x"] == pytest.approx(2)


def test_correlation_uses_bins_in_which_either_side_moves() -> None:
    # Bins 0 (10, 0), 2 (0, 10); bin 1 is still on both sides and is left out: perfectly opposed.
    found = figures([screen(0), move(110, 10), screen(150)], [screen(0), move(10, 10), screen(150)])
    assert found["pearson_x"] == pytest.approx(-1.0)


def test_clicks_are_not_movement() -> None:
    found = figures([screen(0), move(10, 50, flags=1), screen(100)], [screen(0), move(10, 50, flags=1), screen(100)])
    assert found["pearson_x"] is None
    assert found["scale_ratio_x"] is None
    assert found["button_accuracy"] == 1.0


def test_keys_are_right_if_counts_in_a_bin_are_equal() -> None:
    # Bin 0: A pressed once against twice: wrong; B pressed once on both: right.
    # Bin 1: A released by the truth only: wrong; C pressed by the prediction only: wrong. One of four.
    truth = [screen(0), key(1), key(2, 66), key(60, 65, False), screen(100)]
    found = figures([screen(0), key(1), key(9), key(3, 66), key(60, 67), screen(100)], truth)
    assert found["key_accuracy"] == 0.25
    assert found["key_samples"] == 4
    assert found["button_accuracy"] is None
    assert found["button_samples"] == 0


def test_buttons_are_right_if_transitions_in_a_bin_are_equal() -> None:
    # 0x5 is left and right down at once: two transitions. The wheel and the fourth button are none.
    truth = [screen(0), move(10, flags=0x5), move(60, flags=0x400), move(60, flags=0x40), screen(100)]
    found = figures([screen(0), move(10, flags=0x1), move(60, flags=0x20), screen(100)], truth)
    # Left down right; right down missing; middle up invented.
    assert found["button_accuracy"] == pytest.approx(1 / 3)
    assert found["button_samples"] == 3


def test_an_event_at_the_very_end_is_left_out() -> None:
    truth = [screen(0), key(99.9), key(100)]
    found = figures([screen(0), key(99.9), screen(100)], truth)
    assert (found["bins"], found["key_samples"], found["key_accuracy"]) == (2, 1, 1.0)


def test_the_range_is_covered_by_both_sides() -> None:
    # Truth 0 … 200, prediction 100 … 300: 100 … 200 is common, and bins start there.
    truth = [screen(0), key(10), key(149), screen(200)]
    found = figures([screen(100), key(101), key(250), screen(300)], truth)
    assert found["bins"] == 2
    # 101 and 149 lie in the same bin, 100 … 150; 10 and 250 lie outside.
    assert (found["key_samples"], found["key_accuracy"]) == (1, 1.0)


def test_the_last_bin_may_be_shorter() -> None:
    assert figures([screen(0), screen(101)], [screen(0), screen(101)])["bins"] == 3


def test_two_sides_without_common_time_are_an_error() -> None:
    with pytest.raises(
        SourceError, match=r"share no time: the predictions begin 0\.5 s before the truths.*--clock start"
    ):
        figures([key(0), key(10)], [key(500), key(600)])
    with pytest.raises(SourceError, match=r"share no time in any of 2 episodes"):
        figures(named([key(900), key(990)], [key(700)]), named([key(0), key(10)], [key(0), key(9)]))


def named(*rows: list[Event]) -> EventStream:
    """Episodes 'a', 'b' and so on."""
    parts = [EventStream.from_events(part).of_episode(Episode("abc"[at])) for at, part in enumerate(rows)]
    return concatenate(parts)


def test_episodes_without_common_time_are_named_if_others_have_some() -> None:
    truth = named([key(0), key(100)], [key(0), key(100)], [key(0), key(100)])
    predicted = named([key(0), key(100)], [key(900), key(990)], [])
    report = events.evaluate(predicted, truth, protocols=["d2e"])
    assert report.flat("d2e")["coverage"] == pytest.approx(1 / 3)
    assert report.warnings[0].startswith("d2e@1 compares 33% of the truth's span")  # before everything else
    assert report.warnings[1] == (
        "Predictions and truths share no time in 1 of 2 episodes, where d2e@1 compares nothing: 'b'."
    )


def test_single_events_say_nothing_about_clocks() -> None:
    for late in (20, 900):
        assert figures([key(100 + late)], [key(100)])["coverage"] is None
    assert figures([key(0), key(90)], [key(120), key(180)])["coverage"] == 0.0  # less than a bin apart


def test_one_prediction_inside_the_truths_span_is_not_an_error() -> None:
    found = figures([key(50)], [key(0), key(100)])
    assert (found["bins"], found["coverage"], found["key_accuracy"]) == (0, 0.0, None)


def test_an_evaluation_in_training_continues_without_common_time() -> None:
    running = Evaluation(["d2e"])
    running.update(*(EventStream.from_events([key(at), key(at + 10)]) for at in (0, 500)))
    report = running.compute()
    assert report.flat("d2e")["coverage"] == 0.0
    assert any("share no time in 1 of 1 episodes" in said for said in report.warnings)


def test_coverage_is_the_first_figure() -> None:
    assert next(iter(figures([key(0), key(9)], [key(0), key(9)]))) == "coverage"


def test_a_wrong_time_far_away_needs_no_memory() -> None:
    # Twenty days in bins of a microsecond: 1.7 trillion of them. What is much farther away is absurd and left out.
    far = 20 * 24 * 3600 * 1000
    sides = [[move(0, 1), move(10, 1), key(20), screen(far)] for _ in range(2)]
    found = figures(*sides, bin_ms=0.001)
    assert found["bins"] == far * 1000
    assert found["key_accuracy"] == 1.0


# --- clocks ----------------------------------------------------------------------------------------------------------


def recorded(shift_ms: float, first_frame_ms: float, pts_ms: float, rows: list[Event]) -> EventStream:
    """A recording whose clock started `shift_ms` ago, and whose first frame is at `pts_ms` in its video."""
    episode = Episode("a", first_frame_ns=round((first_frame_ms + shift_ms) * MS), first_pts_ns=round(pts_ms * MS))
    stream = EventStream.from_events([row | {"ts": row["ts"] + round(shift_ms * MS)} for row in rows])
    return stream.of_episode(episode)


ROWS = [key(5), screen(20), key(30), move(80, 4, 4), move(130, -3, 2), key(170, 65, False), screen(220)]


def test_recordings_are_aligned_by_their_first_frames() -> None:
    # The same doings, recorded on clocks that differ by a day: the videos agree about when.
    truth, predicted = recorded(0, 20, 0, ROWS), recorded(86_400_000, 20, 0, ROWS)
    found = figures(predicted, truth)
    assert found["bins"] == 4  # 20 … 220: what came before the first frame is outside
    assert found["key_samples"] == 2
    assert found["key_accuracy"] == 1.0
    assert found["pearson_x"] == pytest.approx(1.0)
    assert figures(predicted, truth, clock="frames") == found
    with pytest.raises(SourceError, match=r"begin 86,400\.0 s after the truths"):
        figures(predicted, truth, clock="shared")


@pytest.mark.parametrize("protocols", [["d2e"], ["assay"], ["assay", "d2e"]])
def test_a_clock_other_than_the_frames_is_reported(protocols: list[str]) -> None:
    # Both sides have screen events, but only the truth says where its first frame is in the video.
    truth = recorded(0, 20, 0, ROWS)
    predicted = EventStream.from_events(ROWS).of_episode(Episode("a"))
    for sides in ((predicted, truth), (truth, predicted)):
        said = events.evaluate(*sides, protocols=protocols).warnings
        assert (
            sum("Only one side has frames with video times: times are compared there as they are" in s for s in said)
            == 1
        )
    for clock in ("shared", "start"):  # asked for, so there is nothing to report
        said = events.evaluate(predicted, truth, protocols=protocols, settings={"clock": clock}).warnings
        assert not any("video times" in sentence for sentence in said)
    said = events.evaluate(truth, truth, protocols=protocols).warnings
    assert not any("video times" in sentence for sentence in said)


def test_a_recording_ends_with_its_last_message_of_any_topic() -> None:
    # A message about a window, which is no event, came 100 ms after the last event: the last frame is inside the range.
    truth, predicted = recorded(0, 20, 0, ROWS), recorded(86_400_000, 20, 0, ROWS)
    later = [
        side.of_episode(replace(side.episodes[0], end_ns=int(side.time_ns[-1]) + 100 * MS))
        for side in (predicted, truth)
    ]
    assert figures(*later)["bins"] == 6  # 20 … 320
    assert figures(later[0], truth)["bins"] == 4  # the earlier of the two ends


def test_a_frame_later_in_the_video_is_later_on_the_clock() -> None:
    # The prediction's first frame is the video's at 100 ms: it lags the truth by 100 ms, two bins.
    truth, predicted = recorded(0, 20, 0, ROWS), recorded(0, 20, 100, ROWS)
    # Truth on the video's clock: −20+5 … 200; prediction: 85 … 300; common 100 … 200.
    assert figures(predicted, truth)["bins"] == 2


def test_with_the_clock_start_each_side_begins_at_zero() -> None:
    truth = [screen(0), key(10), screen(100)]
    predicted = [screen(7000), key(7010), screen(7100)]
    with pytest.raises(SourceError, match="share no time"):
        figures(predicted, truth, clock="shared")
    found = figures(predicted, truth, clock="start")
    assert (found["bins"], found["key_accuracy"]) == (2, 1.0)


@pytest.mark.parametrize("clock", ["shared", "start"])
@pytest.mark.parametrize("absurd_ms", [0, 2**62 / MS])
@pytest.mark.parametrize("of_truth", [False, True])
def test_one_absurd_time_affects_one_event_only(clock: str, absurd_ms: float, of_truth: bool) -> None:
    # Times since 1970, as recordings have them.
    now = 1_750_000_000_000.0
    rows = [key(now + at * 40, 65 + at % 3) for at in range(100)]
    other = [*rows, key(absurd_ms)] if absurd_ms else [key(absurd_ms), *rows]
    right = figures(rows, rows, clock=clock)
    found = figures(rows, other, clock=clock) if of_truth else figures(other, rows, clock=clock)
    assert right["key_accuracy"] == 1
    assert found == right


def test_the_clock_frames_needs_frames() -> None:
    with pytest.raises(UsageError, match=r"'frames' needs recordings with screen events.*--clock shared"):
        figures([key(0)], [key(0)], clock="frames")


def test_a_wrapped_clock_is_unwrapped() -> None:
    # 40 s in tokens whose clock wraps around after 16 s: every event gets its original time.
    truth = synthetic.recording(episodes=1, seconds=40, seed=5)
    truth = truth.of_episode(Episode())
    text = events.encode(truth)
    floored = replace(events.codec("hierarchical", time_bases=(100, 10, 10)).quantise(truth), quantised=None)
    by_tokens = events.evaluate(text, text, protocols=["d2e"]).flat("d2e")
    assert by_tokens == figures(floored, floored)
    assert by_tokens["bins"] == pytest.approx(40_000 / 50, abs=2)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"bin_ms": 0}, "bin_ms must be between 0.000001 and 1000000000, got 0"),
        ({"bin_ms": -5}, "bin_ms must be between 0.000001 and 1000000000, got -5"),
        ({"bin_ms": float("nan")}, "bin_ms must be between 0.000001 and 1000000000, got nan"),
        ({"bin_ms": float("inf")}, "bin_ms must be between 0.000001 and 1000000000, got inf"),
        ({"bin_ms": 1e-9}, "bin_ms must be between 0.000001 and 1000000000, got 1e-09"),
        ({"clock": "sundial"}, "no clock 'sundial'"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        figures([key(0)], [key(0)], **settings)


def test_wider_bins_tolerate_larger_delays() -> None:
    truth = synthetic.recording(episodes=2, seconds=10, seed=5)
    predicted = synthetic.prediction(truth, synthetic.POOR)
    shares = [figures(predicted, truth, bin_ms=width)["key_accuracy"] for width in (20, 200)]
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0] < shares[1]


def test_settings_are_reported_with_the_numbers() -> None:
    report = events.evaluate(
        *(EventStream.from_events([key(0), key(9)]) for _ in range(2)), protocols=["d2e"], settings={"bin_ms": 25.0}
    )
    assert report.settings["protocols"]["d2e"] == {"bin_ms": 25.0, "clock": "auto"}
    assert np.isfinite(report.settings["level"])
