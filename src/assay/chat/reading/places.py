"""Cities in a text: a gazetteer of names, and the rules by which words of a sentence name a city."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from assay.chat.reading.lexicon import TOKEN
from assay.chat.reading.traits import NAMES_CITY, having

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading
    from assay.chat.reading.tokens import Token

# A lower-case word after "in" or "for" names a city only if at least this many people live there.
LARGE_CITY = 100_000
# So many letters has the shortest of these.
_SHORTEST_NAME = 4
# Letters that Unicode does not take apart into a plain one and its mark.
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"})


class Place(msgspec.Struct, eq=False, gc=False):
    """A city named in a text."""

    start: int
    end: int
    first: int
    last: int
    name: str
    """The folded words of its main name; mentions of the same city have the same."""
    several: bool = False
    """Whether there are several cities of note with this name: Springfield."""
    namesakes: bool = False
    """Whether another town has this name, of note or not, and the text does not say which: Portland."""


@dataclass(frozen=True, slots=True)
class GazetteerCity:
    """A city of the gazetteer: the largest one with its name."""

    name: str
    """The folded words of its main name; New York and New York City have the same."""
    people: int
    several: bool = False
    """Whether there are several cities of note with its name."""
    namesakes: bool = False
    """Whether another town in another region has its name, or one that starts with it: Newcastle upon Tyne."""


@dataclass(frozen=True, slots=True)
class CityNames:
    """Names of cities that start with the same word."""

    lengths: tuple[int, ...]
    """Numbers of words in the names that have several, descending."""
    cities: Mapping[tuple[str, ...], GazetteerCity]
    """By the folded words of a name."""
    seconds: frozenset[str]
    """The second words of names that have several."""
    alone: GazetteerCity | None
    """The city whose name is this word."""


@functools.lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """A word in lower case without accents: Malmö becomes malmo, Tromsø tromso."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.lower()).translate(_PLAIN)
    return "".join(c for c in plain if not unicodedata.combining(c))


@functools.lru_cache(maxsize=16_384)
def words_of(name: str) -> tuple[str, ...]:
    """The folded tokens of a name."""
    return tuple(fold(match.group()) for match in TOKEN.finditer(name) if match.lastgroup != "format")


class Gazetteer:
    """Cities, islands and resorts by the first word of their name; a line of the file is parsed when needed."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = {line[: line.find("\t")]: line for line in lines if line[:1] != "#"}
        self._parsed: dict[str, CityNames] = {}

    def __getitem__(self, first_word: str) -> CityNames:
        known = self._parsed.get(first_word)
        if known is None:
            known = self._parsed[first_word] = _parse(self._lines[first_word])
        return known

    def first_words(self) -> Iterable[str]:
        """The words that names of cities begin with."""
        return self._lines.keys()

    def get(self, first_word: str) -> CityNames | None:
        """The cities whose name starts with a folded word; None if there are none."""
        return self[first_word] if first_word in self._lines else None


@functools.cache
def gazetteer() -> Gazetteer:
    """The cities that come with assay; `make_cities` writes the file."""
    return Gazetteer((files("assay.chat.reading") / "cities.tsv").read_text("utf-8").splitlines())


def _parse(line: str) -> CityNames:
    """A line: the first word, then for each name its further words, people, namesakes and main name.

    Namesakes are 0 if there are none, 1 if several are of note, else 2.
    """
    first, *fields = line.split("\t")
    cities = {}
    for field in fields:
        rest, people, namesakes, main = field.split("|")
        words = (first, *rest.split(" ")[1:])  # a combining mark by itself is folded to nothing
        name = main or " ".join(words)
        cities[words] = GazetteerCity(name, int(people), namesakes == "1", namesakes != "0")
    longer = [words for words in cities if len(words) > 1]
    lengths = sorted({len(words) for words in longer}, reverse=True)
    return CityNames(tuple(lengths), cities, frozenset(words[1] for words in longer), cities.get((first,)))


@functools.lru_cache(maxsize=16_384)
def main_name(words: tuple[str, ...]) -> str:
    """The main name of the city with these folded words, or the words themselves if it is unknown."""
    names = gazetteer().get(words[0]) if words else None
    city = names.cities.get(words) if names is not None else None
    return " ".join(words) if city is None else city.name


class PlaceReader:
    """Finds the cities that texts of one language name."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        self._prepositions = frozenset(language["place_prepositions"])
        listing = (language["and_words"], language["linking_or"], language.get("comparing_words", ()))
        self._listing = frozenset(word for words in listing for word in words)

    def read(self, reading: Reading) -> list[Place]:
        """The cities that a text names, in order."""
        tokens = reading.tokens
        casual: bool | None = None
        places: list[Place] = []
        taken_to = -1
        for at in having(reading.traits, NAMES_CITY):
            if at <= taken_to:
                continue
            token = tokens[at]
            previous = tokens[at - 1].text if at else ""
            if not token.capital:
                if casual is None:
                    casual = not any(other.capital for other in tokens)
                if previous not in self._prepositions and not casual:
                    continue
            found = self._city_at(reading, at, previous)
            if found is not None:
                city, taken_to = found
                is_open = city.namesakes and not _is_specified(tokens, taken_to)
                several = city.several and is_open
                span = reading.starts[at], reading.ends[taken_to], at, taken_to
                places.append(Place(*span, city.name, several, is_open))
        return self._with_listed(reading, places) if places else places

    def _with_listed(self, reading: Reading, places: list[Place]) -> list[Place]:
        """The places with cities that are words and listed with one of them: 'Nice and Oslo', 'Oslo or Bath'."""
        tokens, listing = reading.tokens, self._listing
        listed: dict[int, Place] = {}
        for place in places:
            for joint, at in ((place.first - 1, place.first - 2), (place.last + 1, place.last + 2)):
                if at < 0 or at >= len(tokens) or tokens[joint].text not in listing:
                    continue
                token, names = tokens[at], tokens[at].cities
                city = None if names is None or not token.capital else names.alone
                if city is not None and token.is_ordinary and not _is_time(token):
                    listed[at] = Place(reading.starts[at], reading.ends[at], at, at, city.name)
        if not listed:
            return places
        taken = {at for place in places for at in range(place.first, place.last + 1)}
        added = [place for at, place in listed.items() if at not in taken]
        return sorted([*places, *added], key=lambda place: place.first) if added else places

    def _city_at(self, reading: Reading, at: int, previous: str) -> tuple[GazetteerCity, int] | None:
        """The city whose name starts at token `at`, and its last token; None if the context does not suggest a city."""
        tokens = reading.tokens
        token = tokens[at]
        names = token.cities
        assert names is not None
        if names.seconds and at + 1 < len(tokens) and tokens[at + 1].folded in names.seconds:
            for length in names.lengths:
                words = tuple([other.folded for other in tokens[at : at + length]])
                city = names.cities.get(words) if len(words) > 1 else None
                if city is not None and (token.capital or city.people >= LARGE_CITY):
                    return city, at + len(words) - 1
        city = names.alone
        if city is None:
            return None
        if token.capital:
            is_city = not token.is_ordinary or (previous in self._prepositions and not _is_time(token))
        else:
            is_city = names_large_city(city, token.text, is_ordinary=token.is_ordinary)
        return (city, at) if is_city else None


def may_name_city(names: CityNames | None, text: str, *, is_ordinary: bool) -> bool:
    """Whether a word in lower case can begin the name of a city; `names` are those that begin with it."""
    if names is None:
        return False
    if any(len(words) > 1 and city.people >= LARGE_CITY for words, city in names.cities.items()):
        return True
    return names.alone is not None and names_large_city(names.alone, text, is_ordinary=is_ordinary)


def names_large_city(city: GazetteerCity, text: str, *, is_ordinary: bool) -> bool:
    """Whether a word in lower case can be the name of a city by itself."""
    return not is_ordinary and city.people >= LARGE_CITY and len(text) >= _SHORTEST_NAME


def _is_specified(tokens: Sequence[Token], last: int) -> bool:
    """Whether a region or country follows the name that ends at token `last`: Springfield, Illinois; Cambridge MA."""
    at = last + 1
    if at < len(tokens) and tokens[at].text in (",", "("):
        at += 1
    return at < len(tokens) and tokens[at].capital and not _is_time(tokens[at])


def _is_time(token: Token) -> bool:
    return any(phrase.keys[-1] == "times" for phrase in token.phrases)
