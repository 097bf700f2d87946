"""What a message means in its conversation: the city and the day spoken of before, and the question they belong to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.chat.world.scripted.cities import same_name
from assay.chat.world.scripted.conversation import Exchange
from assay.chat.world.scripted.understanding import Request, read_request
from assay.chat.world.scripted.when import LONGEST_FORECAST, When

_ABOUT_WEATHER = ("weather", "advice")
# A question on what will be that names no day is taken to mean so many days.
_ASSUMED_DAYS = 3
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_THAN_THERE = re.compile(
    r"\bthan\b.*\b(?:there|it|that)\b|^\W*(?:and )?(?:is|will) it\b|\b(?:that|it|this) compares? (?:to|with)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Need:
    """What the user wants, in the light of the conversation."""

    request: Request
    asks: str | None = None
    """'weather', 'advice', 'recall', 'recall_city'; None for talk that needs no tool."""
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


def understand(exchanges: Sequence[Exchange]) -> tuple[Need, list[Need]]:
    """What the last message wants, and what each earlier one wanted.

    Only users' messages count: an answer that went wrong must not lead later ones astray.
    """
    needs: list[Need] = []
    for exchange in exchanges:
        needs.append(_in_context(read_request(exchange.said), needs))
    return needs[-1], needs[:-1]


def _in_context(request: Request, earlier: Sequence[Need]) -> Need:
    if request.recalls:
        return Need(request, "recall")
    if request.recalls_city:
        return Need(request, "recall_city")
    last = next((need for need in reversed(earlier) if need.is_about_weather), None)
    asks, when, topic, details = request.asks, request.when, request.topic, request.details
    is_farewell = request.social in ("thanks", "bye")
    repeats = request.again and asks is None and not request.cities and last is not None and not is_farewell
    if asks is None and (request.is_bare or repeats or request.next_day) and not request.insights:
        if last is not None:
            asks, topic, details = last.asks, last.topic, last.details
            when = when if when.is_said else last.when
        elif request.cities or when.is_said:
            asks = "weather"
    if asks is None:
        return Need(request, None, request.cities, when)
    if request.next_day and last is not None:
        when = When(ahead=(min(LONGEST_FORECAST, max((0, *last.when.ahead)) + 1),))
    cities, remembered = _cities(request, earlier, keeps_all=request.is_bare or repeats)
    compares = request.compares or bool(_OR.search(request.text))
    if remembered and request.is_bare and last is not None:
        compares = compares or last.compares
    assumed = False
    if not when.is_said and last is not None and last.when.needs_forecast and remembered and asks == "advice":
        when = last.when
    elif not when.is_said and request.future and asks == "weather":
        assumed = not (request.follows and last is not None and last.when.needs_forecast)
        when = When(span=_ASSUMED_DAYS) if assumed or last is None else last.when
    if when.needs_forecast and not request.is_dated:
        # "What about Oslo?" after a question on tomorrow: tomorrow is meant, and now may be. Both are told.
        when = replace(when, now=True)
    return Need(
        request,
        asks,
        cities,
        when,
        compares=compares and len(cities) > 1,
        city_is_remembered=remembered,
        time_is_assumed=assumed,
        topic=topic,
        details=details,
        unit=request.unit,
    )


def _cities(request: Request, earlier: Sequence[Need], *, keeps_all: bool) -> tuple[tuple[str, ...], bool]:
    """The cities that are meant, and whether they come from before."""
    known = next((need.cities for need in reversed(earlier) if need.cities), ())
    if request.cities:
        if len(request.cities) == 1 and request.compares and known and _THAN_THERE.search(request.text):
            others = [city for city in known if same_name(city) != same_name(request.cities[0])]
            return (*request.cities, *others[-1:]), False
        return request.cities, False
    if not known or request.here:
        return (), False
    if request.compares and len(known) == 1:
        return all_cities(earlier)[-2:], True
    return known if keeps_all or request.compares else known[-1:], True


def all_cities(needs: Sequence[Need]) -> tuple[str, ...]:
    """Every city spoken of, in the order in which they were spoken of last."""
    found: dict[str, str] = {}
    for need in needs:
        for city in need.cities:
            found.pop(same_name(city), None)
            found[same_name(city)] = city
    return tuple(found.values())
