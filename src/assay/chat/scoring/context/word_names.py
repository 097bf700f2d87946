"""Cities whose names are words: Nice, Bath, Reading. They are recognised by what was asked for and looked up.

Elsewhere, such a word is a city only after "in", "at", "for" … Knows readings and tool calls; knows no ground truth.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from assay.chat.reading.places import Place, main_name, words_of
from assay.chat.reading.text import Reader, Reading
from assay.chat.reading.tokens import STOPS
from assay.chat.transcript import ToolCall

# How many names are remembered with whether they are words.
_MOST_KEPT = 4_096
# A name of a city that is a word has few letters; arguments may be long texts.
_LONGEST = 40
# After these, a word begins with a capital letter whatever it is; none of them ends a name.
_OPENING = STOPS | frozenset(":-*•|")
_ENDING = frozenset("!.")


def word_names(
    query: Reading, calls: Sequence[ToolCall] | None, reader: Reader, fields: Sequence[str]
) -> tuple[str, ...]:
    """The names of cities that are also words, of those that a question names or a tool was asked for."""
    if not calls:
        known = query.memory.get(("word names", reader))
        if known is None:
            named = {place.name for place in query.places}
            known = query.memory["word names", reader] = _as_words(named, reader)
        return known
    named = {place.name for place in query.places}
    for call in calls:
        for field in fields:
            value = call.arguments.get(field)
            if isinstance(value, str) and 0 < len(value) <= _LONGEST:
                named.add(value)
    return _as_words(named, reader)


def _as_words(named: set[str], reader: Reader) -> tuple[str, ...]:
    return tuple(sorted({name for given in named for name in _as_word(given, reader)}))


@functools.lru_cache(maxsize=_MOST_KEPT)
def _as_word(given: str, reader: Reader) -> tuple[str, ...]:
    """The folded name without its country, if it is one word by which alone no city is recognised; else nothing."""
    words = words_of(given.split(",")[0])
    if len(words) != 1 or reader.read(words[0].title()).places:
        return ()
    return words


def find_words(reading: Reading, names: Sequence[str], reader: Reader) -> list[Place]:
    """Where a text names such cities: with a capital letter, and not as the first word of another sentence."""
    return [
        Place(place.start, place.end, place.first, place.last, main_name((place.name,)))
        for place in reading.find({name: [(name,)] for name in names})
        if reading.tokens[place.first].capital and _is_name(reading, place.first, reader)
    ]


def _is_name(reading: Reading, at: int, reader: Reader) -> bool:
    """Whether a word with a capital letter is a name: 'Nice is at 12 °C', 'Nice: 12 °C', not 'Nice weather in Oslo'."""
    tokens = reading.tokens
    if at and tokens[at - 1].text not in _OPENING and tokens[at - 1].kind != "newline":
        return True
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None or after.kind not in ("word", "number"):
        return after is None or after.text not in _ENDING
    if after.kind == "number":
        return True
    second = tokens[at + 2] if at + 2 < len(tokens) else None
    if after.text in reader.and_words:
        return second is not None and second.capital
    if after.text in reader.prepositions:
        return second is not None and (second.kind == "number" or second.capital)
    return after.text in reader.copulas or after.text in reader.present_verbs or after.text in reader.adverbs
