"""Laws for every registered protocol: splits, order and batch sizes do not change any number."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import events
from assay.errors import SourceError, UsageError
from assay.events import Episode, EventStream, scoring, synthetic
from assay.events.align import EpisodeCollector, Pair, by_position
from assay.events.protocols import PROTOCOLS, EventProtocol
from assay.events.stream import CATEGORIES, Problem, concatenate
from assay.events.tally import Tally
from assay.stats import Resampling
from assay.types import Estimate, State

NAMES = PROTOCOLS.names()
PLANS = [Resampling(unit, reps=40) for unit in ("event", "episode")]

TRUTH = synthetic.recording(episodes=5, seconds=4, seed=13)
PREDICTED = synthetic.prediction(TRUTH, synthetic.POOR, seed=14)


@pytest.fixture(params=NAMES)
def protocol(request: pytest.FixtureRequest) -> EventProtocol:
    found: EventProtocol = PROTOCOLS.get(request.param)
    return found


def batches(stream: EventStream, cuts: Iterable[int]) -> list[EventStream]:
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


def pairs(protocol: EventProtocol, predicted: list[EventStream], truth: list[EventStream]) -> list[Pair]:
    """What the protocol is given to score: aligned slices, or whole episodes."""
    found = by_position(predicted, truth)
    if protocol.pairing == "position":
        return list(found)
    whole = EpisodeCollector()
    for pair in found:
        whole.add(pair)
    return list(whole.pairs())


def tally_of(protocol: EventProtocol, scored: Iterable[Pair]) -> Tally:
    tally = Tally()
    for pair in scored:
        tally.add(pair.episode, protocol.score(pair))
    return tally


def whole_tally(protocol: EventProtocol) -> Tally:
    return tally_of(protocol, pairs(protocol, [PREDICTED], [TRUTH]))


# --- merging ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_splits_and_order_do_not_change_any_number(name: str) -> None:
    """One piece, any batches, any shards merged in any order: equal tallies, and estimates equal bit for bit."""
    protocol = PROTOCOLS.get(name)
    whole = whole_tally(protocol)
    estimates = [protocol.finish(whole, plan) for plan in PLANS]

    @settings(max_examples=12)
    @given(
        st.lists(st.integers(0, len(TRUTH)), max_size=6), st.lists(st.integers(0, len(TRUTH)), max_size=6), st.randoms()
    )
    def law(cuts: list[int], other_cuts: list[int], chance: random.Random) -> None:
        parts = pairs(protocol, batches(PREDICTED, cuts), batches(TRUTH, other_cuts))
        chance.shuffle(parts)
        shards = [tally_of(protocol, parts[at::3]) for at in range(3)]
        chance.shuffle(shards)
        merged = (shards[0] + shards[1]) + shards[2]
        assert merged == whole
        assert shards[0] + (shards[1] + shards[2]) == whole
        assert [protocol.finish(merged, plan) for plan in PLANS] == estimates

    law()


def test_a_slice_scores_as_the_sum_of_its_halves(protocol: EventProtocol) -> None:
    for pair in pairs(protocol, [PREDICTED], [TRUTH]):
        if protocol.pairing != "position":
            continue
        half = len(pair.truth) // 2
        ends = [(pair.predicted[part], pair.truth[part]) for part in (slice(None, half), slice(half, None))]
        halves = [Pair(pair.episode, *ends[0], pair.start), Pair(pair.episode, *ends[1], pair.start + half)]
        assert tally_of(protocol, halves) == tally_of(protocol, [pair])


def test_tallies_survive_pickling(protocol: EventProtocol) -> None:
    whole = whole_tally(protocol)
    copy = pickle.loads(pickle.dumps(whole))
    assert copy == whole
    assert protocol.finish(copy, PLANS[1]) == protocol.finish(whole, PLANS[1])


def test_scoring_does_not_change_its_input(protocol: EventProtocol) -> None:
    before = [pickle.dumps(side) for side in (PREDICTED, TRUTH)]
    protocol.finish(whole_tally(protocol), PLANS[0])
    assert [pickle.dumps(side) for side in (PREDICTED, TRUTH)] == before


def test_an_empty_tally_is_the_identity(protocol: EventProtocol) -> None:
    whole = whole_tally(protocol)
    assert whole + Tally() == whole == Tally() + whole


# --- nothing, and perfection -----------------------------------------------------------------------------------------


def counts(estimates: dict[str, Estimate], protocol: EventProtocol) -> Iterator[str]:
    """Figures that describe the data: they are defined even if nothing is scored."""
    better = {metric.key: metric.better for metric in protocol.metrics}
    return (key for key in estimates if better[key] == "none")


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.unit)
def test_figures_of_empty_input_are_none(protocol: EventProtocol, plan: Resampling) -> None:
    blank = EventStream.allocate(0)
    empty_pair = tally_of(protocol, [Pair(Episode(), blank, blank)])
    for tally in (Tally(), empty_pair):
        estimates = dict(protocol.finish(tally, plan))
        described = set(counts(estimates, protocol))
        for key, estimate in estimates.items():
            if key in described:
                assert estimate.value in (0.0, None), key
            elif key == "count_accuracy" and tally is empty_pair:
                assert estimate.value == 1.0  # no events on either side are equally many
            else:
                assert (estimate.value, estimate.low, estimate.high) == (None, None, None), key


@pytest.mark.parametrize("encoding", [None, "hierarchical", "factorized"])
def test_the_truth_is_a_perfect_prediction_of_itself(protocol: EventProtocol, encoding: str | None) -> None:
    truth = TRUTH if encoding is None else events.codec(encoding).quantise(TRUTH)
    report = events.evaluate(
        truth, truth, protocols=[protocol.name], encoding=encoding or "hierarchical", reps=50, interval="episode"
    )
    result = report.protocols[protocol.name]
    perfect = {"higher": 1.0, "lower": 0.0, "zero": 0.0}
    for metric in result.metrics:
        if metric.better == "none" or metric.undefined == "no log-probabilities were given":
            continue
        best = 1.0 if metric.unit == "×" else perfect[metric.better]
        estimate = result.estimates[metric.key]
        # A correlation passes through a square root; all others are exact.
        exact = 1e-12 if "pearson" in metric.key else 0
        assert estimate.value == pytest.approx(best, abs=exact), metric.key
        # Other episodes may be worse: the interval reaches up to perfection.
        if estimate.low is not None and estimate.high is not None:
            assert estimate.low - 1e-12 <= best <= estimate.high + 1e-12, metric.key


def test_a_poor_model_scores_worse_than_a_good_one(protocol: EventProtocol) -> None:
    good, poor = (
        events.evaluate(synthetic.prediction(TRUTH, model), TRUTH, protocols=[protocol.name], reps=1)
        for model in (synthetic.GOOD, synthetic.POOR)
    )
    judged = [metric for metric in protocol.metrics if metric.headline and metric.better in ("higher", "lower")]
    better = worse = 0
    for metric in judged:
        a, b = (report.flat(protocol.name)[metric.key] for report in (good, poor))
        if a is not None and b is not None and a != b:
            better += (a > b) == (metric.better == "higher")
            worse += (a > b) != (metric.better == "higher")
    assert better >= 4
    assert worse <= better / 4


# --- declarations ----------------------------------------------------------------------------------------------------


def test_every_metric_is_declared_once_and_estimated(protocol: EventProtocol) -> None:
    keys = [metric.key for metric in protocol.metrics]
    assert len(keys) == len(set(keys))
    for tally in (Tally(), whole_tally(protocol)):
        for plan in PLANS:
            assert set(protocol.finish(tally, plan)) == set(keys)


def test_every_declaration_is_complete(protocol: EventProtocol) -> None:
    ends: list[str] = []
    for metric in protocol.metrics:
        assert metric.title
        assert metric.group
        assert metric.undefined
        assert metric.better in ("higher", "lower", "zero", "none")
        assert metric.unit in ("", "ms", "%", "°", "×", "px")
        ends += metric.ends or ()
    assert not set(ends) & {metric.key for metric in protocol.metrics}
    assert any(metric.headline for metric in protocol.metrics)
    assert protocol.pairing in ("position", "episode")
    assert protocol.version >= 1
    assert dict(protocol.settings()) == dict(protocol.configured(events.codec("hierarchical"), {}).settings())


def test_every_interval_has_its_level_and_unit(protocol: EventProtocol) -> None:
    for plan in PLANS:
        for key, estimate in protocol.finish(whole_tally(protocol), plan).items():
            if estimate.low is None or estimate.high is None:
                assert estimate.low is estimate.high, key
                continue
            assert estimate.low <= estimate.high, key
            assert estimate.unit == plan.unit, key
            assert estimate.n_units == (5 if plan.unit == "episode" else estimate.n), key
            assert estimate.level == plan.level


# --- through evaluate ------------------------------------------------------------------------------------------------


def estimates_of(predicted: object, truth: object, protocol: EventProtocol, **rest: object) -> dict[str, Estimate]:
    report = events.evaluate(predicted, truth, protocols=[protocol.name], reps=20, **rest)  # type: ignore[arg-type]
    return dict(report.protocols[protocol.name].estimates)


@pytest.mark.parametrize("size", [1, 7, 300, 10**6])
@pytest.mark.slow
def test_batch_sizes_do_not_matter(protocol: EventProtocol, size: int) -> None:
    truth, predicted = TRUTH[:600], PREDICTED[:600]
    cuts = range(0, 600, size)
    one = scoring.score_streams([predicted], [truth], [protocol], threads=1)[protocol.name]
    found = scoring.score_streams(batches(predicted, cuts), batches(truth, range(0, 600, 50)), [protocol], threads=2)
    assert found[protocol.name] == one


def test_slices_of_a_long_episode_can_be_added(protocol: EventProtocol, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scoring.score_streams([PREDICTED], [TRUTH], [protocol])[protocol.name]
    monkeypatch.setattr(scoring, "_SLICE", 37)
    assert scoring.score_streams([PREDICTED], [TRUTH], [protocol])[protocol.name] == whole


def test_scoring_episodes_as_soon_as_they_are_complete_changes_nothing(
    protocol: EventProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = range(0, len(TRUTH), 150)
    whole = scoring.score_streams([PREDICTED], [TRUTH], [protocol])[protocol.name]
    monkeypatch.setattr(scoring, "_KEPT", 200)
    early = scoring.score_streams(batches(PREDICTED, cuts), batches(TRUTH, cuts), [protocol])
    assert early[protocol.name] == whole


def test_the_number_of_threads_does_not_matter(protocol: EventProtocol) -> None:
    one, three = (estimates_of(PREDICTED, TRUTH, protocol, threads=threads) for threads in (1, 3))
    assert one == three


def by_episode(stream: EventStream) -> list[EventStream]:
    return [stream[part] for _, part in stream.segments()]


def test_episodes_are_matched_by_name_in_any_order(protocol: EventProtocol) -> None:
    turned = concatenate(by_episode(TRUTH)[::-1])
    assert turned.episodes != TRUTH.episodes or turned.episode[0] != TRUTH.episode[0]
    expected = estimates_of(PREDICTED, TRUTH, protocol)
    assert estimates_of(PREDICTED, turned, protocol) == expected
    assert estimates_of(concatenate(by_episode(PREDICTED)[::-1]), TRUTH, protocol) == expected


def test_episodes_may_be_interleaved(protocol: EventProtocol) -> None:
    # Two episodes in turns, as written by several writers to one file.
    first, second = by_episode(TRUTH)[:2]
    mixed = concatenate([first[:50], second[:40], first[50:], second[40:]])
    plain = concatenate([first, second])
    assert estimates_of(mixed, plain, protocol) == estimates_of(plain, plain, protocol)


def test_single_episodes_are_paired_whatever_their_names(protocol: EventProtocol) -> None:
    truth, predicted = by_episode(TRUTH)[0], by_episode(PREDICTED)[0]
    renamed = predicted.of_episode(Episode("another name"))
    unnamed = predicted.of_episode(Episode())
    expected = estimates_of(predicted, truth, protocol)
    assert estimates_of(renamed, truth, protocol) == expected
    assert estimates_of(unnamed, truth, protocol) == expected


def test_no_shared_episode_is_an_error(protocol: EventProtocol) -> None:
    renamed = replace(PREDICTED, episodes=tuple(Episode(f"x{at}") for at in range(5)))
    with pytest.raises(SourceError, match="share no episode"):
        estimates_of(renamed, TRUTH, protocol)


def test_missing_and_invalid_predictions_never_help(protocol: EventProtocol) -> None:
    problem = TRUTH.problem.copy()
    problem[::3] = Problem.CUT_SHORT
    spoiled = replace(TRUTH, problem=problem)
    result = events.evaluate(spoiled, TRUTH, protocols=[protocol.name], reps=1).protocols[protocol.name]
    for metric in result.metrics:
        value = result.estimates[metric.key].value
        if value is not None and metric.better == "higher":
            assert value <= 1.0 + 1e-12


def test_errors_of_invalid_predictions_are_none_not_zero() -> None:
    blank = replace(TRUTH, problem=np.full(len(TRUTH), Problem.CUT_SHORT, np.uint8))
    report = events.evaluate(blank, TRUTH, protocols=NAMES, reps=1)
    assert report.flat("owa")["comparable"] == 0.0
    assert report.flat("owa")["keyboard_accuracy"] is None
    assert report.flat("sequence")["comparable_rate"] == 0.0
    assert report.flat("d2e")["key_accuracy"] is None
    assert any("No prediction decodes" in warning for warning in report.warnings)


# --- pairing ---------------------------------------------------------------------------------------------------------


def test_every_event_is_paired_exactly_once() -> None:
    predicted, truth = PREDICTED[: len(PREDICTED) - 30], TRUTH
    found = list(by_position(batches(predicted, [9, 400, 401]), batches(truth, [100, 777])))
    assert sum(int((pair.truth.problem != Problem.MISSING).sum()) for pair in found) == len(truth)
    assert sum(int((pair.predicted.problem != Problem.MISSING).sum()) for pair in found) == len(predicted)
    assert all(len(pair.predicted) == len(pair.truth) for pair in found)


def test_positions_start_at_zero_in_every_episode() -> None:
    expected: dict[str, int] = {}
    for pair in by_position(batches(PREDICTED, range(0, 3000, 37)), batches(TRUTH, range(0, 3000, 101))):
        assert pair.start == expected.get(pair.episode.name, 0)
        expected[pair.episode.name] = pair.start + len(pair.truth)


def test_an_error_while_reading_a_side_is_raised() -> None:
    def broken() -> Iterator[EventStream]:
        yield TRUTH[:100]
        raise SourceError("the disk is gone")

    with pytest.raises(SourceError, match="the disk is gone"):
        scoring.score_streams(broken(), [TRUTH], [PROTOCOLS.get("owa")])


# --- asking ----------------------------------------------------------------------------------------------------------


def test_protocols_are_given_by_name_and_version() -> None:
    report = events.evaluate(TRUTH, TRUTH, protocols=["owa@1", "d2e"], reps=1)
    assert list(report.protocols) == ["owa", "d2e"]
    assert report.flat("owa@1") == report.flat("owa")
    with pytest.raises(UsageError, match=r"there is no owa@2.*owa@1"):
        events.evaluate(TRUTH, TRUTH, protocols=["owa@2"])
    with pytest.raises(UsageError, match="Did you mean 'owa'"):
        events.evaluate(TRUTH, TRUTH, protocols=["owaa"])
    with pytest.raises(UsageError, match="no protocol was given"):
        events.evaluate(TRUTH, TRUTH, protocols=[])
    with pytest.raises(UsageError, match="was not evaluated"):
        report.flat("sequence")


def test_a_protocol_given_twice_is_scored_once() -> None:
    once, twice = (
        events.evaluate(TRUTH, TRUTH, protocols=names, reps=1) for names in (["owa"], ["owa", "owa@1", "owa"])
    )
    assert twice.flat("owa") == once.flat("owa")
    assert once.flat("owa")["events"] == len(TRUTH)
    with pytest.raises(UsageError, match="'owa@7' was not evaluated"):
        once.flat("owa@7")


def test_the_reported_strictness_is_that_of_the_encoding() -> None:
    text = (
        "<EVENT_START><KEYBOARD><0><0><123><65><press><EVENT_END>"
        + "<EVENT_START><KEYBOARD><0><0><1><65><press><EVENT_END>"
    )
    report = events.evaluate(text, text, encoding=events.codec("hierarchical", strict=True))
    assert report.settings["encoding"]["strict"] is True
    assert report.flat("owa")["events"] == 1
    assert events.evaluate(text, text).settings["encoding"]["strict"] is False


def test_reference_intervals_are_in_the_order_of_the_data() -> None:
    # The names of the episodes sort differently from their order of arrival: values are resampled in order of arrival.
    parts = by_episode(TRUTH)[:3]
    sides = [
        [
            replace(stream, episodes=(Episode(name),), episode=np.zeros(len(stream), np.int32))
            for name, stream in zip(("c", "a", "b"), part, strict=True)
        ]
        for part in (by_episode(PREDICTED)[:3], parts)
    ]
    named = [concatenate(side) for side in sides]
    unnamed = [stream.of_episode(Episode()) for stream in named]
    found, expected = (events.evaluate(*pair, interval="reference", reps=20).flat("owa") for pair in (named, unnamed))
    assert found == expected


def test_intervals_resample_episodes_if_they_are_known() -> None:
    assert events.evaluate(TRUTH, TRUTH, reps=1).settings["interval"] == "episode"
    alone = TRUTH.of_episode(Episode())
    assert events.evaluate(alone, alone, reps=1).settings["interval"] == "event"
    forced = events.evaluate(TRUTH, TRUTH, reps=1, interval="event")
    assert any("too narrow" in warning for warning in forced.warnings)


def test_sides_in_different_encodings_are_refused() -> None:
    sides = [events.codec(name).quantise(TRUTH) for name in ("hierarchical", "factorized")]
    with pytest.raises(UsageError, match="different encodings"):
        events.evaluate(*sides)


def test_states_are_the_mergeable_ones(protocol: EventProtocol) -> None:
    for pair in pairs(protocol, [PREDICTED], [TRUTH]):
        assert all(isinstance(state, State) for state in protocol.score(pair, in_order=True).values())


def test_synthetic_recordings_contain_every_category() -> None:
    seen = {CATEGORIES[at] for at in np.unique(TRUTH.category)}
    assert seen == set(CATEGORIES)
    again = synthetic.recording(episodes=5, seconds=4, seed=13)
    assert pickle.dumps(again) == pickle.dumps(TRUTH)
    assert len(TRUTH.episodes) == 5
    assert {episode.stratum for episode in TRUTH.episodes} == {"platformer", "shooter", "desktop"}
