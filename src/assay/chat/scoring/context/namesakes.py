"""Cities that share a name or its beginning with the truth's and are others, by the country or region said with them.

'Santiago, Chile' is not Santiago de Compostela. If it is not known which city that is, it is taken for the truth's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from assay.chat.reading.places import Place, gazetteer, main_name, words_of
from assay.chat.reading.text import Reading

# A country or region has at most this many words: United Arab Emirates.
_LONGEST = 3
# And at most this many letters; a token of a text may be long.
_LONGEST_NAME = 60
# A shorter name of a country is a code, of which nothing follows.
_SHORTEST_COUNTRY = 4
# How many names with a region are remembered.
_MOST_KEPT = 4_096


def with_namesakes(places: Sequence[Place], reading: Reading, true: str, name: str) -> list[Place]:
    """The places, with a name of their own for those that are another city than the truth's.

    `true` is the truth's city as it is written, with its country if that is given; `name` its main name.
    """
    return [_with_namesake(place, reading, true, name) for place in places]


def _with_namesake(place: Place, reading: Reading, true: str, name: str) -> Place:
    is_beginning = f"{name} ".startswith(f"{place.name} ")
    if not is_beginning or (place.name == name and "," not in true):
        return place
    for region in _regions(reading, place.last + 1):
        if _is_another(place.name, region, true):
            return replace(place, name=f"{place.name}, {region}")
    return place


def _regions(reading: Reading, at: int) -> Iterator[str]:
    """What may be a country or region after a name, the longest first: 'Santa Fe, New Mexico'."""
    tokens = reading.tokens
    if at >= len(tokens) or tokens[at].text not in (",", "("):
        return
    stop = at + 1
    while stop < min(len(tokens), at + 1 + _LONGEST) and tokens[stop].capital:
        stop += 1
    for end in range(stop, at + 1, -1):
        region = " ".join(token.folded for token in tokens[at + 1 : end])
        if len(region) <= _LONGEST_NAME:
            yield region


@functools.lru_cache(maxsize=_MOST_KEPT)
def _is_another(name: str, region: str, true: str) -> bool:
    """Whether the city of this name in a region is known, and is not the truth's."""
    from assay.chat.world.cities import find_city

    said, meant = find_city(f"{name}, {region}"), find_city(true)
    if said is None or meant is not None:
        return said is not None and said is not meant
    main, _, country = true.partition(",")
    words, own = words_of(main), " ".join(words_of(country))
    if words != words_of(name):  # 'Santiago de Chile' is no city of its own in the gazetteer, Santiago de Compostela is
        known = gazetteer().get(words[0]) if words else None
        return known is not None and words in known.cities and main_name(words) != name
    return len(own) >= _SHORTEST_COUNTRY and own not in region and region not in own
