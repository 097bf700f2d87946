"""Synthetic recordings and models do what is said of them: the demo rests on it."""

from __future__ import annotations

import numpy as np

from assay.events import evaluate, synthetic
from assay.events.stream import Kind

TRUTH = synthetic.recording(episodes=6, seconds=20, seed=5, long_holds=True)


def test_long_holds_are_one_key_at_a_time_and_mostly_auto_repeat() -> None:
    keys = TRUTH[TRUTH.kind == Kind.KEYBOARD]
    for number in range(6):
        held: int | None = None
        for vk, press in zip(keys.vk[keys.episode == number], keys.press[keys.episode == number], strict=True):
            assert held in (None, vk)
            held = int(vk) if press else None
    # Two events of a hold are no auto-repeat: its press and its release.
    assert 2 * 2 * int((~keys.press).sum()) < len(keys)


def test_an_echo_repeats_the_last_key_event_and_never_clicks() -> None:
    said = synthetic.echo(TRUTH, seed=1)
    assert np.array_equal(said.kind, TRUTH.kind)
    assert not said.flags.any()
    first = TRUTH.episode == 0
    keys = np.flatnonzero(first & (TRUTH.kind == Kind.KEYBOARD))
    assert said.vk[keys[1:]].tolist() == TRUTH.vk[keys[:-1]].tolist()
    assert said.press[keys[1:]].tolist() == TRUTH.press[keys[:-1]].tolist()


def test_an_echo_looks_fine_by_position_and_has_no_skill() -> None:
    report = evaluate(synthetic.echo(TRUTH, seed=1), TRUTH, protocols=("assay", "owa"), reps=100)
    assert report.flat("owa")["comparable"] == 1.0
    assert (report.flat("owa")["keyboard_accuracy"] or 0) > 0.75
    assert (report.flat("assay")["skill"] or 0) < 0.02
    assert report.verdict[0]["tone"] == "bad"


def test_the_sound_model_is_good_where_keys_are_held() -> None:
    report = evaluate(synthetic.prediction(TRUTH, synthetic.SOUND, seed=1), TRUTH, protocols=("assay",), reps=100)
    assert (report.flat("assay")["skill"] or 0) > 0.9
