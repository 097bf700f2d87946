"""Units of numbers that are written without one: the unit of a figure beside it, or that of the role before it.

Knows how numbers and units are written; knows no ranges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from assay.chat.reading.changes import changing_numbers
from assay.chat.reading.lexicon import Counted, QuantityKind, Unit
from assay.chat.reading.numerals import MINUS, Number
from assay.chat.reading.tokens import STOPS
from assay.chat.reading.units import UnitReader, Units, own_unit

if TYPE_CHECKING:
    from assay.chat.reading.quantities import Quantity
    from assay.chat.reading.text import Reading
    from assay.chat.reading.tokens import Token

# A number is the figure before it in another unit if it differs by less than this: "15 °C or 59".
_ROUNDED = 1.0
# How many small words may stand between a role and its number: "highs near 14".
_LINKS = 2
# How many words may name what a number counts: "15 blue cargo bikes left".
_NOUNS = 3
# A high and a low of one day differ by at most this many degrees.
_WIDEST_DAY = 30
_BEFORE_PAIR = frozenset(",:–—-|;(")
# Lists whose words describe the subject.
_DESCRIBING = frozenset({"states", "tells"})
# Lists whose words a number is a reason for: "bring a jacket, it's 6".
_EXPLAINED = _DESCRIBING | {"items", "advice"}
# How many tokens such a word may be away.
_WHY_REACH = 10
# How many tokens before it a word may be that says that it is of something else.
_UNLESS_REACH = 30
_AFTER_LAST = frozenset(".!…\n,;)–—-")


class SharedUnits(Units, Protocol):
    """How a language says that a number has the unit of another."""

    or_: frozenset[str]
    perhaps: frozenset[str]
    to: frozenset[str]
    before_other: frozenset[str]
    """Words before an alternative to the figure before it."""
    after_other: frozenset[str]
    """What may follow such a number: a noun would say that it counts something else."""
    with_extremes: frozenset[str]
    """Kinds of quantity that have highs and lows."""
    extreme_lists: list[tuple[str, str]]
    """Lists of words for highs and lows, each with its kind."""
    after_role: frozenset[str]
    """Words between a role and its number."""
    bare: dict[str, frozenset[str]]
    """By kind, words before a number without a unit."""
    bare_unless: frozenset[str]
    """Words beside a number without a unit that is of something else."""
    answers: frozenset[str]
    """Words that a yes or no begins with."""
    bare_signs: frozenset[str]
    """Words after a number below zero: 8 below."""
    after_below: frozenset[str]
    """What may follow such a sign."""
    counted: dict[str, Counted]
    pronouns: frozenset[str]
    """Number words that may stand for a thing: one."""
    before_count: frozenset[str]
    """Words before a number that counts: only, single."""
    bare_places: frozenset[str]
    """Words after a number without a unit that only say where: outside."""
    prepositions: frozenset[str]
    linking: frozenset[str]
    """What may stand between a number without a unit and a state."""


class SharedUnitReader(UnitReader):
    """Reads the numbers of one text, with units that they share with others."""

    def __init__(self, reading: Reading, grammar: SharedUnits) -> None:
        super().__init__(reading, grammar)
        self.shared = grammar
        self.role_ends = {
            mention.last: kind
            for key, kind in grammar.extreme_lists
            if key in reading.lists
            for mention in reading.lists[key]
        }
        self.changing = changing_numbers(reading, grammar.to) if grammar.bare and "former" in reading.lists else {}
        self.counting = {one.last: one.keys[0].removeprefix("bare.") for one in reading.all("bare")}

    def counted(self, at: int) -> str | None:
        """The kind of quantity that a bare number counts if nothing follows it: 'we've got three.'"""
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        return self.counting.get(at - 1) if after is None or after.kind != "word" else None

    def is_below(self, at: int) -> bool:
        """Whether token `at` is the sign of the number before it, without 'zero': '8 below in Calgary'."""
        tokens = self.tokens
        if at >= len(tokens) or tokens[at].text not in self.shared.bare_signs:
            return False
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        return after is None or after.kind != "word" or after.text in self.shared.after_below

    def is_pronoun(self, number: Number) -> bool:
        """Whether a number word stands for a thing: 'the blue one in stock', not 'only one in stock'."""
        before = self.tokens[number.first - 1] if number.first else None
        if before is None or before.kind != "word" or self.tokens[number.first].text not in self.shared.pronouns:
            return False
        return before.text not in self.shared.before_count and before.text not in self.shared.after_other

    def unit_of_named(self, number: Number) -> tuple[Unit | None, int]:
        """The unit of a number after which it is named what it counts, and its last token: '15 Cargo Bikes left'."""
        tokens = self.tokens
        before = tokens[number.first - 1].text if number.first else ""
        for kind, counted in self.shared.counted.items():
            if before not in counted.before or number.decimals:
                continue
            for at in range(number.last + 1, min(number.last + 2 + _NOUNS, len(tokens))):
                token = tokens[at]
                unit, last = self.unit_at(at)
                if unit is not None and unit.kind == kind and at > number.last + 1:
                    return unit, last
                if (
                    token.kind != "word"
                    or token.units
                    or token.text in counted.never
                    or token.text in self.shared.after_other
                ):
                    break
        return None, number.last

    def described(self, number: Number) -> str | None:
        """The kind of quantity that a bare number is of if a state follows it: 'it's 8 and raining', '8 below'."""
        tokens, grammar = self.tokens, self.shared
        at = number.last + 1
        if at < len(tokens) and tokens[at].text in grammar.bare_signs:
            return next(iter(grammar.bare), None)
        at += at + 1 < len(tokens) and tokens[at].text == "-"
        is_rough = at < len(tokens) and tokens[at].text in self.units.roughly  # "it's 8-ish and raining"
        at += is_rough
        before = [token.text for token in tokens[max(0, number.first - 2) : number.first]]
        said = {" ".join(before), *before[-1:]}
        kind = next((kind for kind, words in grammar.bare.items() if not said.isdisjoint(words)), None)
        begins = (
            not number.first or tokens[number.first - 1].kind == "newline" or tokens[number.first - 1].text in STOPS
        )
        if kind is None and (number.value < 0 or (is_rough and begins)):  # "15ish and drizzly"
            kind = next(iter(grammar.bare))  # "minus seven, with snow" needs no word before it
        at = self.after_place(at)
        if kind is None:
            return None
        is_linked = at + 1 < len(tokens) and tokens[at].text in grammar.linking
        if is_linked and any(map(_describes, tokens[at + 1 : at + 2 + _LINKS])):
            return kind
        is_last = at >= len(tokens) or tokens[at].text in _AFTER_LAST or tokens[at].kind == "newline"
        is_last = is_last and before[-1:] != [":"]  # a sentence, and not the label of a field
        return kind if is_last and number.decimals <= 1 and self.is_told_why(number) else None

    def is_told_why(self, number: Number) -> bool:
        """Whether a bare number is near a word about the subject, advice or a yes or no: 'bring a jacket, it's 6'."""
        first, last = self.reading.sentence(number.first)
        wide = self.tokens[max(first, number.first - _UNLESS_REACH) : min(last, number.last + _WHY_REACH) + 1]
        near = wide[-2 * _WHY_REACH - 1 :]
        if any(token.text in self.shared.bare_unless for token in wide):
            return False  # "wear sunscreen, the UV index is high: it's 8"
        if self.tokens[first].text in self.shared.answers:
            return True
        return any(phrase.keys[-1] in _EXPLAINED for token in near for phrase in token.phrases)

    def after_place(self, at: int) -> int:
        """The token after the place that is named from token `at` on, or that token: 'it's 12 in Leeds and raining'."""
        tokens = self.tokens
        while at < len(tokens) and tokens[at].text in self.shared.bare_places:
            at += 1
        if at + 1 < len(tokens) and tokens[at].text in self.shared.prepositions and tokens[at + 1].capital:
            at += 2
            while at < len(tokens) and tokens[at].capital:
                at += 1
        return at

    def role_of(self, first: int, last: int) -> str | None:
        """The kind of quantity whose high or low the bare number at these tokens is: 'highs near 14', 'Low: 7'."""
        tokens = self.tokens
        for before in range(first - 1, max(-1, first - 2 - _LINKS), -1):
            kind = self.role_ends.get(before)
            if kind is not None:
                after = tokens[last + 1] if last + 1 < len(tokens) else None
                is_count = after is not None and after.kind == "word" and after.text not in self.shared.after_other
                return None if is_count or (after is not None and after.text in ":%") else kind
            if tokens[before].text not in self.shared.after_role and tokens[before].text not in MINUS:
                return None
        return None

    def unit_of_role(self, number: Number) -> Unit | None:
        """The unit of a high or low that shares it with another figure of its sentence; a piece for a bare count.

        One below zero needs no other: 'it bottoms out at minus nine'.
        """
        if self.role_ends and number.decimals <= 1 and (kind := self.role_of(number.first, number.last)):
            unit = self.unit_in_sentence(number, kind)
            return self.usual_unit(self.units.kinds[kind], number.value) if unit is None and number.value < 0 else unit
        if number.first in self.changing and (kind := next(iter(self.shared.bare), None)):
            other, known = self.changing[number.first], self.reading.quantities
            unit = self.unit_after(other)[0] or (known[-1].unit if known and known[-1].first == other else None)
            is_alike = unit is not None and unit.kind == kind
            return unit if is_alike else self.usual_unit(self.units.kinds[kind], number.value)
        if self.shared.bare and (kind := self.described(number)):
            return self.usual_unit(self.units.kinds[kind], number.value)
        kind = self.counted(number.last) if self.counting and not number.decimals else None
        return None if kind is None else own_unit(self.units.kinds[kind])

    def unit_in_sentence(self, number: Number, kind: str) -> Unit | None:
        """The unit of the next figure of a kind in the sentence of a number, else of the one before it."""
        first, last = self.reading.sentence(number.last)
        for at in range(number.last + 2, last + 1):
            if self.tokens[at - 1].is_number and any(unit.kind == kind for unit in self.tokens[at].units):
                unit, _ = self.unit_after(at - 1)
                if unit is not None and unit.kind == kind:
                    return unit
        known = [one.unit for one in self.reading.quantities if one.kind == kind and one.first >= first]
        return known[-1] if known else None

    def unit_of_pair(self, number: Number) -> Unit | None:
        """The unit of the second of two figures with a slash between them, if they can be a high and a low: 9/1 °C."""
        at, known = number.last + 2, self.reading.quantities
        if known and known[-1].last == number.first - 2 and self.tokens[number.first - 1].text == "/":
            return known[-1].unit if not known[-1].unit.tokens else None  # the second of "24/18"
        if at >= len(self.tokens) or self.tokens[at - 1].text != "/":
            return None
        other = self.number(at + (self.tokens[at].text in MINUS))
        unit = None if other is None else self.unit_after(other.last)[0]
        if unit is None and other is not None:
            return self.unit_of_bare_pair(number, other)
        return unit if unit is not None and unit.kind in self.shared.with_extremes else None

    def unit_of_bare_pair(self, number: Number, other: Number) -> Unit | None:
        """The unit of a high and a low without one, if a state is named with them: 'Tuesday: rain, 24/18'."""
        tokens, kind = self.tokens, next(iter(self.shared.bare), None)
        before = tokens[number.first - 1] if number.first else None
        after = tokens[other.last + 1] if other.last + 1 < len(tokens) else None
        if kind is None or number.decimals or other.decimals or not 0 < number.value - other.value <= _WIDEST_DAY:
            return None
        if after is not None and (after.kind in ("word", "number") or after.text in "/%"):
            return None
        if before is None or not (before.text in _BEFORE_PAIR or _describes(before)):
            return None
        first, last = self.reading.sentence(number.first)
        is_described = any(map(_describes, tokens[first : last + 1]))
        return self.usual_unit(self.units.kinds[kind], number.value) if is_described else None

    def unit_of_other(self, number: Number) -> Unit | None:
        """The unit of the figure that a number is an alternative to: '15 °C or 25'; None if there is none."""
        tokens, grammar, known = self.tokens, self.shared, self.reading.quantities
        at = number.first - 1
        if at < 1 or not known or tokens[at].text not in grammar.before_other:
            return None
        while at > known[-1].last and tokens[at].text in grammar.perhaps:
            at -= 1
        hedged = at < number.first - 1
        if tokens[at].text in grammar.or_:
            at -= 1
            hedged = True
        at -= hedged and tokens[at].text == ","  # "15 °C, or 25"
        if at != known[-1].last:
            return None
        following = tokens[number.last + 1 : number.last + 2]
        if not following or following[0].kind != "word":
            return self.restated_in(number, known[-1])
        # "€24.50, or 3 for €60": what follows the small word is the price of so many.
        beyond = any(one.is_number or one.units for one in tokens[number.last + 2 : number.last + 3])
        return None if beyond or following[0].text not in grammar.after_other else self.restated_in(number, known[-1])

    def restated_in(self, number: Number, figure: Quantity) -> Unit:
        """The unit in which a number repeats a figure: the 59 of '15 °C or 59' is in °F; else the figure's own."""
        for name, how in self.shared.kinds[figure.kind].units.items():
            unit = Unit((), figure.kind, name, how["zero"], how["times"], how["over"], cased=False)
            if name != figure.unit.name and abs(unit.convert(number.value) - figure.high) < _ROUNDED:
                return unit
        return figure.unit

    def usual_unit(self, kind: QuantityKind, base: float) -> Unit:
        """The unit of a number that is said without one: the twenties are Celsius, the seventies Fahrenheit.

        A number below all decades, such as -7, is in the unit of the lowest.
        """
        by_decade = sorted(kind.decades, key=kind.decades.__getitem__)
        name = next((name for name in reversed(by_decade) if base >= kind.decades[name]), by_decade[0])
        how = kind.units[name]
        return Unit((), kind.name, name, how["zero"], how["times"], how["over"], cased=False)


def _describes(token: Token) -> bool:
    """Whether a word describes the subject: rainy."""
    return any(phrase.keys[-1] in _DESCRIBING for phrase in token.phrases)
