"""What is claimed, denied, over, wished or said by others; days counted from today; compound figures."""

from __future__ import annotations

import functools
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from assay.chat import ChatbotEvaluator, Domain
from assay.chat.domains.shop import read_truth
from assay.chat.reading.text import Reader


@functools.cache
def reader(domain: str = "weather") -> Reader:
    return ChatbotEvaluator(domain=domain).reader


def stated(text: str, key: str = "states") -> list[str]:
    return [text[m.start : m.end] for m in reader().read(text).stated(key)]


def figures(text: str, domain: str = "weather") -> list[tuple[str, float, float, str]]:
    quantities = reader(domain).read(text).quantities
    return [(q.kind, round(q.low, 3), round(q.high, 3), q.role) for q in quantities]


@pytest.mark.parametrize(
    "text",
    [
        "the sun won't be out",
        "the sun isn't out",
        "anything but sunny",
        "far from sunny",
        "I wish I could report sunshine",
        "the rain has cleared",
        "the rain is finally over",
        "the rain gives way to a dry evening",
        "it is 15 °C, not 25 °C and sunny",
        "no more snow",
        "snow is ruled out",
        "you said it was sunny",
        "say goodbye to the sun",
        "rain does not fall",
        "rain will not come",
    ],
)
def test_what_is_denied_wished_over_or_said_by_others_is_not_stated(text: str) -> None:
    assert stated(text) == []


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("it won't stop raining", ["raining"]),
        ("the rain isn't letting up", ["rain"]),
        ("the rain isn't heavy", ["rain"]),
        ("not far from the city, rain falls", ["rain"]),
        ("nothing but rain", ["rain"]),
        ("no rain and sunny skies", ["sunny"]),
        ("the rain gives way to clear skies", ["clear", "clear skies"]),
        ("I wish it were sunny, but it's raining", ["raining"]),
    ],
)
def test_these_are_stated(text: str, states: list[str]) -> None:
    assert sorted(set(stated(text))) == states


def test_a_denial_is_a_claim_and_a_condition_is_none() -> None:
    denied, condition = (reader().read(text).all("states")[0] for text in ("It isn't raining.", "If it isn't raining."))
    assert (denied.asserted, denied.refuted) == (False, True)
    assert (condition.asserted, condition.refuted) == (False, False)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the day after tomorrow", "+2"),
        ("in two days", "+2"),
        ("in 3 days", "+3"),
        ("five days from now", "+5"),
        ("in a week", "+7"),
        ("over the next 3 days", "next 3"),
        ("a 5-day forecast", "next 5"),
    ],
)
def test_days_counted_from_today(text: str, day: str) -> None:
    assert f"times.{day}" in [mention.keys[0] for mention in reader().read(text).all("times")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 hour 35 minutes", ("duration", 1.583, 1.583, "actual")),
        ("1 h 30 min", ("duration", 1.5, 1.5, "actual")),
        ("2 days and 6 hours", ("duration", 54.0, 54.0, "actual")),
        ("2 ft 3 in", ("precipitation", 685.8, 685.8, "actual")),
        ("in the mid-teens", ("temperature", 14.0, 16.0, "actual")),
        ("in the low 20s", ("temperature", 20.0, 23.0, "actual")),
        ("in the upper seventies", ("temperature", 25.0, 26.111, "actual")),
        ("15 ºC", ("temperature", 15.0, 15.0, "actual")),
        ("−5…−2 °C", ("temperature", -5.0, -2.0, "actual")),
        ("wind from 240°", ("temperature", 240.0, 240.0, "other")),
        ("60° north", ("temperature", 60.0, 60.0, "other")),
        ("the sea is still chilly at 14 °C", ("temperature", 14.0, 14.0, "other")),
        ("14 °C in the water", ("temperature", 14.0, 14.0, "other")),
        ("by the sea it is 14 °C", ("temperature", 14.0, 14.0, "actual")),
        ("a heat index of 38 °C", ("temperature", 38.0, 38.0, "feels_like")),
        ("15 °C under heavy showers", ("temperature", 15.0, 15.0, "actual")),
    ],
)
def test_one_figure(text: str, expected: tuple[str, float, float, str]) -> None:
    assert figures(text) == [expected]


@pytest.mark.parametrize(("text", "value"), [("€1.2k", 1200.0), ("1.2k euros", 1200.0), ("€2 million", 2_000_000.0)])
def test_multiplied_prices(text: str, value: float) -> None:
    assert figures(text, "shop") == [("euro", value, value, "actual")]


def test_numbers_of_the_clock_and_of_nothing_are_not_counted() -> None:
    assert reader().read("open 24/7").numbers == []
    assert len(reader().read("rated 4.5").numbers) == 1


def test_a_price_with_two_digits_swapped_is_wrong() -> None:
    truth = {"product": "Trail Runner", "price": 89.90, "stock": 4}
    shop = ChatbotEvaluator(domain="shop", metrics=["accuracy", "groundedness"])
    entries = shop.evaluate_response("How much is the Trail Runner?", "It costs €98.90 and is in stock.", "a", truth)
    assert entries["accuracy"]["score"] == 0.7
    assert entries["groundedness"]["score"] == 0.0


def test_a_domain_may_list_some_units_of_a_kind(tmp_path: Path) -> None:
    for name in ("domain.toml", "en.toml"):
        with as_file(files("assay.chat.domains.shop") / name) as file:
            shutil.copy(file, tmp_path / name)
    settings = (tmp_path / "domain.toml").read_text("utf-8")
    kept = "".join(line for line in settings.splitlines(keepends=True) if not line.startswith(("second", "minute")))
    (tmp_path / "domain.toml").write_text(kept, "utf-8")
    evaluator = ChatbotEvaluator(domain=Domain("shop", tmp_path, read_truth))
    found = evaluator.reader.read("Delivery takes 2 days, not 30 seconds.").quantities
    assert [(figure.kind, figure.low) for figure in found] == [("duration", 2.0)]


@pytest.mark.parametrize(
    ("text", "several"),
    [("in Springfield", True), ("in Springfield, Illinois", False), ("in Cambridge MA", False), ("in Oslo", False)],
)
def test_several_places_of_one_name(text: str, several: bool) -> None:
    assert [place.several for place in reader().read(text).places][:1] == [several]
