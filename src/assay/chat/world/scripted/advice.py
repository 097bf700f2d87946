"""What to wear, bring and do in a given weather. The same weather gives the same advice, so answers are consistent."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

# Least wind speed called windy, in m/s.
_WINDY = 9.0
# Least chance of rain, in %, for which the advice is to be prepared.
LIKELY = 40.0
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
    "run": "running",
    "jog": "jogging",
    "cycle": "cycling",
    "bike": "cycling",
    "biking": "cycling",
    "hike": "hiking",
    "picnic": "a picnic",
    "beach": "the beach",
    "swim": "swimming",
    "walk": "a walk",
    "walking": "a walk",
    "bbq": "a barbecue",
    "barbecue": "a barbecue",
    "ski": "skiing",
    "sail": "sailing",
    "garden": "gardening",
    "camp": "camping",
    "bike ride": "a bike ride",
    "laundry": "drying laundry outside",
    "festival": "the festival",
    "excursion": "an excursion",
    "stroll": "a stroll",
}
_ANYTHING = frozenset({"outdoor", "outdoors", "outside", "indoor", "indoors", "activity", "activities"})


@dataclass(frozen=True, slots=True)
class Sky:
    """The parts of the weather that advice depends on."""

    kind: str
    """'thunderstorm', 'snow', 'rain', 'drizzle', 'mist', 'clouds', 'clear' or ''."""
    feels: float
    """Apparent temperature in °C."""
    windy: bool = False
    chance: float = 0.0
    """Chance of rain or snow, in %."""

    @property
    def is_wet(self) -> bool:
        return self.kind in ("thunderstorm", "snow", "rain", "drizzle")

    @property
    def may_get_wet(self) -> bool:
        """Whether rain or snow is likely although the condition is dry."""
        return not self.is_wet and self.chance >= LIKELY

    @property
    def is_pleasant(self) -> bool:
        """Whether the weather is good for being outside."""
        return not self.is_wet and not self.windy and 4.0 <= self.feels <= 30.0

    def matches(self, state: str) -> bool:
        """Whether a word describes it: a kind, 'cold', 'warm' or 'hot'. Drizzle and thunderstorms count as rain."""
        if state == "rain":
            return self.kind in ("rain", "drizzle", "thunderstorm")
        by_feeling = {"cold": self.feels <= 10.0, "warm": self.feels >= 18.0, "hot": self.feels >= 27.0}
        return by_feeling.get(state, self.kind == state)


def summarize_sky(condition: str, feels: float, wind: float | None = None, chance: float | None = None) -> Sky:
    """The sky described by a tool's condition and figures."""
    kind = next((name for name, pattern in _KINDS if re.search(pattern, condition)), "")
    return Sky(kind, feels, windy=wind is not None and wind >= _WINDY, chance=chance or 0.0)


def packing_list(sky: Sky, when: str = "") -> tuple[list[str], str]:
    """What to take along, the most important first, and the reason; `when` names the day if there are several."""
    day = f" {when}" if when else ""
    feels = sky.feels
    match sky.kind:
        case "thunderstorm":
            return ["a raincoat", "sturdy shoes", "an umbrella"], f"because of the thunderstorms{day}"
        case "snow":
            return ["a warm coat", "snow boots", "gloves"], f"because of the snow{day}"
        case "rain" | "drizzle":
            wear = "a waterproof jacket" if feels <= 18 else "a light raincoat"
            extra = "warm layers" if feels <= 8 else "sturdy shoes"
            return ["an umbrella", wear, extra], f"because of the {sky.kind}{day}"
    if feels <= 0:
        return ["a warm coat", "a scarf", "gloves"], f"because it is freezing{day}"
    if feels <= 10:
        return ["a warm jacket", "a scarf", "a hat"], f"because it is cold{day}"
    if feels <= 18:
        return ["a windbreaker" if sky.windy else "a light jacket", "a sweater"], f"because it is rather cool{day}"
    if feels <= 25:
        return ["light clothes", "a thin sweater"], f"because it is mild{day}"
    return ["light clothing", "sunscreen", "a water bottle"], f"because it is hot{day}"


def umbrella_advice(draw: random.Random, sky: Sky) -> str:
    """Whether to take an umbrella."""
    if sky.kind == "snow":
        return "A hood helps more than an umbrella here."
    if sky.is_wet:
        return draw.choice(("So yes, take an umbrella with you.", "Yes, an umbrella is a good idea."))
    if sky.may_get_wet:
        return f"To be safe, take an umbrella in case it {precipitation_verb(sky)} (the chance is {sky.chance:g}%)."
    return draw.choice(
        ("You won't need an umbrella, because it is dry.", "There is no need for an umbrella, because it stays dry.")
    )


def precipitation_verb(sky: Sky) -> str:
    """'rains' or 'snows', by temperature."""
    return "snows" if sky.feels <= 0 else "rains"


def activity_advice(draw: random.Random, topic: str, sky: Sky) -> str:
    """Whether an activity is a good idea in this weather."""
    if topic in _ANYTHING:
        options = (
            (
                "It is a good time to be outside: consider a walk in the park.",
                "A walk or a bike ride would be pleasant.",
            )
            if sky.is_pleasant
            else (
                "It is better to stay inside: consider a museum or a café.",
                "I suggest something indoors, like a museum.",
            )
        )
        return draw.choice(options)
    name = _ACTIVITIES.get(topic, topic)
    if sky.is_pleasant:
        return draw.choice((f"The weather is good enough for {name}.", f"So yes, {name} is a good idea."))
    return draw.choice(
        (f"I would put off {name}, or look for something indoors.", f"It is better to move {name} to another time.")
    )
