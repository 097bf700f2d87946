"""What is kept between answers never changes a result: equal data share it, and nothing else does."""

from __future__ import annotations

from datetime import date
from typing import Any

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.scoring.kept import KeptByValue

QUERY, ANSWER = "What's the weather in Helsinki?", "It is 15 °C and clear in Helsinki."


def test_a_result_is_computed_once_for_equal_data() -> None:
    computed: list[Any] = []

    def compute(data: Any) -> str:
        computed.append(data)
        return str(data)

    kept = KeptByValue(compute)
    assert kept({"a": [1, "b"]}) == kept({"a": [1, "b"]}) == "{'a': [1, 'b']}"
    assert len(computed) == 1


def test_data_of_another_type_are_not_equal() -> None:
    kept = KeptByValue(repr)
    assert [kept(value) for value in (1, 1.0, True, "1")] == ["1", "1.0", "True", "'1'"]


def test_data_that_are_not_plain_are_computed_each_time() -> None:
    kept = KeptByValue(repr)
    assert kept({"day": date(2026, 11, 20)}) == "{'day': datetime.date(2026, 11, 20)}"


def test_a_truth_that_its_owner_changes_is_another_truth() -> None:
    evaluator = ChatbotEvaluator()
    truth: dict[str, Any] = {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "clear"}}

    def scores() -> tuple[float, float]:
        entries = evaluator.evaluate_response(QUERY, ANSWER, "bot", truth)
        return entries["accuracy"].score, entries["groundedness"].score

    assert scores() == (1.0, 1.0)
    truth["current"]["temperature"] = 5
    assert scores() == (0.7, 0.0)
    truth["current"]["temperature"] = 15
    assert scores() == (1.0, 1.0)


def test_questions_of_different_days_share_a_truth_and_not_what_it_supports() -> None:
    forecast = [{"date": "2026-11-20", "temperature_max": 9, "temperature_min": 1, "condition": "snow"}]
    truth = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}, "forecast": forecast}
    expected = {"Weather in Oslo tomorrow?": 1.0, "Weather in Oslo?": 0.0}
    for queries in (list(expected), list(reversed(expected))):
        evaluator = ChatbotEvaluator(metrics=["groundedness"])
        for query in queries:
            entries = evaluator.evaluate_response(query, "It will be 5 °C in Oslo tomorrow.", "x", truth)
            assert entries["groundedness"].score == expected[query]
