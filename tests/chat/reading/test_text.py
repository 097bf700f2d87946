"""What a text says: facts about English."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import pytest

from assay.chat import ChatbotEvaluator
from assay.chat.reading.quantities import parse_number
from assay.chat.reading.text import Reader, Reading


@functools.cache
def reader() -> Reader:
    return ChatbotEvaluator().reader


def read(text: str) -> Reading:
    return reader().read(text)


def figures(text: str) -> list[tuple[str, float, float, str]]:
    return [(q.kind, round(q.low, 2), round(q.high, 2), q.role) for q in read(text).quantities]


def words(text: str, key: str) -> list[str]:
    return [text[m.start : m.end] for m in read(text).stated(key)]


@pytest.mark.parametrize("word", ["rain", "rains", "raining", "rained", "rainy", "Rainfall", "RAIN"])
def test_rain_in_all_its_forms(word: str) -> None:
    assert words(f"It is {word} here", "states.rain") == [word]


@pytest.mark.parametrize("word", ["train", "terrain", "brain", "Ukraine", "drain", "rainbow", "grain"])
def test_rain_inside_other_words_is_not_rain(word: str) -> None:
    assert words(f"It is {word} here", "states") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-5°C", ("temperature", -5, -5, "actual")),
        ("−5 °C", ("temperature", -5, -5, "actual")),
        ("minus 5 degrees", ("temperature", -5, -5, "actual")),
        ("minus twenty-five degrees", ("temperature", -25, -25, "actual")),
        ("five degrees below freezing", ("temperature", -5, -5, "actual")),
        ("14–16 °C", ("temperature", 14, 16, "actual")),
        ("16 to 14 °C", ("temperature", 14, 16, "actual")),
        ("between 14 and 16 degrees", ("temperature", 14, 16, "actual")),
        ("−5–−2 °C", ("temperature", -5, -2, "actual")),
        ("50–59°F", ("temperature", 10, 15, "actual")),
        ("feels like 12°C", ("temperature", 12, 12, "feels_like")),
        ("a high of 18°C", ("temperature", 18, 18, "high")),
        ("lows around 9°C", ("temperature", 9, 9, "low")),
        ("18°C (high)", ("temperature", 18, 18, "high")),
        ("65 %", ("percentage", 65, 65, "actual")),
        ("18 km/h", ("speed", 5, 5, "actual")),
        ("1,013 hPa", ("pressure", 1013, 1013, "actual")),
        ("2 cm", ("precipitation", 20, 20, "actual")),
        ("a 15-degree day", ("temperature", 15, 15, "actual")),
    ],
)
def test_figures(text: str, expected: tuple[str, float, float, str]) -> None:
    assert figures(text) == [expected]


@pytest.mark.parametrize(
    "text", ["15", "15:30", "2026-11-15", "3 pm", "COVID-19", "room 15 C-wing"[:7], "on 5 May", "v1.2.3"]
)
def test_these_are_not_figures(text: str) -> None:
    assert figures(text) == []


def test_several_roles_in_one_sentence() -> None:
    text = "It's 15°C, feels like 12°C, with a high of 18°C and a low of 9°C."
    assert [role for *_, role in figures(text)] == ["actual", "feels_like", "high", "low"]


@pytest.mark.parametrize(
    "text",
    [
        "no rain",
        "not raining",
        "It isn't raining",
        "without rain",
        "rain is not expected",
        "rain isn't likely",
        "rain-free",
        "0% chance of rain",
        "the chance of rain is 0%",
        "no snow, rain or wind",
        "rain is unlikely",
        "It won’t rain",
        "if it rains",
        "in case of rain",
        "Will it rain?",
        "unless it rains",
    ],
)
def test_rain_is_not_stated(text: str) -> None:
    assert words(text, "states.rain") == []


@pytest.mark.parametrize(
    "text",
    [
        "rain",
        "no snow but rain",
        "It's not cold, and rain falls",
        "not only rain",
        "no doubt it will rain",
        "No. Rain.",
        "40% chance of rain",
    ],
)
def test_rain_is_stated(text: str) -> None:
    assert [word.lower() for word in words(text, "states.rain")] == ["rain"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("in Helsinki", ["helsinki"]),
        ("weather in new york today", ["new york city"]),
        ("São Paulo and Malmö", ["sao paulo", "malmo"]),
        ("Have a nice day in Nice", ["nice"]),
        ("Reading about Mobile phones, Of course", []),
        ("It is 5°C in Reading", ["reading"]),
        ("Most people Split the bill", []),
        ("in March and on Sunday", []),
        ("helsinki weather", ["helsinki"]),
        ("Rio de Janeiro", ["rio de janeiro"]),
    ],
)
def test_places(text: str, places: list[str]) -> None:
    assert [place.name for place in read(text).places] == places


def test_dates_and_clock_times() -> None:
    text = "On 20 November, November 21st or 2026-11-22, at 15:30 or 3 pm."
    moments = [(m.month, m.day, m.hour, m.minute) for m in read(text).moments]
    assert moments == [
        (11, 20, None, None),
        (11, 21, None, None),
        (11, 22, None, None),
        (None, None, 15, 30),
        (None, None, 15, 0),
    ]


@pytest.mark.parametrize(
    ("digits", "value"),
    [
        ("15", 15.0),
        ("15.3", 15.3),
        ("15,3", 15.3),
        ("1,013", 1013.0),
        ("1.013,5", 1013.5),
        ("1,234,567", 1234567.0),
        ("1.2.3", None),
        ("9" * 40, None),
    ],
)
def test_numbers(digits: str, value: float | None) -> None:
    parsed = parse_number(digits)
    assert (parsed[0] if parsed else None) == value


def test_a_phrase_crosses_white_space_and_typographic_apostrophes() -> None:
    assert words("Don’t \n forget the umbrella", "advice.consider") == ["Don’t"] or words(
        "Don’t  forget it", "advice.consider"
    )
    assert words("Based\ton this", "flow") == ["Based\ton"]
    assert words("Based, on this", "flow") == []


def test_a_long_text_says_the_same_again_and_again() -> None:
    sentence = 'It is  **15 °C** in Oslo, <b class="warm day"  title="wet">with rain</b> and no snow.\t '
    once, times = read(sentence), 2_000
    often = read(sentence * times)
    for key, mentions in once.lists.items():
        again = [(at * len(sentence) + m.start, at * len(sentence) + m.end) for at in range(times) for m in mentions]
        assert [(m.start, m.end) for m in often.all(key)] == again
    assert [q.start for q in often.quantities] == [at * len(sentence) + once.quantities[0].start for at in range(times)]
    assert [place.name for place in often.places] == ["oslo"] * times


def test_names_of_the_suite_are_places_whatever_their_case() -> None:
    history = [{"user": "I live in Xanaduville.", "assistant": "Noted."}]
    for names, measured in (([], False), (["Xanaduville"], True)):
        evaluator = ChatbotEvaluator(names=names)
        entry = evaluator.evaluate_response("Hm?", "xanaduville is cold.", "agent", None, history)["context_retention"]
        assert entry["measured"] is measured


@pytest.mark.slow
def test_a_word_in_two_keyword_lists_counts_for_the_same_one_in_every_process() -> None:
    """Names of lists must not be kept in a set: its order differs between processes."""
    program = (
        "from assay.chat import ChatbotEvaluator\n"
        "text = 'check a snow this time next week Sat me Maybe it is raining in Helsinki now.'\n"
        "lists = ChatbotEvaluator().reader.read(text).lists\n"
        "print([(key, m.start, m.asserted) for key in sorted(lists) for m in lists[key]])\n"
    )
    read_as = []
    for seed in ("0", "5", "6"):
        command, env = [sys.executable, "-c", program], {**os.environ, "PYTHONHASHSEED": seed}
        read_as.append(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
    assert read_as[0] == read_as[1] == read_as[2]
