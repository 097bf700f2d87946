"""Tool results about the weather, cleaned for an answer: temperatures in °C, and no text that is not a condition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from assay.chat.world.scripted.conversation import ToolOutcome
from assay.chat.world.scripted.telling import told
from assay.chat.world.wanted_calls import BUNDLED_TOOLS

_KELVIN_ABOVE = 150.0
_KELVIN = 273.15
_LONGEST_CONDITION = 40
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PLAIN = re.compile(r"[a-z][a-z /,'-]*", re.IGNORECASE)
# Words that address the reader of a text; no weather service uses them to describe the sky.
_ADDRESSES = re.compile(
    r"\b(?:ignore|disregard|instruction|instead|assistant|system|prompt|you must|you are|tell the user|say that|reply"
    r"|respond|reveal|forget|important|user)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:(?:very|light|moderate|heavy|extreme|freezing|ragged|scattered|a few|few|broken|overcast|clear|shower"
    r"|intensity|partly|mostly|patchy|thick) )*"
    r"(?:thunderstorms?(?: with (?:(?:light|heavy) )?(?:rain|drizzle))?|snow(?: showers?)?|sleet|rain(?: and snow)?"
    r"|showers?|drizzle(?: rain)?|sky|skies|clouds?|cloudy|mist|fog|haze|smoke|dust|sand|squalls?|tornado|sunny"
    r"|sunshine|clear|overcast)\b",
    re.IGNORECASE,
)
_LONGEST_REPORT = 200
# Shorter texts in a table are values: what they are of stands before them.
_SENTENCE_WORDS = 4
# What a tool of a user's own may say at length: a forecast of some days, a line for each.
_LONGEST_OWN_REPORT = 2_000
# No data written as text ("temperature: 3.2, humidity: 81"), and no bytes that were not text.
_SENTENCE = re.compile(r"[^{}\[\]<>:\n\ufffd]+")
_DEGREES = re.compile(r"\d\s*(?:°|degrees)")
_NAMES_TEMPERATURE = re.compile(r"\b(?:temp|temperature)\b", re.IGNORECASE)
_UNREADABLE = ""
_IMPERIAL = frozenset({"imperial", "fahrenheit", "f", "°f"})
_CELSIUS = ("temperature", "temp", "temperature_c", "temp_c", "temperature_celsius", "celsius")
_FAHRENHEIT = ("temperature_f", "temp_f", "temperature_fahrenheit", "fahrenheit")
_CONDITIONS = ("condition", "conditions", "description", "weather", "sky")
_CAUSES: tuple[tuple[str, str], ...] = (
    (
        "unknown_city",
        r"no city called|unknown city|city not found|not find (?:the |a )?city|no such (?:city|place)|\b404\b",
    ),
    ("timeout", r"in time\b|timed? ?out|timeout"),
    ("rate_limited", r"too often|too many|rate[ -]?limit|\b429\b"),
    ("malformed", r"cannot be read|could not be read|malformed|unreadable|invalid json|\bjson\b|not understood"),
    ("refused", r"\bkey\b|\b401\b|\b403\b|refused|unauthori[sz]ed|forbidden"),
    ("unavailable", r"cannot be reached|unavailable|status 5\d\d|\b5\d\d\b|server error|unreachable|connection"),
)


@dataclass(frozen=True, slots=True)
class CurrentWeather:
    """The current weather in a city, in °C, % and m/s."""

    city: str
    temperature: float
    feels_like: float | None
    condition: str
    humidity: float | None = None
    wind: float | None = None
    was_kelvin: bool = False
    had_foreign_text: bool = False
    """Whether the description contained text that does not describe weather."""

    def shifted_by(self, degrees: float) -> CurrentWeather:
        feels = None if self.feels_like is None else self.feels_like + degrees
        return replace(self, temperature=self.temperature + degrees, feels_like=feels)


@dataclass(frozen=True, slots=True)
class ForecastDay:
    """The forecast for one day."""

    date: date
    high: float
    low: float
    condition: str
    rain_chance: float | None = None

    @property
    def weekday(self) -> str:
        return _WEEKDAYS[self.date.weekday()]

    def shifted_by(self, degrees: float) -> ForecastDay:
        return replace(self, high=self.high + degrees, low=self.low + degrees)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast for a city."""

    city: str
    today: date
    days: tuple[ForecastDay, ...]
    was_kelvin: bool = False
    had_foreign_text: bool = False


@dataclass(frozen=True, slots=True)
class LookupFailure:
    """A look-up without a usable result."""

    city: str
    kind: str
    """'unknown_city', 'timeout', 'rate_limited', 'malformed', 'refused', 'unavailable', 'empty' or 'unclear'."""
    what: str
    """'current weather', 'forecast'."""


@dataclass(frozen=True, slots=True)
class ReportedWeather:
    """The weather as a sentence, such as tools of quick starts give it: "It's always sunny in Oslo!"."""

    city: str
    words: str


def read_current_weather(outcome: ToolOutcome, city: str) -> CurrentWeather | ReportedWeather | LookupFailure:
    """The current weather from a call's result, or the failure."""
    what = "current weather"
    if outcome.failure is not None:
        return LookupFailure(city, failure_kind(outcome.failure), what)
    data = _inner(outcome.result, (*_CELSIUS, *_FAHRENHEIT), ("current", "weather"))
    figures = _Figures(data)
    temperature = figures.temperature(*_CELSIUS)
    if temperature is None:
        temperature = figures.of_fahrenheit(*_FAHRENHEIT)
    if temperature is None:
        return _reported(outcome, city) or LookupFailure(city, "malformed", what)
    described = next((data[name] for name in _CONDITIONS if isinstance(data.get(name), str)), "")
    condition, foreign = read_condition(described)
    return CurrentWeather(
        city=_city(data, city),
        temperature=temperature,
        feels_like=figures.temperature("feels_like"),
        condition=condition,
        humidity=_number(data.get("humidity")),
        wind=_number(data.get("wind_speed")),
        was_kelvin=figures.was_kelvin,
        had_foreign_text=foreign,
    )


def read_forecast_days(outcome: ToolOutcome, city: str) -> Forecast | ReportedWeather | LookupFailure:
    """The forecast from a call's result, or the failure; an empty forecast is a failure too."""
    what = "forecast"
    if outcome.failure is not None:
        return LookupFailure(city, failure_kind(outcome.failure), what)
    data = _inner(outcome.result, ("forecast", "days"), ("forecast", "weather"))
    entries = data.get("forecast", data.get("days"))
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return _reported(outcome, city) or LookupFailure(city, "malformed", what)
    days: list[ForecastDay] = []
    kelvin = foreign = False
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        figures = _Figures({"units": data.get("units"), **entry})
        high, low, day = (
            figures.temperature("high", "temp_max"),
            figures.temperature("low", "temp_min"),
            _date(entry.get("date")),
        )
        if high is None or low is None or day is None:
            continue
        condition, odd = read_condition(entry.get("condition", entry.get("description", "")))
        days.append(ForecastDay(day, high, low, condition, _number(entry.get("rain_chance"))))
        kelvin, foreign = kelvin or figures.was_kelvin, foreign or odd
    if not days:
        reported = _reported(outcome, city) if entries else None
        return reported or LookupFailure(city, "malformed" if entries else "empty", what)
    today = _date(data.get("today")) or days[0].date - timedelta(days=1)
    return Forecast(_city(data, city), today, tuple(days), kelvin, foreign)


def _reported(outcome: ToolOutcome, city: str) -> ReportedWeather | None:
    """What a tool said about the weather in words: a sentence, a table with one, or, of a tool of the user's own, any
    table or text about it.
    """
    result = outcome.result
    texts = [result] if isinstance(result, str) else []
    if isinstance(result, Mapping):
        strings = (value for value in result.values() if isinstance(value, str))
        texts = [text for text in strings if len(text.split()) >= _SENTENCE_WORDS]
    is_own = outcome.name not in BUNDLED_TOOLS
    found = next((text.strip() for text in texts if _is_report(text)), None)
    if found is None and is_own:
        found = told(outcome)
        is_about_it = _CONDITION.search(found) or _DEGREES.search(found) or _NAMES_TEMPERATURE.search(found)
        if len(found) > _LONGEST_OWN_REPORT or _ADDRESSES.search(found) or not is_about_it:
            found = None
    return None if found is None else ReportedWeather(city, found)


def _is_report(text: str) -> bool:
    """Whether a text is a sentence about the weather, and nothing that addresses its reader."""
    is_sentence = len(text) <= _LONGEST_REPORT and _SENTENCE.fullmatch(text.strip()) is not None
    return is_sentence and not _ADDRESSES.search(text) and bool(_CONDITION.search(text) or _DEGREES.search(text))


def read_condition(text: Any) -> tuple[str, bool]:
    """The condition in a description, and whether other text was removed from it."""
    if not isinstance(text, str):
        return _UNREADABLE, False
    written = " ".join(text.split())
    if len(written) <= _LONGEST_CONDITION and _PLAIN.fullmatch(written) and not _ADDRESSES.search(written):
        return written.lower(), False
    found = _CONDITION.search(written)
    return (found.group().lower().strip() if found else _UNREADABLE), True


def failure_kind(failure: str) -> str:
    """The kind of failure that an error message describes."""
    for kind, pattern in _CAUSES:
        if re.search(pattern, failure, re.IGNORECASE):
            return kind
    return "unclear"


class _Figures:
    """Reads the temperatures of one table in °C."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._imperial = str(table.get("units", table.get("unit", ""))).lower() in _IMPERIAL
        self.was_kelvin = False

    def temperature(self, *names: str) -> float | None:
        value = next((number for name in names if (number := _number(self._table.get(name))) is not None), None)
        if value is None:
            return None
        if self._imperial:
            return _in_celsius(value)
        if value > _KELVIN_ABOVE:  # hotter than any weather in °C, so it must be kelvin
            self.was_kelvin = True
            return round(value - _KELVIN, 1) + 0.0
        return value

    def of_fahrenheit(self, *names: str) -> float | None:
        """A temperature whose name says that it is in °F, in °C."""
        value = next((number for name in names if (number := _number(self._table.get(name))) is not None), None)
        return None if value is None else _in_celsius(value)


def _in_celsius(fahrenheit: float) -> float:
    return round((fahrenheit - 32) * 5 / 9, 1)


def _inner(data: Any, wanted: Sequence[str], envelopes: Sequence[str]) -> Mapping[str, Any]:
    """The table that has one of the `wanted` keys: the result itself, or one directly inside it."""
    if not isinstance(data, Mapping):
        return {}
    if any(name in data and not isinstance(data[name], Mapping) for name in wanted):
        return data
    inner = [value for name, value in data.items() if isinstance(value, Mapping)]
    inner.sort(key=lambda table: not any(name in table for name in (*wanted, *envelopes)))
    return inner[0] if inner else data


def _city(data: Mapping[str, Any], asked: str) -> str:
    """The city's name in the service's spelling if that is a plausible name, else as it was requested."""
    name = data.get("city")
    if isinstance(name, str) and 0 < len(name) <= 60 and name.isprintable() and not _ADDRESSES.search(name):
        return name
    return asked


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e6 else None


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
