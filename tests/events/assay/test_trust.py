"""What `assay@1` has to show before anyone believes it: the experiments of SPEC 1.9, by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.events.assay.streams import (
    MS,
    SECOND,
    A,
    B,
    C,
    D,
    episodes,
    flat,
    frame,
    hold,
    key,
    late,
    move,
    number,
    report,
    result,
    scroll,
    stream,
    typed,
)

from assay.events import codec, encode
from assay.events.stream import Problem, concatenate

TRUTH = typed()
INDICES = (0, 1, 3, 9, 20, 21, 22, 23, len(TRUTH) - 1)
COUNTS = ("substitutions", "deletions", "insertions")
ACTIONS = ("f1", "precision", "recall", "keyboard_f1", "button_f1", "macro_f1", "hold_f1", "hold_onset_f1", "hold_iou")


def counts(found: dict[str, float | None]) -> tuple[float | None, ...]:
    return tuple(found[name] for name in COUNTS)


# --- 1: identity -----------------------------------------------------------------------------------------------------


def test_1_the_truth_predicts_itself_perfectly() -> None:
    events = [*TRUTH, scroll(700), move(900, 30, -4), move(950, 12, 9), frame(0)]
    found = flat(events, events)
    for name in (*ACTIONS, "scroll_f1", "skill", "coverage", "pointer_r2", "f1_without_lag", "f1_curve_area"):
        assert found[name] == 1.0, name
    for name in (*COUNTS, "lag_ms", "error_rate", "victor_purpura", "time_error_p50_ms", "pointer_path_error_px"):
        assert found[name] == 0.0, name


def test_1_neither_the_order_of_episodes_nor_the_format_changes_a_bit(tmp_path: Path) -> None:
    truths = [stream(typed(at, 20), f"e{at}") for at in range(4)]
    guesses = [stream(late(typed(at, 20), 30), f"e{at}") for at in range(4)]
    expected = result(concatenate(guesses), concatenate(truths)).estimates
    assert result(concatenate(guesses[::-1]), concatenate(truths[2:] + truths[:2])).estimates == expected
    files = []
    for name, sides in (("guess", guesses), ("truth", truths)):
        path = tmp_path / f"{name}.jsonl"
        rows = [{"episode": side.episodes[0].name, "event": event} for side in sides for event in side.to_events()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(str(path))
    assert report(*files).protocols["assay"].estimates == expected


# --- 2, 3: one error costs one error ---------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [3, len(TRUTH) // 2, len(TRUTH)])
def test_2_one_extra_key_event_is_one_false_positive(index: int) -> None:
    # A key that the truth does not hold, in the middle between two neighbours.
    before = TRUTH[index - 1]["ts"]
    after = TRUTH[index]["ts"] if index < len(TRUTH) else before + 100 * MS
    extra = {**key(0, 0x5A), "ts": (before + after) // 2}
    found, perfect = flat([*TRUTH, extra], TRUTH), flat(TRUTH, TRUTH)
    n = len(TRUTH)
    assert counts(found) == (0, 0, 1)
    assert found["precision"] == n / (n + 1)
    changed = {"f1", "precision", "keyboard_f1", "keyboard_precision", "error_rate", "insertions", "victor_purpura"}
    changed |= {name for name in found if name.startswith("f1_")} | {"skill"}
    changed |= {"hold_f1", "hold_onset_f1", "hold_iou", "unreleased_holds", "coverage"}  # it opens a hold of its own
    assert {name for name in found if found[name] != perfect[name]} <= changed
    assert found["recall"] == found["macro_f1"] == 1.0


@pytest.mark.slow
def test_2_one_extra_event_of_any_key_anywhere_is_one_false_positive() -> None:
    # Also of a key that the truth uses, held or not, just before or after its own events. A press of a held key within
    # 50 ms of its last press is auto-repeat by definition: it is counted as that, and is no false positive.
    rng = np.random.default_rng(3)
    repeats = 0
    for trial in range(60):
        near = TRUTH[int(rng.integers(len(TRUTH)))]["ts"] / MS
        moment = near + float(rng.integers(-400, 400)) if trial % 2 else float(rng.integers(0, 60_000))
        vk = int(rng.choice([A, B, C, D, 0x5A]))
        extra = key(max(0.0, moment), vk, press=bool(rng.integers(2)))
        found = flat([*TRUTH, extra], TRUTH, reps=1)
        is_repeat = int(number(found["auto_repeats"]))
        assert counts(found) == (0, 0, 1 - is_repeat), (extra, counts(found))
        assert found["recall"] == 1.0
        if is_repeat:
            assert min(abs(e["ts"] - extra["ts"]) for e in TRUTH if e.get("vk") == vk and e["press"]) <= 50 * MS
        repeats += is_repeat
    assert repeats < 8


def test_2_k_extra_events_are_k_false_positives() -> None:
    # Presses and releases of keys that the truth uses, at random, further than a second from others of their key.
    rng = np.random.default_rng(6)
    for k in (1, 4, 9):
        events = list(TRUTH)
        while len(events) < len(TRUTH) + k:
            extra = key(float(rng.integers(0, 60_000)), int(rng.choice([A, B, C, D])), press=bool(rng.integers(2)))
            if all(event.get("vk") != extra["vk"] or abs(event["ts"] - extra["ts"]) > SECOND for event in events):
                events.append(extra)
        assert counts(flat(events, TRUTH, reps=1)) == (0, 0, k)


def test_3_one_deletion_is_one_miss_and_one_wrong_key_one_substitution() -> None:
    assert {TRUTH[index].get("press") for index in INDICES} == {True, False, None}
    for index in INDICES:
        kept = [event for at, event in enumerate(TRUTH) if at != index]
        assert counts(flat(kept, TRUTH)) == (0, 1, 0)
    pair = hold(10_000, 10_100, C)
    wrong = [key(10_000, 0x5A), *pair[1:]]
    assert counts(flat(wrong, pair)) == (1, 0, 0)
    assert flat(wrong, pair)["error_rate"] == 0.5


# --- 4, 5: time ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ms", [-200, -50, 50, 200])
@pytest.mark.parametrize("tokens", [False, True])
def test_4_a_constant_lag_is_found_with_its_sign(ms: int, tokens: bool) -> None:
    truth = late(TRUTH, 1000)
    sides: list[Any] = [stream(late(truth, ms)), stream(truth)]
    if tokens:
        sides = [encode(side) for side in sides]
    found = flat(*sides)
    assert found["lag_ms"] == ms
    assert number(found["f1_without_lag"]) >= 0.99
    if abs(ms) > 50:
        assert number(found["f1"]) < 0.2


def test_4_jitter_is_not_a_lag() -> None:
    rng = np.random.default_rng(2)
    jittered = [{**event, "ts": event["ts"] + round(rng.normal(0, 20) * MS)} for event in late(TRUTH, 1000)]
    found = flat(jittered, late(TRUTH, 1000))
    assert found["lag_ms"] == 0.0
    assert number(found["time_error_spread_ms"]) == pytest.approx(20, abs=2)
    assert number(found["time_error_p50_ms"]) == pytest.approx(0, abs=3)


def test_4_a_lag_with_jitter_is_found_to_one_unit() -> None:
    rng = np.random.default_rng(5)
    jittered = [{**event, "ts": event["ts"] + round((80 + rng.normal(0, 9)) * MS)} for event in TRUTH]
    parts = [stream(part, name) for name in "abc" for part in [jittered]]
    truths = [stream(TRUTH, name) for name in "abc"]
    found = result(concatenate(parts), concatenate(truths)).estimates
    assert abs(number(found["lag_ms"].value) - 80) <= 10
    assert number(found["f1_without_lag"].value) >= 0.99
    assert found["lag_ms"].unit == "episode"
    assert number(found["lag_ms"].low) <= number(found["lag_ms"].value) <= number(found["lag_ms"].high)


@pytest.mark.parametrize("tolerance", [10.0, 50.0, 120.0])
def test_5_the_tolerance_is_included_and_one_unit_more_is_not(tolerance: float) -> None:
    truth = [key(5000)]
    for ms, f1 in ((tolerance, 1.0), (-tolerance, 1.0), (tolerance + 10, 0.0), (-tolerance - 10, 0.0)):
        assert flat(late(truth, ms), truth, settings={"tolerance_ms": tolerance})["f1"] == f1
    nanosecond = [{**truth[0], "ts": truth[0]["ts"] + round(tolerance * MS) + 1}]
    assert flat(nanosecond, truth, settings={"tolerance_ms": tolerance})["f1"] == 0.0


def test_5_f1_does_not_fall_as_the_tolerance_grows() -> None:
    rng = np.random.default_rng(1)
    noisy = [{**event, "ts": event["ts"] + round(rng.normal(0, 120) * MS)} for event in late(TRUTH, 2000)]
    found = flat(noisy, late(TRUTH, 2000))
    curve = [number(found[f"f1_at_{ms}_ms"]) for ms in (10, 20, 50, 100, 200, 500)]
    assert curve == sorted(curve)
    assert curve[0] < curve[-1]
    assert found["f1"] == found["f1_at_50_ms"]
    assert curve[0] < number(found["f1_curve_area"]) < curve[-1]


@pytest.mark.parametrize("ms", [1, 17, 49])
def test_5_shifting_both_sides_changes_nothing(ms: int) -> None:
    rng = np.random.default_rng(1)
    moves = [move(at * 9, int(rng.integers(-9, 9)), int(rng.integers(-9, 9))) for at in range(400)]
    truth = TRUTH + moves
    guess = [{**event, "ts": event["ts"] + round(rng.uniform(0, 60)) * MS} for event in truth]
    assert flat(late(guess, ms), late(truth, ms)) == flat(guess, truth)


# --- 6, 7, 8: holds --------------------------------------------------------------------------------------------------


def test_6_a_hold_split_in_two_costs_the_gap() -> None:
    truth = hold(1000, 4000)
    split = [*hold(1000, 2480), *hold(2520, 4000)]
    found = flat(split, truth)
    assert found["hold_iou"] == 2.96 / 3
    assert counts(found) == (0, 0, 2)
    rows = {row["label"]: row for row in result(split, truth).details["labels"]}
    assert (rows["A press"]["extra"], rows["A release"]["extra"]) == (1, 1)


def repeated(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Auto-repeat every 33 ms while a key is held."""
    out, pressed = list(events), {}
    for event in events:
        if event["kind"] == "keyboard" and event["press"]:
            pressed[event["vk"]] = event["ts"]
        elif event["kind"] == "keyboard":
            times = range(pressed[event["vk"]] + 33 * MS, event["ts"], 33 * MS)
            out += [{**event, "ts": ts, "press": True} for ts in times]
    return out


@pytest.mark.parametrize(("ours", "theirs"), [(True, False), (False, True), (True, True)])
def test_7_auto_repeat_changes_nothing(ours: bool, theirs: bool) -> None:
    rng = np.random.default_rng(0)
    shifted, dropped = late(TRUTH, 15), set()
    for vk in range(A, A + 6):  # whole holds are lost: a lone press would make one long hold of all that follows
        own = [at for at, event in enumerate(shifted) if event.get("vk") == vk]
        dropped |= {at for pair in range(0, len(own), 2) if rng.random() < 0.2 for at in own[pair : pair + 2]}
    guess = [event for at, event in enumerate(shifted) if at not in dropped]
    assert dropped
    expected = flat(guess, TRUTH)
    found = flat(repeated(guess) if ours else guess, repeated(TRUTH) if theirs else TRUTH)
    repeats = found.pop("auto_repeats")
    assert (number(repeats) > 0) == ours
    assert expected.pop("auto_repeats") == 0
    assert found == expected


def test_8_a_release_that_never_comes_ends_with_the_episode() -> None:
    truth = [*hold(1000, 2000, A), *hold(5000, 6000, B)]
    found = flat([truth[0], *truth[2:]], truth)
    assert found["unreleased_holds"] == 1
    assert found["hold_iou"] == pytest.approx(2 / 6)  # held from 1 s to the end at 6 s instead of to 2 s


def test_8_a_release_lost_long_before_the_next_press_costs_one_event() -> None:
    truth = [*hold(1000, 2000), *hold(5000, 6000)]
    found = flat([truth[0], *truth[2:]], truth)
    assert counts(found) == (0, 1, 0)
    assert (found["unreleased_holds"], found["auto_repeats"]) == (1, 0)
    assert found["hold_iou"] == pytest.approx(2 / 5)  # held from 1 s on, without a gap


def test_8_a_key_never_predicted_has_recall_0() -> None:
    truth = [*hold(1000, 1200, A), *hold(3000, 3200, B)]
    found = result(hold(1000, 1200, A), truth)
    assert found.flat()["recall"] == 0.5
    rows = {row["key"]: row for row in found.details["keys"]}
    assert (rows["B"]["recall"], rows["B"]["precision"], rows["B"]["f1"]) == (0.0, None, 0.0)


# --- 9: pointer ------------------------------------------------------------------------------------------------------


def path(rate_hz: int, seconds: float = 12.0, scale: float = 1.0, flip: int = 1) -> list[dict[str, Any]]:
    """A smooth path, reported at this rate in whole pixels."""
    n = int(seconds * rate_hz)
    at = np.arange(n + 1) / rate_hz
    x = 300 * np.sin(at * 1.7) * at / seconds + 90 * at
    y = 250 * np.cos(at * 1.1) - 60 * at
    steps = [np.diff(np.rint(scale * axis)).astype(int) for axis in (x, flip * y)]
    return [move(float(when) * 1000, int(dx), int(dy)) for when, dx, dy in zip(at[1:], *steps, strict=True)]


@pytest.mark.parametrize("rate", [60, 125, 500])
def test_9_the_rate_of_sampling_does_not_matter(rate: int) -> None:
    found = flat(path(rate), path(125))
    assert number(found["pointer_path_error_px"]) <= 1.5
    assert min(number(found["pointer_pearson_x"]), number(found["pointer_pearson_y"])) >= 0.99
    assert number(found["pointer_log2_scale"]) == pytest.approx(0, abs=0.01)
    assert number(found["pointer_r2"]) >= 0.98


@pytest.mark.parametrize(("scale", "expected"), [(0.5, -1.0), (2.0, 1.0)])
def test_9_a_path_of_another_scale_shows_its_direction(scale: float, expected: float) -> None:
    found = flat(path(125, scale=scale), path(125))
    assert number(found["pointer_log2_scale"]) == pytest.approx(expected, abs=0.01)
    assert number(found["pointer_pearson_x"]) >= 0.99


def test_9_an_inverted_axis_has_correlation_minus_1() -> None:
    found = flat(path(125, flip=-1), path(125))
    assert number(found["pointer_pearson_y"]) == pytest.approx(-1, abs=1e-9)
    assert number(found["pointer_pearson_x"]) == pytest.approx(1, abs=1e-9)


def test_9_bins_in_which_only_one_side_moves_are_separate_rates() -> None:
    still = [move(0, 0), move(10_000, 0)]
    first = [move(at, 4) for at in range(10, 5000, 10)]
    second = [move(at, 4) for at in range(5010, 10_000, 10)]
    found = flat([*second, *still], [*first, *still])
    assert number(found["pointer_missed_rate"]) == pytest.approx(1, abs=0.03)
    assert number(found["pointer_idle_rate"]) == pytest.approx(1, abs=0.03)


# --- 11, 12: what enters which figure --------------------------------------------------------------------------------


def test_11_frames_earn_nothing() -> None:
    frames = [frame(at * 50) for at in range(1200)]
    only_frames = flat(frames, TRUTH + frames)
    idle = only_frames["idle_f1"]
    assert number(only_frames["f1"]) <= number(idle) == 0.0
    assert number(only_frames["skill"]) <= 0.0
    guess = late(TRUTH, 20)
    expected = flat(guess, TRUTH)
    assert flat(guess + frames, TRUTH + frames) == expected
    assert flat(guess, TRUTH + frames) == expected
    assert flat(guess + frames, TRUTH) == expected


def test_12_two_keys_swapped_change_their_own_rows_only() -> None:
    truth = [
        event
        for at in range(10)
        for vk in (A, B, C, D)
        for event in hold(at * 4000 + vk * 50, at * 4000 + vk * 50 + 99, vk)
    ]
    swap = {A: D, D: A}
    guess = [{**event, "vk": swap.get(event["vk"], event["vk"])} for event in truth]
    perfect, found = (result(side, truth).details for side in (truth, guess))
    rows, right = ({row["key"]: row for row in each["keys"]} for each in (found, perfect))
    assert rows["B"] == right["B"]
    assert rows["C"] == right["C"]
    assert rows["A"]["f1"] == rows["D"]["f1"] == 0.0
    total = flat(guess, truth)
    n = sum(row["n"] for row in rows.values())
    assert n == len(truth)
    assert sum(row["matched"] for row in rows.values()) / n == total["recall"]
    assert sum(row["matched"] + row["extra"] for row in rows.values()) == len(guess)


# --- 13: clocks that wrap --------------------------------------------------------------------------------------------


def test_13_a_long_episode_through_a_short_clock_equals_the_unwrapped_one() -> None:
    events = [*typed(3, 40), *(frame(at * 100) for at in range(400))]
    plain = stream(events)
    quantised = codec("hierarchical").quantise(plain)
    floored = [{**event, "ts": event["ts"] // (10 * MS) * 10 * MS} for event in events]
    guess = late(floored, 30)
    expected = flat(guess, floored)
    found = flat(codec("hierarchical").quantise(stream(guess)), quantised)
    assert found == expected
    assert quantised.time_ns.max() < 16 * SECOND < plain.time_ns.max()


def test_13_a_wrap_of_the_clock_does_not_separate_matches() -> None:
    just_before, just_after = encode(stream([key(15_990)])), encode(stream([key(16_000)]))
    assert flat(just_before, just_after)["f1"] == flat(just_after, just_before)["f1"] == 1.0


def test_13_a_silence_that_could_hide_a_period_is_reported() -> None:
    truth = [*hold(1000, 1200), *hold(21_200, 21_400, B)]  # 20 s of silence
    text = encode(stream(truth))
    found = result(text, text)
    assert found.flat()["f1"] == 1.0
    assert found.details["facts"]["silences_true"] == 1
    assert any("period of the clock" in finding["text"] for finding in found.details["verdict"])


@pytest.mark.slow
def test_13_one_wrong_time_in_tokens_costs_one_event() -> None:
    events = [*typed(3, 40), *(frame(at * 50) for at in range(800))]
    truth = codec("hierarchical").quantise(stream(events))
    presses = [at for at, event in enumerate(truth.to_events()) if event and event["kind"] == "keyboard"]
    for at in presses[5::9]:
        for wrong in (0, 3, 7, 12):
            times = truth.time_ns.copy()
            times[at] = (times[at] + (wrong * SECOND + 500 * MS)) % (16 * SECOND)
            found = flat(_with_times(truth, times), truth)
            assert number(found["recall"]) * number(_n(truth)) >= number(_n(truth)) - 2, (at, wrong)


def _n(truth: Any) -> float:
    return float(((truth.kind == 0) | (truth.flags != 0)).sum())


def _with_times(side: Any, times: Any) -> Any:
    from dataclasses import replace

    return replace(side, time_ns=times)


# --- 14, 16, 18: what is missing -------------------------------------------------------------------------------------


def test_14_stopping_early_shows_in_recall_and_coverage() -> None:
    truth = [event for at in range(1000) for event in hold(at * 1000, at * 1000 + 100, A + at % 20)]
    found = flat(truth[:200], truth)
    assert number(found["recall"]) == pytest.approx(0.1)
    assert number(found["coverage"]) == pytest.approx(0.1, abs=0.001)


def test_14_a_missing_episode_is_named_and_missed() -> None:
    truth = episodes([typed(at, 20) for at in range(4)])
    found = result(truth[truth.episode != 2], truth)
    missed = int((truth.episode == 2).sum())
    assert found.flat()["deletions"] == missed
    assert found.flat()["recall"] == 1 - missed / len(truth)
    assert found.details["missing_episodes"] == ["e002"]
    backwards = result(truth, truth[truth.episode != 2])
    assert backwards.details["unknown_episodes"] == ["e002"]
    assert backwards.flat()["f1"] == 1.0


@pytest.mark.parametrize("tokens", [False, True])
def test_14_one_absurd_time_costs_one_event(tokens: bool) -> None:
    absurd = [*TRUTH[:-1], {**TRUTH[-1], "ts": 2**62}]
    if tokens:
        absurd = [*TRUTH[:-1], {**TRUTH[-1], "ts": TRUTH[-1]["ts"] + 7 * SECOND}]
    found = flat(absurd, TRUTH)
    assert counts(found) == (0, 1, 1)
    assert number(found["coverage"]) > 0.95


def test_16_nothing_predicted_is_a_score() -> None:
    found = flat([], TRUTH)
    assert (found["recall"], found["precision"], found["f1"], found["coverage"]) == (0.0, None, 0.0, 0.0)
    assert found["deletions"] == len(TRUTH)
    assert found["lag_ms"] is None
    invalid = stream(TRUTH)
    invalid.problem.fill(Problem.CUT_SHORT)
    assert flat(invalid, TRUTH)["recall"] == 0.0


def test_18_recall_falls_strictly_as_more_is_dropped() -> None:
    order = np.random.default_rng(0).permutation(len(TRUTH))
    recalls = []
    for share in (0, 0.05, 0.1, 0.2):
        dropped = set(order[: round(share * len(TRUTH))].tolist())
        recalls.append(number(flat([e for at, e in enumerate(TRUTH) if at not in dropped], TRUTH)["recall"]))
    assert recalls == sorted(recalls, reverse=True)
    assert len(set(recalls)) == 4
