"""An evaluation batch by batch gives the bits of an evaluation at once, whatever the batches and processes."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import events
from assay.errors import SourceError, UsageError
from assay.events import Episode, Evaluation, EventReport, EventStream, synthetic
from assay.events.protocols import PROTOCOLS

TRUTH = synthetic.recording(episodes=5, seconds=3, seed=5)
PREDICTED = synthetic.prediction(TRUTH, synthetic.POOR, seed=6)
NAMES = PROTOCOLS.names()
KEY = "<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>"
OTHER_KEY = "<EVENT_START><KEYBOARD><0><1><2><66><press><EVENT_END>"


def same(a: EventReport, b: EventReport) -> None:
    """Every number, interval and count of both reports is equal, bit for bit."""
    assert list(a.protocols) == list(b.protocols)
    for name, result in a.protocols.items():
        assert result.estimates == b.protocols[name].estimates, name
    # Batches have no source to name, and no order of their own that a digest could be taken in.
    apart = {"source": "", "sha256": None}
    assert a.predicted.to_json() | apart == b.predicted.to_json() | apart
    assert a.truth.to_json() | apart == b.truth.to_json() | apart
    assert a.settings == b.settings


@pytest.fixture(scope="module")
def at_once() -> EventReport:
    return events.evaluate(PREDICTED, TRUTH, protocols=NAMES, reps=20)


@pytest.mark.slow
def test_any_batches_give_the_bits_of_one_evaluation(at_once: EventReport) -> None:
    @settings(max_examples=8)
    @given(st.lists(st.integers(0, len(TRUTH)), max_size=6))
    def check(cuts: list[int]) -> None:
        edges = sorted({0, len(TRUTH), *cuts})
        evaluation = Evaluation(NAMES, reps=20)
        for a, b in itertools.pairwise(edges):
            evaluation.update(PREDICTED[a:b], TRUTH[a:b])
        same(evaluation.compute(), at_once)

    check()


@pytest.mark.slow
def test_processes_merged_in_any_order_give_the_bits_of_one(at_once: EventReport) -> None:
    @settings(max_examples=6)
    @given(st.permutations(range(5)), st.integers(1, 4))
    def check(order: list[int], ranks: int) -> None:
        parts = [Evaluation(NAMES, reps=20) for _ in range(ranks)]
        for at, episode in enumerate(order):
            chosen = np.flatnonzero(TRUTH.episode == episode)
            parts[at % ranks].update(PREDICTED[chosen], TRUTH[chosen])
        whole = pickle.loads(pickle.dumps(parts[0]))  # as it travels from process to process
        for part in parts[1:]:
            whole.merge(part)
        same(whole.compute(), at_once)
        total = sum(parts[1:], parts[0])
        same(total.compute(), at_once)

    check()


def test_complete_episodes_are_scored_at_once_with_the_same_bits(at_once: EventReport) -> None:
    evaluation = Evaluation(NAMES, reps=20)
    for episode in range(5):
        chosen = np.flatnonzero(TRUTH.episode == episode)
        evaluation.update(PREDICTED[chosen], TRUTH[chosen], complete=True)
    assert not evaluation._waiting
    same(evaluation.compute(), at_once)


@pytest.mark.slow
def test_reports_add_up(at_once: EventReport) -> None:
    first = TRUTH.episode < 2
    halves = [events.evaluate(PREDICTED[part], TRUTH[part], protocols=NAMES, reps=20) for part in (first, ~first)]
    same(halves[0] + halves[1], at_once)
    same(halves[1] + halves[0], at_once)
    with pytest.raises(UsageError, match="not scored in the same way"):
        halves[0] + events.evaluate(PREDICTED[first], TRUTH[first], protocols=NAMES, reps=21)


def test_computing_changes_nothing(at_once: EventReport) -> None:
    evaluation = Evaluation(NAMES, reps=20)
    evaluation.update(PREDICTED[:100], TRUTH[:100])
    evaluation.compute()
    evaluation.update(PREDICTED[100:], TRUTH[100:])
    same(evaluation.compute(), at_once)
    same(evaluation.compute(), at_once)


def test_a_reset_evaluation_is_a_new_one(at_once: EventReport) -> None:
    evaluation = Evaluation(NAMES, reps=20)
    evaluation.update(TRUTH, TRUTH)
    evaluation.reset()
    evaluation.update(PREDICTED, TRUTH)
    same(evaluation.compute(), at_once)


def test_texts_and_lists_are_read_as_by_evaluate() -> None:
    evaluation = Evaluation()
    evaluation.update([KEY, OTHER_KEY], [KEY, KEY])
    evaluation.update(KEY, KEY)
    flat = evaluation.compute().flat()
    assert flat["keyboard_accuracy"] == 2 / 3
    assert evaluation.truth.events == 3


def test_a_batch_whose_prediction_is_short_costs_only_what_is_missing() -> None:
    evaluation = Evaluation()
    evaluation.update([KEY], [KEY, KEY])
    evaluation.update([KEY, KEY], [KEY, KEY])
    flat = evaluation.compute().flat()
    assert flat["comparable"] == 3 / 4
    assert flat["keyboard_accuracy"] == 1


@pytest.mark.slow
def test_rows_are_scored_each_on_its_own() -> None:
    """Rows of one episode add up; their order and their batches do not matter."""
    names = (Episode("a"), Episode("b"))
    episode = np.repeat([0, 1, 0], [30, 40, 50]).astype(np.int32)
    truth = replace(TRUTH[:120], episode=episode, episodes=names)
    predicted = replace(PREDICTED[:120], episode=episode, episodes=names)
    whole = Evaluation(NAMES, reps=20)
    whole.update_rows(predicted, truth, [30, 40, 50])
    single = Evaluation(NAMES, reps=20)
    for a, b in ((70, 120), (0, 30), (30, 70)):
        single.update_rows(predicted[a:b], truth[a:b], [b - a])
    same(single.compute(), whole.compute())
    for name in NAMES:
        assert whole.compute().protocols[name].tally == single.compute().protocols[name].tally


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        Evaluation(["nonsense"])
    with pytest.raises(UsageError, match="cannot be merged"):
        Evaluation(seed=1).merge(Evaluation(seed=2))
    with pytest.raises(UsageError, match="the rows have 2 events, the predictions 1"):
        Evaluation().update_rows(TRUTH[:1], TRUTH[:2], [2])
    with pytest.raises(SourceError, match="no true events"):
        Evaluation().compute()


def test_one_side_may_be_as_recorded() -> None:
    """As in `evaluate`, the recorded side is put through the other side's encoding."""
    coded = events.codec("hierarchical")
    text = coded.encode_each(coded.quantise(TRUTH[:50]))
    evaluation = Evaluation()
    evaluation.update(text, EventStream.from_events(TRUTH[:50].to_events()))
    assert evaluation.compute().flat()["timestamp_abs_error_p100_ms"] == 0
