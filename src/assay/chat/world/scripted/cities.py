"""Which words of a message name cities: known cities in any spelling, and unknown words in the position of a city."""

from __future__ import annotations

import functools
import re

from assay.chat.domains.weather import DOMAIN
from assay.chat.reading.lexicon import compile_lexicon
from assay.chat.reading.places import main_name, words_of
from assay.chat.reading.text import Reader, Reading
from assay.chat.world.cities import find_city

# Words that follow "in" or "for" with a capital letter and are not cities.
_NO_CITY_WORDS = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december spring summer autumn fall winter christmas easter midsummer fahrenheit celsius kelvin imperial
metric i the my your our a an this that english general today tomorrow tonight now here there it me you us them what
which how when where please centigrade weekend week morning afternoon evening night detail details short case fact
advance total home work outside outdoor indoor running cycling hiking walking
"""
# Ordinary words of weather conversations that are also names of cities.
_ORDINARY_WORDS = """
should could would may can best nice is are was will do does hot most same much many worth carry split bring go mobile
sale reading date enterprise spring surprise orange along independence sandy rest sunset sunrise cork bath
"""
_NO_CITY = frozenset(_NO_CITY_WORDS.split())
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_UNKNOWN = re.compile(r"\b(?:in|for|at|to|near|of|about|from|around)\s+([A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+){0,2})")
_UNKNOWN_LOWER = re.compile(
    r"\b(?:weather|forecast|temperature|raining|snowing|sunny|cold|warm|hot|windy)\s+(?:like\s+)?(?:in|for|at)\s+"
    r"([a-z][a-z'’-]{2,}(?:\s[a-z][a-z'’-]{2,})?)\s*[?.!]*\s*$"
)
_BEFORE_CITIES = frozenset({"in", "at", "for", "to"})
_BESIDE_CITIES = frozenset({"or", "and", "vs", "versus", "than"})
_SMALL = frozenset({"de", "del", "la", "of", "am", "an", "der", "do", "da", "di", "sur", "el"})
_MOST = 6
_LONGEST_NAME = 4
_SHORTEST_NAME = 3

_Found = list[tuple[int, int, str]]


@functools.cache
def reader() -> Reader:
    """The reader of texts about the weather. It is created when it is first needed."""
    return Reader(compile_lexicon("en", DOMAIN.folder, {}))


def find_cities(text: str) -> list[str]:
    """The cities that a message names, in order of appearance, without duplicates."""
    reading = reader().read(text)
    found: _Found = [
        (place.start, place.end, text[place.start : place.end])
        for place in reading.places
        if not _is_ordinary(reading, place.first, place.last)
    ]
    for first, last in _known_runs(reading):
        _add(found, reading.starts[first], reading.ends[last], text)
    for pattern in (_UNKNOWN, _UNKNOWN_LOWER):
        for match in pattern.finditer(text):
            words = match.group(1).split()
            while words and words[-1].lower() in _NO_CITY:
                words.pop()
            if words and words[0].lower() not in _NO_CITY:
                start, end = match.start(1), match.start(1) + len(" ".join(words))
                if not any(start < stop and begin < end for begin, stop, _ in found):
                    found.append((start, end, text[start:end]))
    names: dict[str, str] = {}
    for _, _, written in sorted(found)[:_MOST]:
        names.setdefault(city_key(written), _display(written))
    return list(names.values())


def city_key(city: str) -> str:
    """A key that is equal for different names of the same city."""
    return main_name(words_of(city.split(",")[0]))


def _known_runs(reading: Reading) -> list[tuple[int, int]]:
    """First and last tokens of word sequences that name an embedded city, in any spelling."""
    tokens = reading.tokens
    found = []
    at = 0
    while at < len(tokens):
        for last in range(min(at + _LONGEST_NAME, len(tokens)) - 1, at - 1, -1):
            run = reading.text[reading.starts[at] : reading.ends[last]]
            if tokens[at].kind != "word" or tokens[last].kind != "word" or "," in run or len(run) < _SHORTEST_NAME:
                continue
            if find_city(run) is None:
                continue
            if not _is_ordinary(reading, at, last):
                found.append((at, last))
                at = last
                break
        at += 1
    return found


def is_everyday_word(city: str) -> bool:
    """Whether a city's name is also an everyday word, so that it is read as a city only after a word such as "in"."""
    return city.lower() in _ORDINARY or city.lower() in _everyday()


def _is_ordinary(reading: Reading, first: int, last: int) -> bool:
    """Whether a name is used as an everyday word here: Nice and Split are cities only after "in" or next to "or"."""
    token = reading.tokens[first]
    if last > first:
        return False
    ordinary = token.text in _ORDINARY or token.text in reader().function_words or bool(token.phrases)
    if not token.capital:
        before = reading.tokens[first - 1].text if first else ""
        after = reading.tokens[last + 1].kind if last + 1 < len(reading.tokens) else ""
        if before == "in" and after != "word" and token.text not in _NO_CITY:
            return False
        return ordinary or (token.text in _everyday() and before not in _BEFORE_CITIES)
    around = {reading.tokens[at].text for at in (first - 1, last + 1) if 0 <= at < len(reading.tokens)}
    is_placed = bool(around & _BESIDE_CITIES) or (first > 0 and reading.tokens[first - 1].text in _BEFORE_CITIES)
    return ordinary and not (is_placed and token.text not in _NO_CITY)


@functools.cache
def _everyday() -> frozenset[str]:
    """Words that the language file lists as both everyday words and cities."""
    return frozenset(str(reader().lexicon.language["ordinary_names"]).split())


def _add(found: _Found, start: int, end: int, text: str) -> None:
    """Add a name and remove the names inside it; does nothing if it partly overlaps with another name."""
    inside = [one for one in found if start <= one[0] and one[1] <= end]
    others = [one for one in found if one not in inside and one[0] < end and start < one[1]]
    if not others:
        found[:] = [*[one for one in found if one not in inside], (start, end, text[start:end])]


def _display(written: str) -> str:
    """A name as it is displayed: capitalized if it was typed in lower case."""
    written = " ".join(written.split())
    if any(char.isupper() for char in written):
        return written
    words = written.split(" ")
    return " ".join(word if at and word in _SMALL else word[:1].upper() + word[1:] for at, word in enumerate(words))
