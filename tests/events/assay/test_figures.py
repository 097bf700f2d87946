"""Single figures of `assay@1`, by hand: empty streams, buttons and scrolls, distances, and which keys there are."""

from __future__ import annotations

from tests.events.assay.streams import button, flat, frame, key, number, scroll, stream, typed

from assay.events import evaluate, synthetic

TRUTH = typed()


def test_empty_against_empty_is_none() -> None:
    found = flat([frame(0)], [frame(0)])
    described = {"auto_repeats", "unreleased_holds"}
    assert {name for name, value in found.items() if value is not None} <= described


def test_every_button_transition_and_scroll_direction_is_a_label() -> None:
    truth = [button(1000, 0x5), button(2000, 0xA), scroll(3000), scroll(4000, -120)]
    guess = [button(1000, 0x1), button(2000, 0xA), scroll(3000), scroll(4000, 240)]
    found = flat(guess, truth)
    assert (found["button_recall"], found["button_precision"]) == (0.75, 1.0)
    assert found["scroll_f1"] == 0.5
    assert found["recall"] == 0.75  # scrolls are not part of the headline


def test_flat_has_the_keys_of_the_specification() -> None:
    found = flat(TRUTH, TRUTH)
    kinds = [f"{kind}_{name}" for kind in ("keyboard", "button", "scroll") for name in ("f1", "precision", "recall")]
    text = (
        "f1 precision recall macro_f1 f1_curve_area error_rate substitutions deletions insertions hold_f1 "
        "hold_onset_f1 hold_iou hold_duration_error_p50_ms auto_repeats unreleased_holds pointer_pearson_x "
        "pointer_pearson_y "
        "pointer_r2 pointer_cosine pointer_log2_scale pointer_path_error_px pointer_final_error_px "
        "pointer_direction_error_p50_deg pointer_missed_rate pointer_idle_rate time_error_p50_ms time_error_spread_ms "
        "lag_ms f1_without_lag coverage skill pointer_skill idle_f1 repeat_last_f1 majority_f1 random_f1 "
        "victor_purpura nll calibration_error"
    )
    curve = [f"f1_at_{ms}_ms" for ms in (10, 20, 50, 100, 200, 500)]
    assert set(found) == {*text.split(), *kinds, *curve}


def test_the_victor_purpura_distance_by_hand() -> None:
    truth = [key(1000), key(1100, press=False)]
    # The press 25 ms late costs 40 · 0.025 = 1, the release is missing and costs 1: 2 for two true events.
    assert flat([key(1025)], truth)["victor_purpura"] == 1.0
    assert evaluate(stream(truth), stream(truth), protocols=["assay"]).flat("assay")["victor_purpura"] == 0.0


def test_made_up_models_come_in_their_order() -> None:
    truth = synthetic.recording(episodes=6, seconds=20, seed=3)
    good, poor = (flat(synthetic.prediction(truth, model), truth) for model in (synthetic.GOOD, synthetic.POOR))
    for name in ("f1", "skill", "pointer_r2", "hold_f1"):
        assert number(good[name]) > number(poor[name]), name
