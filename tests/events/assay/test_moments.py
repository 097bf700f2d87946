"""What a report draws of an episode: worst moments, the outline of an episode, curves with their intervals."""

from __future__ import annotations

from tests.events.assay.streams import MS, B, episodes, hold, number, result

from assay.events import synthetic


def test_worst_moments_hold_what_happened() -> None:
    truth = [event for at in range(10) for event in hold(at * 1000, at * 1000 + 100)]
    guess = [event for event in truth if not 4000 * MS <= event["ts"] < 6000 * MS]
    (worst, *_) = result(guess, truth).details["moments"]
    assert (worst["start_ms"], worst["errors"]) == (4000, 4)
    assert [action["outcome"] for action in worst["true"]] == ["missed"] * 4
    assert worst["predicted"] == []


def test_a_substitution_is_one_error_and_both_sides_know_their_partner() -> None:
    truth = hold(1000, 1200)
    guess = [*hold(1020, 1220, B), *hold(1500, 1600, B)]
    (worst,) = result(guess, truth).details["moments"]
    assert worst["errors"] == 4  # two substitutions, two insertions
    assert [(action["ms"], action["outcome"], action["partner_ms"]) for action in worst["true"]] == [
        (0, "substituted", 20),
        (200, "substituted", 220),
    ]
    assert [(action["ms"], action["outcome"], action["partner_ms"]) for action in worst["predicted"]] == [
        (20, "substituted", 0),
        (220, "substituted", 200),
        (500, "extra", None),
        (600, "extra", None),
    ]


def test_the_outline_of_an_episode_has_every_key_and_button_once() -> None:
    truth = [event for at in range(10) for event in hold(at * 1000, at * 1000 + 100)]
    guess = [event for event in truth if event["ts"] >= 5000 * MS]
    (worst,) = result(guess, truth).details["episodes"]
    assert worst["seconds"] == 9.1
    outline = worst["outline"]
    assert (sum(outline["true"]["matched"]), sum(outline["true"]["missed"])) == (worst["matched"], worst["missed"])
    assert sum(outline["predicted"]["matched"]) == 10
    # The second half was predicted: 5.0 s of 9.1 s is in slice 26 of 48.
    assert not any(outline["true"]["missed"][26:])
    assert not any(outline["true"]["matched"][:26])
    assert outline["true"]["matched"][26] == 2


def test_curves_have_the_value_and_the_interval_of_the_figure_they_pass_through() -> None:
    truth = synthetic.recording(episodes=6, seconds=10, seed=3)
    found = result(synthetic.prediction(truth, synthetic.POOR, seed=1), truth, reps=50)
    at_50 = next(row for row in found.details["curve"] if row["tolerance_ms"] == 50)
    for name in ("idle", "repeat_last", "majority", "random"):
        expected, point = found.estimates[f"{name}_f1"], at_50["baselines"][name]
        assert (point["f1"], point["low"], point["high"]) == (expected.value, expected.low, expected.high)
    unshifted = next(row for row in found.details["lag_curve"] if row["shift_ms"] == 0)
    f1 = found.estimates["f1"]
    assert (unshifted["f1"], unshifted["low"], unshifted["high"]) == (f1.value, f1.low, f1.high)


def test_one_episode_has_curves_without_intervals() -> None:
    truth = episodes([[event for at in range(10) for event in hold(at * 1000, at * 1000 + 100)]])
    found = result(truth, truth)
    assert {row["low"] for row in found.details["lag_curve"]} == {None}
    assert max(number(row["f1"]) for row in found.details["lag_curve"]) == 1.0
