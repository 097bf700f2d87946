"""The wording of answers about the weather: figures first, then advice with a reason.

The advice follows from the weather and the user's preferences; the phrasing is drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.chat.world.scripted import talk
from assay.chat.world.scripted.advice import (
    Sky,
    activity_advice,
    packing_list,
    precipitation_verb,
    summarize_sky,
    umbrella_advice,
)
from assay.chat.world.scripted.cities import is_everyday_word
from assay.chat.world.scripted.context import Intent
from assay.chat.world.scripted.user_facts import UserProfile
from assay.chat.world.scripted.weather_data import CurrentWeather, Forecast, ForecastDay, LookupFailure
from assay.chat.world.scripted.when import When
from assay.plural import listed

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
# Least difference in °C for which the apparent temperature is stated.
_FEELS_DIFFERENT = 1.0
# Highest temperature called cold, as in the weather domain, in °C.
_COLD = 10.0
_HOT = 25.0
# Above this temperature, an answer may say that it is not cold.
_MILD = 18.0
# A chance of rain below this, in %, is not mentioned.
_SLIGHT = 20.0
_PHRASES = {
    "clear sky": ("a clear sky", "clear skies"),
    "few clouds": ("a few clouds",),
    "overcast clouds": ("overcast clouds", "overcast skies"),
}
_REASONS = {
    "timeout": "the weather service did not answer in time (a timeout)",
    "unavailable": "the weather service is down with a failure of its own",
    "rate_limited": "the weather service has reached its rate limit",
    "malformed": "the weather service sent an answer that makes no sense",
    "refused": "the weather service refused the request",
    "empty": "the weather service sent a forecast without any day in it",
    "unclear": "the look-up failed",
}
_STATE_WORDS = {
    "rain": "raining",
    "snow": "snowing",
    "clear": "sunny",
    "clouds": "cloudy",
    "thunderstorm": "stormy",
    "mist": "foggy",
}
# Sentences about a preference, used if the weather makes it relevant.
_PREFERENCE_SENTENCES = {
    "cold": (
        "Since you dislike the cold, dress in warm layers to keep warm.",
        "As you told me that you dislike the cold, a warm jacket and a scarf will help.",
        "I remember that you dislike the cold, so put on something warm such as a warm jacket.",
    ),
    "rain": (
        "Since you dislike rain, an indoor plan such as a museum would suit you.",
        "I remember that you dislike rain, so take an umbrella or stay inside.",
    ),
    "heat": (
        "Since you dislike the heat, stay in the shade and carry a water bottle.",
        "I remember that you dislike the heat, so consider something indoors until it gets cooler.",
    ),
    "snow": ("Since you dislike snow, an indoor plan such as a museum would suit you.",),
    "wet": ("I know you dislike that kind of weather, so an indoor plan such as a museum would suit you then.",),
    "wind": ("Since you dislike wind, look for a sheltered place.",),
    "no rain": ("There is no rain, which you dislike, so that is good news.", "Good news, as you dislike it: no rain."),
    "no cold": (
        "It is not cold, which you dislike, so that is good news.",
        "Good news, as you dislike it: it is not cold.",
    ),
    "fahrenheit": ("I used Fahrenheit, as you prefer.", "The figures are in Fahrenheit, as you prefer."),
    "indoor": (
        "As you prefer indoor activities, a museum or a café would suit you.",
        "Given your preference for indoor activities, consider a museum, a gallery or the cinema.",
    ),
    "outdoor, inviting": (
        "As you like outdoor activities, a walk in the park would be lovely.",
        "Since you enjoy outdoor activities, a bike ride or a walk in the park fits well.",
    ),
    "outdoor": (
        "Since you enjoy outdoor activities, keep your walk in the park short in such weather.",
        "As you like outdoor activities, plan for a short walk rather than a long one.",
    ),
}
_MOST_PREFERENCES = 2


class Writer:
    """Writes one answer; the random generator `draw` chooses the phrasing."""

    def __init__(self, draw: random.Random, intent: Intent, profile: UserProfile) -> None:
        self.draw = draw
        self.intent = intent
        self.profile = profile
        self.unit = intent.unit or profile.unit or "C"
        # Whether figures are rounded to whole degrees, which changes them by at most half a degree.
        self.is_whole = draw.random() < 0.4

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def degrees(self, celsius: float) -> str:
        value = celsius * 9 / 5 + 32 if self.unit == "F" else celsius
        shown = f"{round(value)}" if self.is_whole else f"{round(value, 1) + 0.0:g}"
        return f"{shown} °{self.unit}"

    def answer(
        self, now: Sequence[CurrentWeather], forecasts: Sequence[Forecast], failures: Sequence[LookupFailure]
    ) -> str:
        """The whole answer: current weather, forecast, failures, and advice."""
        days = [(forecast, requested_days(self.intent.when, forecast)) for forecast in forecasts]
        has_data = bool(now or days)
        parts = [self.acknowledged(), self.assumption()]
        parts += [self.current(one) for one in now]
        parts += [self.forecast(forecast, told) for forecast, told in days]
        parts.append(self.notes(now, forecasts))
        parts += [self.failure(failure, is_all=not has_data) for failure in failures]
        if has_data:
            if self.intent.compares:
                parts.append(self.comparison(now, days))
            parts.append(self.advice(now, days))
        if self.intent.message.reveals:
            parts.append(self.pick(*talk.PRIVATE))
        return _joined(parts)

    def acknowledged(self) -> str:
        facts = self.intent.message.facts
        return f"{self.pick('Noted that', 'I will remember that')} {talk.acknowledged(facts)}." if facts else ""

    def assumption(self) -> str:
        if self.intent.time_is_assumed:
            return self.pick("I assume you mean the coming days.", "Assuming you mean the next few days:")
        if not self.intent.cities and self.profile.home:
            home = self.profile.home
            return self.pick(
                f"I take it you mean {home}, your home city.", f"Assuming you mean your home city, {home}:"
            )
        return ""

    # --- now --------------------------------------------------------------------------------------------------------

    def current(self, now: CurrentWeather) -> str:
        temperature, sky, city = self.degrees(now.temperature), self.sky(now.condition), now.city
        options = [
            f"It's {temperature} in {city} right now, with {sky}",
            f"In {city} it is currently {temperature} with {sky}",
            f"The current weather in {city}: {sky} at {temperature}",
            f"Right now it is {temperature} in {city}, with {sky}",
        ]
        if not is_everyday_word(city):
            options += [
                f"Right now {city} has {sky} and {temperature}",
                f"{city} is at {temperature} at the moment, with {sky}",
            ]
        opening = self.pick(*options)
        if not sky:
            opening = f"It's {temperature} in {city} right now"
        return " ".join(filter(None, [f"{opening}{self.feels(now)}.", self.details(now)]))

    def feels(self, now: CurrentWeather) -> str:
        if now.feels_like is None or abs(now.feels_like - now.temperature) < _FEELS_DIFFERENT:
            return ""
        feels = self.degrees(now.feels_like)
        return self.pick(f", and it feels like {feels}", f" (feels like {feels})", f"; it feels like {feels}")

    def details(self, now: CurrentWeather) -> str:
        wanted = self.intent.details if self.draw.random() < 0.7 else {"humidity", "wind"}
        told = []
        if now.humidity is not None and "humidity" in wanted:
            told.append(f"the humidity is {now.humidity:g}%")
        if now.wind is not None and "wind" in wanted:
            speed = f"{now.wind / 0.44704:.1f} mph" if self.unit == "F" else f"{now.wind:g} m/s"
            told.append(f"the wind blows at {speed}")
        return f"{_capitalized(' and '.join(told))}." if told else ""

    def sky(self, condition: str) -> str:
        if condition.startswith("thunderstorm "):
            return f"a {condition}"
        return self.pick(*_PHRASES.get(condition, (condition,)))

    # --- forecast ---------------------------------------------------------------------------------------------------

    def forecast(self, forecast: Forecast, days: Sequence[ForecastDay]) -> str:
        is_beyond = self.is_beyond(forecast)
        if len(days) == 1 and not is_beyond:
            return self.one_day(forecast, days[0])
        head = self.pick("Here is the forecast for", "This is what to expect in", "The outlook for")
        if is_beyond:
            head = "My forecast does not reach that far; what I can tell you is the outlook for the coming days in"
        lines = [f"- {_label(forecast, day)}: {self.line(day)}" for day in days]
        return "\n".join([f"{head} {forecast.city}:", *lines])

    def one_day(self, forecast: Forecast, day: ForecastDay) -> str:
        city, sky, label = forecast.city, self.sky(day.condition), _label(forecast, day)
        figures = f"with a high of {self.degrees(day.high)} and a low of {self.degrees(day.low)}"
        on = _uncapitalized(label) if label.startswith("Tomorrow") else f"on {label}"
        if not sky:
            return f"{label} in {city} comes {figures}."
        options = [f"{label} in {city}: {sky}, {figures}.", f"The forecast for {city} {on} is {sky}, {figures}."]
        if not is_everyday_word(city):
            options.append(f"{_capitalized(on)} {city} can expect {sky}, {figures}.")
        return self.pick(*options)

    def is_beyond(self, forecast: Forecast) -> bool:
        """Whether the requested day is beyond the forecast."""
        when = self.intent.when
        return not (when.includes(forecast.today) or any(_is_requested(when, forecast, day) for day in forecast.days))

    def line(self, day: ForecastDay) -> str:
        figures = f"high of {self.degrees(day.high)}, low of {self.degrees(day.low)}"
        sky = self.sky(day.condition)
        return f"{sky}, {figures}" if sky else figures

    # --- notes, comparisons and failures ----------------------------------------------------------------------------

    def notes(self, now: Sequence[CurrentWeather], forecasts: Sequence[Forecast]) -> str:
        found: list[CurrentWeather | Forecast] = [*now, *forecasts]
        notes = []
        if any(one.was_kelvin for one in found):
            notes.append(
                self.pick(
                    "The service gave its figures in kelvin, so I converted them.",
                    "Note that the data came in kelvin; I have converted it.",
                )
            )
        if any(one.had_foreign_text for one in found):
            notes.append(
                self.pick(
                    "The weather data also held text that is no weather information; I ignored it.",
                    "I left out some text in the data that had nothing to do with the weather.",
                )
            )
        if any(not one.condition for one in now):
            notes.append("The data does not say what the sky looks like.")
        if self.intent.when.past:
            notes.append("I don't have data for days that are over, but I can tell you what it is like now.")
        if now and not forecasts and self.intent.message.future:
            notes.append("I cannot see the single hours, so expect something similar later today.")
        return " ".join(notes)

    def comparison(self, now: Sequence[CurrentWeather], days: Sequence[tuple[Forecast, Sequence[ForecastDay]]]) -> str:
        warmth = {one.city: one.temperature for one in now}
        if not warmth:
            warmth = {forecast.city: max(day.high for day in told) for forecast, told in days if told}
        if len(warmth) < 2:
            return ""
        ranked = sorted(warmth, key=lambda city: -warmth[city])
        first, last = ranked[0], ranked[-1]
        if warmth[first] == warmth[last]:
            return f"{first} and {last} are equally warm."
        return self.pick(
            f"So {first} is the warmer choice, and {last} is the colder one.",
            f"That makes {first} warmer than {last}.",
            f"Of these, {first} is the warmest and {last} the coldest.",
        )

    def failure(self, failure: LookupFailure, *, is_all: bool) -> str:
        """What is missing, why, and what the user can do instead."""
        city, what = failure.city, failure.what
        if failure.kind == "unknown_city":
            # Not a clarifying question: the request is clear, and only the name is unknown.
            return self.pick(
                f"I'm sorry, I couldn't find a city called {city} in the weather data. Check the spelling, or name a"
                " larger city nearby, and I can look that up instead.",
                f"I couldn't find {city}: the weather service knows no city of that name. Check the way it is written,"
                " or try another city nearby instead.",
            )
        cause = _REASONS.get(failure.kind, _REASONS["unclear"])
        if not is_all:
            return f"I couldn't get the {what} for {city} because {cause}; please try again later."
        other = "forecast" if what == "current weather" else "current weather"
        return self.pick(
            f"I'm sorry, I couldn't get the {what} for {city} because {cause}. Please try again in a little while;"
            f" alternatively, I can look up the {other} or another city instead.",
            f"Unfortunately I was not able to get the {what} for {city}, because {cause}. Please try again"
            f" later; in the meantime a local weather site may know more, or I can try the {other} instead.",
            f"The {what} for {city} is not available: {cause}. However, you can ask again in a moment and I will try"
            f" again, or I can look up the {other} instead.",
        )

    # --- advice -----------------------------------------------------------------------------------------------------

    def advice(self, now: Sequence[CurrentWeather], days: Sequence[tuple[Forecast, Sequence[ForecastDay]]]) -> str:
        by_city: dict[str, list[tuple[Sky, str]]] = {}
        for one in now:
            feels = one.temperature if one.feels_like is None else one.feels_like
            by_city.setdefault(one.city, []).append((summarize_sky(one.condition, feels, one.wind), "right now"))
        for forecast, told in days:
            skies = [
                (summarize_sky(day.condition, day.high, chance=day.rain_chance), _on(forecast, day)) for day in told
            ]
            by_city.setdefault(forecast.city, []).extend(skies)
        if len(by_city) > 1:
            return self.advice_for_cities({city: _worst_sky(skies)[0] for city, skies in by_city.items()})
        skies = next(iter(by_city.values()))
        # If there are several days, the advice is for the worst one and names it.
        sky, when = _worst_sky(skies)
        when = when if len(skies) > 1 else ""
        coldest = min([*[one.temperature for one in now], *[day.low for _, told in days for day in told]])
        topic = self.intent.topic
        sentences = [self.verdict([one for one, _ in skies])]
        if topic == "umbrella":
            sentences.append(umbrella_advice(self.draw, sky))
        elif topic and topic != "clothes":
            sentences.append(activity_advice(self.draw, topic, sky))
        sentences.append(self.packing_sentence(sky, when, but_umbrella=topic == "umbrella"))
        sentences += self.preferences(sky, coldest, may_name_wet=not (when and sky.is_wet))
        if topic != "umbrella" and sky.may_get_wet:
            sentences.append(
                f"Keep an umbrella at hand in case it {precipitation_verb(sky)} (the chance is {sky.chance:g}%)."
            )
        if self.draw.random() < 0.3:
            sentences.append(self.pick("Just let me know if you want to know more.", "I can check another place too."))
        return " ".join(filter(None, sentences))

    def verdict(self, skies: Sequence[Sky]) -> str:
        """The answer to a yes-or-no question; '' if there was none, or there is no single answer."""
        state = self.intent.message.state
        if not state:
            return ""
        matches = any(sky.matches(state) for sky in skies)
        if self.intent.when.needs_current and len({sky.matches(state) for sky in skies}) > 1:
            return ""  # the answer is not the same for now and later
        word = _STATE_WORDS.get(state, state)
        if self.intent.when.needs_forecast:
            if not matches and state in ("rain", "snow") and any(sky.may_get_wet for sky in skies):
                return ""  # the chance of rain is stated instead
            return f"So yes, expect it to be {word}." if matches else f"So no, it is not expected to be {word}."
        return f"So yes, it is {word}." if matches else f"So no, it is not {word}."

    def packing_sentence(self, sky: Sky, when: str, *, but_umbrella: bool) -> str:
        items, reason = packing_list(sky, when)
        if but_umbrella:
            items = [item for item in items if "umbrella" not in item]
        self.draw.shuffle(items)
        lead = self.pick("Based on that,", "With that in mind,", "Given this,", "Accordingly,")
        verb = self.pick("I recommend", "I suggest", "you should bring", "I would recommend")
        return f"{lead} {verb} {listed(items)}, {reason}."

    def advice_for_cities(self, skies: dict[str, Sky]) -> str:
        """The most important item for each city."""
        things = [f"{packing_list(sky)[0][0]} for {city}" for city, sky in skies.items()]
        lead = self.pick("Based on that, I recommend", "With that in mind, I suggest", "Given this, I would recommend")
        return f"{lead} {listed(things)}, because that fits the temperatures."

    def preferences(self, sky: Sky, coldest: float, *, may_name_wet: bool) -> list[str]:
        """Sentences about the user's preferences that this weather makes relevant.

        If `may_name_wet` is false, rain and snow are not named, because the sentence would not say on which day.
        """
        profile = self.profile
        dislikes_wet = ("rain" in profile.dislikes and sky.matches("rain")) or (
            "snow" in profile.dislikes and sky.kind == "snow"
        )
        matters = {
            "cold": "cold" in profile.dislikes and coldest <= _COLD,
            "rain": may_name_wet and dislikes_wet and sky.kind != "snow",
            "snow": may_name_wet and dislikes_wet and sky.kind == "snow",
            "wet": not may_name_wet and dislikes_wet,
            "heat": "heat" in profile.dislikes and sky.feels >= _HOT,
            "wind": "wind" in profile.dislikes and sky.windy,
            "indoor": profile.indoor,
            "outdoor, inviting": profile.outdoor and not profile.indoor and sky.is_pleasant,
            "outdoor": profile.outdoor and not profile.indoor and not sky.is_pleasant,
            "fahrenheit": profile.unit == "F" and self.intent.unit is None,
            "no rain": "rain" in profile.dislikes and not sky.is_wet and sky.chance < _SLIGHT,
            "no cold": "cold" in profile.dislikes and coldest > _MILD,
        }
        return [self.pick(*_PREFERENCE_SENTENCES[name]) for name, does in matters.items() if does][:_MOST_PREFERENCES]

    def invented(self, city: str, figure: float) -> str:
        """An answer with an invented figure. It names no condition, so that it cannot be right by chance."""
        told = self.degrees(figure)
        when = "in the coming days" if self.intent.when.needs_forecast else "right now"
        place = f" in {city}" if city else ""
        items, reason = packing_list(Sky("", figure))
        advice = f"{listed(items)}, {reason}."
        return self.pick(
            f"It should be around {told}{place} {when}. Based on that, I recommend {advice}",
            f"As far as I know it is about {told}{place} {when}. With that in mind, I suggest {advice}",
        )


def requested_days(when: When, forecast: Forecast) -> list[ForecastDay]:
    """The requested days of a forecast; all of its days if it has none of those."""
    return [day for day in forecast.days if _is_requested(when, forecast, day)] or list(forecast.days)


def _is_requested(when: When, forecast: Forecast, day: ForecastDay) -> bool:
    ahead = (day.date - forecast.today).days
    return ahead in when.ahead or ahead <= when.span or (ahead == 1 and when.later_today) or when.includes(day.date)


def _worst_sky(skies: Sequence[tuple[Sky, str]]) -> tuple[Sky, str]:
    """The worst sky and its day: wet before likely to get wet, then the coldest."""
    return min(skies, key=lambda one: (not one[0].is_wet, not one[0].may_get_wet, one[0].feels))


def _on(forecast: Forecast, day: ForecastDay) -> str:
    return "tomorrow" if (day.date - forecast.today).days == 1 else f"on {day.weekday}"


def _label(forecast: Forecast, day: ForecastDay) -> str:
    if (day.date - forecast.today).days == 1:
        return f"Tomorrow ({day.weekday})"
    return f"{day.weekday} ({_date(day)})"


def _date(day: ForecastDay) -> str:
    return f"{day.date.day} {_MONTHS[day.date.month - 1]}"


def _joined(parts: Sequence[str]) -> str:
    """Join sentences with spaces; a list of days becomes a separate paragraph."""
    text = ""
    was_list = False
    for part in filter(None, parts):
        is_list = "\n" in part
        text += ("\n\n" if is_list or was_list else " ") * bool(text) + part
        was_list = is_list
    return text


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:]
