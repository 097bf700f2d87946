"""Which words of a message name cities: those of the gazetteer, and unknown names where a city would stand."""

from __future__ import annotations

import functools
import re

from assay.chat.domain import DOMAINS
from assay.chat.lexicon import compile_lexicon
from assay.chat.places import main_name, words_of
from assay.chat.text import Reader

# Words that follow "in" or "for" with a capital letter and are no city.
_NO_CITY = frozenset(
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "spring", "summer", "autumn", "fall", "winter", "christmas", "easter", "midsummer", "fahrenheit", "celsius", "kelvin", "imperial", "metric", "i", "the", "my", "your", "our", "a", "an", "this", "that", "english", "general", "today", "tomorrow", "tonight", "now", "here", "there", "it", "me", "you", "us", "them", "what", "which", "how", "when", "where", "please", "centigrade", "weekend", "week", "morning", "afternoon", "evening", "night", "detail", "details", "short", "case", "fact", "ireland's", "advance", "total", "outdoor", "indoor", "running", "cycling", "hiking", "walking"]
)
_AFTER = r"(?:in|for|at|to|near|of|about|from|around)"
_UNKNOWN = re.compile(rf"\b{_AFTER}\s+((?:[A-ZÀ-Þ][\w'’-]+)(?:\s+[A-ZÀ-Þ][\w'’-]+){{0,2}})")
_UNKNOWN_LOWER = re.compile(
    r"\b(?:weather|forecast|temperature|raining|snowing|sunny|cold|warm|hot|windy)\s+(?:like\s+)?(?:in|for|at)\s+"
    r"([a-z][a-z'’-]{2,}(?:\s[a-z][a-z'’-]{2,})?)\s*[?.!]*\s*$"
)
_SMALL = frozenset({"de", "del", "la", "of", "am", "an", "der", "do", "da", "di", "sur", "el"})
# Capital letters at the head of a sentence, and words of ours that also are cities somewhere.
_ORDINARY = frozenset(
    ["should", "could", "would", "may", "can", "best", "nice", "is", "are", "was", "will", "do", "does", "hot", "most", "same", "much", "many", "worth", "carry", "split", "bring", "go", "mobile", "sale", "reading", "date", "enterprise", "spring", "surprise", "orange", "along", "independence", "sandy", "rest", "sunset", "sunrise"]
)
_LARGEST_RUN = 6


@functools.cache
def reader() -> Reader:
    """The reader of texts about the weather. It takes a second to make: the gazetteer is large."""
    return Reader(compile_lexicon("en", DOMAINS.get("weather").folder, {}))


def cities_in(text: str) -> list[str]:
    """The cities that a message names, in its order, each once."""
    found: list[tuple[int, int, str]] = []
    for place in reader().read(text).places:
        written = text[place.start : place.end]
        before = text[: place.start].split()
        if written.lower() in _ORDINARY and not (before and before[-1].lower() in ("in", "for", "at", "to")):
            continue
        found.append((place.start, place.end, _display(written)))
    for pattern in (_UNKNOWN, _UNKNOWN_LOWER):
        for match in pattern.finditer(text):
            start, end = match.span(1)
            if any(start < stop and begin < end for begin, stop, _ in found):
                continue
            words = match.group(1).split()
            while words and words[-1].lower() in _NO_CITY:
                words.pop()
            if words and words[0].lower() not in _NO_CITY:
                found.append((start, end, _display(" ".join(words))))
    names: dict[str, str] = {}
    for _, _, name in sorted(found)[:_LARGEST_RUN]:
        names.setdefault(same_name(name), name)
    return list(names.values())


def same_name(city: str) -> str:
    """What two names of one city share."""
    return main_name(words_of(city.split(",")[0]))


def _display(written: str) -> str:
    """A name as one writes it; typed in lower case it gets its capitals."""
    written = " ".join(written.split())
    if any(char.isupper() for char in written):
        return written
    words = written.split(" ")
    return " ".join(word if at and word in _SMALL else word[:1].upper() + word[1:] for at, word in enumerate(words))
