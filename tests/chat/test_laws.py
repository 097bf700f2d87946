"""Laws that hold for every metric and every text."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.chat import METRIC_NAMES, ChatbotEvaluator
from assay.chat.scoring.metric import band

WORDS = (
    "It's",
    "15°C",
    "-5 °C",
    "59°F",
    "80%",
    "rain",
    "no rain",
    "sunny",
    "clear",
    "in Helsinki",
    "in Paris",
    "tomorrow",
    "now",
    "I recommend",
    "umbrella",
    "a coat",
    "because",
    "sorry",
    "couldn't retrieve",
    "however",
    "Which city?",
    "assuming",
    "perhaps",
    "based on",
    "you mentioned",
    "the",
    "is",
    "and",
    ".",
    ",",
    "\n",
    "?",
    '"',
    "<b>",
    "**",
    "\x00",
    "🌧",
    "مطر",
    "feels like",
    "high of",
    "between 3 and 7 degrees",
    "if",
    "not",
    "12 km/h",
    "1,013 hPa",
    "try again",
    "5",
    "cold",
)

texts = st.one_of(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join), st.text(max_size=120))
truths = st.one_of(
    st.none(),
    st.builds(
        lambda t, c: {"current": {"city": "Helsinki", "temperature": t, "main_condition": c}},
        st.one_of(st.none(), st.floats(-60, 60), st.just(math.nan)),
        st.sampled_from(["rain", "Clear", "snow", "dust", ""]),
    ),
)
turns = st.fixed_dictionaries({}, optional={"user": texts, "assistant": texts})
calls = st.builds(
    lambda name, error: {"name": name, "arguments": {"city": "Helsinki"}, "result": {"temp": 15}, "error": error},
    st.sampled_from(["get_weather", "recommend"]),
    st.one_of(st.none(), st.just("timeout")),
)
inputs = st.fixed_dictionaries(
    {
        "user_query": texts,
        "response": texts,
        "framework_name": st.sampled_from(["GADK", "MS", "other"]),
        "weather_data_used": truths,
        "conversation_history": st.lists(turns, max_size=3),
        "user_preferences": st.sampled_from([None, {}, {"dislikes_cold": True}, {"likes": ["outdoor"]}]),
        "response_time": st.one_of(st.none(), st.floats(0, 100)),
        "tool_call_count": st.one_of(st.none(), st.integers(0, 9)),
        "tool_calls": st.one_of(st.none(), st.lists(calls, max_size=4)),
    }
)


@functools.cache
def evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


@settings(max_examples=300, deadline=None)
@given(inputs)
@pytest.mark.slow
def test_score_is_base_plus_points_and_evidence_is_exact(arguments: dict[str, Any]) -> None:
    entries = evaluator().evaluate_response(**arguments)
    assert tuple(entries) == METRIC_NAMES
    for entry in entries.values():
        total = entry["base"] + sum(line["points"] for line in entry["evidence"])
        assert entry["score"] == round(min(1.0, max(0.0, round(total, 9))), 2)
        assert entry["band"] == band(entry["score"])
        assert entry["measured"] or not entry["evidence"]
        assert entry["details"].endswith(".")
        for line in entry["evidence"]:
            assert line["points"] != 0
            for span in (line, *line["also"]):
                assert arguments["response"][span["start"] : span["end"]] == span["words"]
    assert json.loads(json.dumps(entries)) == entries


@settings(max_examples=50, deadline=None)
@given(inputs)
@pytest.mark.slow
def test_the_same_input_gives_the_same_entries(arguments: dict[str, Any]) -> None:
    assert evaluator().evaluate_response(**arguments) == ChatbotEvaluator().evaluate_response(**arguments)


def test_unmeasured_entries_have_the_neutral_score() -> None:
    entries = evaluator().evaluate_response("Thanks!", "You are very welcome, any time.", "other")
    unmeasured = {name: entry["score"] for name, entry in entries.items() if not entry["measured"]}
    assert unmeasured == {
        name: 0.7 if name == "repeatability" else 0.5 for name in METRIC_NAMES if name != "task_completion"
    }


def test_bands() -> None:
    assert [band(score) for score in (0.0, 0.39, 0.4, 0.69, 0.7, 0.89, 0.9, 1.0)] == [
        "poor",
        "poor",
        "acceptable",
        "acceptable",
        "good",
        "good",
        "excellent",
        "excellent",
    ]


def test_every_metric_declares_itself() -> None:
    for metric in evaluator().metrics:
        assert metric.asks.endswith("?")
        assert metric.rules
        assert all(rule.says and not rule.says.endswith(".") and rule.points for rule in metric.rules)


def test_contradicting_states_are_cited_in_the_order_of_the_text() -> None:
    truth = {"current": {"city": "Helsinki", "main_condition": "Clear"}}
    answer = "In Helsinki there is drizzle, then snow, then rain."
    entry = evaluator().evaluate_response("Weather in Helsinki?", answer, "other", truth)["accuracy"]
    cited = next(line for line in entry.evidence if line["id"] == "state_missing")
    assert [cited["words"], *(span["words"] for span in cited["also"])] == ["drizzle", "snow", "rain"]
