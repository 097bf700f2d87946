"""Names that a suite's domain does not know are errors with the nearest name, when the suite is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import assay_command

from assay.chat.suites import read_suite
from assay.chat.yamlfile import parse_yaml
from assay.errors import SourceError

SHOP = """name: metro
version: 1
domain: shop
scenarios:
  - id: fare
    kind: product
    turns:
      - user: How much is a single ticket?
        truth: {product: single ticket, price: 5.5, availability: in stock}
        calls: [get_fare]
"""
WEATHER = """name: mine
version: 1
scenarios:
  - id: a
    kind: current
    preferences: {dislikes_cold: true, home_city: Oslo}
    turns:
      - user: What's the weather in Oslo?
        truth:
          current: {city: Oslo, temperature: 5, main_condition: light rain}
          forecast: {tomorrow: {high: 7, low: 1}}
        calls: [get_current_weather: {city: Oslo}]
"""


def error_of(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        read_suite(parse_yaml(text, "mine.yaml"))
    return str(caught.value)


def test_known_names_are_fine() -> None:
    for text in (SHOP, WEATHER):
        read_suite(parse_yaml(text, "mine.yaml"))


FIELD = "there is no field of a truth called"


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (SHOP, "price", "prize", f"9: scenarios[0].turns[0].truth.prize: {FIELD} 'prize'. Did you mean 'price'?"),
        (SHOP, "in stock", "in stok", "the domain has no state called 'in stok'. Did you mean 'in stock'?"),
        (SHOP, "5.5", "cheap", "9: scenarios[0].turns[0].truth: truth.price is 'cheap', not a number"),
        (WEATHER, "temperature", "temprature", f"10: scenarios[0].turns[0].truth.current.temprature: {FIELD}"),
        (WEATHER, "high", "hihg", f"11: scenarios[0].turns[0].truth.forecast.tomorrow.hihg: {FIELD} 'hihg'"),
        (WEATHER, "{city: Oslo, temp", "{date: 2026-13-19, city: Oslo, temp", "'2026-13-19', which is not a date"),
        (WEATHER, "light rain", "light rian", "no state called 'light rian'. Did you mean 'rain'?"),
        (WEATHER, "get_current", "get_curent", "calls[0]: there is no tool called 'get_curent_weather'. Did you mean"),
        (WEATHER, "dislikes_cold", "dislikes_cld", "6: scenarios[0].preferences.dislikes_cld: there is no preference"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_one(text: str, old: str, new: str, says: str) -> None:
    assert says in error_of(text.replace(old, new, 1))


def test_tools_of_ones_own_are_named_by_the_suite() -> None:
    own = WEATHER.replace("get_current_weather", "look_up")
    assert "Add your own tools to the suite's 'tools'" in error_of(own)
    read_suite(parse_yaml(own.replace("version: 1", "version: 1\ntools: [look_up]"), "mine.yaml"))
    # A domain without a list of tools checks those of the suite, if it names any.
    assert "Did you mean 'get_fair'?" in error_of(SHOP.replace("version: 1", "version: 1\ntools: [get_fair]"))


def test_any_calls_are_accepted_if_the_turn_says_so() -> None:
    suite = read_suite(parse_yaml(SHOP.replace("[get_fare]", "any"), "mine.yaml"))
    assert suite.scenarios[0].turns[0].calls is None
    assert "Write calls: [get_fare], or calls: any" in error_of(SHOP.replace("[get_fare]", "get_fare"))


def test_preferences_in_another_form_are_read() -> None:
    read_suite(parse_yaml(WEATHER.replace("dislikes_cold: true", "dislikes: [cold]"), "mine.yaml"))


def test_the_command_line_finds_them_before_anything_is_played(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SHOP.replace("price", "prize"), encoding="utf-8")
    done = assay_command("chat", "suites", file)
    assert done.returncode == 2
    assert "Did you mean 'price'?" in done.stderr


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (SHOP, "{product: single ticket, price: 5.5, availability: in stock}", "{}",
         "9: scenarios[0].turns[0].truth: the truth is empty, so any answer would pass"),
        (SHOP, ", price: 5.5, availability: in stock", "",
         "9: scenarios[0].turns[0].truth: the truth tells nothing of 'single ticket', so any answer would pass. "
         "Add what is true, such as price, currency, stock"),
        (SHOP, "truth: {product: single ticket, price: 5.5, availability: in stock}", "weather: Oslo",
         "9: scenarios[0].turns[0].weather: the suite is about 'shop', and the weather tells nothing of it"),
        (WEATHER, "current: {city: Oslo, temperature: 5, main_condition: light rain}\n          "
         "forecast: {tomorrow: {high: 7, low: 1}}", "current: {city: Oslo}", "the truth tells nothing of 'Oslo'"),
    ],
)  # fmt: skip
def test_a_truth_by_which_no_answer_is_wrong_is_an_error(text: str, old: str, new: str, says: str) -> None:
    assert old in text
    assert says in error_of(text.replace(old, new, 1))


def test_a_subject_alone_is_enough_for_checks_of_ones_own() -> None:
    subject = SHOP.replace(", price: 5.5, availability: in stock", "")
    for check in ("checks: [task_completion >= 0.7]", "says: [ticket]", "never_says: [free]"):
        read_suite(parse_yaml(subject.replace("calls: [get_fare]", check), "mine.yaml"))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("checks: [accuracy > 1]", "10: scenarios[0].turns[0].checks[0]: a score is between 0 and 1, so that no answer "
         "passes 'accuracy > 1'. Write accuracy >= 1"),
        ("checks: [accuracy < 0]", "so that no answer passes 'accuracy < 0'. Write accuracy <= 0"),
        ("checks: [accuracy >= 0.9, accuracy < 0.9]",
         "10: scenarios[0].turns[0].checks[1]: no answer passes both 'accuracy >= 0.9' and 'accuracy < 0.9'"),
        ("checks: [accuracy >= 0.9, accuracy not measured]", "no answer passes both"),
        ("checks: [accuracy == 0.5, accuracy == 0.6]", "no answer passes both"),
        ('says: ["€"]\n        never_says: ["€"]',
         "11: scenarios[0].turns[0].never_says[0]: an answer that says '€' says '€' too, so that none could pass"),
        ("says: [Ticket 5]\n        never_says: [free, ticket]", "never_says[1]: an answer that says 'Ticket 5' says"),
    ],
)  # fmt: skip
def test_what_no_answer_can_pass_is_an_error(lines: str, says: str) -> None:
    assert says in error_of(SHOP.replace("calls: [get_fare]", lines))


def test_demands_that_an_answer_can_pass_together_are_fine() -> None:
    for lines in (
        "checks: [accuracy >= 0.5, accuracy <= 0.5, accuracy measured]",
        "checks: [accuracy > 0.5, accuracy < 0.51, task_completion < 0.1]",
        "checks: [accuracy not measured, accuracy not measured]",
        "says: [ticket]\n        never_says: [ticket machine]",
    ):
        read_suite(parse_yaml(SHOP.replace("calls: [get_fare]", lines), "mine.yaml"))


PERSONA = """name: mine
version: 1
scenarios:
  - id: a
    kind: persona
    persona: {goal: {dislikes_cold: true, units: imperial}, city: Oslo}
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (PERSONA, "dislikes_cold", "dislike_cold",
         "6: scenarios[0].persona.goal.dislike_cold: there is no goal of a persona called 'dislike_cold'. "
         "Did you mean 'dislikes_cold'?"),
        (PERSONA, "imperial", "imperal",
         'a persona has no words for units: "imperal". It can be "imperial" or "metric"'),
        (PERSONA, "true", "{a: 1}", 'no words for dislikes_cold: {"a": 1}. It can be true'),
        (PERSONA, "Oslo", "Osllo", "persona.city: there is no city called 'Osllo'. Did you mean 'Oslo'?"),
        (WEATHER, "get_current_weather: {city", "get_current_weather: {citty",
         "12: scenarios[0].turns[0].calls[0].arguments: there is no argument of get_current_weather called 'citty'. "
         "Did you mean 'city'?"),
        (WEATHER, "weather: {city: Oslo", "weather: {city: Osloo",
         "calls[0].arguments: there is no city called 'Osloo'"),
        (WEATHER, "current: {city: Oslo", "current: {city: Osloo",
         "truth: there is no city called 'Osloo'. Did you mean"),
        (SHOP.replace("get_fare", "place_order: {product: Wool Hat}"), "{product: Wool", "{prodct: Wool",
         "there is no argument of place_order called 'prodct'. Did you mean 'product'?"),
    ],
)  # fmt: skip
def test_misspelt_goals_cities_and_arguments_are_errors(text: str, old: str, new: str, says: str) -> None:
    read_suite(parse_yaml(text, "mine.yaml"))
    assert old in text
    assert says in error_of(text.replace(old, new, 1))


LOOKED_UP = """name: mine
version: 1
scenarios:
  - id: a
    kind: current
    turns: [{user: "What's the weather like?", weather: CITY}]
"""


@pytest.mark.parametrize("city", ["Oslo", "Köln", '"Paris, FR"', "New York City", '"Washington D.C."', "Longyearbyen"])
def test_a_city_may_be_written_in_every_known_way(city: str) -> None:
    read_suite(parse_yaml(LOOKED_UP.replace("CITY", city), "mine.yaml"))


@pytest.mark.parametrize("city", ["Helsinky", "Londom", "San Fransisco", "Kleinkleckersdorf", '","'])
def test_a_city_that_nobody_has_can_be_added_to_the_names(city: str) -> None:
    text = LOOKED_UP.replace("CITY", city)
    assert "If it is spelled right, add it to the suite's 'names'" in error_of(text)
    if city != '","':
        read_suite(parse_yaml(text.replace("version: 1", f"version: 1\nnames: [{city}]"), "mine.yaml"))


def test_a_city_of_ones_own_needs_no_entry_where_the_user_names_it_or_nothing_is_like_it() -> None:
    own = WEATHER.replace("in Oslo?", "in Osloo?").replace("city: Oslo", "city: Osloo")
    read_suite(parse_yaml(own, "mine.yaml"))
    read_suite(parse_yaml(WEATHER.replace("current: {city: Oslo", "current: {city: Kleinkleckersdorf"), "mine.yaml"))


def test_arguments_of_a_tool_of_ones_own_are_not_checked() -> None:
    own = WEATHER.replace("get_current_weather: {city: Oslo}", "get_current_weather: {where: Oslo}")
    assert "Add get_current_weather to the suite's 'tools' if it is a tool of your own" in error_of(own)
    read_suite(parse_yaml(own.replace("version: 1", "version: 1\ntools: [get_current_weather]"), "mine.yaml"))


def test_a_city_that_the_embedded_weather_does_not_have_ends_a_run_before_it_begins(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(LOOKED_UP.replace("CITY", "Grindelwald"), encoding="utf-8")
    done = assay_command("chat", "run", "--suite", file, "--agents", "google-adk", "--no-store")
    assert done.returncode == 2
    assert "the embedded weather has no city called 'Grindelwald', which the scenario 'a' needs" in done.stderr


def test_the_arguments_of_tools_are_those_of_the_assistants() -> None:
    import inspect

    from assay.chat.domains import DOMAINS
    from assay.chat.world.shop import TOOLS

    known = {tool.__name__: list(inspect.signature(tool).parameters) for tool in TOOLS}
    assert {name: list(names) for name, names in DOMAINS.get("shop").arguments.items()} == known
    weather = DOMAINS.get("weather")
    assert [*weather.arguments] == [*weather.tools]
