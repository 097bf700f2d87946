"""Data that was asked for and is absent is something that went wrong, whether or not tool results were handed over."""

from __future__ import annotations

from typing import Any

import pytest

from assay.chat import ChatbotEvaluator

TRUTH = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}}
GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no tool was called": {"tool_calls": []},
    "the truth": {"weather_data_used": TRUTH},
    "a tool's result": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}, "result": TRUTH}]},
}


def entry(query: str, response: str, domain: str = "weather", **given: Any) -> Any:
    evaluator = ChatbotEvaluator(domain=domain, metrics=["error_recovery"])
    return evaluator.evaluate_response(query, response, "a", **given)["error_recovery"]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(
    ("query", "response"),
    [
        ("What's the weather in Oslo?", "I hope you have a great day!"),
        ("What's the weather in Oslo?", ""),
        ("What's the temperature in Oslo right now?", "Thank you for asking! Let me know if there is anything else."),
        ("Should I take an umbrella in Oslo tomorrow?", "Yes, I recommend taking one."),
        ("Will it be sunny in Oslo tomorrow?", "You asked whether it will be sunny in Oslo tomorrow."),
        ("What's the humidity in Oslo?", "The humidity in Oslo is something people ask about."),
        ("What should I wear in Oslo today?", "Wear a warm coat."),
        ("What's the weather in Oslo?", "Oslo is in the north, at 60 degrees latitude."),
    ],
)
def test_silence_about_absent_data_is_measured_and_costs(query: str, response: str, given: str) -> None:
    found = entry(query, response, **GIVEN[given])
    assert found["measured"]
    assert found["score"] == pytest.approx(0.3)
    assert [line["id"] for line in found["evidence"]] == ["silence"]


@pytest.mark.parametrize("query", ["How much is the blue shirt?", "Is the red kettle in stock?"])
def test_the_same_holds_in_another_domain(query: str) -> None:
    assert entry(query, "Thanks for your question!", domain="shop")["score"] == pytest.approx(0.3)


@pytest.mark.parametrize("given", GIVEN)
def test_saying_that_data_is_missing_is_not_silence(given: str) -> None:
    found = entry("Is it windy in Oslo?", "I don't have that information.", **GIVEN[given])
    assert found["measured"]
    assert [line["id"] for line in found["evidence"]] == ["acknowledged"]


@pytest.mark.parametrize(
    ("query", "response"),
    [
        ("Hello!", "Hi there!"),
        ("What's the weather?", "Which city do you mean?"),
        ("What's the weather in Oslo?", "It is 5 °C and raining in Oslo."),
    ],
)
def test_nothing_went_wrong_if_no_data_was_due_or_it_was_given(query: str, response: str) -> None:
    assert not entry(query, response)["measured"]
