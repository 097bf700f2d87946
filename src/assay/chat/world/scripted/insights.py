"""What users tell about themselves: preferences in their messages, and preferences as tools give them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.chat.world.preferences import understood

_DISLIKES = ("cold", "rain", "heat", "snow", "wind")
_DEEPEST = 4
_END = r"(?=\s*(?:[,.;!?]|$|\bso\b|\bbut\b|\band (?:what|how|is|should|can|do|will|i|where|which|tell)\b|\bwhat\b|\bplease\b))"
_ADVERBS = r"(?:(?:really|absolutely|also|just|always|usually|often|generally|personally|very much|truly|definitely|quite|do|much|now|still) )*"
_VERBS = {
    "hate": "hates", "dislike": "dislikes", "detest": "detests", "can't stand": "can't stand", "cannot stand": "cannot stand",
    "don't like": "doesn't like", "do not like": "doesn't like", "don't enjoy": "doesn't enjoy", "avoid": "avoids",
    "love": "loves", "like": "likes", "prefer": "prefers", "enjoy": "enjoys", "adore": "adores", "live in": "lives in",
    "use": "uses", "run": "runs", "cycle": "cycles", "hike": "hikes", "jog": "jogs", "bike": "bikes", "commute": "commutes",
    "get cold": "gets cold", "feel cold": "feels cold", "don't mind": "doesn't mind", "do not mind": "doesn't mind",
    "never liked": "never liked", "sunburn": "sunburns", "burn": "burns",
}  # fmt: skip
_TOLD = re.compile(
    rf"\bi {_ADVERBS}({'|'.join(sorted(map(re.escape, _VERBS), key=len, reverse=True))})\b((?: [^,.;!?]+?)?){_END}",
    re.IGNORECASE,
)
_AM = re.compile(
    rf"\bi(?:'m| am) ((?:not |no )?(?:really |quite |very )?(?:a )?(?:big |huge |great )?(?:fan of|sensitive to|allergic to|into|fond of"
    rf"|keen on|from|based in|living in|an? (?:runner|cyclist|hiker|early bird|outdoor person|indoor person))(?: [^,.;!?]+?)?){_END}",
    re.IGNORECASE,
)
_HOME = re.compile(
    rf"\bmy (?:home|home ?town|home city|city|hometown)(?: city| town)? is ([^,.;!?]+?){_END}", re.IGNORECASE
)
_UNITS = re.compile(
    r"(?:(?:please )?(?:always |from now on,? )?(?:use|switch to|show me|give me|tell me|answer in|in|i (?:prefer|want|use|like|need))"
    r"(?: \w+){0,4}? (fahrenheit|celsius|imperial|metric)(?: units)?(?: degrees)?(?: please| from now on| always|, please)*)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:always|from now on|prefer|use|switch|i (?:want|like|need)|in future|please)\b", re.IGNORECASE
)
_NAME = re.compile(r"\bmy name is ([A-Z][\w'-]+)|\bcall me ([A-Z][\w'-]+)")
_LEAD = re.compile(
    r"(?:please )?(?:remember|note|keep in mind|you should know|by the way|btw|fyi)[,:]? (?:that )?(?=i\b|my\b|i'm\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Insight:
    """Something told about the user, as a tool gets it and as it is said back."""

    told: str
    """In the third person: 'hates the cold'."""
    echoed: str
    """To the user: 'you hate the cold'."""


def read_insights(text: str) -> tuple[tuple[Insight, ...], str]:
    """What a message tells about its user, and the rest of the message."""
    found: list[tuple[int, int, Insight]] = []
    for match in _UNITS.finditer(text):
        unit = match.group(1).lower()
        if _LASTING.search(match.group()) and not re.search(
            r"\b(?:weather|temperature|forecast)\b", match.group(), re.I
        ):
            name = {"fahrenheit": "Fahrenheit", "celsius": "Celsius"}.get(unit, f"{unit} units")
            found.append((match.start(), match.end(), Insight(f"prefers {name}", f"you prefer {name}")))
    for match in _TOLD.finditer(text):
        verb, rest = match.group(1).lower(), match.group(2)
        if _is_asked(text, match.start()) or (verb in ("use", "run", "burn", "like", "love") and not rest.strip()):
            continue
        found.append((match.start(), match.end(), Insight(_third(_VERBS[verb] + rest), _second(f"you {verb}{rest}"))))
    for match in _AM.finditer(text):
        said = match.group(1)
        if not _is_asked(text, match.start()):
            told = re.sub(r"^(?:from|based in|living in) ", "lives in ", said, flags=re.I)
            told = told if told.startswith("lives") else f"is {said}"
            found.append((match.start(), match.end(), Insight(_third(told), _second(f"you are {said}"))))
    for match in _HOME.finditer(text):
        city = match.group(1).strip()
        found.append((match.start(), match.end(), Insight(f"lives in {city}", f"your home city is {city}")))
    for match in _NAME.finditer(text):
        name = match.group(1) or match.group(2)
        found.append((match.start(), match.end(), Insight(f"is called {name}", f"your name is {name}")))
    found.sort(key=lambda one: one[0])
    kept: list[tuple[int, int, Insight]] = []
    for one in found:
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    rest_parts, at = [], 0
    for start, end, _ in kept:
        rest_parts.append(text[at:start])
        at = end
    rest = _LEAD.sub(" ", "|".join([*rest_parts, text[at:]])).replace("|", " . ")
    return tuple(insight for _, _, insight in kept), rest


def _is_asked(text: str, start: int) -> bool:
    """Whether 'I like …' stands in a question: 'What do I like?', 'Do you know that I hate …?'."""
    before = text[:start].rsplit(".", 1)[-1].rsplit("!", 1)[-1].lower()
    return bool(re.search(r"\b(?:do|did|does|what|which|would|will|should|can|could|if|when|where|whether|remember)\s*$", before)
                or re.search(r"\bdo you (?:know|remember)\b", before))  # fmt: skip


def _third(text: str) -> str:
    text = re.sub(r"\bmy\b", "their", " ".join(text.split()), flags=re.I)
    return re.sub(r"\bme\b", "them", text, flags=re.I)


def _second(text: str) -> str:
    text = re.sub(r"\bmy\b", "your", " ".join(text.split()), flags=re.I)
    return re.sub(r"\b(?:me|myself)\b", "you", text, flags=re.I)


@dataclass(frozen=True, slots=True)
class Liking:
    """What is known about a user."""

    dislikes: frozenset[str] = frozenset()
    """Of 'cold', 'rain', 'heat', 'snow', 'wind'."""
    indoor: bool = False
    outdoor: bool = False
    unit: str | None = None
    """'F' or 'C'."""
    home: str | None = None
    said: tuple[str, ...] = ()
    """Sentences kept about the user, in the third person."""

    @property
    def is_empty(self) -> bool:
        return self == Liking()


def read_liking(results: Iterable[Any], told: Iterable[str]) -> Liking:
    """What tools' results say about the user, in whatever table it stands, and what was told since."""
    flags: dict[str, Any] = {}
    said: dict[str, None] = {}
    for result in results:
        for table in _tables(result):
            flags.update({name: value for name, value in table.items() if isinstance(value, (str, bool))})
            kept = table.get("insights")
            if isinstance(kept, Sequence) and not isinstance(kept, str):
                said.update(dict.fromkeys(str(one).strip().rstrip(".")[:200] for one in kept))
    for sentence in told:
        flags.update(understood(sentence))
        said.setdefault(sentence)
    units = {"imperial": "F", "fahrenheit": "F", "metric": "C", "celsius": "C"}
    home = flags.get("home_city")
    return Liking(
        dislikes=frozenset(name for name in _DISLIKES if flags.get(f"dislikes_{name}") is True),
        indoor=flags.get("prefers_indoor") is True,
        outdoor=flags.get("outdoor_activities") is True,
        unit=units.get(str(flags.get("units", "")).lower()),
        home=home if isinstance(home, str) and home else None,
        said=tuple(said),
    )


def _tables(data: Any, depth: int = 0) -> Iterable[Mapping[str, Any]]:
    if isinstance(data, Mapping) and depth < _DEEPEST:
        yield data
        for value in data.values():
            yield from _tables(value, depth + 1)
