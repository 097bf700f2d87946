"""Units beside the numbers of a text: degrees after one, a currency before it. Knows no ranges and no roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from assay.chat.reading.lexicon import QuantityKind, Unit
from assay.chat.reading.numerals import NumeralReader, Numerals

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading


class Units(Numerals, Protocol):
    """How a language and a domain write units."""

    kinds: dict[str, QuantityKind]
    roughly: frozenset[str]
    """Endings between a number and its unit: 8-ish degrees."""


class UnitReader(NumeralReader):
    """Reads the numbers of one text with their units."""

    def __init__(self, reading: Reading, grammar: Units) -> None:
        super().__init__(reading, grammar)
        self.units = grammar

    def unit_after(self, last: int, *, second: str | None = None) -> tuple[Unit | None, int]:
        """The unit after token `last`, and its last token; of the kind `second` if it is a compound's second part."""
        tokens = self.tokens
        at = last + 1
        if at + 1 < len(tokens) and tokens[at].text == "-":
            at += tokens[at + 1].kind == "word"  # a 15-degree day
        if at + 1 < len(tokens) and tokens[at].text in self.units.roughly:
            at += 1  # 8-ish degrees
        unit, unit_last = self.unit_at(at, last, second=second) if at < len(tokens) else (None, last)
        return unit, unit_last if unit is not None else last

    def unit_at(self, at: int, last: int | None = None, *, second: str | None = None) -> tuple[Unit | None, int]:
        """The unit at token `at`, and its last token; `last` is that of the number, if it is not the one before."""
        tokens = self.tokens
        token = tokens[at]
        for unit in token.units:
            written = unit.tokens
            size = len(written)
            if at + size > len(tokens) or (second != unit.kind if second else unit.second):
                continue
            if unit.cased:
                glued = self.reading.starts[at] == self.reading.ends[at - 1 if last is None else last]
                if token.raw == written[0] or (glued and token.text == written[0].lower()):
                    return unit, at
            # A token has the units that its own text begins.
            elif size == 1 or (tokens[at + 1].text == written[1] and (size == 2 or self.is_unit(unit, at))):
                return unit, at + size - 1
        return None, at

    def is_unit(self, unit: Unit, at: int) -> bool:
        """Whether a unit of several tokens is written at token `at`."""
        return tuple([token.text for token in self.tokens[at : at + len(unit.tokens)]]) == unit.tokens

    def unit_before(self, first: int) -> tuple[Unit | None, int]:
        known = self.reading.quantities
        if first and not (known and known[-1].last == first - 1):  # "64 pounds fifty"
            for unit in self.tokens[first - 1].units:
                if len(unit.tokens) == 1 and self.units.kinds[unit.kind].prefix:
                    return unit, first - 1
        return None, first

    def is_of_next_number(self, number: int, unit: int, written: Unit) -> bool:
        """Whether a unit after a number is that of the next one, to which it is glued: 'a dozen €600'."""
        starts, ends, tokens = self.reading.starts, self.reading.ends, self.tokens
        if not self.units.kinds[written.kind].prefix or unit + 1 >= len(tokens) or not tokens[unit + 1].is_number:
            return False
        return starts[unit + 1] == ends[unit] and starts[unit] > ends[number]


def own_unit(kind: QuantityKind) -> Unit:
    """The unit in which values of a kind are stored, for a number that is written without it."""
    name, how = next(
        (name, how) for name, how in kind.units.items() if how["zero"] == 0 and how["times"] == how["over"]
    )
    return Unit((), kind.name, name, 0, how["times"], how["over"], cased=False)
