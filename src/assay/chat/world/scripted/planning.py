"""Which tool calls a turn needs, and what they have returned so far. Knows nothing about wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.chat.world.scripted.cities import city_key
from assay.chat.world.scripted.context import Intent
from assay.chat.world.scripted.conversation import ToolOutcome, UserTurn
from assay.chat.world.scripted.user_facts import UserProfile, read_profile
from assay.chat.world.scripted.weather_data import (
    CurrentWeather,
    Forecast,
    LookupFailure,
    ReportedWeather,
    read_current_weather,
    read_forecast_days,
)
from assay.chat.world.wanted_calls import CURRENT, DELETE, FORECAST, LEARN, PREFERENCES

# The most cities looked up in one turn.
MOST_CITIES = 4
# Failures that the model retries once; the weather client has already retried the others.
_WORTH_RETRYING = frozenset({"malformed"})


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that the model requests."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Toolbox:
    """The tools of a request by role. Other assistants may use other names for them and for their arguments."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self.parameters: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            function = tool.get("function")
            if isinstance(function, Mapping) and isinstance(function.get("name"), str):
                parameters = function.get("parameters")
                self.parameters[function["name"]] = parameters if isinstance(parameters, Mapping) else {}
        self._role: dict[str, str] = {}
        for name in self.parameters:
            self._role.setdefault(_role(name), name)

    def has(self, role: str) -> bool:
        return role in self._role

    def role_of(self, name: str) -> str:
        """The role of the tool with this name; '' if it is unknown."""
        role = _role(name)
        return role if role in (CURRENT, FORECAST, PREFERENCES, LEARN, DELETE) else ""

    def use(self, role: str, **arguments: Any) -> ToolUse:
        """A call of the tool with that role, with the argument names of its schema."""
        name = self._role[role]
        properties = self.parameters[name].get("properties")
        if not isinstance(properties, Mapping):
            return ToolUse(name, arguments)
        known = list(properties)
        renamed: dict[str, Any] = {}
        for argument, value in arguments.items():
            if argument in known:
                renamed[argument] = value
            elif known and argument in ("city", "insight"):
                renamed[next((own for own in known if own in _ALIASES[argument]), known[0])] = value
        return ToolUse(name, renamed)


_ALIASES = {
    "city": ("location", "place", "city_name", "query", "town"),
    "insight": ("text", "sentence", "preference", "note", "insight_text"),
}


def _role(name: str) -> str:
    low = name.lower()
    if "preference" in low and any(word in low for word in ("delete", "forget", "clear", "erase", "remove")):
        return DELETE
    if "preference" in low or "insight" in low:
        return (
            LEARN
            if any(word in low for word in ("update", "insight", "save", "set", "learn", "remember"))
            else PREFERENCES
        )
    if "forecast" in low:
        return FORECAST
    return CURRENT if "weather" in low else low


@dataclass(slots=True)
class Findings:
    """What the tools have returned in this turn."""

    now: dict[str, CurrentWeather | ReportedWeather | LookupFailure] = field(default_factory=dict)
    """By `city_key`."""
    forecast: dict[str, Forecast | ReportedWeather | LookupFailure] = field(default_factory=dict)
    preferences: ToolOutcome | None = None
    learned: ToolOutcome | None = None
    deleted: ToolOutcome | None = None
    tries: dict[tuple[str, str], int] = field(default_factory=dict)


def collect_findings(turn: UserTurn, toolbox: Toolbox) -> Findings:
    """What the calls of this turn returned; of several calls for the same thing, the last until one succeeds."""
    found = Findings()
    for outcome in turn.outcomes:
        role = toolbox.role_of(outcome.name)
        if role in (CURRENT, FORECAST):
            city = str(next((value for value in outcome.arguments.values() if isinstance(value, str)), ""))
            key = city_key(city)
            found.tries[role, key] = found.tries.get((role, key), 0) + 1
            if role == CURRENT and not isinstance(found.now.get(key), CurrentWeather | ReportedWeather):
                found.now[key] = read_current_weather(outcome, city)
            elif role == FORECAST and not isinstance(found.forecast.get(key), Forecast | ReportedWeather):
                found.forecast[key] = read_forecast_days(outcome, city)
        elif role == PREFERENCES:
            found.preferences = outcome
        elif role == LEARN:
            found.learned = outcome
        elif role == DELETE:
            found.deleted = outcome
    return found


def known_profile(turns: Sequence[UserTurn], intents: Sequence[Intent], toolbox: Toolbox) -> UserProfile:
    """What is known about the user from all calls and messages so far."""
    results: list[Any] = []
    told: list[str] = []
    for turn, intent in zip(turns, intents, strict=True):
        results += [
            outcome.result
            for outcome in turn.outcomes
            if outcome.failure is None and toolbox.role_of(outcome.name) in (PREFERENCES, LEARN)
        ]
        told += [fact.third_person for fact in intent.message.facts]
    return read_profile(results, told)


def preferences_were_read(turns: Sequence[UserTurn], toolbox: Toolbox) -> bool:
    """Whether an earlier turn has looked up the preferences."""
    return any(
        outcome.failure is None and toolbox.role_of(outcome.name) in (PREFERENCES, LEARN)
        for turn in turns[:-1]
        for outcome in turn.outcomes
    )


def next_calls(
    intent: Intent, found: Findings, profile: UserProfile, toolbox: Toolbox, *, knows_user: bool
) -> list[ToolUse]:
    """The calls to make next; empty if nothing is missing, or nothing more can be had."""
    calls: list[ToolUse] = []
    facts = intent.message.facts
    if facts and found.learned is None and toolbox.has(LEARN):
        calls.append(toolbox.use(LEARN, insight="; ".join(fact.third_person for fact in facts)))
    if intent.is_about_weather:
        cities = intent.cities or ((profile.home,) if profile.home else ())
        for city in cities[:MOST_CITIES]:
            calls += _weather_calls(intent, city, found, toolbox)
    if _wants_preferences(intent, knows_user) and not facts and found.preferences is None and toolbox.has(PREFERENCES):
        calls.append(toolbox.use(PREFERENCES))
    return calls


def _wants_preferences(intent: Intent, knows_user: bool) -> bool:
    """Whether the user's preferences are needed.

    Every answer about the weather ends with advice, which takes the preferences into account: they are looked up once
    in a conversation, and again if the user asks for advice.
    """
    if intent.asks in ("recall", "advice"):
        return True
    return intent.asks == "weather" and not knows_user and len(intent.cities) <= 1


def _weather_calls(intent: Intent, city: str, found: Findings, toolbox: Toolbox) -> list[ToolUse]:
    calls = []
    key = city_key(city)
    forecast = found.forecast.get(key)
    # "On Thursday" may be today.
    is_today = isinstance(forecast, Forecast) and intent.when.includes(forecast.today)
    if (
        (intent.when.needs_current or is_today)
        and toolbox.has(CURRENT)
        and _is_open(found.now.get(key), found, CURRENT, key)
    ):
        calls.append(toolbox.use(CURRENT, city=city))
    if intent.when.needs_forecast and toolbox.has(FORECAST) and _is_open(forecast, found, FORECAST, key):
        calls.append(toolbox.use(FORECAST, city=city, days=intent.when.days))
    return calls


def _is_open(result: object, found: Findings, role: str, key: str) -> bool:
    """Whether a look-up has not been made yet, or is worth a retry."""
    if result is None:
        return True
    return isinstance(result, LookupFailure) and result.kind in _WORTH_RETRYING and found.tries[role, key] < 2
