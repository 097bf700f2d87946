"""Pairing by position: the report says where it went out of step, and what an alignment would give."""

from __future__ import annotations

import numpy as np
from tests.events.assay.streams import A, key, late, stream, typed

from assay.events import evaluate
from assay.events.actions.positions import _align, align

TRUTH = [event for event in typed(4, 60) if event["kind"] == "keyboard"]


def edit_distance(one: list[int], other: list[int]) -> int:
    """The textbook's table."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(before + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def test_the_alignment_is_a_shortest_edit_path() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        one, other = (rng.integers(0, 3, int(rng.integers(1, 12))) for _ in range(2))
        equal, first = _align(one, other, 40)
        shortest = edit_distance(one.tolist(), other.tolist())
        # An alignment with e equal pairs changes, drops and adds at least max(n, m) − e events.
        assert max(len(one), len(other)) - equal <= shortest
        assert (first < 0) <= (len(one) == len(other))


def test_one_extra_event_is_found_where_it_is() -> None:
    at = 7
    extra = {**key(0, 0x5A), "ts": (TRUTH[at - 1]["ts"] + TRUTH[at]["ts"]) // 2}
    found = align(stream([*TRUTH, extra]), stream(TRUTH))
    assert (found.offset, found.aligned) == (at, len(TRUTH))
    assert found.equal < len(TRUTH) / 2


def test_a_sequence_in_step_has_no_offset() -> None:
    wrong = [{**event, "vk": A + 20} if at % 5 == 0 else event for at, event in enumerate(TRUTH)]
    for guess in (TRUTH, wrong, late(TRUTH, 40)):
        assert align(stream(guess), stream(TRUTH)).offset is None


def test_the_report_says_so_first() -> None:
    extra = {**key(0, 0x5A), "ts": TRUTH[5]["ts"] + 1}
    report = evaluate(stream([*TRUTH, extra]), stream(TRUTH), protocols=("assay", "owa"), reps=1)
    first = report.warnings[0]
    assert first.startswith("Pairing by position went out of step in 1 of 1 episodes, first at event 6")
    assert "assay@1" in first
    assert "100% would once aligned" in first
    alone = evaluate(stream([*TRUTH, extra]), stream(TRUTH), protocols=("assay",), reps=1)
    assert not any("out of step" in warning for warning in alone.warnings)
    in_step = evaluate(stream(TRUTH), stream(TRUTH), protocols=("assay", "owa"), reps=1)
    assert not any("position" in warning for warning in in_step.warnings)


def test_d2e_says_what_it_does_not_see() -> None:
    def said(guess: list[dict[str, object]]) -> str:
        return " ".join(evaluate(stream(guess), stream(TRUTH), protocols=("d2e",), reps=1).warnings)

    half = [event for event in TRUTH if event["ts"] <= TRUTH[-1]["ts"] / 2]
    share = (half[-1]["ts"] - TRUTH[0]["ts"]) / (TRUTH[-1]["ts"] - TRUTH[0]["ts"])
    assert f"d2e@1 compares {share:.0%} of the truth's span" in said(half)
    assert "begin and end about 3.0 s after the truth" in said(late(TRUTH, 3000))
    assert "Frames exist on one side only" in said([*TRUTH, {"kind": "screen", "ts": 0}])
    assert "d2e@1" not in said(TRUTH)
