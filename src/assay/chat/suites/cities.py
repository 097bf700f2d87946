"""Cities that a suite names and nobody knows: most often misspelt, with the nearest name that is known.

A misspelt city would otherwise show only when the suite is played, as a turn that fails or that cannot be right.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterator

from assay.chat.reading.places import LARGE_CITY, gazetteer, words_of
from assay.chat.world.cities import all_cities, find_city
from assay.errors import UsageError

_NEAR = 0.72
# What may follow the name of a city without a comma: "Washington D.C.", "Cambridge MA".
_REGION = re.compile(r"[A-Z]{1,3}|[A-Z]\.[A-Z]\.?")


def is_known_city(name: str, names: Collection[str], *, is_looked_up: bool = False) -> bool:
    """Whether the embedded world or the gazetteer has a city, or the suite's own names do.

    A rare spelling that only the gazetteer has (Helsinky) is known in a text, but not where a city is looked up.
    """
    main = re.split(r"[,(]", name)[0].strip()
    if find_city(name) is not None or any(words_of(main) == words_of(one) for one in names):
        return True
    before, _, last = main.rpartition(" ")
    shorter = before if _REGION.fullmatch(last) else main
    for words in map(words_of, (main, shorter)):
        found = gazetteer().get(words[0]) if words else None
        if found is not None and words in found.cities:
            is_other_spelling = find_city(found.cities[words].name) is not None
            return not (is_looked_up and is_other_spelling)
    return False


def nearest_city(name: str, names: Collection[str]) -> str | None:
    """The known city whose name is spelled most alike; None if none is."""
    known = {one.casefold(): one for one in (*(city.name for city in all_cities()), *names)}
    near = difflib.get_close_matches(name.casefold(), known, n=1, cutoff=_NEAR)
    if near:
        return known[near[0]]
    words = words_of(name)
    near = difflib.get_close_matches(" ".join(words), _large_cities(words[0][:1] if words else ""), n=1, cutoff=_NEAR)
    return near[0].title() if near else None


def unknown_city(name: str, names: Collection[str]) -> UsageError:
    """The error for a city that is not known."""
    near = nearest_city(name, names)
    guess = f"Did you mean '{near}'? " if near else ""
    return UsageError(
        f"there is no city called '{name:.60}'", hint=f"{guess}If it is spelled right, add it to the suite's 'names'"
    )


@functools.lru_cache(maxsize=32)
def _large_cities(letter: str) -> list[str]:
    """The names of the gazetteer's large cities that begin with a letter."""
    return [" ".join(words) for words, people in _cities_with(letter) if people >= LARGE_CITY]


def _cities_with(letter: str) -> Iterator[tuple[tuple[str, ...], int]]:
    places = gazetteer()
    for first in places.first_words():
        if letter and first.startswith(letter):
            for words, city in places[first].cities.items():
                yield words, city.people
