"""What to wear, bring and do in a given weather: a plain function of it, so that advice does not contradict itself."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_WINDY = 9.0
_LIKELY = 40.0
_KINDS: tuple[tuple[str, str], ...] = (
    ("thunderstorm", r"thunder|storm|squall|tornado"),
    ("snow", r"snow|sleet|blizzard|flurr"),
    ("drizzle", r"drizzle"),
    ("rain", r"rain|shower"),
    ("mist", r"mist|fog|haze|smoke|dust|sand"),
    ("clouds", r"cloud|overcast"),
    ("clear", r"clear|sun"),
)
_ACTIVITIES = {
    "run": "running", "jog": "jogging", "cycle": "cycling", "bike": "cycling", "biking": "cycling", "hike": "hiking",
    "picnic": "a picnic", "beach": "the beach", "swim": "swimming", "walk": "a walk", "walking": "a walk", "bbq": "a barbecue",
    "barbecue": "a barbecue", "ski": "skiing", "sail": "sailing", "garden": "gardening", "camp": "camping", "bike ride": "a bike ride",
    "laundry": "drying laundry outside", "festival": "the festival", "excursion": "an excursion", "stroll": "a stroll",
}  # fmt: skip
_ANYTHING = frozenset({"outdoor", "outdoors", "outside", "indoor", "indoors", "activity", "activities"})


@dataclass(frozen=True, slots=True)
class Sky:
    """The weather as far as advice needs it."""

    kind: str
    """'thunderstorm', 'snow', 'rain', 'drizzle', 'mist', 'clouds', 'clear' or ''."""
    feels: float
    """In °C."""
    windy: bool = False
    likely_wet: bool = False
    """Whether it may well get wet although the sky is told to be dry."""

    @property
    def wet(self) -> bool:
        return self.kind in ("thunderstorm", "snow", "rain", "drizzle")

    @property
    def inviting(self) -> bool:
        """Whether one would like to be outside."""
        return not self.wet and not self.windy and 4.0 <= self.feels <= 30.0


def sky_of(condition: str, feels: float, wind: float | None, *, chance: float | None = None) -> Sky:
    """The sky that a tool's words and figures describe."""
    kind = next((name for name, pattern in _KINDS if re.search(pattern, condition)), "")
    return Sky(kind, feels, windy=wind is not None and wind >= _WINDY, likely_wet=(chance or 0.0) >= _LIKELY)


def kit(sky: Sky) -> tuple[list[str], str]:
    """What to take along, and why."""
    feels = sky.feels
    match sky.kind:
        case "thunderstorm":
            return ["a raincoat", "sturdy shoes", "an umbrella"], "because thunderstorms bring sudden downpours"
        case "snow":
            return ["a warm coat", "snow boots", "gloves"], "because snow makes the streets slippery"
        case "rain" | "drizzle":
            wear = "a waterproof jacket" if feels <= 18 else "a light raincoat"
            extra = "warm layers" if feels <= 8 else "sturdy shoes"
            reason = "because of the rain" if sky.kind == "rain" else "because of the drizzle"
            return ["an umbrella", wear, extra], reason
    if feels <= 0:
        return ["a warm coat", "a scarf", "gloves"], "because it is freezing"
    if feels <= 10:
        return ["a warm jacket", "a scarf", "a hat"], "because it is cold"
    if feels <= 18:
        return ["a light jacket", "a sweater"], "because it is rather cool"
    if feels <= 25:
        return ["light clothes", "a thin sweater for the evening"], "because it is mild"
    return ["light clothing", "sunscreen", "a water bottle"], "because it is hot"


def umbrella_advice(draw: random.Random, sky: Sky) -> str:
    """Whether to take an umbrella."""
    if sky.wet and sky.kind != "snow":
        return draw.choice(("So yes, take an umbrella with you.", "Yes, an umbrella is a good idea."))
    if sky.kind == "snow":
        return "A hood helps more than an umbrella here."
    if sky.likely_wet:
        return "To be safe, take an umbrella in case it rains."
    return draw.choice(
        ("You won't need an umbrella, because it is dry.", "There is no need for an umbrella, because it stays dry.")
    )


def activity_advice(draw: random.Random, topic: str, sky: Sky) -> str:
    """Whether something is a good idea in this weather."""
    if topic in _ANYTHING:
        if sky.inviting:
            return draw.choice(
                (
                    "It is a good time to be outside: consider a walk in the park.",
                    "A walk or a bike ride would be pleasant.",
                )
            )
        return draw.choice(
            (
                "It is better to stay inside: consider a museum or a café.",
                "An indoor plan such as a museum is the better choice.",
            )
        )
    name = _ACTIVITIES.get(topic, topic)
    if sky.inviting:
        return draw.choice((f"The weather is good enough for {name}.", f"So yes, {name} is a good idea."))
    return draw.choice(
        (f"I would put off {name}, or look for something indoors.", f"It is better to move {name} to another time.")
    )
