"""Teacher-forced batches: rows one by one, offline, copied inputs, and shifts that were forgotten or done twice."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.events.training.batches import MASKED, Batch, batch, hierarchical, plain_reading, vocabulary

from assay import events
from assay.errors import AssayWarning, UsageError
from assay.events import EventReport, synthetic
from assay.events.protocols import PROTOCOLS
from assay.events.training.tokens import TokenEvaluation
from assay.types import Ints

CODEC = hierarchical()
TABLE = vocabulary(CODEC)
PROTOCOL_NAMES = PROTOCOLS.names()
RECORDING = synthetic.recording(episodes=6, seconds=3, seed=2)
ROWS = [RECORDING[RECORDING.episode == at][:60] for at in range(6)]
EPISODES = [f"recording {at}" for at in range(6)]
STRATA = ["even", "odd"] * 3


@cache  # at the first call: an encoder is compiled, which importing this module must not do
def imperfect() -> Batch:
    return batch(CODEC, TABLE, ROWS, wrong=0.02, seed=4)


@cache
def perfect() -> Batch:
    return batch(CODEC, TABLE, ROWS, seed=4)


def evaluation(**options: Any) -> TokenEvaluation:
    return TokenEvaluation(TABLE, options.pop("protocols", PROTOCOL_NAMES), reps=20, **options)


def score(made: Batch, **options: Any) -> EventReport:
    scored = evaluation(**options)
    scored.update(made.predictions, made.labels, episodes=EPISODES, strata=STRATA)
    return scored.compute()


def same(a: EventReport, b: EventReport) -> None:
    for name, result in a.protocols.items():
        assert result.estimates == b.protocols[name].estimates, name
        assert result.tally == b.protocols[name].tally, name


def test_a_batch_equals_its_rows_one_by_one() -> None:
    single = evaluation()
    for at in reversed(range(6)):
        one = slice(at, at + 1)
        single.update(imperfect().predictions[one], imperfect().labels[one], episodes=EPISODES[one], strata=STRATA[one])
    same(single.compute(), score(imperfect()))


def test_processes_that_are_merged_equal_one() -> None:
    parts = [evaluation() for _ in range(3)]  # the last of them without data
    for part, chosen in zip(parts, (slice(0, 4), slice(4, 6)), strict=False):
        part.update(
            imperfect().predictions[chosen],
            imperfect().labels[chosen],
            episodes=EPISODES[chosen],
            strata=STRATA[chosen],
        )
    for part in parts[1:]:
        parts[0].merge(part)
    same(parts[0].compute(), score(imperfect()))


def test_padding_of_either_side_changes_nothing() -> None:
    left = batch(CODEC, TABLE, ROWS, wrong=0.02, seed=4, left=True)
    whole = score(batch(CODEC, TABLE, ROWS, seed=4)).flat()
    assert score(batch(CODEC, TABLE, ROWS, seed=4, left=True)).flat() == whole
    wider = [np.pad(side, ((0, 0), (0, 7)), constant_values=MASKED) for side in (left.predictions, left.labels)]
    same(score(Batch(wider[0], wider[1], wider[1])), score(left))


def test_it_gives_the_bits_of_the_same_events_in_a_file(tmp_path: Path) -> None:
    """Each row is a recording: every protocol, estimate and interval is that of `assay events eval` on two files."""
    sides = plain_reading(CODEC, TABLE, imperfect().predictions, imperfect().labels)
    paths = []
    for name, texts in zip(("predicted", "truth"), sides, strict=True):
        paths.append(tmp_path / f"{name}.jsonl")
        with paths[-1].open("w") as file:
            for episode, stratum, row in zip(EPISODES, STRATA, texts, strict=True):
                for text in row:
                    file.write(json.dumps({"episode": episode, "stratum": stratum, "text": text}) + "\n")
    offline = events.evaluate(*paths, protocols=PROTOCOL_NAMES, reps=20, rows="event")
    same(score(imperfect()), offline)


def test_rows_without_names_give_the_bits_of_a_list_of_events() -> None:
    sides = plain_reading(CODEC, TABLE, imperfect().predictions, imperfect().labels)
    offline = events.evaluate(*([text for row in side for text in row] for side in sides), reps=20)
    running = evaluation(protocols=["owa"])
    running.update(imperfect().predictions, imperfect().labels)
    assert running.compute().protocols["owa"].estimates == offline.protocols["owa"].estimates


# --- where predictions stand -----------------------------------------------------------------------------------------


def quiet(predictions: Ints, labels: Ints, inputs: Ints | None = None, *, shift: bool = True) -> EventReport:
    """A report, and its warnings in the report only."""
    scored = evaluation(protocols=["owa"], shift=shift)
    scored.update(predictions, labels, inputs=inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        return scored.compute()


def suspicions(report: EventReport) -> list[str]:
    return [sentence for sentence in report.warnings if "of the predictions" in sentence or "labels equal" in sentence]


def test_a_model_that_is_right_is_not_suspected() -> None:
    report = quiet(perfect().predictions, perfect().labels, perfect().inputs)
    assert report.flat()["comparable"] == 1
    assert report.flat()["keyboard_accuracy"] == 1
    assert suspicions(report) == []
    assert suspicions(quiet(imperfect().predictions, imperfect().labels)) == []


def test_a_model_that_guesses_is_not_suspected() -> None:
    guesses = np.random.default_rng(0).choice(list(TABLE), perfect().labels.shape)
    assert suspicions(quiet(guesses, perfect().labels, perfect().inputs)) == []


def test_copying_the_input_earns_nothing_and_is_named() -> None:
    report = quiet(perfect().inputs, perfect().labels, perfect().inputs)
    assert report.flat()["comparable"] == 0
    assert suspicions(report) == [
        "100 % of the predictions equal the token before the one asked for, and 0 % the one asked for. The model "
        "copies its input."
    ]


def test_without_inputs_copying_and_a_double_shift_are_both_named() -> None:
    (sentence,) = suspicions(quiet(perfect().inputs, perfect().labels))
    assert "Either the model copies its input, or" in sentence
    assert "double shift" in sentence


def test_a_double_shift_is_named() -> None:
    """Predictions and labels were put side by side by the caller, and are shifted again here."""
    predictions, labels, inputs = perfect().predictions[:, :-1], perfect().labels[:, 1:], perfect().inputs[:, :-1]
    aligned = quiet(predictions, labels, inputs)
    assert aligned.flat()["comparable"] == 0
    found = suspicions(aligned)
    assert any("double shift" in sentence for sentence in found)
    assert any("give `shift=False`" in sentence for sentence in found)
    right = quiet(predictions, labels, inputs, shift=False)
    assert right.flat()["comparable"] == 1
    assert suspicions(right) == []


def test_a_missing_shift_is_named() -> None:
    report = quiet(perfect().predictions, perfect().labels, perfect().inputs, shift=False)
    assert report.flat()["comparable"] == 0
    (sentence,) = suspicions(report)
    assert "A shift by one is missing" in sentence


def test_suspicions_are_warned_of_aloud() -> None:
    scored = evaluation(protocols=["owa"])
    scored.update(perfect().inputs, perfect().labels)
    with pytest.warns(AssayWarning, match="copies its input"):
        scored.compute()


def test_counts_of_suspicion_add_up() -> None:
    whole = evaluation()
    whole.update(imperfect().predictions, imperfect().labels, inputs=imperfect().inputs)
    parts = evaluation()
    for at in range(6):
        one = slice(at, at + 1)
        parts.update(imperfect().predictions[one], imperfect().labels[one], inputs=imperfect().inputs[one])
    assert parts.alignment == whole.alignment


# --- assay@1 ---------------------------------------------------------------------------------------------------------


def actions(predictions: Ints) -> EventReport:
    scored = evaluation(protocols=["assay"])
    scored.update(predictions, perfect().labels, inputs=perfect().inputs, episodes=EPISODES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        return scored.compute()


def test_a_model_that_is_right_has_skill_1() -> None:
    flat = actions(perfect().predictions).flat("assay")
    assert flat["f1"] == flat["skill"] == flat["coverage"] == 1


def test_copying_the_input_has_no_skill() -> None:
    """Read where the labels stand, copied tokens never make an event."""
    flat = actions(perfect().inputs).flat("assay")
    assert flat["f1"] == flat["recall"] == flat["coverage"] == 0
    assert flat["precision"] is None
    assert flat["skill"] is not None
    assert flat["skill"] <= 0


def test_repeating_the_event_before_has_no_skill_and_is_named() -> None:
    """Whole events copied, each with its own time, match themselves in a stream: assay@1 sees through it."""
    truth = evaluation(protocols=["assay"]).read(perfect().predictions, perfect().labels)
    ends = np.cumsum(truth.lengths)
    before = np.concatenate([np.r_[end - n, end - n : end - 1] for n, end in zip(truth.lengths, ends, strict=True)])
    scored = evaluation(protocols=["assay", "owa"])
    scored.update_rows(replace(truth, predicted=truth.truth[before]), episodes=EPISODES)
    report = scored.compute()
    assert "copies" in {finding["kind"] for finding in report.protocols["assay"].details["verdict"]}
    flat = report.flat("assay")
    assert flat["f1"] is not None
    assert flat["f1"] > 0.9
    assert flat["skill"] == 0
    assert report.flat("owa")["keyboard_accuracy"] != 1


@pytest.mark.slow
def test_one_wrong_token_costs_at_most_one_event_of_a_stream() -> None:
    """Every labelled token of a row in turn: at most one true action is missed."""
    row = slice(2, 3)
    labels, right = perfect().labels[row], perfect().predictions[row]
    wrong = next(number for number, token in TABLE.items() if token == "hello")
    for at in np.flatnonzero(labels[0, 1:] != MASKED)[:60]:
        spoiled = right.copy()
        spoiled[0, at] = wrong
        scored = evaluation(protocols=["assay"])
        scored.update(spoiled, labels)
        flat = scored.compute().flat("assay")
        assert flat["deletions"] is not None
        assert flat["deletions"] <= 1
        assert flat["insertions"] == 0


# --- what may be given -----------------------------------------------------------------------------------------------


def test_logits_are_taken_by_their_largest() -> None:
    size = max(TABLE) + 1
    logits = np.zeros((*imperfect().predictions.shape, size), np.float32)
    np.put_along_axis(logits, imperfect().predictions[..., None], 1.0, axis=-1)
    scored = evaluation()
    scored.update((logits, "hidden states"), (imperfect().labels,), episodes=EPISODES, strata=STRATA)
    same(scored.compute(), score(imperfect()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluation(encoding="json"), "the json encoding has no tokens of its own"),
        (
            lambda: evaluation().update(imperfect().predictions, imperfect().labels, episodes=["one"]),
            "1 episodes for 6 rows",
        ),
        (
            lambda: evaluation().update(imperfect().predictions, imperfect().labels, strata="abcdef"),
            "strata for 6 rows",
        ),
        (lambda: evaluation().update(imperfect().predictions * 0.5, imperfect().labels), "hold float64"),
    ],
)
def test_what_cannot_be_read_is_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
