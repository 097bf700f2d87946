"""What a message means in its conversation: follow-ups get the city, the day and the question of earlier messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.chat.world.scripted.cities import city_key
from assay.chat.world.scripted.conversation import UserTurn
from assay.chat.world.scripted.understanding import ParsedMessage, parse_message
from assay.chat.world.scripted.when import LONGEST_FORECAST, When

_ABOUT_WEATHER = ("weather", "advice")
# The number of days assumed for a question about the future that names no day.
_ASSUMED_DAYS = 3
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_THAN_THERE = re.compile(
    r"\bthan\b.*\b(?:there|it|that)\b|^\W*(?:and )?(?:is|will) it\b|\b(?:that|it|this) compares? (?:to|with)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What the user wants, given the conversation so far."""

    message: ParsedMessage
    asks: str | None = None
    """'weather', 'advice', 'recall', 'recall_city'; None for a message that needs no tool."""
    cities: tuple[str, ...] = ()
    when: When = field(default_factory=When)
    compares: bool = False
    city_is_remembered: bool = False
    """Whether the city comes from earlier in the conversation."""
    time_is_assumed: bool = False
    topic: str = ""
    details: frozenset[str] = frozenset()
    unit: str | None = None

    @property
    def is_about_weather(self) -> bool:
        return self.asks in _ABOUT_WEATHER


def understand(turns: Sequence[UserTurn]) -> tuple[Intent, list[Intent]]:
    """What the last message wants, and what each earlier one wanted.

    Only the user's messages count, so that a wrong answer does not affect later ones.
    """
    intents: list[Intent] = []
    for turn in turns:
        intents.append(_in_context(parse_message(turn.said), intents))
    return intents[-1], intents[:-1]


def _in_context(message: ParsedMessage, earlier: Sequence[Intent]) -> Intent:
    if message.recalls:
        return Intent(message, "recall")
    if message.recalls_city:
        return Intent(message, "recall_city")
    last = next((intent for intent in reversed(earlier) if intent.is_about_weather), None)
    asks, when, topic, details = message.asks, message.when, message.topic, message.details
    is_farewell = message.social in ("thanks", "bye")
    repeats = message.again and asks is None and not message.cities and last is not None and not is_farewell
    if asks is None and (message.is_bare or repeats or message.next_day) and not message.facts:
        if last is not None:
            asks, topic, details = last.asks, last.topic, last.details
            when = when if when.is_said else last.when
        elif message.cities or when.is_said:
            asks = "weather"
    if asks is None:
        return Intent(message, None, message.cities, when)
    if message.next_day and last is not None:
        when = When(ahead=(min(LONGEST_FORECAST, max((0, *last.when.ahead)) + 1),))
    cities, remembered = _cities(message, earlier, keeps_all=message.is_bare or repeats)
    compares = message.compares or bool(_OR.search(message.text))
    if remembered and message.is_bare and last is not None:
        compares = compares or last.compares
    assumed = False
    if not when.is_said and last is not None and last.when.needs_forecast and remembered and asks == "advice":
        when = last.when
    elif not when.is_said and message.future and asks == "weather":
        assumed = not (message.follows and last is not None and last.when.needs_forecast)
        when = When(span=_ASSUMED_DAYS) if assumed or last is None else last.when
    if when.needs_forecast and not message.is_dated:
        # "What about Oslo?" after a question about tomorrow may mean tomorrow or now, so the answer covers both.
        when = replace(when, now=True)
    return Intent(
        message,
        asks,
        cities,
        when,
        compares=compares and len(cities) > 1,
        city_is_remembered=remembered,
        time_is_assumed=assumed,
        topic=topic,
        details=details,
        unit=message.unit,
    )


def _cities(message: ParsedMessage, earlier: Sequence[Intent], *, keeps_all: bool) -> tuple[tuple[str, ...], bool]:
    """The cities that are meant, and whether they come from earlier messages."""
    known = next((intent.cities for intent in reversed(earlier) if intent.cities), ())
    if message.cities:
        if len(message.cities) == 1 and message.compares and known and _THAN_THERE.search(message.text):
            others = [city for city in known if city_key(city) != city_key(message.cities[0])]
            return (*message.cities, *others[-1:]), False
        return message.cities, False
    if not known or message.here:
        return (), False
    if message.compares and len(known) == 1:
        return cities_mentioned(earlier)[-2:], True
    return known if keeps_all or message.compares else known[-1:], True


def cities_mentioned(intents: Sequence[Intent]) -> tuple[str, ...]:
    """Every city mentioned, ordered by last mention."""
    found: dict[str, str] = {}
    for intent in intents:
        for city in intent.cities:
            found.pop(city_key(city), None)
            found[city_key(city)] = city
    return tuple(found.values())
