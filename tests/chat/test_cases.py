"""Facts about answers: each line of the data files is one, with the score it must have."""

from __future__ import annotations

import functools
import json
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
# Written by somebody who knew the specification and not the code.
UNSEEN = _lines("unseen_cases.jsonl")
MORE = [*_lines("more_cases.jsonl"), *_lines("reading_cases.jsonl"), *UNSEEN]
GERMAN = _lines("cases_de.jsonl")
FRENCH = _lines("cases_fr.jsonl")


@functools.cache
def evaluator(domain: str) -> ChatbotEvaluator:
    return ChatbotEvaluator(domain=domain)


@pytest.mark.parametrize("case", [*GIVEN, *MORE, *GERMAN, *FRENCH], ids=lambda case: case["id"])
def test_case_holds(case: dict[str, Any]) -> None:
    entries = evaluator(case.get("domain", "weather")).evaluate_response(**case["input"])
    for metric, relation, expected in case["expect"]:
        if metric == "pass":
            answer = answer_of(_transcript(case["input"]), 0, evaluator(case.get("domain", "weather")))
            assert answer.passed is expected, answer.failures
            continue
        entry = entries[metric]
        if relation == "measured":
            assert entry["measured"] is expected, entry["details"]
        else:
            assert OPERATORS[relation](entry["score"], expected), entry["details"]


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
