"""Facts about answers: each line of the data files is one, with the score it must have."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.chat import METRIC_NAMES, ChatbotEvaluator
from assay.chat.checks import OPERATORS
from assay.chat.scoring.answering import answer_of
from assay.chat.transcript import Transcript

HERE = Path(__file__).parent


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


GIVEN = [*_lines("cases.jsonl"), *_lines("cases2.jsonl")]
# Written by somebody who knew the specification and not the code; those called shop-… by somebody who knew both.
UNSEEN = _lines("unseen_cases.jsonl")
MORE = [*_lines("more_cases.jsonl"), *_lines("reading_cases.jsonl"), *UNSEEN]
GERMAN = _lines("cases_de.jsonl")
FRENCH = _lines("cases_fr.jsonl")


@functools.cache
def evaluator(domain: str) -> ChatbotEvaluator:
    return ChatbotEvaluator(domain=domain)


_TOGETHER = 100
GROUPS = [
    cases[at : at + _TOGETHER] for cases in (GIVEN, MORE, GERMAN, FRENCH) for at in range(0, len(cases), _TOGETHER)
]


@pytest.mark.parametrize("cases", GROUPS, ids=lambda cases: f"{cases[0]['id']} to {cases[-1]['id']}")
def test_cases_hold(cases: list[dict[str, Any]]) -> None:
    """Many cases in one test, as one takes a millisecond and a test of its own three; each that fails is named."""
    wrong = [f"{case['id']}: {said}" for case in cases for said in _disagreements(case)]
    assert not wrong, "\n".join(wrong)


def test_a_case_that_does_not_hold_is_named() -> None:
    case = next(case for case in GIVEN if case["id"] == "seed-accuracy-within")
    [said] = _disagreements({**case, "expect": [["accuracy", "==", -1]]})
    assert said.startswith("accuracy == -1, but it is ")


def _disagreements(case: dict[str, Any]) -> Iterator[str]:
    """What a case expects and is not so, with the reasons that the metric gives."""
    reading = evaluator(case.get("domain", "weather"))
    entries = reading.evaluate_response(**case["input"])
    for metric, relation, expected in case["expect"]:
        if metric == "pass":
            answer = answer_of(_transcript(case["input"]), 0, reading)
            found, holds, why = answer.passed, answer.passed is expected, str(answer.failures)
        elif relation == "measured":
            found, why = entries[metric]["measured"], entries[metric]["details"]
            holds = found is expected
        else:
            found, why = entries[metric]["score"], entries[metric]["details"]
            holds = OPERATORS[relation](found, expected)
        if not holds:
            yield f"{metric} {relation} {expected}, but it is {found}: {why}"


def _transcript(given: dict[str, Any]) -> Transcript:
    turn = {"user": given["user_query"], "assistant": given["response"], "tool_calls": given.get("tool_calls")}
    turns = [{**turn, "truth": given.get("weather_data_used")}]
    return Transcript.model_validate({"agent": "agent", "scenario": "case", "turns": turns})


def test_every_metric_has_cases_of_our_own() -> None:
    counts = dict.fromkeys(METRIC_NAMES, 0)
    for case in MORE:
        for metric in {metric for metric, _, _ in case["expect"] if metric != "pass"}:
            counts[metric] += 1
    assert len(MORE) >= 150
    assert min(counts.values()) >= 3, counts


def test_all_given_cases_are_there() -> None:
    assert len(GIVEN) == 27 + 91


@pytest.mark.parametrize("cases", [GERMAN, FRENCH], ids=["German", "French"])
def test_other_languages_have_cases_in_both_domains(cases: list[dict[str, Any]]) -> None:
    assert len(cases) >= 60
    assert sum(case.get("domain") == "shop" for case in cases) >= 10
