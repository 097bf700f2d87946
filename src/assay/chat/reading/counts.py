"""Numbers without a unit that may count things: 'five Oak Stools', 'just one'.

Finds such numbers only; what they count is decided by `scoring/context/counts.py`, which knows the subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.numerals import NumeralReader, Numerals
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.units import own_unit

if TYPE_CHECKING:
    from assay.chat.reading.lexicon import QuantityKind
    from assay.chat.reading.text import Reading

# A larger number without a unit is that of an order or an article.
_MOST = 10_000


def read_counts(reading: Reading, numbers: Sequence[int], grammar: Numerals, kind: QuantityKind) -> None:
    """Fill `reading.counts` with the whole numbers of a text that are no figures, as figures of `kind`."""
    taken = {at for one in reading.quantities for at in range(one.first, one.last + 1)}
    taken.update(at for moment in reading.moments for at in range(moment.first, moment.last + 1))
    numerals, unit = NumeralReader(reading, grammar), own_unit(kind)
    read_to = 0
    for at in numbers:
        number = numerals.number(at) if at >= read_to and at not in taken else None
        if number is None:
            continue
        read_to = number.last + 1
        if number.decimals or not 0 <= number.value < _MOST or not taken.isdisjoint(range(at, read_to)):
            continue
        value = number.value
        start, end = reading.starts[at], reading.ends[number.last]
        figure = Quantity(start, end, at, number.last, kind.name, unit, value, value, (value, value), 0)
        reading.counts.append(figure)
