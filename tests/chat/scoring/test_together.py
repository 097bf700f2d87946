"""Answers that are scored together get what each would get alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.chat import ChatbotEvaluator, Transcript, Turn
from assay.chat.running.scoring_worker import ScoredTurn, _outcomes
from assay.chat.scoring.answering import UnscoredTurn, answer_of, answers_of
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.errors import UsageError

CASES = Path(__file__).parent.parent
RAIN = {"current": {"city": "Oslo", "temperature": 7, "main_condition": "rain"}}


@pytest.mark.parametrize("domain", ["weather", "shop"])
def test_answers_scored_together_have_the_entries_of_each_alone(domain: str) -> None:
    names = ("cases.jsonl", "cases2.jsonl", "more_cases.jsonl", "cases_de.jsonl", "cases_fr.jsonl")
    cases = [json.loads(line) for name in names for line in (CASES / name).read_text("utf-8").splitlines()]
    inputs = [case["input"] for case in cases if case.get("domain", "weather") == domain]
    alone, together = ChatbotEvaluator(domain=domain), ChatbotEvaluator(domain=domain)
    found = together.evaluate_responses(iter(inputs))
    for given, entries in zip(inputs, found, strict=True):
        assert entries == alone.evaluate_response(**given)


def _case(at: int, **other: Any) -> dict[str, Any]:
    response = f"It is {at} °C and raining in Oslo."
    return {"user_query": "How is Oslo?", "response": response, "framework_name": "x", **other}


def test_any_number_of_answers_is_streamed() -> None:
    endless = (_case(at) for at in itertools.count())
    found = list(itertools.islice(ChatbotEvaluator().evaluate_responses(endless), 250))
    assert [entries["groundedness"]["measured"] for entries in found] == [False] * 250


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (_case(1, response=5), "case 130: response is"),
        (_case(1, truth=RAIN), "case 130: there is no argument called 'truth'"),
        ({"user_query": "How is Oslo?", "framework_name": "x"}, "case 130: response is missing"),
        ("It is 1 °C.", "case 130: a case is"),
    ],
)
def test_a_wrong_case_is_named_and_the_answers_before_it_are_not_lost(wrong: Any, says: str) -> None:
    cases: Iterator[Any] = itertools.chain(map(_case, range(130)), [wrong], map(_case, range(9)))
    found = []
    with pytest.raises(UsageError) as caught:  # noqa: PT012
        for entries in ChatbotEvaluator().evaluate_responses(cases):
            found.append(entries)  # noqa: PERF402
    assert str(caught.value).startswith(says)
    assert len(found) == 130


def _transcript(*said: str) -> Transcript:
    turns = [Turn(user="How is Oslo?", assistant=one, truth=RAIN) for one in said]
    return Transcript(agent="x", scenario="oslo", turns=turns)


def test_turns_scored_together_are_the_answers_of_each_alone() -> None:
    evaluator = ChatbotEvaluator()
    transcript = _transcript("It is 7 °C and raining.", "", "It is 21 °C and clear.", "I don't know.")
    turns = [UnscoredTurn(transcript, at) for at in range(4)]
    assert answers_of(turns, evaluator) == [answer_of(transcript, at, evaluator) for at in range(4)]
    assert [answer.passed for answer in answers_of(turns, evaluator)] == [True, False, False, False]


def test_a_turn_that_cannot_be_scored_leaves_the_others_scored() -> None:
    def demands_rain(context: Any) -> Finding | None:
        if "snow" in context.response.text:
            raise RuntimeError("there is no snow here")
        return None

    rule = Rule("rains", 0.5, "it rains", when=demands_rain)
    metric = Metric(name="rainy", group="own", base=0.5, asks="Does it rain?", rules=(rule,))
    evaluator = ChatbotEvaluator(metrics=[metric])
    transcript = _transcript("It rains.", "It snows: snow!", "It rains again.")
    found = _outcomes(evaluator, [UnscoredTurn(transcript, at) for at in range(3)])
    assert [type(one) for one in found] == [ScoredTurn, str, ScoredTurn]
    assert "there is no snow here" in str(found[1])
