"""`sequence@1`: seed 002's dictionary for two token strings, key by key and digit by digit (SPEC 1.6)."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest

from assay import events
from assay.errors import UsageError
from assay.events import EventStream, compute_metrics_for_event, encode, synthetic

LEVELS = {"p1", "p2", "p3"}


def key(digits: str = "<0><0><3>", vk: int = 65, action: str = "press") -> str:
    return f"<EVENT_START><KEYBOARD>{digits}<{vk}><{action}><EVENT_END>"


def screen(digits: str = "<0><0><5>") -> str:
    return f"<EVENT_START><SCREEN>{digits}<fake_image_placeholder><EVENT_END>"


def mouse(dx: int, dy: int, encoding: str = "hierarchical", **rest: int) -> str:
    event = {"kind": "mouse", "ts": 0, "dx": dx, "dy": dy, "flags": 0, "data": 0} | rest
    return encode(EventStream.from_events([event]), encoding)


def compared(prediction: str, truth: str, **rest: Any) -> dict[str, Any]:
    found = compute_metrics_for_event(prediction, truth, **{"undefined": None, **rest})
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def only_event(prediction: str, truth: str, **rest: Any) -> dict[str, Any]:
    (event,) = compared(prediction, truth, **rest)["event_comparisons"]
    assert isinstance(event, dict)
    return event


# --- the shape of the dictionary -------------------------------------------------------------------------------------


def shape(value: Any) -> Any:
    """Keys all the way down; a leaf is ''."""
    return {key: shape(inner) for key, inner in value.items()} if isinstance(value, dict) else ""


def leaves(*names: str) -> dict[str, Any]:
    return {name: dict.fromkeys(LEVELS, "") if "precision" in name else "" for name in names}


EVENT = ("position", "comparable", "comparison_status", "predicted_type", "ground_truth_type")
TIME = ("timestamp_iqmpe", "timestamp_precision_accuracy")
COUNTS = ("loss", "comparable_count", "total_count")
MOVES = [f"{axis}_{what}" for axis in ("dx", "dy", "euclidean") for what in ("iqmpe", "precision_accuracy")]
MOVE_DETAILS = [f"{axis}_{what}" for axis in ("dx", "dy", "euclidean") for what in ("percent_error", "precision_match")]


def test_the_dictionary_has_exactly_the_documented_keys() -> None:
    text = mouse(3, 4) + key() + screen()
    found = compared(text, text)
    comparisons = found.pop("event_comparisons")
    assert shape(found) == {
        **leaves("predicted_count", "ground_truth_count", "count_accuracy", "comparable_rate", "type_accuracy"),
        "timestamp_metrics": leaves("iqmpe", "precision_accuracy", "count"),
        "mouse_metrics": leaves(*TIME, *MOVES, *COUNTS),
        "keyboard_metrics": leaves(*TIME, "vk_accuracy", "action_accuracy", "combined_accuracy", *COUNTS),
        "screen_metrics": leaves(*TIME, *COUNTS),
    }
    details = {
        "mouse_metrics": leaves(*MOVE_DETAILS, "loss"),
        "keyboard_metrics": leaves("vk_match", "action_match", "combined_match", "loss"),
        "screen_metrics": leaves("loss"),
    }
    for event, own in zip(comparisons, details, strict=True):
        assert shape(event) == {
            **leaves(*EVENT, "timestamp_percent_error", "timestamp_precision_match"),
            **{section: details[section] if section == own else "" for section in details},
        }
        assert all(event[section] is None for section in details if section != own)


def test_counts_are_whole_numbers() -> None:
    found = compared(key(), key())
    for value in (found["predicted_count"], found["timestamp_metrics"]["count"], found["mouse_metrics"]["total_count"]):
        assert type(value) is int


def test_the_usage_example_can_read_the_dictionary() -> None:
    text = mouse(3, 4) + key()
    metrics = compared(text, text)
    assert f"{metrics['type_accuracy']:.2f} {metrics['comparable_rate']:.2f}" == "1.00 1.00"
    assert metrics["mouse_metrics"]["euclidean_precision_accuracy"]["p1"] == 1.0
    assert metrics["keyboard_metrics"]["vk_accuracy"] == 1.0
    assert [event["comparison_status"] for event in metrics["event_comparisons"]] == ["valid", "valid"]


def test_the_usage_example_runs_without_mouse_events() -> None:
    assert compared(key(), key(), undefined=None)["mouse_metrics"]["euclidean_iqmpe"] is None
    metrics = compute_metrics_for_event(key(), key())
    mouse_metrics = metrics["mouse_metrics"]
    assert f"{mouse_metrics['euclidean_iqmpe']:.2f}%" == "nan%"
    assert f"{mouse_metrics['euclidean_precision_accuracy']['p1']:.2f}" == "nan"
    assert math.isnan(mouse_metrics["loss"])
    assert f"{metrics['keyboard_metrics']['vk_accuracy']:.2f}" == "1.00"


# --- digits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [
        ("<0><2><5>", "<3><2><5>", (False, False, False)),  # the seed: first digit wrong
        ("<2><2><5>", "<2><2><7>", (True, True, False)),  # the seed: third digit wrong
        ("<2><3><5>", "<2><2><5>", (True, False, False)),
        ("<2><2><7>", "<2><2><7>", (True, True, True)),
    ],
)
def test_precision_levels_of_a_time(prediction: str, truth: str, expected: tuple[bool, ...]) -> None:
    event = only_event(key(prediction), key(truth))
    assert event["timestamp_precision_match"] == dict(zip(("p1", "p2", "p3"), expected, strict=True))
    accuracy = compared(key(prediction), key(truth))["timestamp_metrics"]["precision_accuracy"]
    assert accuracy == {level: float(right) for level, right in zip(("p1", "p2", "p3"), expected, strict=True)}


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
@pytest.mark.parametrize(
    ("predicted", "true", "expected"),
    [
        (123, 123, (True, True, True)),
        (124, 123, (True, True, False)),
        (133, 123, (True, False, False)),
        (223, 123, (False, False, False)),
        (-123, 123, (False, False, False)),  # the sign must agree first
        (1123, 123, (False, False, False)),
        (-123, -123, (True, True, True)),
    ],
)
def test_precision_levels_of_a_delta(encoding: str, predicted: int, true: int, expected: tuple[bool, ...]) -> None:
    event = only_event(mouse(predicted, 0, encoding), mouse(true, 0, encoding), encoding=encoding)
    assert event["mouse_metrics"]["dx_precision_match"] == dict(zip(("p1", "p2", "p3"), expected, strict=True))
    assert event["mouse_metrics"]["dy_precision_match"] == dict.fromkeys(("p1", "p2", "p3"), True)


def test_numbers_of_fewer_digits_have_levels_too() -> None:
    # Times of two digits: p1 is the first, p2 both, and with no third digit p3 is both as well.
    codec = events.codec("hierarchical", time_bases=(20, 10), delta_bases=(100,), scroll_bases=(2,))
    sides = [
        EventStream.from_events([{"kind": "mouse", "ts": ts, "dx": dx, "dy": 0, "flags": 0, "data": 0}])
        for ts, dx in ((130_000_000, 5), (120_000_000, 5))
    ]
    report = events.evaluate(*map(codec.quantise, sides), protocols=["sequence"], encoding=codec)
    found = report.flat("sequence")
    assert [found[f"timestamp_metrics.precision_accuracy.{level}"] for level in ("p1", "p2", "p3")] == [1.0, 0.0, 0.0]
    assert [found[f"mouse_metrics.dx_precision_accuracy.{level}"] for level in ("p1", "p2", "p3")] == [1.0, 1.0, 1.0]


def test_precision_levels_of_a_length() -> None:
    # (30, 40) has length 50, (36, 48) has length 60: tens differ. (30, 40) and (40, −30) have the same length.
    assert only_event(mouse(36, 48), mouse(30, 40))["mouse_metrics"]["euclidean_precision_match"] == {
        "p1": True,
        "p2": False,
        "p3": False,
    }
    # (2, 3) is 3.6 long, which rounds to 4.
    assert only_event(mouse(2, 3), mouse(4, 0))["mouse_metrics"]["euclidean_precision_match"]["p3"] is True
    turned = only_event(mouse(40, -30), mouse(30, 40))["mouse_metrics"]
    assert turned["euclidean_precision_match"] == {"p1": True, "p2": True, "p3": True}
    assert turned["euclidean_percent_error"] == 0.0


def test_percent_errors() -> None:
    # Time 35 for 25 units: 40 %. dx 12 for 10: 20 %. dy −1 for 0: undefined. Lengths: √145 for 10.
    event = only_event(mouse(12, -1, ts=350_000_000), mouse(10, 0, ts=250_000_000))
    assert event["timestamp_percent_error"] == pytest.approx(40)
    assert event["mouse_metrics"]["dx_percent_error"] == pytest.approx(20)
    assert event["mouse_metrics"]["dy_percent_error"] is None
    assert event["mouse_metrics"]["euclidean_percent_error"] == pytest.approx((math.sqrt(145) - 10) * 10)


def test_iqmpe_over_events() -> None:
    # Times off by 10, 20 and 50 %: quartiles 15 and 35, so 20 remains. The truth of zero has no percentage.
    truth = key("<1><0><0>") * 3 + key("<0><0><0>")
    prediction = key("<1><1><0>") + key("<1><2><0>") + key("<1><5><0>") + key("<0><0><9>")
    found = compared(prediction, truth)
    assert found["timestamp_metrics"]["iqmpe"] == pytest.approx(20)
    assert found["keyboard_metrics"]["timestamp_iqmpe"] == pytest.approx(20)
    assert found["timestamp_metrics"]["count"] == 4
    assert found["screen_metrics"]["timestamp_iqmpe"] is None


def test_iqmpe_of_zero_truths_is_none() -> None:
    assert compared(key("<0><0><1>"), key("<0><0><0>"))["timestamp_metrics"]["iqmpe"] is None


def test_time_errors_know_that_the_clock_wraps_around() -> None:
    # 15.99 s is 20 ms before 0.01 s of the next turn: 200 %, not 159 800 %.
    event = only_event(key("<15><9><9>"), key("<0><0><1>"))
    assert event["timestamp_percent_error"] == pytest.approx(200)
    assert compared(key("<15><9><9>"), key("<0><0><1>"))["timestamp_metrics"]["iqmpe"] == pytest.approx(200)


# --- statuses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "truth", "status"),
    [
        (key(), key(), "valid"),
        (screen(), key(), "type_mismatch"),
        ("<EVENT_START><KEYBOARD><0><0><3><65><EVENT_END>", key(), "missing_fields"),
        ("<EVENT_START><KEYBOARD><0><0><3><65><press><press><EVENT_END>", key(), "missing_fields"),
        ("<EVENT_START><KEYBOARD><0><0><3><65><maybe><EVENT_END>", key(), "invalid_format"),
        ("<EVENT_START><NONSENSE><EVENT_END>", key(), "invalid_format"),
        ("<EVENT_START><KEYBOARD><0><0>", key(), "invalid_format"),
        ("I press A now.", key(), "invalid_format"),
        (key(), "<KEYBOARD><0><0><3><65><press>", "invalid_format"),
        ("", key(), "unpaired"),
        ("  \n", key(), "unpaired"),
        (key(), "", "unpaired"),
        (key(), "<EVENT_START><KEYBOARD><0><0><3><EVENT_END>", "missing_fields"),
    ],
)
def test_every_status(prediction: str, truth: str, status: str) -> None:
    event = only_event(prediction, truth)
    assert event["comparison_status"] == status
    assert event["comparable"] == (status == "valid")
    if status != "valid":
        for name in ("timestamp_percent_error", "timestamp_precision_match", "mouse_metrics", "keyboard_metrics"):
            assert event[name] is None


def test_a_position_of_only_one_side_is_unpaired() -> None:
    found = compared(key(), key() + screen() + key())
    assert [event["comparison_status"] for event in found["event_comparisons"]] == ["valid", "unpaired", "unpaired"]
    assert [event["position"] for event in found["event_comparisons"]] == [0, 1, 2]
    assert [event["predicted_type"] for event in found["event_comparisons"]] == ["keyboard", None, None]
    assert found["count_accuracy"] == 0.0
    assert (found["predicted_count"], found["ground_truth_count"]) == (1, 3)
    assert found["comparable_rate"] == 1 / 3
    assert found["type_accuracy"] == 1 / 3


def test_types_are_named_by_topic() -> None:
    event = only_event(mouse(1, 1), key())
    assert (event["predicted_type"], event["ground_truth_type"]) == ("mouse/raw", "keyboard")


def test_type_accuracy_depends_on_the_type_only() -> None:
    # The second prediction has the right type and too few tokens: its type counts, its comparison does not.
    prediction = key() + "<EVENT_START><KEYBOARD><0><0><3><65><EVENT_END>" + screen()
    found = compared(prediction, key() * 3)
    assert found["type_accuracy"] == pytest.approx(2 / 3)
    assert found["comparable_rate"] == pytest.approx(1 / 3)


def test_totals_count_truths_comparable_or_not() -> None:
    found = compared(screen() + key(), key() + key())
    assert found["keyboard_metrics"]["total_count"] == 2
    assert found["keyboard_metrics"]["comparable_count"] == 1
    assert found["screen_metrics"]["total_count"] == 0


def test_shares_and_losses_of_two_empty_strings_are_none() -> None:
    found = compared("", "")
    assert found["event_comparisons"] == []
    assert (found["predicted_count"], found["ground_truth_count"], found["count_accuracy"]) == (0, 0, 1.0)
    assert found["comparable_rate"] is None
    assert found["keyboard_metrics"]["loss"] is None


def test_key_matches() -> None:
    found = compared(key(vk=66) + key(action="release") + key(), key() * 3)
    assert found["keyboard_metrics"]["vk_accuracy"] == pytest.approx(2 / 3)
    assert found["keyboard_metrics"]["action_accuracy"] == pytest.approx(2 / 3)
    assert found["keyboard_metrics"]["combined_accuracy"] == pytest.approx(1 / 3)
    assert found["event_comparisons"][0]["keyboard_metrics"] == {
        "vk_match": False,
        "action_match": True,
        "combined_match": False,
        "loss": 0.2,
    }


# --- loss ------------------------------------------------------------------------------------------------------------


def test_loss_is_the_share_of_wrong_tokens() -> None:
    # A key has 5 tokens of time and data: 3 digits, code, action.
    assert only_event(key(vk=66), key())["keyboard_metrics"]["loss"] == 1 / 5
    assert only_event(key("<1><1><1>", 66, "release"), key())["keyboard_metrics"]["loss"] == 1.0
    # A movement has 3 + 8 + 3; dx 1 for 2 is one digit off. With a scroll it has two more.
    assert only_event(mouse(1, 0), mouse(2, 0))["mouse_metrics"]["loss"] == pytest.approx(1 / 14)
    scrolled = mouse(0, 0, flags=0x400, data=120)
    assert only_event(mouse(0, 0, flags=0x400), scrolled)["mouse_metrics"]["loss"] == pytest.approx(2 / 16)
    # Factorized: 3 + 2 · (sign + 4) + 3; −1 for 1 is one sign off.
    found = only_event(mouse(-1, 0, "factorized"), mouse(1, 0, "factorized"), encoding="factorized")
    assert found["mouse_metrics"]["loss"] == pytest.approx(1 / 16)
    assert only_event(screen("<0><0><9>"), screen())["screen_metrics"]["loss"] == pytest.approx(1 / 3)


def test_loss_of_a_sequence_is_the_sum() -> None:
    found = compared(key(vk=66) + key(vk=66, action="release"), key() * 2)
    assert found["keyboard_metrics"]["loss"] == pytest.approx(1 / 5 + 2 / 5)
    assert found["mouse_metrics"]["loss"] is None


def test_loss_from_log_probabilities_is_the_negative_log_likelihood() -> None:
    halves = [math.log(0.5)] * 4
    found = compared(key() + screen(), key() + key(), log_probabilities=[halves, [math.log(0.1)]])
    assert found["event_comparisons"][0]["keyboard_metrics"]["loss"] == pytest.approx(4 * math.log(2))
    assert found["keyboard_metrics"]["loss"] == pytest.approx(4 * math.log(2))  # the mismatch has none


def test_log_probabilities_belong_to_true_events() -> None:
    with pytest.raises(UsageError, match="1 lists of log-probabilities for 2 true events"):
        compute_metrics_for_event(key(), key() * 2, log_probabilities=[[-1.0]])


def test_json_has_no_digits() -> None:
    with pytest.raises(UsageError, match="json has none"):
        compute_metrics_for_event("", "", encoding="json")


# --- the protocol gives the same figures -----------------------------------------------------------------------------


def flattened(nested: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in nested.items():
        out |= flattened(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
@pytest.mark.slow
def test_the_protocol_and_the_dictionary_agree(encoding: str) -> None:
    truth = synthetic.recording(episodes=1, seconds=6, seed=2)
    texts = [
        "".join(synthetic.token_text(side, encoding)) for side in (synthetic.prediction(truth, synthetic.POOR), truth)
    ]
    nested = compared(*texts, encoding=encoding)
    assert len(nested.pop("event_comparisons")) == len(truth)
    report = events.evaluate(*texts, protocols=["sequence"], encoding=encoding)
    assert flattened(nested) == pytest.approx(report.flat("sequence"), rel=1e-12)


@pytest.mark.slow
def test_the_module_prints_an_example() -> None:
    command = [sys.executable, "-m", "assay.events.protocols.sequence"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert run.stderr == ""
    shown = json.loads(run.stdout[run.stdout.index("\n{") :])
    assert len(shown["event_comparisons"]) == shown["ground_truth_count"] == 4
    assert shown["event_comparisons"][3]["comparison_status"] == "unpaired"
