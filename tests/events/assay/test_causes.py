"""The verdict names what lies behind poor figures: each test spoils a good prediction in one way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.events.assay.streams import MS, SECOND, result

from assay.events import EventStream, Kind, evaluate, synthetic
from assay.events.stream import concatenate

TRUTH = synthetic.recording(episodes=9, seconds=20, seed=7)
KEYS, MOUSE = TRUTH.kind == Kind.KEYBOARD, TRUTH.kind == Kind.MOUSE


def said(predicted: EventStream, truth: EventStream = TRUTH) -> dict[str, str]:
    return {finding["kind"]: finding["text"] for finding in result(predicted, truth).details["verdict"]}


def later(by_ms: Any) -> EventStream:
    """The truth, each event later by its number of milliseconds, in the order of time."""
    moved = replace(TRUTH, time_ns=np.maximum(TRUTH.time_ns + np.asarray(by_ms) * MS, 0))
    return moved[np.lexsort((moved.time_ns, moved.episode))]


def only(chosen: NDArray[np.bool_]) -> EventStream:
    return TRUTH[np.flatnonzero(chosen)]


def test_nothing_is_said_against_the_truth_or_a_good_model() -> None:
    assert set(said(TRUTH)) == {"skill"}
    assert set(said(later(np.random.default_rng(1).normal(2, 9, len(TRUTH)).round().astype(np.int64)))) == {"skill"}


def test_a_lag_of_one_key_of_a_device_or_of_a_part_is_a_second_lag() -> None:
    one_key = said(later(np.where(KEYS & (TRUTH.vk == 0x57), 120, 0)))
    assert one_key["two_lags"].startswith("Two lags: 96 % of the keys and buttons match on time, another 3.")
    assert "120 ms late. A key, a device or a part of each episode" in one_key["two_lags"]
    assert one_key["weak"].startswith("As often as the truth, but at other times: W (F1 0.")
    device = said(later(np.where(MOUSE, 100, 0)))
    assert "match on time, another 2" in device["two_lags"]
    assert "left button" in device["weak"]
    part = said(later(np.where(TRUTH.time_ns > 10 * SECOND, -150, 0)))
    assert "150 ms early" in part["two_lags"]
    assert "lag" not in part


def test_a_rhythm_is_no_second_lag() -> None:
    # A key that is hit every 200 ms matches itself at shifts of 200 ms either way.
    times = np.arange(200) * 200 * MS
    beats = [
        {"kind": "keyboard", "ts": int(ts) + (0 if press else 60 * MS), "vk": 0x20, "press": press}
        for ts in times
        for press in (True, False)
    ]
    some = [event for at, event in enumerate(beats) if at // 2 % 4]
    assert "two_lags" not in said(EventStream.from_events(some), EventStream.from_events(beats))


def test_a_lag_of_each_episode_is_named_with_its_range() -> None:
    lags = np.array([-100, 160, 80, 200, -60, 120, 10, 70, 180])
    found = said(later(lags[TRUTH.episode]))
    assert found["lag_by_episode"].startswith(
        "Each episode has its own lag, from 100 ms early to 200 ms late: without it F1 would be 1.000, not 0."
    )
    assert "strata" not in found
    assert "confused" not in found


@pytest.mark.parametrize("seconds", [4, 8])
def test_a_drift_of_a_short_recording_is_no_lag(seconds: int) -> None:
    short = synthetic.recording(episodes=9, seconds=seconds, seed=9)
    drifting = replace(short, time_ns=(short.time_ns * 1.02).astype(np.int64))
    found = said(drifting, short)
    assert found["drift"].startswith("Drifts: 1,2")
    assert "Without that drift F1 would be 1.000, not 0." in found["drift"]
    assert "lag" not in found
    constant = said(replace(short, time_ns=short.time_ns + 80 * MS), short)
    assert "drift" not in constant
    assert constant["lag"].startswith("Constantly 80 ms late")


def test_times_that_are_roughly_right_are_called_inexact() -> None:
    noise = np.random.default_rng(3).normal(0, 120, len(TRUTH)).round().astype(np.int64)
    assert said(later(noise))["inexact"].startswith("Inexact in time: within 500 ms F1 would be 0.")
    grid = replace(TRUTH, time_ns=TRUTH.time_ns // (500 * MS) * 500 * MS)
    assert "inexact" in said(grid)


def test_predictions_of_another_episode_are_not_explained_by_coincidences() -> None:
    parts = [only(TRUTH.episode == at) for at in range(9)]
    others = concatenate([parts[(at + 3) % 9].of_episode(TRUTH.episodes[at]) for at in range(9)])
    found = said(others)
    assert found["unrelated"].startswith("No lag up to 500 ms and no drift brings the two sides together")
    assert "confused" not in found
    assert "inexact" not in found
    assert "unrelated" in said(later(2500))


def test_a_stratum_that_fails_is_named() -> None:
    rng = np.random.default_rng(5)
    shooter = np.array([episode.stratum == "shooter" for episode in TRUTH.episodes])[TRUTH.episode]
    times = np.where(shooter, rng.integers(0, 20 * SECOND, len(TRUTH)), TRUTH.time_ns)
    spoiled = replace(TRUTH, time_ns=times)
    text = said(spoiled[np.lexsort((times, TRUTH.episode))])["strata"]
    assert text.startswith("Depends on the stratum: F1 'shooter' 0.")
    assert text.endswith("'desktop' 1.000, 'platformer' 1.000.")


def test_presses_for_releases_and_either_of_them_missing() -> None:
    swapped = said(replace(TRUTH, press=KEYS & ~TRUTH.press))["swapped"]
    assert swapped.startswith("Presses and releases are swapped: ")
    n = int(np.count_nonzero(KEYS & ~TRUTH.press))
    assert said(only(~(KEYS & ~TRUTH.press)))["never_action"] == (
        f"No release of a key is predicted, where the truth has {n}."
    )
    assert said(only(~(KEYS & TRUTH.press)))["never_action"].startswith("No press of a key is predicted")
    up = MOUSE & ((TRUTH.flags & 0xA) != 0)
    assert said(only(~up))["never_action"].startswith("No release of a button is predicted")


def test_a_gap_and_predictions_that_do_not_decode_are_named() -> None:
    found = said(only((TRUTH.time_ns < 7 * SECOND) | (TRUTH.time_ns > 14 * SECOND)))
    assert found["gap"].startswith("Predicts no key or button from 3")
    assert "pointer_scale" not in found
    invalid = np.arange(len(TRUTH)) % 4 == 0
    half = said(replace(TRUTH, problem=np.where(invalid, 4, 0).astype(np.uint8)))
    assert half["invalid"] == (
        f"25 % of the predictions do not decode ({invalid.sum():,} of {len(TRUTH):,}) and count for nothing."
    )


def test_a_pointer_with_other_axes_or_another_scale_along_one() -> None:
    for dx, dy in ((TRUTH.dy, TRUTH.dx), (-TRUTH.dy, TRUTH.dx)):
        turned = said(replace(TRUTH, dx=dx, dy=dy))["pointer_turned"]
        assert "are the axes swapped, or turned?" in turned
    wide = said(replace(TRUTH, dx=2 * TRUTH.dx))["pointer_scale"]
    assert wide.endswith("2.00 times horizontally and 1.00 times vertically.")
    assert "horizontally" not in said(replace(TRUTH, dx=2 * TRUTH.dx, dy=2 * TRUTH.dy))["pointer_scale"]


def test_the_event_before_at_the_time_of_the_next_is_a_copy_too() -> None:
    before = np.maximum(np.arange(len(TRUTH)) - 1, 0)
    before = np.where(TRUTH.episode[before] == TRUTH.episode, before, np.arange(len(TRUTH)))
    found = result(replace(TRUTH[before], time_ns=TRUTH.time_ns), TRUTH)
    first = found.details["verdict"][0]
    assert (first["kind"], first["tone"]) == ("copies", "bad")
    assert "positions where something new comes the prediction is the event before" in first["text"]
    assert (found.flat()["skill"] or 0.0) <= 0.05
    # A model that repeats the last key and the last movement does not give its input back.
    assert "copies" not in said(synthetic.echo(TRUTH))


def test_a_few_holds_more_that_never_end_are_not_worth_a_sentence() -> None:
    releases = np.flatnonzero(KEYS & ~TRUTH.press)
    some = np.ones(len(TRUTH), np.bool_)
    some[releases[:3]] = False
    assert "unreleased" not in said(only(some))
    some[releases[:40]] = False
    assert "unreleased" in said(only(some))


def test_times_in_another_unit_and_rows_out_of_order_are_reported() -> None:
    in_ms = replace(TRUTH, time_ns=TRUTH.time_ns // MS)
    expected = "about a millionth of the other side's: are they in milliseconds? Times are in nanoseconds."
    assert any(text.endswith(expected) for text in evaluate(in_ms, TRUTH, reps=10).warnings)
    swapped = evaluate(TRUTH, replace(TRUTH, time_ns=TRUTH.time_ns // 1000), reps=10).warnings
    assert any("The last time of the truths is about a thousandth" in text for text in swapped)
    order = np.random.default_rng(2).permutation(len(TRUTH))
    mixed = TRUTH[order[np.argsort(TRUTH.episode[order], kind="stable")]]
    assert any(
        "events are more than a second earlier than the" in text for text in evaluate(mixed, TRUTH, reps=10).warnings
    )
    fine = evaluate(synthetic.prediction(TRUTH, synthetic.GOOD), TRUTH, reps=10).warnings
    assert not any("a second earlier" in text or "are they in" in text for text in fine)


def test_predictions_that_do_not_decode_are_reported_with_the_reason() -> None:
    rows: list[Any] = [{**event, "ts": event["ts"] + 0.5} for event in TRUTH[:200].to_events() if event]
    truth = TRUTH[:200]
    found = evaluate(EventStream.from_events(rows, episodes=truth.episodes[:1]), truth, reps=10).warnings
    expected = (
        "No prediction decodes: 200 a time that is missing, negative, or not a whole number. Check that the encoding"
    )
    assert any(text.startswith(expected) for text in found)
    some = replace(truth, problem=np.where(np.arange(200) % 4, 0, 2).astype(np.uint8))
    warnings = evaluate(some, truth, reps=10).warnings
    assert any(text.startswith("50 of 200 predictions do not decode: 50 cut short") for text in warnings)
    assert not any("a second earlier" in text for text in warnings)
