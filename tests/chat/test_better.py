"""For every metric, a plainly better answer outscores a plainly worse one."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from assay.chat import METRIC_NAMES, ChatbotEvaluator

Q = "What's the weather in Helsinki?"
RAIN = {"current": {"city": "Helsinki", "temperature": 5, "main_condition": "rain"}}
CALL = {"name": "get_weather", "arguments": {"city": "Helsinki"}, "result": {"temp": 5}}
BEFORE = [{"user": Q, "assistant": "It's 5°C with rain in Helsinki. I recommend an umbrella."}]

PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "accuracy": (
        {"response": "It's 5°C with rain in Helsinki.", "weather_data_used": RAIN},
        {"response": "It's 15°C and sunny in Helsinki.", "weather_data_used": RAIN},
    ),
    "task_completion": (
        {"response": "It's 5°C with rain in Helsinki; bring an umbrella."},
        {"response": "Helsinki has been the capital since 1812."},
    ),
    "recommendation_quality": (
        {"response": "I recommend an umbrella and a coat because it is wet and cold."},
        {"response": "I recommend being careful."},
    ),
    "context_retention": (
        {"response": "In Helsinki it is still 5°C.", "conversation_history": BEFORE},
        {"response": "It is still 5°C.", "conversation_history": BEFORE},
    ),
    "adaptation_quality": (
        {
            "response": "As you dislike the cold, wear a warm coat.",
            "user_preferences": {"dislikes_cold": True},
            "weather_data_used": RAIN,
        },
        {"response": "Have fun.", "user_preferences": {"dislikes_cold": True}, "weather_data_used": RAIN},
    ),
    "response_time": ({"response": "5°C.", "response_time": 1.0}, {"response": "5°C.", "response_time": 8.0}),
    "tool_call_count": ({"response": "5°C.", "tool_call_count": 1}, {"response": "5°C.", "tool_call_count": 8}),
    "action_planning": (
        {"response": "It's 5°C. Based on this, wear a coat.", "tool_calls": [CALL]},
        {"response": "Wear a coat.", "tool_calls": [CALL, CALL, CALL]},
    ),
    "implementation_effort": (
        {"response": "5°C.", "framework_name": "MS"},
        {"response": "5°C.", "framework_name": "GADK"},
    ),
    "integration_simplicity": (
        {"response": "5°C.", "framework_name": "GADK"},
        {"response": "5°C.", "framework_name": "MS"},
    ),
    "debuggability": ({"response": "5°C.", "framework_name": "GADK"}, {"response": "5°C.", "framework_name": "MS"}),
    "error_recovery": (
        {"response": "I couldn't retrieve the data because of a timeout. Instead, try again in a minute."},
        {"response": "Error 500."},
    ),
    "ambiguity_handling": (
        {"user_query": "What's the weather?", "response": "Which city would you like to know about?"},
        {"user_query": "What's the weather?", "response": "The weather is the state of the air."},
    ),
    "repeatability": (
        {"response": "It's 5°C with rain in Helsinki. I recommend an umbrella.", "conversation_history": BEFORE},
        {"response": "Perhaps it's 20°C, and no umbrella is needed.", "conversation_history": BEFORE},
    ),
    "groundedness": ({"response": "It's 5°C.", "tool_calls": [CALL]}, {"response": "It's 25°C.", "tool_calls": [CALL]}),
}


@functools.cache
def evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_the_better_answer_scores_higher(metric: str) -> None:
    base = {"user_query": Q, "framework_name": "agent"}
    better, worse = (evaluator().evaluate_response(**{**base, **given})[metric] for given in PAIRS[metric])
    assert better["measured"]
    assert worse["measured"]
    assert better["score"] > worse["score"] + 0.05


def test_stuffing_an_answer_with_keywords_does_not_pay() -> None:
    stuffed = (
        "umbrella jacket coat boots scarf gloves recommend suggest because since rain snow clear clouds first then"
    )
    honest = "It's 5°C with rain in Helsinki. I recommend an umbrella because it is wet."
    scores = [
        evaluator().evaluate_response(Q, text, "agent", RAIN, user_preferences={"dislikes_rain": True})
        for text in (honest, stuffed)
    ]
    for name in ("accuracy", "task_completion", "recommendation_quality", "adaptation_quality", "action_planning"):
        assert scores[0][name]["score"] > scores[1][name]["score"], name
