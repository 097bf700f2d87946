"""The scripted model reads cities, days, questions, facts and tool results in messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chat.world.weather_dialog import NOW, answer, called, user

from assay.chat.world.cities import all_cities
from assay.chat.world.scripted import ScriptedModel
from assay.chat.world.scripted.cities import find_cities
from assay.chat.world.scripted.conversation import read_conversation, read_result
from assay.chat.world.scripted.understanding import parse_message
from assay.chat.world.scripted.user_facts import read_profile, read_user_facts
from assay.chat.world.scripted.weather_data import failure_kind
from assay.chat.world.scripted.when import When, read_when


@pytest.fixture(scope="module")
def model() -> ScriptedModel:
    return ScriptedModel(seed=42)


# --- cities -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cities"),
    [
        ("What's the weather in Helsinki?", ["Helsinki"]),
        ("weather in helsinki", ["Helsinki"]),
        ("weather in new york please", ["New York"]),
        ("How is São Paulo today?", ["São Paulo"]),
        ("is it cold in reykjavik", ["Reykjavik"]),
        ("Helsinki or Madrid, which is warmer?", ["Helsinki", "Madrid"]),
        ("compare oslo, paris and rio de janeiro", ["Oslo", "Paris", "Rio de Janeiro"]),
        ("What's the weather in Atlantis?", ["Atlantis"]),
        ("weather in foobarville", ["Foobarville"]),
        ("temperature in budapest pls", ["Budapest"]),
        ("Is it nice in Nice?", ["Nice"]),
        ("Cork or Split?", ["Cork", "Split"]),
        ("It was nice of you to split that", []),
        ("Should I take an umbrella?", []),
        ("Can I go running in May?", []),
        ("What's the weather in general like at home in the evening?", []),
        ("Which is warmer, Oslo or oslo?", ["Oslo"]),
    ],
)
def test_cities_are_found_in_any_spelling(text: str, cities: list[str]) -> None:
    assert find_cities(text) == cities


def test_every_city_is_found_in_upper_and_lower_case() -> None:
    for city in all_cities():
        assert find_cities(f"What's the weather in {city.name}?") == [city.name]
        assert len(find_cities(f"today, how warm is it in {city.name.lower()}?")) == 1, city.name


# --- days -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("What's the weather in Oslo?", When()),
        ("and now?", When(now=True)),
        ("tonight", When(now=True)),
        ("tomorrow", When(ahead=(1,))),
        ("today and tomorrow", When(now=True, ahead=(1,))),
        ("the day after tomorrow", When(ahead=(2,))),
        ("in three days", When(ahead=(3,))),
        ("in 10 days", When(beyond=True)),
        ("on Friday", When(weekdays=("friday",))),
        ("this weekend", When(weekdays=("saturday", "sunday"))),
        ("the next 3 days", When(span=3)),
        ("a five-day forecast", When(span=5)),
        ("the next few days", When(span=5)),
        ("What's the forecast?", When(span=5)),
        ("tomorrow's forecast", When(ahead=(1,))),
        ("on 17 January", When(dates=((1, 17),))),
        ("January 17th", When(dates=((1, 17),))),
        ("on the 20th of May", When(dates=((5, 20),))),
        ("2026-01-17", When(dates=((1, 17),))),
        ("next month", When(beyond=True)),
        ("yesterday", When(past=True)),
        ("later today", When(now=True, later_today=True)),
        ("I may go", When()),
    ],
)
def test_days_that_a_message_names(text: str, when: When) -> None:
    assert read_when(text) == when


# --- questions and facts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "asks", "topic"),
    [
        ("What's the weather in Oslo?", "weather", ""),
        ("How cold is it?", "weather", ""),
        ("is it nice?", "weather", ""),
        ("How does the week look in Oslo?", "weather", ""),
        ("I'm flying to Oslo tomorrow.", "weather", ""),
        ("Should I take an umbrella?", "advice", "umbrella"),
        ("What should I wear?", "advice", "clothes"),
        ("Can I go running tomorrow?", "advice", "running"),
        ("Is it a good day for a picnic?", "advice", "picnic"),
        ("What should I do today?", "advice", ""),
        ("Should I buy shares?", None, ""),
        ("Can you recommend a good restaurant?", None, ""),
        ("Who is the mayor of Helsinki?", None, ""),
        ("What do you know about me?", None, ""),
        ("I hate the cold.", None, ""),
        ("I'd like to know the weather in Oslo", "weather", ""),
    ],
)
def test_what_a_message_asks_for(text: str, asks: str | None, topic: str) -> None:
    request = parse_message(text)
    assert (request.asks, request.topic) == (asks, topic)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I hate the cold", ["hates the cold"]),
        ("I really don't like rain.", ["doesn't like rain"]),
        ("I prefer indoor activities and I live in Oslo", ["prefers indoor activities", "lives in Oslo"]),
        ("Please remember that I can't stand the heat!", ["can't stand the heat"]),
        ("I'm not a fan of wind", ["is not a fan of wind"]),
        ("I'm from Turku.", ["lives in Turku"]),
        ("My home city is Espoo", ["lives in Espoo"]),
        ("Use Fahrenheit please", ["prefers Fahrenheit"]),
        ("My name is Sam", ["is called Sam"]),
        ("What do I like?", []),
        ("Do you know that I hate rain?", []),
        ("I'd love to see Rome", []),
        ("Give me the weather in Fahrenheit", []),
        ("I love it", []),
    ],
)
def test_facts_stated_about_the_user(text: str, facts: list[str]) -> None:
    assert [fact.third_person for fact in read_user_facts(text)[0]] == facts


def test_question_next_to_a_preference_is_read() -> None:
    request = parse_message("I hate the cold, what should I wear in Oslo?")
    assert [fact.third_person for fact in request.facts] == ["hates the cold"]
    assert (request.asks, request.cities) == ("advice", ("Oslo",))


def test_profile_is_read_at_any_level_and_the_latest_value_counts() -> None:
    stored = {"status": "success", "preferences": {"dislikes_cold": True, "units": "imperial", "home_city": "Oslo"}}
    profile = read_profile([stored], ["prefers Celsius", "lives in Turku"])
    assert (profile.dislikes, profile.unit, profile.home) == (frozenset({"cold"}), "C", "Turku")


# --- messages of any framework ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(NOW),
        str(NOW),
        json.dumps({"result": NOW}),
        json.dumps({"result": json.dumps(NOW)}),
        json.dumps([{"type": "text", "text": json.dumps(NOW)}]),
        json.dumps({"status": "success", "weather": NOW}),
    ],
)
def test_results_are_read_as_json_python_literal_or_text(model: ScriptedModel, content: str) -> None:
    question = user("What's the weather in Helsinki?")
    text = answer(
        model,
        question,
        *called(("get_current_weather", {"city": "Helsinki"}, content), ("get_user_preferences", {}, "{}")),
    )
    assert "-4" in text
    assert "light snow" in text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"status": "error", "error_message": "there is no city called 'X' in the weather service"}, "unknown_city"),
        ("Error: the weather service did not answer in time. Try again later", "timeout"),
        ("Error: Function failed. Error: the weather service failed with status 500", "unavailable"),
        (
            "An error occurred while running the tool. Error: the weather service has been asked too often",
            "rate_limited",
        ),
        ({"error": "the weather service's answer cannot be read"}, "malformed"),
        ("Error: the weather service does not accept the key", "refused"),
        ("Error: Function failed.", "unclear"),
    ],
)
def test_failure_kinds_are_distinguished(content: object, kind: str) -> None:
    _, failure = read_result(content if isinstance(content, str) else json.dumps(content))
    assert failure is not None
    assert failure_kind(failure) == kind


def test_content_may_be_text_parts_or_absent() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": "You are an agent. Your internal name is 'weather_assistant'."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "What's the weather"}, {"type": "text", "text": "in Oslo?"}],
        },
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "It's 3 °C."},
        {"role": "user", "content": "And tomorrow?"},
    ]
    exchanges = read_conversation(messages)
    assert [(one.said, one.answer) for one in exchanges] == [
        ("What's the weather\nin Oslo?", "It's 3 °C."),
        ("And tomorrow?", None),
    ]
