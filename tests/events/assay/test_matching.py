"""The matching is the best there is: against brute force, and against the packages that score music, sounds, spikes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.events.actions import matching
from assay.events.actions.comparing import compare_actions, matches_at, saved_ns
from assay.events.actions.holds import OFFSET_SHARE
from assay.events.actions.labels import KEYS, Actions
from assay.events.actions.lag import best_shift, matches_by_shift, shifts, tolerances
from assay.types import Ints

MS = 1_000_000


def matched(truth: Ints, predicted: Ints, tolerance: int) -> Ints:
    partner = np.empty(len(truth), np.int64)
    matching.match_within(truth, predicted, np.int64(tolerance), truth, predicted, -1.0, partner)
    return partner


def size_and_cost(truth: Ints, predicted: Ints, partner: Ints) -> tuple[int, int]:
    found = partner >= 0
    assert len(set(partner[found].tolist())) == found.sum()
    return int(found.sum()), int(np.abs(predicted[partner[found]] - truth[found]).sum())


def brute_force(truth: list[int], predicted: list[int], tolerance: int) -> tuple[int, int]:
    """The most matches, and the least total distance among matchings of that size: every matching is tried."""
    best = (0, 0)

    def extend(i: int, used: int, size: int, cost: int) -> None:
        nonlocal best
        if i == len(truth):
            best = max(best, (size, -cost))
            return
        extend(i + 1, used, size, cost)
        for j, time in enumerate(predicted):
            if not used >> j & 1 and abs(time - truth[i]) <= tolerance:
                extend(i + 1, used | 1 << j, size + 1, cost + abs(time - truth[i]))

    extend(0, 0, 0, 0)
    return best[0], -best[1]


def small_cases(n: int, seed: int) -> list[tuple[Ints, Ints, int]]:
    """Few times in little room, so that nearly every case has ties and conflicts."""
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(n):
        sizes, room = rng.integers(0, 6, 2), int(rng.choice([5, 12, 30]))
        times = [np.sort(rng.integers(0, room, size)) for size in sizes]
        cases.append((times[0], times[1], int(rng.integers(0, 8))))
    return cases


def test_the_matching_is_the_best_of_all() -> None:
    for truth, predicted, tolerance in small_cases(4000, seed=1):
        found = size_and_cost(truth, predicted, matched(truth, predicted, tolerance))
        assert found == brute_force(truth.tolist(), predicted.tolist(), tolerance), (truth, predicted, tolerance)
        assert matching.largest_count(truth, predicted, np.int64(tolerance), np.int64(0)) == found[0]


def test_the_matching_without_room_for_a_table_is_still_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_MOST_CELLS", 0)
    in_order = matching._match_in_order.py_func
    for truth, predicted, tolerance in small_cases(500, seed=2):
        low, high = np.empty(len(truth), np.int64), np.empty(len(truth), np.int64)
        matching.reach(truth, predicted, np.int64(tolerance), low, high)
        partner = np.full(len(truth), -1, np.int64)
        if len(truth):
            in_order(0, len(truth), low, high, truth, tolerance, truth, predicted, -1.0, partner)
        assert (partner >= 0).sum() == brute_force(truth.tolist(), predicted.tolist(), tolerance)[0]


def test_more_matches_come_before_less_distance() -> None:
    # 1–0 and 3–2 would cost 2 in all; 0–0 alone costs nothing but leaves a truth without a prediction.
    truth, predicted = np.array([0, 3]), np.array([0, 1])
    assert matched(truth, predicted, 3).tolist() == [0, 1]
    # Three to two: of the pairs of matches the closest one.
    assert matched(np.array([0, 10, 20]), np.array([9, 21]), 15).tolist() == [-1, 0, 1]


def test_the_bound_is_included() -> None:
    truth = np.array([0])
    assert matched(truth, np.array([50 * MS]), 50 * MS).tolist() == [0]
    assert matched(truth, np.array([50 * MS + 1]), 50 * MS).tolist() == [-1]


@settings(max_examples=200)
@given(st.lists(st.integers(0, 2000), max_size=60), st.lists(st.integers(0, 2000), max_size=60), st.integers(1, 60))
@pytest.mark.slow
def test_onsets_match_as_in_mir_eval(truth: list[int], predicted: list[int], window: int) -> None:
    from mir_eval.util import match_events

    right, guess = np.sort(np.array(truth, np.int64)), np.sort(np.array(predicted, np.int64))
    expected = match_events(right.astype(float), guess.astype(float), float(window))
    assert size_and_cost(right, guess, matched(right, guess, window))[0] == len(expected)


def test_f1_of_onsets_is_that_of_mir_eval() -> None:
    from mir_eval import onset

    rng = np.random.default_rng(5)
    right = np.unique(rng.integers(0, 20_000, 120))
    guess = np.unique(np.concatenate([right[:90] + rng.integers(-90, 90, 90), rng.integers(0, 20_000, 40)]).clip(0))
    f1, precision, recall = onset.f_measure(right / 1000, guess / 1000, window=0.05)
    n = matching.largest_count(right, guess, np.int64(50), np.int64(0))
    assert (n / len(guess), n / len(right)) == pytest.approx((precision, recall))
    assert 2 * n / (len(guess) + len(right)) == pytest.approx(f1)


def disjoint(rng: np.random.Generator, n: int) -> Ints:
    """n intervals of one key, none of which overlaps another, in ms; shape (n, 2)."""
    edges = np.cumsum(rng.integers(1, 120, 2 * n))
    return edges.reshape(n, 2)


@pytest.mark.parametrize("seed", range(40))
def test_holds_match_as_notes_do_in_mir_eval(seed: int) -> None:
    from mir_eval import transcription

    rng = np.random.default_rng(seed)
    right = disjoint(rng, 25)
    guess = disjoint(rng, 25)
    if seed % 2:  # the same holds, a little off
        guess = np.sort((right + rng.integers(-40, 40, right.shape)).ravel()).clip(1).reshape(-1, 2)
        guess = guess[guess[:, 0] < guess[:, 1]]
    pitches = [np.full(len(side), 440.0) for side in (right, guess)]
    for ratio in (None, OFFSET_SHARE):
        expected = transcription.match_notes(
            right / 1000, pitches[0], guess / 1000, pitches[1], onset_tolerance=0.05, offset_ratio=ratio
        )
        partner = np.empty(len(right), np.int64)
        (start, end), (guess_start, guess_end) = (np.ascontiguousarray(side.T) for side in (right, guess))
        share = -1.0 if ratio is None else ratio
        matching.match_within(start, guess_start, np.int64(50), end, guess_end, share, partner)
        assert (partner >= 0).sum() == len(expected)


@pytest.mark.slow
def test_the_distance_is_that_of_elephant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import quantities as pq
        from elephant.spike_train_dissimilarity import victor_purpura_distance
        from neo import SpikeTrain

    rng = np.random.default_rng(3)
    for _ in range(25):
        sides = [np.sort(rng.integers(0, 3000, int(rng.integers(0, 60)))) for _ in range(2)]
        trains = [SpikeTrain(side * pq.ms, t_stop=3000 * pq.ms) for side in sides]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = victor_purpura_distance(trains, cost_factor=40 / pq.s)[0, 1]
        right, guess = (Actions.listed(np.full(len(side), 65), side * MS) for side in sides)
        saved = saved_ns(right, guess, 50 * MS)
        assert len(sides[0]) + len(sides[1]) - saved * 40 / 1e9 == pytest.approx(float(expected))


@pytest.mark.slow
def test_the_error_rate_is_that_of_sed_eval() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dcase_util as dcase
        from sed_eval.sound_event import EventBasedMetrics

    # Three labels at times well apart from each other, so that a substitution can only be one thing.
    rng = np.random.default_rng(8)
    times = np.arange(1, 200) * 1000
    labels = rng.integers(0, 3, len(times))
    answers = np.where(rng.random(len(times)) < 0.2, (labels + 1) % 3, labels)
    kept = rng.random(len(times)) > 0.1
    # Never exactly 50 ms off: in its floating-point seconds the bound is sometimes in and sometimes out.
    guessed = times + rng.integers(-8, 8, len(times)) * 10 + 5
    extra = times[::9] + 500

    def listed(times: Ints, labels: Ints) -> object:
        return dcase.containers.MetaDataContainer(
            [
                {"event_label": str(label), "onset": time / 1000, "offset": time / 1000 + 0.1, "filename": "a"}
                for time, label in zip(times.tolist(), labels.tolist(), strict=True)
            ]
        )

    predicted_times = np.concatenate([guessed[kept], extra])
    predicted_labels = np.concatenate([answers[kept], np.zeros(len(extra), np.int64)])
    metrics = EventBasedMetrics(
        ["0", "1", "2"], t_collar=0.05, evaluate_onset=True, evaluate_offset=False, event_matching_type="optimal"
    )
    metrics.evaluate(listed(times, labels), listed(predicted_times, predicted_labels))
    expected = metrics.overall
    found = compare_actions(
        Actions.listed(2 * labels, times * MS), Actions.listed(2 * predicted_labels, predicted_times * MS), 50 * MS
    )
    substitutions = len(found.substitutions)
    _, missed, extra = found.counts.sum(axis=0).tolist()
    counts = (substitutions, missed - substitutions, extra - substitutions)
    assert min(counts) > 10
    assert counts == (expected["Nsubs"], expected["Nfn"], expected["Nfp"])
    rate = metrics.overall_error_rate()["error_rate"]
    assert sum(counts) / len(times) == pytest.approx(rate)


# --- the search for a lag --------------------------------------------------------------------------------------------


def test_matches_by_shift_are_those_of_shifting() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        sides = []
        for _ in range(2):
            n = int(rng.integers(0, 40))
            sides.append(Actions.listed(rng.integers(0, 3, n) * 2 + KEYS // 2, rng.integers(0, 6000, n) * MS))
        right, guess = sides
        summed, plain = matches_by_shift(right, guess, 10 * MS, 30 * MS)
        for at, shift in enumerate(shifts(10 * MS).tolist()):
            assert plain[at] == matches_at(right, guess, np.array([30 * MS]), shift)[0]
            assert summed[at] == matches_at(right, guess, tolerances(10 * MS), shift).sum()


def test_of_equal_shifts_the_smallest_wins() -> None:
    flat = np.zeros(101)
    assert shifts(10 * MS)[best_shift(flat, 10 * MS)] == 0
    flat[[20, 70]] = 1
    assert shifts(10 * MS)[best_shift(flat, 10 * MS)] == 200 * MS
    assert best_shift(np.stack([flat, -flat]), 10 * MS).shape == (2,)
