"""Log-probabilities in files and tables: loss by kind, calibration error, and the bits of a training loop."""

from __future__ import annotations

import csv
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.events.assay.streams import MS, key, move, stream, typed

from assay.errors import ColumnError
from assay.events import EventStream, codec, decode, encode, evaluate
from assay.events.actions.estimates import ActionFigures
from assay.events.evaluation import EventReport
from assay.events.training.incremental import Evaluation
from assay.events.training.likelihood import row_calibrations
from assay.report.html import events as page
from assay.stats import Resampling

HALF, TENTH = math.log(0.5), math.log(0.1)


@cache  # at the first call: an encoder is compiled, which importing this module must not do
def keys() -> list[str]:
    return [encode(stream([key(at * 500, press=at % 2 == 0)])) for at in range(4)]


def wrong() -> str:
    return encode(stream([key(500, 0x42, press=False)]))


def rows(texts: list[str], logprobs: list[Any]) -> list[dict[str, Any]]:
    return [{"text": text, "logprob": value} for text, value in zip(texts, logprobs, strict=True)]


def scored(predicted: Any, truth: Any, **rest: Any) -> EventReport:
    return evaluate(predicted, truth, protocols=["assay"], reps=20, **rest)


def test_figures_by_hand() -> None:
    # Four keys. The model is certain of three, of which one is wrong, and gives one half to the last, which is right:
    # in the highest tenth it says 1 and is right in 2 of 3, in another it says ½ and is right: (3 · 1/3 + 1 · 1/2) / 4.
    guesses = rows([keys()[0], wrong(), keys()[2], keys()[3]], [0.0, 0.0, -0.0, HALF])
    truths = rows(keys(), [HALF, TENTH, HALF, None])
    report = scored(guesses, truths)
    flat = report.flat("assay")
    assert flat["calibration_error"] == pytest.approx(1.5 / 4, abs=1e-9)
    assert flat["nll"] == pytest.approx(-(2 * HALF + TENTH) / 3, abs=1e-9)
    details = report.protocols["assay"].details
    assert details["likelihood"] == [{"kind": "keyboard", "n": 3, "nll": pytest.approx(flat["nll"])}]
    low, high = details["calibration"]
    assert (low["from"], low["n"], low["right"]) == (0.5, 1, 1.0)
    assert low["confidence"] == pytest.approx(0.5)
    assert (high["from"], high["n"], high["confidence"]) == (0.9, 3, pytest.approx(1.0))
    assert high["right"] == pytest.approx(2 / 3)
    assert high["over_confidence"] == pytest.approx(1 / 3, abs=1e-9)
    assert "Calibration" in page.render({"": report})
    json.dumps(report.to_json(), allow_nan=False)


def test_kinds_have_separate_losses_and_frames_have_none() -> None:
    moves = encode(stream([move(900, 5, 5)]))
    frame = "<EVENT_START><SCREEN><0><1><2><fake_image_placeholder><EVENT_END>"
    truths = rows([keys()[0], moves, frame], [HALF, TENTH, -50.0])
    report = scored([keys()[0], moves, frame], truths)
    assert report.protocols["assay"].details["likelihood"] == [
        {"kind": "keyboard", "n": 1, "nll": pytest.approx(-HALF)},
        {"kind": "mouse", "n": 1, "nll": pytest.approx(-TENTH)},
    ]
    flat = report.flat("assay")
    assert flat["nll"] == pytest.approx(-(HALF + TENTH) / 2)
    assert flat["calibration_error"] is None  # the predictions have no log-probabilities
    assert report.protocols["assay"].details["calibration"] == []


def test_without_log_probabilities_nothing_is_said() -> None:
    report = scored(keys(), keys())
    assert (report.flat("assay")["nll"], report.flat("assay")["calibration_error"]) == (None, None)
    assert "Calibration</h" not in page.render({"": report})


def test_predictions_of_another_number_are_left_out_and_reported() -> None:
    report = scored(rows(keys()[:3], [0.0] * 3), rows(keys(), [HALF] * 4))
    assert report.flat("assay")["calibration_error"] is None
    assert report.flat("assay")["nll"] == pytest.approx(-HALF)
    assert any("calibration pairs by position" in said for said in report.warnings)


# --- formats ---------------------------------------------------------------------------------------------------------


def saved(folder: Path, form: str, table: list[dict[str, Any]]) -> Any:
    path = folder / f"{len(list(folder.iterdir()))}.{form}"
    if form == "list":
        return table
    if form == "pandas":
        import pandas

        return pandas.DataFrame(table)
    if form == "arrow table":
        return pa.Table.from_pylist(table)
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    elif form == "json":
        path.write_text(json.dumps(table))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(table), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows({k: json.dumps(v) if k == "logprob" else v for k, v in row.items()} for row in table)
    return path


FORMS = ("list", "jsonl", "json", "parquet", "csv", "arrow table", "pandas")


def as_tokens(value: float) -> list[float]:
    return [value / 2, value / 4, value / 4]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tokens", [False, True], ids=["events", "tokens"])
@pytest.mark.parametrize("shape", ["event", "episode"])
def test_every_format_gives_the_bits_of_the_training_loop(form: str, tokens: bool, shape: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    codecs = codec("hierarchical")
    truths = [codecs.quantise(stream(typed(at, 6), f"e{at}")) for at in range(3)]
    guesses = [side[rng.permutation(len(side))] if at else side for at, side in enumerate(truths)]
    # Halves, so that thirds and quarters of them add up without rounding.
    scores = [[-np.round(rng.exponential(1, len(side)) * 8) / 8 for side in truths] for _ in range(2)]
    sides = []
    for streams, values in ((guesses, scores[1]), (truths, scores[0])):
        table = []
        for one, logprobs in zip(streams, values, strict=True):
            texts = codecs.encode_each(one)
            given = [as_tokens(value) for value in logprobs.tolist()] if tokens else logprobs.tolist()
            name = one.episodes[0].name
            if shape == "episode":
                table.append({"episode": name, "text": "".join(texts), "logprob": given})
            else:
                table += [{"episode": name, "text": t, "logprob": v} for t, v in zip(texts, given, strict=True)]
        sides.append(saved(tmp_path, form, table))
    found = scored(*sides).flat("assay")
    training = Evaluation(["assay"], reps=20)
    for ours, theirs, true, said in zip(guesses, truths, *scores, strict=True):
        lengths = np.array([len(theirs)])
        states = row_calibrations(ours, theirs, lengths, (true, said))
        training.update_rows(ours, theirs, lengths, beside={"assay": states})
    expected = training.compute().flat("assay")
    assert expected["nll"] is not None
    assert (found["nll"], found["calibration_error"]) == (expected["nll"], expected["calibration_error"])


@pytest.mark.parametrize("form", ["list", "jsonl", "parquet", "csv"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-1.0, 0.5], r"row 2: a log-probability must be at most 0, got 0.5. Give natural logarithms, not prob"),
        ([[-1.0], [0.25, 0.25]], r"row 2: a log-probability must be at most 0, got 0.5"),
        ([True, False], r"row 1: the column of log-probabilities contains True, not a number"),
    ],
)
def test_what_is_not_a_log_probability_is_refused(form: str, values: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match=message):
        decode(saved(tmp_path, form, rows(keys()[:2], values)))


def test_an_episode_needs_one_for_each_event() -> None:
    with pytest.raises(ColumnError, match="a row with 4 events has 3 log-probabilities"):
        decode([{"text": "".join(keys()), "logprob": [-1.0] * 3}])


def test_log_probabilities_stay_with_their_events_and_are_part_of_the_digest() -> None:
    read: EventStream = decode(rows(keys(), [-1.0, None, -3.0, -4.0]))
    assert read.logprob is not None
    assert read[np.array([3, 1])].logprob == pytest.approx([-4.0, math.nan], nan_ok=True)
    digests = {scored(keys(), rows(keys(), [value] * 4)).truth.sha256 for value in (HALF, TENTH, None)}
    assert len(digests) == 3


def test_a_table_of_stored_runs_keeps_its_loss() -> None:
    """States of an older version, which had no losses by kind."""
    report = scored(rows(keys(), [HALF] * 4), rows(keys(), [TENTH] * 4))
    tally = report.protocols["assay"].tally
    plan = Resampling("event", reps=5)
    expected = ActionFigures(tally, plan, 10 * MS).calibration()["nll"].value
    for piles in tally._piles.values():
        del piles["likelihood"]
    assert ActionFigures(tally, plan, 10 * MS).calibration()["nll"].value == expected
