"""Points for telling, advising and repeating need something true behind them; without a truth they all hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from assay.chat import ChatbotEvaluator

TRUTH: dict[str, Any] = {"current": {"city": "Oslo", "temperature": -4, "main_condition": "clear"}}
ASKED = "What's the weather in Oslo?"
RIGHT = "It is -4 °C and clear in Oslo. I recommend a warm coat because it is cold."
WRONG = "It is 12 °C and clear in Oslo. I recommend a warm coat because it is cold."
VAGUE = "It is between -40 and 50 °C in Oslo and clear. I recommend a warm coat because it is cold."


@cache
def evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


def points(metric: str, said: str, *, user: str = ASKED, truth: Any = TRUTH, **more: Any) -> dict[str, float]:
    entry = evaluator().evaluate_response(user, said, "bot", truth, **more)[metric]
    assert entry["measured"]
    return {line["id"]: line["points"] for line in entry["evidence"]}


@pytest.mark.parametrize("said", [WRONG, VAGUE])
def test_a_figure_that_does_not_hold_completes_nothing(said: str) -> None:
    assert points("task_completion", RIGHT)["figures"] == 0.2
    assert "figures" not in points("task_completion", said)
    assert points("task_completion", said, truth=None)["figures"] == 0.2  # nothing is known against it


def test_small_talk_is_not_completed_by_weather() -> None:
    assert points("task_completion", RIGHT, user="thank you, bye", truth=None).keys() & {"figures", "advice"} == set()


@pytest.mark.parametrize("said", [WRONG, VAGUE])
def test_advice_on_weather_that_does_not_hold_is_baseless(said: str) -> None:
    known: dict[str, Any] = {"user_preferences": {"dislikes_cold": True}}
    assert "baseless" not in points("recommendation_quality", RIGHT)
    assert points("recommendation_quality", said)["baseless"] == -0.2
    assert points("adaptation_quality", said, **known)["baseless"] == -0.1
    assert "baseless" not in points("recommendation_quality", said, truth=None)


def test_repeating_what_does_not_hold_earns_nothing() -> None:
    def repeated(said: str, truth: Any = TRUTH) -> dict[str, float]:
        history = [{"user": ASKED, "assistant": said}]
        return points("repeatability", said, truth=truth, conversation_history=history)

    assert repeated(RIGHT)["same_figure"] == 0.3
    assert not repeated(WRONG).keys() & {"same_figure", "same_advice", "same_items"}
    assert repeated(WRONG, None)["same_figure"] == 0.3


def test_weather_without_a_place_does_not_help() -> None:
    open_question, both = "do i need an umbrella", "It is between -40 and 50 °C with rain. Which city do you mean?"
    asked = points("ambiguity_handling", "Which city do you mean?", user=open_question, truth=None)
    assert asked == {"clarifies": 0.4, "asks_place": 0.2}
    assert points("ambiguity_handling", both, user=open_question, truth=None) == asked | {"nowhere": -0.4}
    # Said of a place that is named, it is help.
    named = "If you are in Oslo: it is -4 °C in Oslo. Which city do you mean?"
    assert "nowhere" not in points("ambiguity_handling", named, user=open_question, truth=None)
