"""What is known about a user: facts stated in their messages, and preferences returned by tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.chat.world.preferences import parse_preferences

_DISLIKES = ("cold", "rain", "heat", "snow", "wind")
_DEEPEST = 4
_LONGEST = 200
# The end of a statement: punctuation, or the beginning of a question or of another statement.
_END = (
    r"(?=\s*(?:[,.;!?]|$|\bso\b|\bbut\b|\bwhat\b|\bplease\b"
    r"|\band (?:what|how|is|should|can|do|will|i|where|which|tell|please)\b))"
)
_ADVERBS = r"(?:(?:really|absolutely|also|just|always|usually|often|generally|truly|definitely|quite|do|now|still) )*"
_VERBS = {
    "hate": "hates",
    "dislike": "dislikes",
    "detest": "detests",
    "can't stand": "can't stand",
    "cannot stand": "cannot stand",
    "don't like": "doesn't like",
    "do not like": "doesn't like",
    "don't enjoy": "doesn't enjoy",
    "don't mind": "doesn't mind",
    "avoid": "avoids",
    "love": "loves",
    "like": "likes",
    "prefer": "prefers",
    "enjoy": "enjoys",
    "adore": "adores",
    "live in": "lives in",
    "run": "runs",
    "cycle": "cycles",
    "hike": "hikes",
    "jog": "jogs",
    "bike": "bikes",
    "get cold": "gets cold",
    "feel cold": "feels cold",
}
_BY_LENGTH = sorted(map(re.escape, _VERBS), key=len, reverse=True)
_STATEMENT = re.compile(rf"\bi {_ADVERBS}({'|'.join(_BY_LENGTH)})\b((?: [^,.;!?]+?)?){_END}", re.IGNORECASE)
_AM = re.compile(
    r"\bi(?:'m| am) ((?:not |no )?(?:really |quite |very )?(?:a )?(?:big |huge |great )?"
    r"(?:fan of|sensitive to|allergic to|into|fond of|keen on|from|based in|living in"
    rf"|an? (?:runner|cyclist|hiker|outdoor person|indoor person))(?: [^,.;!?]+?)?){_END}",
    re.IGNORECASE,
)
_HOME = re.compile(rf"\bmy (?:home|home ?town|home city|city)(?: city| town)? is ([^,.;!?]+?){_END}", re.IGNORECASE)
_LIVES = re.compile(r"^(?:from|based in|living in) ", re.IGNORECASE)
_UNITS = re.compile(
    r"(?:please )?(?:always |from now on,? )?"
    r"(?:use|switch to|show me|give me|tell me|answer in|i (?:prefer|want|use|like|need))"
    r"(?: \w+){0,4}? (fahrenheit|celsius|imperial|metric)(?: units)?(?: degrees)?(?:,? (?:please|from now on|always))*",
    re.IGNORECASE,
)
_LASTING = re.compile(r"\b(?:always|from now on|prefer|use|switch|i (?:want|like|need)|please)\b", re.IGNORECASE)
_WEATHER = re.compile(r"\b(?:weather|temperature|forecast)\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?i:my name is|call me) ([A-Z][\w'-]+)")
_LEAD = re.compile(
    r"(?:please )?(?:remember|note|keep in mind|you should know|by the way|btw|fyi)[,:]? (?:that )?(?=\s*\.)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:do|did|does|what|which|would|will|should|can|could|if|when|where|whether|remember)\s*$"
    r"|\bdo you (?:know|remember)\b",
    re.IGNORECASE,
)
_EMPTY_OBJECTS = frozenset({"", "it", "you", "this", "that", "them"})
# Stored sentences are untrusted input: one that looks like an instruction is ignored.
_COMMANDS = re.compile(
    r"\b(?:ignore|disregard|forget|override|pretend|reveal|instructions?|prompt|you must|(?:answer|say) only)\b",
    re.IGNORECASE,
)
_UNITS_BY_NAME = {"imperial": "F", "fahrenheit": "F", "metric": "C", "celsius": "C"}


@dataclass(frozen=True, slots=True)
class UserFact:
    """A fact that a user stated about themselves."""

    third_person: str
    """As it is passed to a tool: 'hates the cold'."""
    second_person: str
    """As it is said to the user: 'you hate the cold'."""


def read_user_facts(text: str) -> tuple[tuple[UserFact, ...], str]:
    """The facts that a message states about its user, and the rest of the message."""
    found = sorted(_find_facts(text), key=lambda one: one[0])
    kept: list[tuple[int, int, UserFact]] = []
    for one in found:
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    rest, at = [], 0
    for start, end, _ in kept:
        rest.append(text[at:start])
        at = end
    return tuple(fact for _, _, fact in kept), _LEAD.sub(" ", " . ".join([*rest, text[at:]]))


def _find_facts(text: str) -> Iterable[tuple[int, int, UserFact]]:
    for match in _UNITS.finditer(text):
        if _LASTING.search(match.group()) and not _WEATHER.search(match.group()):
            unit = match.group(1).lower()
            name = unit.capitalize() if unit in ("fahrenheit", "celsius") else f"{unit} units"
            yield match.start(), match.end(), UserFact(f"prefers {name}", f"you prefer {name}")
    for match in _STATEMENT.finditer(text):
        verb, about = match.group(1).lower(), match.group(2)
        is_statement = " cold" in verb or about.strip().lower() not in _EMPTY_OBJECTS
        if is_statement and not _is_asked(text, match.start()):
            yield (
                match.start(),
                match.end(),
                UserFact(_third_person(_VERBS[verb] + about), _second_person(f"you {verb}{about}")),
            )
    for match in _AM.finditer(text):
        if not _is_asked(text, match.start()):
            said = match.group(1)
            told = _LIVES.sub("lives in ", said) if _LIVES.match(said) else f"is {said}"
            yield match.start(), match.end(), UserFact(_third_person(told), _second_person(f"you are {said}"))
    for match in _HOME.finditer(text):
        city = match.group(1).strip()
        yield match.start(), match.end(), UserFact(f"lives in {city}", f"your home city is {city}")
    for match in _NAME.finditer(text):
        yield match.start(), match.end(), UserFact(f"is called {match.group(1)}", f"your name is {match.group(1)}")


def _is_asked(text: str, start: int) -> bool:
    """Whether 'I like …' is part of a question: 'What do I like?', 'Do you know that I hate …?'."""
    return bool(_ASKED.search(re.split(r"[.!]", text[:start])[-1]))


def _third_person(text: str) -> str:
    text = re.sub(r"\bmy\b", "their", " ".join(text.split()), flags=re.IGNORECASE)
    return re.sub(r"\bme\b", "them", text, flags=re.IGNORECASE)[:_LONGEST]


def _second_person(text: str) -> str:
    text = re.sub(r"\bmy\b", "your", " ".join(text.split()), flags=re.IGNORECASE)
    return re.sub(r"\b(?:me|myself)\b", "you", text, flags=re.IGNORECASE)[:_LONGEST]


@dataclass(frozen=True, slots=True)
class UserProfile:
    """What is known about a user."""

    dislikes: frozenset[str] = frozenset()
    """A subset of 'cold', 'rain', 'heat', 'snow', 'wind'."""
    indoor: bool = False
    outdoor: bool = False
    unit: str | None = None
    """'F' or 'C'."""
    home: str | None = None
    said: tuple[str, ...] = ()
    """Stored sentences about the user, in the third person."""


def read_profile(results: Iterable[Any], told: Iterable[str]) -> UserProfile:
    """The profile from tools' results, which may nest it at any level, and from the facts stated since."""
    flags: dict[str, Any] = {}
    said: dict[str, None] = {}
    for result in results:
        for table in _tables(result):
            flags.update({name: value for name, value in table.items() if isinstance(value, (str, bool))})
            kept = table.get("insights")
            if isinstance(kept, Sequence) and not isinstance(kept, str):
                sentences = [str(one).strip().rstrip(".")[:_LONGEST] for one in kept]
                said.update(dict.fromkeys(one for one in sentences if not _COMMANDS.search(one)))
    for sentence in told:
        flags.update(parse_preferences(sentence))
        if not any(sentence in one for one in said):
            said[sentence] = None
    home = flags.get("home_city")
    return UserProfile(
        dislikes=frozenset(name for name in _DISLIKES if flags.get(f"dislikes_{name}") is True),
        indoor=flags.get("prefers_indoor") is True,
        outdoor=flags.get("outdoor_activities") is True,
        unit=_UNITS_BY_NAME.get(str(flags.get("units", "")).lower()),
        home=home if isinstance(home, str) and home else None,
        said=tuple(said),
    )


def _tables(data: Any, depth: int = 0) -> Iterable[Mapping[str, Any]]:
    if isinstance(data, Mapping) and depth < _DEEPEST:
        yield data
        for value in data.values():
            yield from _tables(value, depth + 1)
