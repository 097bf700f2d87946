"""A wrong type is an error that names the field; odd text is scored; time grows with length and no faster."""

from __future__ import annotations

import functools
import time
from typing import Any

import pytest

from assay.chat import ChatbotEvaluator
from assay.errors import UsageError

GOOD: dict[str, Any] = {
    "user_query": "What's the weather in Helsinki?",
    "response": "It is 15°C.",
    "framework_name": "agent",
}


@functools.cache
def evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("user_query", None, "user_query"),
        ("user_query", 5, "user_query"),
        ("response", None, "response"),
        ("response", b"bytes", "response"),
        ("response", ["a"], "response"),
        ("framework_name", 3, "framework_name"),
        ("weather_data_used", "rain", "weather_data_used"),
        ("weather_data_used", 15, "weather_data_used"),
        ("weather_data_used", {"current": [1]}, "weather_data_used.current"),
        ("weather_data_used", {"current": {"temperature": "warm"}}, "weather_data_used.current.temperature"),
        ("weather_data_used", {"current": {"temperature": [15]}}, "weather_data_used.current.temperature"),
        ("weather_data_used", {"current": {"temperature": True}}, "weather_data_used.current.temperature"),
        ("weather_data_used", {"current": {"temperature": 15, "main_condition": 5}}, "main_condition"),
        ("weather_data_used", {"forecast": [5]}, "weather_data_used.forecast[0]"),
        ("conversation_history", "hello", "conversation_history"),
        ("conversation_history", {"user": "hi"}, "conversation_history"),
        ("conversation_history", ["hi"], "conversation_history[0]"),
        ("conversation_history", [{"user": "a"}, {"user": 5}], "conversation_history[1].user"),
        ("user_preferences", ["cold"], "user_preferences"),
        ("response_time", "fast", "response_time"),
        ("response_time", True, "response_time"),
        ("response_time", -1, "response_time"),
        ("response_time", float("nan"), "response_time"),
        ("tool_call_count", 1.5, "tool_call_count"),
        ("tool_call_count", -1, "tool_call_count"),
        ("tool_call_count", True, "tool_call_count"),
        ("tool_calls", {"name": "x"}, "tool_calls"),
        ("tool_calls", [5], "tool_calls[0]"),
        ("tool_calls", [{"arguments": {}}], "tool_calls[0].name"),
        ("tool_calls", [{"name": "x", "arguments": "city"}], "tool_calls[0].arguments"),
        ("expected_calls", [{"name": 1}], "expected_calls[0].name"),
        ("characteristics", [], "characteristics"),
        ("characteristics", {"files": "five"}, "characteristics.files"),
        ("characteristics", {"setup": "easy"}, "characteristics.setup"),
    ],
)
def test_a_wrong_type_names_its_field(field: str, value: Any, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluator().evaluate_response(**{**GOOD, field: value})
    assert named in str(caught.value)


def test_an_unknown_name_hints_at_the_nearest() -> None:
    with pytest.raises(UsageError, match="weather"):
        ChatbotEvaluator(domain="wether")
    with pytest.raises(UsageError, match="accuracy"):
        ChatbotEvaluator(metrics=["acuracy"])
    with pytest.raises(UsageError, match="no language called 'xx'"):
        ChatbotEvaluator(language="xx")


HOSTILE = {
    "figures": "15°C ",
    "figures and days": "15°C tomorrow, 16°C today. ",
    "one endless sentence": "rain and 15°C in Helsinki tomorrow ",
    "quotation marks": '"is it" ',
    "tags": "<b ",
    "dashes": "-",
    "digits": "1",
    "commas": "1,",
    "dots": "1.",
    "apostrophes": "a'",
    "negations": "no not never ",
    "hypotheses": "if ",
    "cities": "Helsinki Paris ",
    "errors": "error because ",
    "items": "umbrella jacket coat ",
    "questions": "which city? ",
    "newlines": "\n",
    "quoted lines": "> it\n",
    "ranges": "1-",
    "roles": "high of 3°C (low) ",
    "minus": "minus ",
    "control": "\x00\x07",
    "right to left": "مطر ",
    "entities": "&deg;",
    "emphasis": "*_~`",
    "number words": "twenty ",
    "combining": "e\u0301",
}


# Sentences and tables that are read by themselves, however many there are.
REPEATED = {
    "since": "It has been raining since this morning. ",
    "comes from": "down from 31 on Monday to 22, and ",
    "after a day": "After rain on Monday, it is 15 °C in Paris. ",
    "way forward": "However, you could check the site again. ",
    "two cities": "Helsinki has 15°C and Paris rain. ",
    "days": "Rain, and 15°C, on Monday. ",
    "other days": "Monday is 15°C, otherwise rain. ",
    "respectively": "Helsinki and Paris have 15°C and 16°C respectively. ",
    "tables of places": "| Helsinki | Paris |\n|---|---|\n| 15°C | 16°C |\n\n",
    "tables of days": "| Day | Monday | Tuesday |\n|---|---|---|\n| High | 15°C | 16°C |\n\n",
    "corrections": "It is 15°C. I take that back. ",
    "former figures": "It is down from 15°C in Helsinki. ",
    "denied figures": "No, it is 15 °C, not 17 °C. ",
    "without": "It is 15 °C without a cloud. ",
    "spans of days": "from Friday to Sunday rain, ",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.slow(seconds=0.7)
def test_time_is_linear_in_the_length_of_the_answer(kind: str) -> None:
    unit = HOSTILE[kind]
    _seconds(unit, 1000)
    small, large = min(_seconds(unit, 10_000) for _ in range(2)), _seconds(unit, 80_000)
    # Eight times the length; quadratic time would take 64 times as long.
    assert large < 30 * small + 0.05, f"{small:.3f} s, then {large:.3f} s"


@pytest.mark.parametrize("kind", REPEATED)
@pytest.mark.slow(seconds=0.7)
def test_time_is_linear_in_the_number_of_sentences(kind: str) -> None:
    unit = REPEATED[kind]
    _seconds(unit, 1000)
    small, large = min(_seconds(unit, 10_000) for _ in range(2)), _seconds(unit, 320_000)
    # 32 times the length; quadratic time in a tenth of the work would take more than 100 times as long.
    assert large < 64 * small + 0.05, f"{small:.3f} s, then {large:.3f} s"


@pytest.mark.parametrize(
    "unit",
    [
        "It arrives tomorrow, in two working days. ",
        "Three of them are €192 together. ",
        "It is €64 in total. ",
        "It is €64 for members. ",
        "It lasts a month. ",
        "It is 3 days old. ",
        "It is not available. ",
        "A competitor sells it for €64. ",
    ],
)
@pytest.mark.slow(seconds=0.7)
def test_time_is_linear_in_the_number_of_sentences_about_a_shop(unit: str) -> None:
    truth = {"product": "Trail Runner", "price": 64, "currency": "EUR"}

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        shop.evaluate_response("When can I return it?", text, "agent", truth)
        return time.process_time() - start

    shop = ChatbotEvaluator(domain="shop")
    seconds(1000)
    small, large = min(seconds(10_000) for _ in range(2)), seconds(160_000)
    # 16 times the length, as above.
    assert large < 32 * small + 0.05, f"{small:.3f} s, then {large:.3f} s"


def _seconds(unit: str, length: int) -> float:
    """CPU time that an answer takes which repeats a unit up to a length."""
    text = (unit * (length // len(unit) + 1))[:length]
    start = time.process_time()
    evaluator().evaluate_response(
        "is it 15°C in Helsinki tomorrow?",
        text,
        "agent",
        {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "rain"}},
        [{"user": "is it", "assistant": text[:9000]}],
        {"dislikes_rain": True},
    )
    return time.process_time() - start


@pytest.mark.slow
def test_a_megabyte_is_scored() -> None:
    text = "It is 15°C with rain in Helsinki. " * 30_000
    entries = evaluator().evaluate_response("What's the weather in Helsinki?", text, "agent")
    assert entries["task_completion"]["score"] == 0.8


@pytest.mark.slow
def test_a_megabyte_of_different_words_is_scored() -> None:
    text = " ".join(f"reca{at}ing" for at in range(90_000))
    assert evaluator().evaluate_response("Weather in Helsinki?", text, "agent")["task_completion"]["score"] == 0.4


def test_deep_and_looping_tool_results_are_read() -> None:
    deep: list[Any] = [15]
    for _ in range(5000):
        deep = [deep]
    loop: dict[str, Any] = {"temp": 15}
    loop["self"] = loop
    for result in (deep, loop):
        entries = evaluator().evaluate_response(**GOOD, tool_calls=[{"name": "t", "result": result}])
        assert entries["groundedness"]["measured"]


def test_an_answer_leaves_garbage_collection_as_it_was() -> None:
    import gc

    text = "It is 15 °C in Oslo. "
    assert gc.isenabled()
    ChatbotEvaluator(metrics=["accuracy"]).evaluate_response("Weather in Oslo?", text, "x")
    assert gc.isenabled()
    gc.disable()
    try:
        ChatbotEvaluator(metrics=["accuracy"]).evaluate_response("Weather in Oslo?", text, "x")
        assert not gc.isenabled()
    finally:
        gc.enable()
