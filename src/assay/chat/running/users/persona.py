"""A simulated user with a goal: what they say next depends on the answers they get. Seeded; needs no model.

The goal is what the assistant should know about them at the end. The user states one thing after another, repeats it if
an answer does not mention it, checks what the assistant knows, and then asks for advice until the turns are over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.chat.world.situation import chance

DECIDES = "(the persona decides)"
"""The message of a turn in a suite whose user is a persona."""

# How people say it, and a word that an answer contains if it acknowledges it.
_WORDINGS: Mapping[tuple[str, Any], tuple[str, tuple[str, ...]]] = {
    ("dislikes_cold", True): ("cold", ("I hate the cold.", "I can't stand the cold.", "I really don't like the cold.")),
    ("dislikes_rain", True): ("rain", ("I hate the rain.", "I don't like rain.", "I can't stand the rain.")),
    ("dislikes_heat", True): ("heat", ("I hate the heat.", "I can't stand the heat.", "I don't enjoy the heat.")),
    ("dislikes_snow", True): ("snow", ("I hate snow.", "I don't like snow.", "I avoid snow.")),
    ("dislikes_wind", True): ("wind", ("I hate the wind.", "I can't stand the wind.", "I don't like wind.")),
    ("outdoor_activities", True): ("hik", ("I love hiking.", "I enjoy hiking.", "I like hiking a lot.")),
    ("prefers_indoor", True): ("museum", ("I love museums.", "I prefer museums.", "I really enjoy museums.")),
    ("units", "imperial"): ("fahrenheit", ("I prefer Fahrenheit.", "Please always use Fahrenheit.")),
    ("units", "metric"): ("celsius", ("I prefer Celsius.", "Please always use Celsius.")),
}
_OPENINGS = ("", "Hi! ", "By the way, ", "Just so you know: ")
_AGAIN = ("As I said: ", "Let me say it again: ", "You may have missed it: ")
_CHECK = "What do you know about me?"
_ADVICE = ("What should I wear in {city} today?", "Should I go outside in {city}?", "And tomorrow?")


def tellable() -> dict[str, list[Any]]:
    """What a persona can have as a part of its goal: the values by name."""
    found: dict[str, list[Any]] = {}
    for name, value in _WORDINGS:
        found.setdefault(name, []).append(value)
    return found


def wordings_of(name: str, value: Any) -> tuple[str, ...]:
    """How people say a part of a goal."""
    return _WORDINGS[name, value][1]


@dataclass(slots=True)
class _Fact:
    word: str
    wordings: tuple[str, ...]
    told: int = 0
    taken_up: bool = False


class PersonaUser:
    """One user in one conversation."""

    def __init__(self, goal: Mapping[str, Any], city: str, *, seed: int, key: str) -> None:
        self._chance = chance(seed, "persona", key)
        self._facts = [_Fact(*_WORDINGS[name, value]) for name, value in goal.items()]
        self._chance.shuffle(self._facts)
        self._city = city
        self._last: _Fact | None = None
        self._checked = False
        self._advice = 0

    def next(self, answer: str | None) -> str:
        """What the user says after an answer; None before the first."""
        said = (answer or "").casefold()
        if self._last is not None:
            self._last.taken_up = self._last.word in said
        elif self._checked and answer is not None and not self._advice:
            # The assistant was asked what it knows: what it left out is stated again.
            for fact in self._facts:
                fact.taken_up = fact.word in said
        self._last = next((fact for fact in self._facts if not fact.taken_up and fact.told < len(fact.wordings)), None)
        if self._last is not None:
            self._checked = False
            return self._tell(self._last)
        if not self._checked:
            self._checked = True
            return _CHECK
        asked = _ADVICE[self._advice % len(_ADVICE)].format(city=self._city)
        self._advice += 1
        return asked

    def _tell(self, fact: _Fact) -> str:
        opening = self._chance.choice(_AGAIN if fact.told else _OPENINGS)
        if not fact.told:
            order = list(fact.wordings)
            self._chance.shuffle(order)
            fact.wordings = tuple(order)
        words = fact.wordings[fact.told]
        fact.told += 1
        return opening + words
