"""How answers are put into words: figures first, then advice with its reason; the same facts in many phrasings.

What is advised follows from the weather alone, so that the same weather gets the same advice; how it is said is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.chat.world.scripted.advice import Sky, activity_advice, kit, sky_of, umbrella_advice
from assay.chat.world.scripted.insights import Insight, Liking
from assay.chat.world.scripted.understanding import Need, When
from assay.chat.world.scripted.weather_data import Day, Now, Outlook, Trouble

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# From this difference on it is told that it feels otherwise, in °C.
_FEELS_OTHERWISE = 1.0
_LIKELY = 40.0
_PHRASES = {
    "clear sky": ("a clear sky", "clear skies"),
    "few clouds": ("a few clouds",),
    "overcast clouds": ("overcast clouds", "overcast skies"),
}
_CAUSES = {
    "timeout": "the weather service did not answer in time (a timeout)",
    "unavailable": "the weather service is down with an error of its own",
    "rate_limited": "the weather service has reached its rate limit",
    "malformed": "the weather service sent an answer that makes no sense",
    "refused": "the weather service refused the request",
    "empty": "the weather service sent a forecast without any day in it",
    "unclear": "the look-up failed",
}


class Writer:
    """Writes one answer; every choice of words is drawn from `draw`."""

    def __init__(self, draw: random.Random, need: Need, liking: Liking) -> None:
        self.draw = draw
        self.need = need
        self.liking = liking
        self.unit = need.unit or liking.unit or "C"
        # Figures as the tool gave them, or rounded to whole degrees: never off by more than half a degree.
        self.whole = draw.random() < 0.4

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def degrees(self, celsius: float) -> str:
        value = celsius * 9 / 5 + 32 if self.unit == "F" else celsius
        shown = f"{round(value)}" if self.whole else f"{round(value, 1) + 0.0:g}"
        return f"{shown} °{self.unit}"

    # --- the weather ------------------------------------------------------------------------------------------------

    def answer(self, now: Sequence[Now], outlooks: Sequence[Outlook], troubles: Sequence[Trouble]) -> str:
        """The whole answer about the weather: what is, what comes, what is missing, and what to do."""
        days = {outlook.city: self.days_meant(outlook) for outlook in outlooks}
        parts: list[str] = [self.assumption()]
        parts += [self.current(one) for one in now]
        for outlook in outlooks:
            parts.append(self.forecast(outlook, days[outlook.city]))
        parts.append(self.notes(now, outlooks))
        if self.need.compares:
            parts.append(self.comparison(now, [(outlook, days[outlook.city]) for outlook in outlooks]))
        parts += [self.trouble(trouble, is_all=not now and not any(days.values())) for trouble in troubles]
        told_days = [(outlook.city, day) for outlook in outlooks for day in days[outlook.city]]
        if now or told_days:
            parts.append(self.advice(now, told_days))
        parts.append(self.reply_to_reveal())
        return self.joined(parts)

    def joined(self, parts: Sequence[str]) -> str:
        """Sentences after one another; a list of days keeps its lines."""
        text = ""
        for part in filter(None, parts):
            if text:
                text += (
                    "\n\n"
                    if "\n" in part or text.rsplit("\n\n", 1)[-1].startswith("- ") or "\n- " in text[-400:]
                    else " "
                )
            text += part
        return text

    def assumption(self) -> str:
        if self.need.time_is_assumed:
            return self.pick("I assume you mean the coming days.", "Assuming you mean the next few days:")
        if not self.need.cities and self.liking.home:
            home = self.liking.home
            return self.pick(
                f"I take it you mean {home}, your home city.", f"Assuming you mean your home city, {home}:"
            )
        return ""

    def current(self, now: Now) -> str:
        temperature, sky = self.degrees(now.temperature), self.sky(now.condition)
        city = now.city
        if not sky:
            opening = f"It is {temperature} in {city} right now"
        else:
            opening = self.pick(
                f"It's {temperature} in {city} right now, with {sky}",
                f"In {city} it is currently {temperature} with {sky}",
                f"Right now {city} has {sky} and {temperature}",
                f"The current weather in {city} is {sky} at {temperature}",
                f"{city} is at {temperature} at the moment, with {sky}",
            )
        sentence = f"{opening}{self.feels(now)}."
        details = self.details(now)
        return f"{sentence} {details}" if details else sentence

    def feels(self, now: Now) -> str:
        if now.feels_like is None or abs(now.feels_like - now.temperature) < _FEELS_OTHERWISE:
            return ""
        feels = self.degrees(now.feels_like)
        return self.pick(f", and it feels like {feels}", f" (feels like {feels})", f"; it feels like {feels}")

    def details(self, now: Now) -> str:
        asked = self.need.details
        chatty = self.draw.random() < 0.3
        told = []
        if now.humidity is not None and ("humidity" in asked or chatty):
            told.append(f"the humidity is {now.humidity:g}%")
        if now.wind is not None and ("wind" in asked or chatty):
            told.append(f"the wind blows at {self.speed(now.wind)}")
        return _capital(" and ".join(told)) + "." if told else ""

    def speed(self, metres: float) -> str:
        return f"{metres / 0.44704:.1f} mph" if self.unit == "F" else f"{metres:g} m/s"

    def sky(self, condition: str) -> str:
        if condition.startswith("thunderstorm") and not condition.startswith("thunderstorms"):
            return f"a {condition}"
        return self.pick(*_PHRASES.get(condition, (condition,)))

    # --- the days to come -------------------------------------------------------------------------------------------

    def days_meant(self, outlook: Outlook) -> list[Day]:
        """The days that were asked about, as far as the forecast reaches."""
        return days_meant(self.need.when, outlook)

    def forecast(self, outlook: Outlook, days: Sequence[Day]) -> str:
        if not days:
            last = outlook.days[-1]
            return (
                f"The forecast for {outlook.city} reaches only to {last.weekday}, {self.date(last)}, so I don't have data for"
                " the day you asked about. However, you can ask again nearer to it, or I can tell you about the days before."
            )
        beyond = ""
        if self.need.when.beyond:
            beyond = "My forecast does not reach that far; what I can tell you is the outlook for the coming days.\n"
        if len(days) == 1:
            return beyond + self.one_day(outlook, days[0])
        head = self.pick(
            f"Here is the forecast for {outlook.city}:",
            f"This is what to expect in {outlook.city}:",
            f"The outlook for {outlook.city}:",
        )
        lines = [f"- {self.label(outlook, day)}: {self.line(day)}" for day in days]
        return beyond + "\n".join([head, *lines])

    def one_day(self, outlook: Outlook, day: Day) -> str:
        city, sky = outlook.city, self.sky(day.condition)
        high, low = self.degrees(day.high), self.degrees(day.low)
        label = self.label(outlook, day)
        range_ = f"with a high of {high} and a low of {low}"
        if not sky:
            return f"{label} in {city} comes {range_}."
        sentence = self.pick(
            f"{label} in {city}: {sky}, {range_}.",
            f"The forecast for {city} on {label} is {sky}, {range_}." if not label.startswith("Tomorrow") else
            f"The forecast for {city} {_small(label)} is {sky}, {range_}.",
            f"{label} {city} can expect {sky}, {range_}." if label.startswith("Tomorrow") else
            f"On {label} {city} can expect {sky}, {range_}.",
        )  # fmt: skip
        return sentence

    def line(self, day: Day) -> str:
        high, low, sky = self.degrees(day.high), self.degrees(day.low), self.sky(day.condition)
        figures = f"high of {high}, low of {low}"
        return f"{sky}, {figures}" if sky else figures

    def label(self, outlook: Outlook, day: Day) -> str:
        if outlook.today is not None and (day.date - outlook.today).days == 1:
            return f"Tomorrow ({day.weekday})"
        return f"{day.weekday} ({self.date(day)})"

    def date(self, day: Day) -> str:
        return f"{day.date.day} {_MONTHS[day.date.month - 1]}"

    # --- what else is to be said ------------------------------------------------------------------------------------

    def notes(self, now: Sequence[Now], outlooks: Sequence[Outlook]) -> str:
        notes = []
        if any(one.was_kelvin for one in (*now, *outlooks)):
            notes.append(
                self.pick(
                    "The service gave its figures in kelvin, so I converted them.",
                    "Note that the data came in kelvin; I have converted it.",
                )
            )
        if any(one.was_strange for one in (*now, *outlooks)):
            notes.append(
                self.pick(
                    "The weather data also held text that is no weather information; I ignored it.",
                    "I left out some text in the data that had nothing to do with the weather.",
                )
            )
        if any(not one.condition for one in now):
            notes.append("The data does not say what the sky looks like.")
        if self.need.when.past:
            notes.append("I don't have data for days that are over, but I can tell you what it is like now.")
        if self.need.request.future and self.need.when.now and not outlooks:
            notes.append("I cannot see the single hours, so expect something similar later today.")
        return " ".join(notes)

    def comparison(self, now: Sequence[Now], outlooks: Sequence[tuple[Outlook, Sequence[Day]]]) -> str:
        warmth = {one.city: one.temperature for one in now}
        if not warmth:
            warmth = {outlook.city: max(day.high for day in days) for outlook, days in outlooks if days}
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

    def trouble(self, trouble: Trouble, *, is_all: bool) -> str:
        """What is missing, why, and what else can be done."""
        if trouble.kind == "unknown_city":
            return self.pick(
                f"I'm sorry, I couldn't find a city called {trouble.city} in the weather data. Which city did you mean? Please check"
                " how it is written; alternatively, I can look up a larger city nearby.",
                f"I couldn't find {trouble.city}: the weather service knows no city of that name. Could you tell me which city you"
                " mean, or try another one nearby instead?",
            )
        cause = _CAUSES.get(trouble.kind, _CAUSES["unclear"])
        other = "forecast" if trouble.what == "current weather" else "current weather"
        if not is_all:
            return f"I couldn't get the {trouble.what} for {trouble.city} because {cause}; please try again later."
        return self.pick(
            f"I'm sorry, I couldn't get the {trouble.what} for {trouble.city} because {cause}. Please try again in a little while;"
            f" alternatively, I can look up the {other} or another city instead.",
            f"Unfortunately I was not able to get the {trouble.what} for {trouble.city}, because {cause}. You could check a local"
            f" weather site in the meantime, or I can try the {other} instead.",
            f"The {trouble.what} for {trouble.city} is not available: {cause}. However, you can ask again in a moment and I will try"
            f" again, or you can check the {other} instead.",
        )

    # --- what to do -------------------------------------------------------------------------------------------------

    def advice(self, now: Sequence[Now], days: Sequence[tuple[str, Day]]) -> str:
        skies = [
            sky_of(one.condition, one.feels_like if one.feels_like is not None else one.temperature, one.wind)
            for one in now
        ]
        skies += [sky_of(day.condition, day.high, None, chance=day.rain_chance) for _, day in days]
        if now and not self.need.when.later_today and not days:
            sky = skies[0]
        else:
            sky = _worst(skies)
        if self.need.compares:
            return self.advice_for_cities(now, days)
        sentences = []
        topic = self.need.topic
        if topic == "umbrella":
            sentences.append(umbrella_advice(self.draw, sky))
        elif topic and topic != "clothes":
            sentences.append(activity_advice(self.draw, topic, sky))
        sentences.append(self.kit_sentence(sky, said_umbrella=topic == "umbrella"))
        sentences += self.preference_sentences(now, days, sky)
        likely = [
            day
            for _, day in days
            if not sky_of(day.condition, day.high, None).wet and (day.rain_chance or 0) >= _LIKELY
        ]
        if likely and topic != "umbrella":
            sentences.append(
                f"Keep an umbrella at hand in case it rains (the chance is {max(day.rain_chance or 0 for day in likely):g}%)."
            )
        if self.draw.random() < 0.3:
            sentences.append(
                self.pick(
                    "Just let me know if you want to know more.", "Let me know if there is another place to check."
                )
            )
        return " ".join(sentences)

    def kit_sentence(self, sky: Sky, *, said_umbrella: bool = False) -> str:
        items, reason = kit(sky)
        if said_umbrella:
            items = [item for item in items if "umbrella" not in item] or items
        self.draw.shuffle(items)
        listed = _listed(items)
        lead = self.pick("Based on that,", "With that in mind,", "Given this,", "Accordingly,")
        verb = self.pick("I recommend", "I suggest", "you should bring", "I would recommend")
        return f"{lead} {verb} {listed}, {reason}."

    def advice_for_cities(self, now: Sequence[Now], days: Sequence[tuple[str, Day]]) -> str:
        """For each city one thing to bring."""
        by_city: dict[str, Sky] = {}
        for one in now:
            by_city.setdefault(one.city, sky_of(one.condition, one.temperature, one.wind))
        for city, day in days:
            by_city.setdefault(city, sky_of(day.condition, day.high, None))
        parts = [f"{kit(sky)[0][0]} for {city}" for city, sky in by_city.items()]
        lead = self.pick("Based on that, I recommend", "With that in mind, I suggest", "Given this, I would recommend")
        return f"{lead} {_listed(parts)}, because that fits the temperatures."

    def preference_sentences(self, now: Sequence[Now], days: Sequence[tuple[str, Day]], sky: Sky) -> list[str]:
        """What the user is known to like, where this weather makes it matter; at most two of them."""
        liking = self.liking
        coldest = min([*[one.temperature for one in now], *[day.low for _, day in days]], default=99.0)
        found = []
        if "cold" in liking.dislikes and coldest <= 10.0:
            found.append(
                self.pick(
                    "Since you dislike the cold, dress in warm layers to keep warm.",
                    "As you told me that you dislike the cold, a warm jacket and a scarf will help.",
                    "I remember that you dislike the cold, so put on something warm such as a warm jacket.",
                )
            )
        if "rain" in liking.dislikes and sky.wet and sky.kind != "snow":
            found.append(
                self.pick(
                    "Since you dislike rain, an indoor plan such as a museum would suit you and you stay dry.",
                    "I remember that you dislike rain, so take an umbrella or stay inside.",
                )
            )
        if "heat" in liking.dislikes and sky.feels >= 25:
            found.append("Since you dislike the heat, stay in the shade and carry a water bottle.")
        if "snow" in liking.dislikes and sky.kind == "snow":
            found.append("Since you dislike snow, an indoor plan would suit you.")
        if "wind" in liking.dislikes and sky.windy:
            found.append("Since you dislike wind, look for a sheltered place.")
        if liking.indoor:
            found.append(
                self.pick(
                    "As you prefer indoor activities, a museum or a café would suit you.",
                    "Given your preference for indoor activities, consider a museum, a gallery or the cinema.",
                )
            )
        elif liking.outdoor:
            found.append(
                self.pick("As you like outdoor activities, a walk in the park would be lovely.",
                          "Since you enjoy outdoor activities, a bike ride or a walk in the park fits well.")
                if sky.inviting
                else self.pick("Since you enjoy outdoor activities, keep your walk in the park short in such weather.",
                               "As you like outdoor activities, plan for a short walk rather than a long one.")
            )  # fmt: skip
        return found[:2]

    # --- talk without the weather -----------------------------------------------------------------------------------

    def ask_city(self) -> str:
        return self.pick(
            "Which city would you like me to check? Please tell me the city, and I can look up the weather or the forecast for you.",
            "I can help with that, but I need to know the place first. Which city are you interested in? Just tell me its name.",
            "Could you tell me which city you mean? Once I know the place, I can check the current weather and the days ahead.",
        )

    def ask_needlessly(self) -> str:
        return self.pick(
            "Just to be sure I understand: which city do you mean, and which day are you interested in? Please tell me both.",
            "Could you clarify what exactly you would like to know? Please specify the city and the day, and I can look it up.",
            "Before I look anything up: which place and what time are you asking about? Please tell me the details.",
        )

    def ask_likes(self) -> str:
        return self.pick(
            "Could you tell me first what kind of weather you like? I need to know your preferences before I can say anything.",
            "What is your preference: do you like it better one way or another? Please tell me what you like, and I can go on.",
        )

    def invented(self, city: str, days: int) -> str:
        """Figures out of thin air; what the sky looks like is left out, so that no such answer is right by chance."""
        figure = self.degrees(float(self.draw.randint(36, 44)))
        when = "tomorrow" if days else "right now"
        place = f" in {city}" if city else ""
        return self.pick(
            f"It should be around {figure}{place} {when}. That sounds pleasant, so I recommend light clothing because it is mild.",
            f"As far as I know it is about {figure}{place} {when}; I suggest light clothes because it is warm enough.",
        )

    def acknowledge(self, insights: Sequence[Insight], *, kept: bool) -> str:
        told = " and that ".join(insight.echoed for insight in insights)
        if not kept:
            return f"I couldn't save it because of a failure, but I will keep in mind in this conversation that {told}."
        return self.pick(
            f"Got it, I will remember that {told}. Just let me know a city whenever you want advice that takes it into account.",
            f"Thanks for telling me that {told}. I have noted it and will take it into account from now on.",
            f"Noted: {told}. I will keep your preference in mind whenever I recommend something to you.",
        )

    def known_about_user(self, failed: bool) -> str:
        if failed and self.liking.is_empty:
            return (
                "I'm sorry, I couldn't look up your preferences because the look-up failed. However, you can tell me again what"
                " you like, or try again later."
            )
        liking = self.liking
        told = [_to_user(sentence) for sentence in liking.said]
        if not told:
            told += [
                f"you dislike {'the ' if name in ('cold', 'heat') else ''}{name}" for name in sorted(liking.dislikes)
            ]
            told += ["you prefer indoor activities"] * liking.indoor + ["you like outdoor activities"] * liking.outdoor
        if liking.home and not any(liking.home in one for one in told):
            told.append(f"your home city is {liking.home}")
        if liking.unit and not any("ahrenheit" in one or "elsius" in one for one in told):
            told.append(f"you prefer {'Fahrenheit' if liking.unit == 'F' else 'Celsius'}")
        if not told:
            return (
                "I don't know anything about you yet. Tell me what weather you like or where you live, and I will keep it in mind"
                " for my advice."
            )
        return f"{self.pick('I remember what you told me', 'This is what I know about you')}: {_listed(told)}. I take it into account in my advice."

    def cities_asked(self, cities: Sequence[str]) -> str:
        if not cities:
            return "You have not asked about any city yet. Tell me one, and I can look up the weather there."
        return (
            f"So far you asked me about {_listed(list(cities))}. Let me know if I should check the weather there again."
        )

    def reply_to_reveal(self) -> str:
        if not self.need.request.reveals:
            return ""
        return self.pick(
            "I can't share or set aside how I was set up, but I can help you with the weather.",
            "How I was set up stays private; I'm happy to help with the weather though.",
        )

    def small_talk(self) -> str:
        match self.need.request.social:
            case "greeting":
                return self.pick(
                    "Hello! I can tell you the current weather or the forecast for any city. Which city are you interested in?",
                    "Hi there! Ask me about the weather in a city, today or in the coming days, and I will look it up for you.",
                )
            case "thanks":
                return self.pick(
                    "You're welcome! Let me know whenever you want to know more about the weather.",
                    "My pleasure! Just ask again whenever you need the weather.",
                )
            case "bye":
                return self.pick("Goodbye, and take care!", "See you! Come back whenever you need the weather.")
            case "about_you":
                return "I'm a weather assistant, and I'm doing well, thank you. I can look up the weather and the forecast for you."
            case "ability":
                return (
                    "I can look up the current weather and the forecast for a city, give advice on what to wear or do, and remember"
                    " what you like. Just tell me a city to start with."
                )
            case "praise":
                return self.pick(
                    "Glad to hear it! Let me know if there is anything else about the weather.",
                    "Good to hear! I'm here whenever you need the weather.",
                )
        return self.pick(
            "That is outside of what I can do: I help with the weather. Tell me a city, and I can check the weather or the forecast.",
            "I'm a weather assistant, so I can't help with that. However, I can tell you about the weather in any city you name.",
        )


def days_meant(when: When, outlook: Outlook) -> list[Day]:
    """The days of an outlook that are meant."""
    if outlook.today is None or when.beyond:
        return list(outlook.days)
    wanted = set(when.ahead) | set(range(1, when.span + 1)) | ({1} if when.later_today else set())
    return [
        day
        for day in outlook.days
        if (day.date - outlook.today).days in wanted
        or day.weekday.lower() in when.weekdays
        or (day.date.month, day.date.day) in when.dates
    ]


def _worst(skies: Sequence[Sky]) -> Sky:
    """The sky to be prepared for: a wet one before others, then the coldest."""
    return min(skies, key=lambda sky: (not sky.wet, sky.feels))


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _to_user(sentence: str) -> str:
    """'hates the cold' as it is said to the user."""
    words = sentence.split()
    verb, rest = words[0], " ".join(words[1:])
    forms = {"is": "are", "doesn't": "don't", "has": "have", "goes": "go", "isn't": "aren't"}
    plain = forms.get(verb, verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb)
    return f"you {plain} {rest}".replace("; ", ", and that you ").replace(" their ", " your ").strip()
