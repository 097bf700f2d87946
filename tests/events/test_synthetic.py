"""Synthetic recordings and models behave as documented: the demo relies on it."""

from __future__ import annotations

import numpy as np

from assay.events import evaluate, synthetic
from assay.events.stream import Kind
from assay.report.html import events as page

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


def test_a_key_is_pressed_only_if_it_is_released() -> None:
    for long_holds in (False, True):
        truth = synthetic.recording(episodes=6, seconds=20, seed=5, long_holds=long_holds)
        assert not np.any(truth.problem)
        for number in range(6):
            keys = truth[(truth.episode == number) & (truth.kind == Kind.KEYBOARD)]
            pressed: dict[int, int] = {}
            for vk, press, time_ns in zip(keys.vk.tolist(), keys.press.tolist(), keys.time_ns.tolist(), strict=True):
                if not press:
                    assert vk in pressed
                    del pressed[vk]
                else:  # again only as auto-repeat
                    assert vk not in pressed or (time_ns - pressed[vk]) in (500_000_000, 33_000_000)
                    pressed[vk] = time_ns


def test_an_echo_has_no_lag() -> None:
    # It matches best at the end of the search, half a second late, where the repeats of the keyboard begin.
    found = evaluate(synthetic.echo(TRUTH, seed=1), TRUTH, protocols=("assay",), reps=50)
    flat = found.flat("assay")
    assert flat["lag_ms"] is None
    assert flat["f1_without_lag"] == flat["f1"]
    assert "lag" not in {finding["kind"] for finding in found.verdict}
    assert "ms of lag" not in page.render({"echo": found})


def test_an_echo_looks_fine_by_position_and_has_no_skill() -> None:
    report = evaluate(synthetic.echo(TRUTH, seed=1), TRUTH, protocols=("assay", "owa"), reps=100)
    assert report.flat("owa")["comparable"] == 1.0
    assert (report.flat("owa")["keyboard_accuracy"] or 0) > 0.75
    assert (report.flat("assay")["skill"] or 0) < 0.02
    assert report.verdict[0]["tone"] == "bad"


def test_the_sound_model_is_good_where_keys_are_held() -> None:
    report = evaluate(synthetic.prediction(TRUTH, synthetic.SOUND, seed=1), TRUTH, protocols=("assay",), reps=100)
    assert (report.flat("assay")["skill"] or 0) > 0.9
