"""Lists that belong together one by one: 'Oslo and Bergen have 8 °C and 11 °C respectively'.

Knows readings; knows no truth and no metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from assay.chat.reading.positions import within
from assay.chat.reading.text import Reading


class _Named(Protocol):
    @property
    def first(self) -> int: ...


_Name = TypeVar("_Name", bound=_Named)


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
