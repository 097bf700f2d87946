"""Numbers in a text, in digits or in words, with their signs. Knows no units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay.chat.reading.quantities import LONGEST_NUMBER, parse_number

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading

DASHES = frozenset("-–—−‑")
"""Marks that stand between two numbers or parts of a number."""
MINUS = frozenset("-−–‑")
"""Those of them that are also signs."""
# What follows "et" in a number: vingt et un, soixante et onze.
_ONES = (1.0, 11.0)
# Between "half" and the number that it halves is at most an article: half a dozen.
_HALF = 2
_GROUP = re.compile(r"\d{3}(?:,\d+)?")
_HUNDRED = 100
_THOUSAND = 1000


class Numerals(Protocol):
    """How a language writes numbers."""

    before: frozenset[str]
    """Words that are a minus sign."""
    times: dict[str, float]
    """Multipliers after a number."""
    collectives: dict[str, float]
    """Those of them that are numbers by themselves: a dozen."""
    half: frozenset[str]
    """Words before such a number that halve it: half a dozen."""
    of: frozenset[str]
    """Words between such a number and what it counts: une douzaine de pièces."""
    decimal_comma: bool
    space_groups: bool
    vigesimal: bool
    """Whether numbers are counted in twenties: quatre-vingt-dix-sept."""
    one_joins: frozenset[str]
    """Words inside a number: vingt et un, one hundred and five."""


@dataclass(slots=True)
class Number:
    """A number in a text, with its sign; `first` and `last` are its tokens."""

    value: float
    decimals: int
    first: int
    last: int


class NumeralReader:
    """Reads the numbers of one text."""

    def __init__(self, reading: Reading, grammar: Numerals) -> None:
        self.reading = reading
        self.tokens = reading.tokens
        self.numerals = grammar

    def number(self, at: int) -> Number | None:
        """The number at token `at`, with its sign, in digits or words."""
        tokens = self.tokens
        if at >= len(tokens):
            return None
        token = tokens[at]
        last = at
        if token.kind == "number":
            parsed = token.digits
            if self.numerals.space_groups or (at and tokens[at - 1].units and self.is_price(at)):
                digits, last = self.grouped_digits(at)
                if last > at:
                    parsed = parse_number(digits, decimal_comma=self.numerals.decimal_comma)
            if parsed is None:
                return None
            value, decimals = parsed
        elif token.value is not None:
            value, decimals, last = self.number_words(at)
            if token.text in self.numerals.collectives:
                last = self.after_collective(last)
                if not self.numerals.half.isdisjoint([one.text for one in tokens[max(0, at - _HALF) : at]]):
                    value /= 2
        else:
            return None
        if last + 1 < len(tokens) and tokens[last + 1].text in self.numerals.times:
            value, decimals, last = self.multiplied(value, decimals, last)
            if token.kind == "word":
                value, last = self.with_rest(value, last)
        if at and (tokens[at - 1].text in self.numerals.before or self.is_sign(at - 1)):
            return Number(-value, decimals, at - 1, last)
        return Number(value, decimals, at, last)

    def is_price(self, at: int) -> bool:
        """Whether a number is the price of nothing that is counted behind it: '€1 200', and not '€5 100 g'."""
        after = self.tokens[at + 2] if at + 2 < len(self.tokens) else None
        return after is None or (after.kind not in ("word", "number") and not after.units)

    def grouped_digits(self, at: int) -> tuple[str, int]:
        """The digits from token `at` and their last token; groups of three may be separated by spaces: 1 299,00."""
        digits, last = self.tokens[at].raw, at
        while (
            last + 1 < len(self.tokens)
            and len(digits) < LONGEST_NUMBER
            and self.tokens[last].raw.isdecimal()
            and len(self.tokens[last].raw) <= 3
            and _GROUP.fullmatch(self.tokens[last + 1].raw)
            and self.reading.starts[last + 1] == self.reading.ends[last] + 1
        ):
            last += 1
            digits += self.tokens[last].raw
        return digits, last

    def multiplied(self, value: float, decimals: int, last: int) -> tuple[float, int, int]:
        """The number with the multiplier that follows it, unless that is a letter by itself: 1.2k, 3 million."""
        text = self.tokens[last + 1].text
        times = self.numerals.times[text]
        if text in self.numerals.collectives:
            return value * times, decimals, self.after_collective(last + 1)
        if len(text) == 1 and self.reading.starts[last + 1] != self.reading.ends[last]:
            return value, decimals, last
        return value * times, decimals - round(math.log10(times)), last + 1

    def with_rest(self, value: float, last: int) -> tuple[float, int]:
        """The number in words with what follows its thousands, and its last token: one thousand two hundred."""
        tokens = self.tokens
        after = last + 1 + (last + 1 < len(tokens) and tokens[last + 1].text in self.numerals.one_joins)
        if value < _THOUSAND or after >= len(tokens) or tokens[after].kind != "word" or tokens[after].value is None:
            return value, last
        rest, _, rest_last = self.number_words(after)
        if not 0 < rest < _THOUSAND or (after > last + 1 and rest >= _HUNDRED):
            return value, last
        return value + rest, rest_last

    def after_collective(self, last: int) -> int:
        """The last token of a collective number, with the word that links it with what it counts: une douzaine de."""
        following = self.tokens[last + 1].text if last + 1 < len(self.tokens) else ""
        return last + (following in self.numerals.of)

    def is_sign(self, at: int) -> bool:
        """Whether the dash at `at` is a minus sign: it touches the number after it, and no word or number before it."""
        if self.tokens[at].text not in MINUS or self.reading.ends[at] != self.reading.starts[at + 1]:
            return False
        if not at or self.reading.ends[at - 1] != self.reading.starts[at]:
            # "14 -16 °C" is a range; a dash after a bare number is not a sign.
            return not (at and self.tokens[at - 1].kind == "number")
        return self.tokens[at - 1].kind not in ("number", "word", "degree")

    def is_list_marker(self, at: int) -> bool:
        """Whether a number only numbers a line: '1. Bring …'."""
        if at and self.tokens[at - 1].kind != "newline":
            return False
        return at + 1 < len(self.tokens) and self.tokens[at + 1].text in (".", ")")

    def number_words(self, at: int) -> tuple[float, int, int]:
        """Value, decimals and last token of a number in words: twenty-five, one hundred five, quatre-vingt-dix."""
        tokens, numerals = self.tokens, self.numerals
        total, last = float(tokens[at].value or 0), at
        while last + 1 < len(tokens):
            joint = tokens[last + 1].text
            is_joint = joint in DASHES or joint in numerals.one_joins
            step = 2 if is_joint and last + 2 < len(tokens) else 1
            value = tokens[last + step].value
            if value is None or (step == 2 and joint in numerals.one_joins and not self.is_joined_by_and(total, last)):
                break
            joined = _joined(total, value, vigesimal=numerals.vigesimal)
            if joined is None:
                break
            total, last = joined, last + step
        return total, 0, last

    def is_joined_by_and(self, total: float, last: int) -> bool:
        """Whether 'and' or 'et' after token `last` is inside a number: one hundred and five, vingt et un."""
        value = self.tokens[last + 2].value
        if self.numerals.vigesimal and value in _ONES:
            return True
        beyond = self.tokens[last + 3].value if last + 3 < len(self.tokens) else None
        return total >= 100 and total % 100 == 0 and value is not None and value < 100 and beyond != 100


def _joined(total: float, value: float, *, vigesimal: bool) -> float | None:
    """The number that another number word makes of one; None if it is a number of its own."""
    tens = total % 100
    if value == _HUNDRED and (0 < total < 10 or (total < _HUNDRED and total % 10)):
        return total * 100  # twelve hundred
    if (tens >= 20 and tens % 10 == 0 and 0 < value < 10) or (total >= 100 and tens == 0 and 0 < value < 100):
        return total + value
    if not vigesimal:
        return None
    if tens == 4 and value == 20:  # quatre-vingt
        return total - tens + tens * value
    teens = tens in (60, 80) and 10 <= value < 20  # soixante-quinze
    return total + value if teens or (tens == 10 and value in (7, 8, 9)) or (tens in (70, 90) and value < 10) else None
