"""Lists that belong together one by one: 'Oslo and Bergen have 8 °C and 11 °C respectively'.

Knows readings; knows no truth and no metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

from assay.chat.reading.positions import within
from assay.chat.reading.text import Reading


class _Named(Protocol):
    @property
    def first(self) -> int: ...


_Name = TypeVar("_Name", bound=_Named)
_EXTREMES = frozenset({"high", "low"})


def respective(reading: Reading, names: Sequence[_Name]) -> dict[int, _Name]:
    """The place or day of each figure and state in sentences with 'respectively' that name as many before them."""
    found: dict[int, _Name] = {}
    for first, last in reading.sentences_with("respective"):
        figures = [one.first for one in within(reading.quantities, first, last + 1)]
        states = sorted({one.first for one in within(reading.all("states"), first, last + 1)})
        for said in (figures, states):
            named = within(names, first, said[0]) if said else []
            if len(said) == len(named) > 1:
                found.update(zip(said, named, strict=True))
    return found


def paired(reading: Reading, days: Sequence[_Name], and_words: frozenset[str]) -> dict[int, _Name]:
    """The day of each of two highs or lows after the two days of a sentence: 'Monday and Tuesday see highs of 9 and 5'.

    No word says so, but two different highs cannot be of one day.
    """
    found: dict[int, _Name] = {}
    for a, b in pairwise(reading.quantities):
        if a.role not in _EXTREMES or b.role not in (a.role, "actual") or a.kind != b.kind or b.first != a.last + 2:
            continue
        if reading.tokens[a.last + 1].text not in and_words:
            continue
        first, last = reading.sentence(a.first)
        named = [day for day in days if first <= day.first <= last]
        names = [reading.tokens[day.first].text for day in named]
        if len(dict.fromkeys(names)) == len(named) == 2 and named[1].first < a.first:
            found[a.first], found[b.first] = named
    return found
