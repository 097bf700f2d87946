"""`owa@1`: the golden figures, an independent reference on synthetic data, and each metric by hand."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.events import reference

from assay import events
from assay.errors import SourceError, TruthError
from assay.events import EventStream, synthetic
from assay.events.protocols.owa import PREDICTED, PROTOCOL
from assay.events.stream import CATEGORIES
from assay.report.terminal.events import tables
from assay.types import Joint

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "positional.json").read_text(encoding="utf-8"))
MS = 1_000_000

Event = dict[str, Any]


def key(ts_ms: float, vk: int = 65, press: bool = True) -> Event:
    return {"kind": "keyboard", "ts": round(ts_ms * MS), "vk": vk, "press": press}


def mouse(ts_ms: float, dx: int = 0, dy: int = 0, flags: int = 0, data: int = 0) -> Event:
    return {"kind": "mouse", "ts": round(ts_ms * MS), "dx": dx, "dy": dy, "flags": flags, "data": data}


def screen(ts_ms: float) -> Event:
    return {"kind": "screen", "ts": round(ts_ms * MS)}


def figures(
    predicted: Sequence[Event | None], truth: Sequence[Event | None], **settings: Any
) -> dict[str, float | None]:
    sides = [EventStream.from_events(side) for side in (predicted, truth)]
    return events.evaluate(*sides, **settings).flat("owa")


# --- golden figures --------------------------------------------------------------------------------------------------


def golden_figures() -> dict[str, float | None]:
    sides = (GOLDEN["predicted"], GOLDEN["truth"])
    return events.evaluate(*sides, encoding=GOLDEN["encoding"], interval="reference").flat("owa")


@pytest.mark.slow
def test_every_figure_equals_the_golden_file_within_a_billionth() -> None:
    found = golden_figures()
    assert len(GOLDEN["metrics"]) == 42
    assert {key: found[key] for key in GOLDEN["metrics"]} == pytest.approx(GOLDEN["metrics"], abs=1e-9, rel=0)


def test_the_plain_reference_equals_the_golden_file_too() -> None:
    sides = [
        [reference.decode_element(text.encode(), "hierarchical", strict=False) for text in GOLDEN[side]]
        for side in ("predicted", "truth")
    ]
    found = reference.owa(*sides)
    shared = found.keys() & GOLDEN["metrics"].keys()
    assert len(shared) > 25
    assert {key: found[key] for key in shared} == pytest.approx(
        {key: GOLDEN["metrics"][key] for key in shared}, abs=1e-9
    )


@pytest.mark.slow
def test_the_unit_of_intervals_does_not_change_any_value() -> None:
    reference_figures = golden_figures()
    event = events.evaluate(GOLDEN["predicted"], GOLDEN["truth"], interval="event").flat("owa")
    for metric in PROTOCOL.metrics:
        assert event[metric.key] == reference_figures[metric.key]


@pytest.mark.parametrize("model", [synthetic.GOOD, synthetic.POOR], ids=["good", "poor"])
@pytest.mark.parametrize("tokens", [False, True], ids=["as recorded", "through tokens"])
@pytest.mark.slow
def test_synthetic_data_scores_as_in_the_plain_reference(model: synthetic.SyntheticModel, tokens: bool) -> None:
    truth = synthetic.recording(episodes=3, seconds=8, seed=3)
    predicted = synthetic.prediction(truth, model, seed=4)
    if tokens:
        codec = events.codec("factorized")
        truth, predicted = codec.quantise(truth), codec.quantise(predicted)
    slow = reference.owa(predicted.to_events(), truth.to_events())
    fast = events.evaluate(predicted, truth).flat("owa")
    assert set(slow) == {metric.key for metric in PROTOCOL.metrics}
    assert {key: fast[key] for key in slow} == pytest.approx(slow, rel=1e-9, abs=1e-9)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_comparable_means_decoded_and_of_the_same_kind() -> None:
    truth = [key(0), key(0), mouse(0), mouse(0, flags=1), screen(0)]
    predicted = [key(0), screen(0), mouse(0, flags=1), None, screen(0)]
    found = figures(predicted, truth)
    assert found["events"] == 5
    assert found["comparable"] == 3 / 5  # a movement predicted as a click is comparable: same topic
    assert found["keyboard_comparable"] == 1 / 2
    assert found["mouse_nop_comparable"] == 1.0
    assert found["mouse_op_comparable"] == 0.0
    assert found["screen_comparable"] == 1.0
    assert found["keyboard_ratio"] == 2 / 5
    assert found["mouse_op_ratio"] == found["mouse_nop_ratio"] == found["screen_ratio"] == 1 / 5


def test_time_errors() -> None:
    # Late by −10, 0, 10, 20, 30 ms. P95 of 0, 10, 10, 20, 30 lies at rank 3.8: 20 + 0.8 · 10 = 28.
    late = (-10, 0, 10, 20, 30)
    found = figures([key(100 + ms) for ms in late], [key(100)] * 5)
    for q, expected in ((0, 0), (25, 10), (50, 10), (75, 20), (95, 28), (100, 30)):
        assert found[f"timestamp_abs_error_p{q}_ms"] == pytest.approx(expected)
        assert found[f"keyboard_timestamp_abs_error_p{q}_ms"] == pytest.approx(expected)
    # Quartiles 0 and 20, both ends in: (0 + 10 + 20) ÷ 3. Positive is late.
    assert found["timestamp_signed_error_iqm_ms"] == 10.0
    low, high = found["timestamp_signed_error_ci_lower_ms"], found["timestamp_signed_error_ci_upper_ms"]
    assert low is not None
    assert high is not None
    assert low < 10 < high
    assert found["screen_timestamp_signed_error_iqm_ms"] is None


def test_events_that_are_not_comparable_have_no_errors() -> None:
    found = figures([screen(9000), key(101)], [key(100), key(100)])
    assert found["timestamp_abs_error_p100_ms"] == 1.0


def test_r2_of_times() -> None:
    # Truths 0, 10, 20 about their mean 10: 200. Errors 1, 0, −1: 2. R² = 1 − 2 ÷ 200.
    found = figures([key(1), key(10), key(19)], [key(0), key(10), key(20)])
    assert found["timestamp_r2"] == pytest.approx(0.99)
    assert figures([key(3), key(4)], [key(5), key(5)])["timestamp_r2"] is None


def test_distance_errors() -> None:
    # Truth (3, 4) has length 5. Predicted (3, 4): 0 %; (0, 0): 100 %; (6, 8): 100 %; (3, −4): 8 ÷ 5 = 160 %.
    truth = [mouse(0, 3, 4)] * 4
    found = figures([mouse(0, 3, 4), mouse(0), mouse(0, 6, 8), mouse(0, 3, -4)], truth)
    assert found["mouse_move_pe_euclidean_p0"] == 0
    assert found["mouse_move_pe_euclidean_p50"] == pytest.approx(100)
    assert found["mouse_move_pe_euclidean_p100"] == pytest.approx(160)
    # Ranks 2.85 of 0, 100, 100, 160: 100 + 0.85 · 60 = 151.
    assert found["mouse_move_pe_euclidean_p95"] == pytest.approx(151)


def test_signed_distance_errors_leave_out_an_axis_that_did_not_move() -> None:
    # x: 10 → 12 is +20 %, −10 → −5 is −50 %, 10 → 10 is 0 %; of 20, −50, 0 only 0 lies between the quartiles.
    truth = [mouse(0, 10, 0), mouse(0, -10, 0), mouse(0, 10, 8)]
    found = figures([mouse(0, 12, 7), mouse(0, -5, 0), mouse(0, 10, 4)], truth)
    assert found["mouse_move_signed_pe_x_iqm"] == 0.0
    assert found["mouse_move_signed_pe_y_iqm"] == -50.0  # only the last truth moved along y: 8 → 4


def test_direction_errors() -> None:
    # Right against up: 90°. Nearly opposite across the seam at 180°: the smaller way round.
    truth = [mouse(0, 1, 0), mouse(0, -100, -1), mouse(0, 5, 0)]
    found = figures([mouse(0, 0, 1), mouse(0, -100, 1), mouse(0, 500, 0)], truth)
    # Angles 90, 1.1459, 0.
    assert found["mouse_move_direction_error_p50"] == pytest.approx(1.145877, abs=1e-5)
    assert found["mouse_move_direction_error_p95"] == pytest.approx(1.145877 + 0.9 * (90 - 1.145877), abs=1e-4)


def test_a_predicted_movement_of_zero_counts_as_angle_zero() -> None:
    # As the formula has it: atan2(0, 0) is 0, so the error is the angle of the truth.
    for truth, angle in ((mouse(0, 0, 7), 90), (mouse(0, 7, 0), 0), (mouse(0, -7, 0), 180), (mouse(0, 5, -5), 45)):
        assert figures([mouse(0)], [truth])["mouse_move_direction_error_p50"] == pytest.approx(angle)


def test_true_movements_of_zero_have_no_percentage_and_no_direction() -> None:
    found = figures([mouse(0, 5, 5)], [mouse(0)])
    for name in ("pe_euclidean_p95", "direction_error_p50", "signed_pe_x_iqm", "signed_pe_y_iqm", "r2"):
        assert found[f"mouse_move_{name}"] is None


def test_r2_of_movement() -> None:
    # x truths −1, 1 about 0: 2; y truths 2, 4 about 3: 2; together 4. Errors (1, 0) and (0, 1): 2. R² = 1 − 2 ÷ 4.
    found = figures([mouse(0, 0, 2), mouse(0, 1, 5)], [mouse(0, -1, 2), mouse(0, 1, 4)])
    assert found["mouse_move_r2"] == pytest.approx(0.5)


def test_a_key_is_right_if_code_and_action_are() -> None:
    truth = [key(0, 65, True)] * 4
    predicted: list[Event | None] = [key(0, 65, True), key(0, 66, True), key(0, 65, False), None]
    assert figures(predicted, truth)["keyboard_accuracy"] == 1 / 3


def test_events_that_a_model_abstains_from_count_among_all_true_ones() -> None:
    # Of four keys, two buttons and two scrolls a cautious model answers one of each, rightly: perfect where comparable.
    truth = [*[key(0)] * 4, *[mouse(0, flags=1)] * 2, *[mouse(0, flags=0x400, data=120)] * 2]
    predicted: list[Event | None] = [None] * 8
    predicted[0], predicted[3], predicted[4], predicted[6] = truth[0], screen(0), truth[4], truth[6]
    found = figures(predicted, truth)
    for name, share in (("keyboard", 1 / 4), ("mouse_action", 2 / 4), ("mouse_scroll", 1 / 2)):
        assert found[f"{name}_accuracy"] == 1.0
        assert found[f"{name}_accuracy_all"] == share
    nothing = figures([None, None], [key(0), key(1)])
    assert (nothing["keyboard_accuracy"], nothing["keyboard_accuracy_all"]) == (None, 0.0)
    assert nothing["mouse_action_accuracy_all"] is None


def test_movements_are_right_to_a_number_of_pixels() -> None:
    # Both deltas are rounded down: 105 and 109 are in the same ten, 99 and 100 are not, and neither are −1 and 1.
    truth = [mouse(0, 105, 0), mouse(0, 99, 0), mouse(0, -1, 0), mouse(0, 7, 7)]
    found = figures([mouse(0, 109, 0), mouse(0, 100, 0), mouse(0, 1, 0), mouse(0, 7, 7)], truth)
    shares = {size: found[f"mouse_move_accuracy_{size}"] for size in (1000, 100, 10, 1)}
    assert shares == {1000: 3 / 4, 100: 2 / 4, 10: 2 / 4, 1: 1 / 4}


def test_time_r2_by_category() -> None:
    # Keys: residual 1 + 1, total (10² + 10²): 0.99. Frames: residual 0. All four: 2 of 4 · 10².
    truth = [key(0), key(20), screen(0), screen(20)]
    found = figures([key(1), key(19), screen(0), screen(20)], truth)
    assert found["keyboard_timestamp_r2"] == pytest.approx(0.99)
    assert found["screen_timestamp_r2"] == pytest.approx(1.0)
    assert found["timestamp_r2"] == pytest.approx(1 - 2 / 400)
    assert found["mouse_op_timestamp_r2"] is None


def test_time_r2_is_in_flat_results_and_in_no_table() -> None:
    truth = synthetic.recording(episodes=2, seconds=3, seed=1)
    report = events.evaluate(synthetic.prediction(truth, synthetic.POOR), truth, protocols=["owa"], reps=50)
    assert report.flat("owa")["keyboard_timestamp_r2"] is not None
    console = Console(width=160, file=io.StringIO())
    console.print(tables(report, full=True))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Keys right, of all true" in shown
    assert "Movement R²" in shown
    assert "Time R²" not in shown


def test_buttons_and_scrolls_are_scored_if_the_truth_has_them() -> None:
    truth = [mouse(0, flags=1), mouse(0, flags=2), mouse(0), mouse(0, flags=0x400, data=120)]
    predicted = [mouse(0, flags=1), mouse(0), mouse(0, flags=1), mouse(0, flags=0x400, data=-120)]
    found = figures(predicted, truth)
    assert found["mouse_action_accuracy"] == 2 / 3  # the third truth has no flags and is not asked
    assert found["mouse_scroll_accuracy"] == 0.0


def test_what_cannot_be_measured_is_none() -> None:
    found = figures([screen(0)], [screen(0)])
    for name in ("keyboard_accuracy", "mouse_action_accuracy", "mouse_scroll_accuracy", "keyboard_comparable"):
        assert found[name] is None
    assert found["keyboard_ratio"] == 0.0  # a share of what is there is known


def test_the_interquartile_mean_of_two_times_is_their_mean() -> None:
    report = events.evaluate(*(EventStream.from_events(side) for side in ([key(1), key(5)], [key(0), key(0)])))
    assert report.flat("owa")["timestamp_signed_error_iqm_ms"] == 3.0  # 1 and 5 ms late
    json.dumps(report.to_json(), allow_nan=False)


# --- spoiled and unequal input ---------------------------------------------------------------------------------------


def test_an_invalid_truth_is_reported_and_not_scored() -> None:
    sides = [EventStream.from_events(side) for side in ([key(0), key(0), key(9)], [key(0), None, key(0)])]
    report = events.evaluate(*sides)
    assert report.flat("owa")["events"] == 2
    assert report.flat("owa")["comparable"] == 1.0
    assert any("1 of 3 true events do not decode and were not scored" in warning for warning in report.warnings)
    assert report.truth.invalid == 1


def test_mostly_invalid_truths_are_an_error() -> None:
    with pytest.raises(TruthError, match="2 of 3 true events do not decode"):
        figures([key(0)] * 3, [None, None, key(0)])
    # The encoding is wrong: every true key is invalid, though frames are the same in both.
    text = "<EVENT_START><KEYBOARD><0><0><3><VK_65><press><EVENT_END>" * 50
    frames = "<EVENT_START><SCREEN><0><0><5><fake_image_placeholder><EVENT_END>" * 60
    with pytest.raises(TruthError, match="all 50 true keyboard events do not decode"):
        events.evaluate(frames, text + frames)


def test_rows_in_another_form_are_told_what_an_event_is() -> None:
    theirs = [{"kind": "mouse_move", "ts": 5, "dx": 1, "dy": 2}] * 4
    with pytest.raises(TruthError, match=r"4 of 4 true events .* kind \(keyboard, mouse or screen\) and ts in nanosec"):
        events.evaluate(theirs, theirs)


def test_wrong_invalid_and_missing_predictions_are_distinguished() -> None:
    sides = [
        EventStream.from_events(side)
        for side in ([key(0), screen(0), None], [key(0), key(0), key(0), key(0), mouse(0, 1, 1)])
    ]
    kinds = events.evaluate(*sides).protocols["owa"].tally.total("kinds", Joint)
    found = {
        (CATEGORIES[true], PREDICTED[guess]): n
        for true, guess, n in zip(*(kinds.column(at).tolist() for at in (0, 1)), kinds.counts.tolist(), strict=True)
    }
    assert found == {
        ("keyboard", "keyboard"): 1,
        ("keyboard", "screen"): 1,
        ("keyboard", "invalid"): 1,
        ("keyboard", "missing"): 1,
        ("mouse_nop", "missing"): 1,
    }


def test_no_true_events_are_an_error() -> None:
    with pytest.raises(SourceError, match="no true events"):
        figures([key(0)], [])


def test_an_empty_prediction_is_scored() -> None:
    found = figures([], [key(0)])
    assert (found["comparable"], found["keyboard_accuracy"]) == (0.0, None)


def test_a_truth_without_a_prediction_is_not_comparable() -> None:
    found = figures([key(0)], [key(0), key(0), key(0), key(0)])
    assert (found["events"], found["comparable"]) == (4, 0.25)


def test_a_prediction_without_a_truth_is_left_out() -> None:
    sides = [EventStream.from_events(side) for side in ([key(0), key(0), screen(0)], [key(0)])]
    report = events.evaluate(*sides)
    assert report.flat("owa")["comparable"] == 1.0
    assert report.flat("owa")["events"] == 1
    assert any("3 predictions for 1 truths" in warning for warning in report.warnings)


def test_recorded_events_are_converted_to_the_encoding_of_the_other_side() -> None:
    truth = EventStream.from_events([key(16_015)])  # 16.015 s is 10 ms after the wrap, floored
    report = events.evaluate("<EVENT_START><KEYBOARD><0><0><1><65><press><EVENT_END>", truth)
    assert report.flat("owa")["timestamp_abs_error_p100_ms"] == 0.0
    assert any("converted to the encoding of the other side" in warning for warning in report.warnings)
