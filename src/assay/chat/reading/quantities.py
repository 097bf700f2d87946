"""Figures, numbers with a unit, in a text: value, range, sign, unit, and role ("feels like", "a high of").

Knows how numbers are written; units and roles come from the lexicon.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Lexicon, Unit

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

_DASHES = frozenset("-–—−‑")
_MINUS = frozenset("-−–‑")
_STOPS = frozenset(".!?…\n;")
_EXTREMES = frozenset({"high", "low"})
# A longer run of digits is not read as a number.
_LONGEST_NUMBER = 18
# A role may be at most this many tokens before its figure.
_ROLE_REACH = 5


@dataclass(slots=True, eq=False)
class Quantity:
    """A figure: a number with a unit, or a range of numbers."""

    start: int
    end: int
    first: int
    last: int
    kind: str
    unit: Unit
    low: float
    """In the unit of its kind; equal to `high` unless it is a range. −∞ and ∞ stand for 'below' and 'above'."""
    high: float
    written: tuple[float, float]
    """The two ends as written, in `unit`."""
    decimals: int
    """How many decimals it was written with."""
    role: str = "actual"
    denied: bool = False
    asserted: bool = True

    def distance(self, value: float) -> float:
        """Distance of `value` from the range; 0 inside it."""
        return max(self.low - value, value - self.high, 0.0)


def read_figures(reading: Reading, lexicon: Lexicon) -> None:
    """Fill `reading.quantities` and `reading.numbers`."""
    parser = _Parser(reading, lexicon)
    tokens = reading.tokens
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "number" or token.value is not None:
            at = max(parser.figure(at), at + 1)
        else:
            at += 1
    if reading.quantities:
        parser.assign_roles()
        parser.pair_highs_with_lows()


@dataclass(slots=True)
class _Number:
    value: float
    decimals: int
    first: int
    last: int


class _Parser:
    def __init__(self, reading: Reading, lexicon: Lexicon) -> None:
        self.reading = reading
        self.tokens = reading.tokens
        self.moments = {at for moment in reading.moments for at in range(moment.first, moment.last + 1)}
        self.units = lexicon.units
        self.kinds = lexicon.kinds
        self.roles = lexicon.roles
        language = lexicon.language
        self.before = frozenset(language["signs_before"])
        self.after = [tuple(words) for words in language["signs_after"]]
        self.to = frozenset(language["range_words"])
        self.between = frozenset(language["between_words"])
        self.and_ = frozenset(language["and_words"])

    # --- one figure -------------------------------------------------------------------------------------------------

    def figure(self, at: int) -> int:
        """Read the figure whose first number is token `at`; return the index to continue from."""
        number = self.number(at)
        if number is None or at in self.moments:
            return at + 1
        is_digits = self.tokens[at].kind == "number"
        if is_digits and not self.is_list_marker(at):
            self.reading.numbers.append(at)
        unit, last = self.unit_after(number.last)
        first, second = number, number
        joined = self.connector(number.first, last)
        if joined:
            other = self.number(joined)
            if other is not None:
                other_unit, other_last = self.unit_after(other.last)
                same = unit is None or (other_unit is not None and other_unit.kind == unit.kind)
                if same and (other_unit is not None or unit is not None):
                    second, last = other, other_last
                    low_unit, unit = unit or other_unit, other_unit or unit
                    if unit is not None and low_unit is not None:
                        return self.add(first, second, low_unit, unit, last)
        if unit is None:
            unit, start = self.unit_before(number.first)
            if unit is None:
                return number.last + 1
            number.first = start
        return self.add(first, second, unit, unit, last)

    def add(self, first: _Number, second: _Number, low_unit: Unit, high_unit: Unit, last: int) -> int:
        tokens = self.tokens
        if first is second and self.kinds[high_unit.kind].checked:
            for words in self.after:  # five degrees below zero
                stretch = tuple(token.text for token in tokens[last + 1 : last + 1 + len(words)])
                if stretch == words:
                    first.value, last = -abs(first.value), last + len(words)
                    break
        low, high = low_unit.convert(first.value), high_unit.convert(second.value)
        written = (first.value, second.value)
        if low > high:
            low, high, written = high, low, written[::-1]
        self.reading.quantities.append(
            Quantity(
                self.reading.starts[first.first],
                self.reading.ends[last],
                first.first,
                last,
                high_unit.kind,
                high_unit,
                low,
                high,
                written,
                max(first.decimals, second.decimals),
            )
        )
        return last + 1

    def number(self, at: int) -> _Number | None:
        """The number at token `at`, with its sign, in digits or words."""
        if at >= len(self.tokens):
            return None
        token = self.tokens[at]
        first = last = at
        if token.kind == "number":
            parsed = parse_number(token.raw)
            if parsed is None:
                return None
            value, decimals = parsed
        elif token.value is not None:
            value, decimals, last = self.number_words(at)
        else:
            return None
        if at and self.tokens[at - 1].text in self.before:
            return _Number(-value, decimals, at - 1, last)
        if at and self.is_sign(at - 1):
            return _Number(-value, decimals, at - 1, last)
        return _Number(value, decimals, first, last)

    def is_sign(self, at: int) -> bool:
        """Whether the dash at `at` is a minus sign: it touches the number after it, and no word or number before it."""
        if self.tokens[at].text not in _MINUS or self.reading.ends[at] != self.reading.starts[at + 1]:
            return False
        if not at or self.reading.ends[at - 1] != self.reading.starts[at]:
            # "14 -16 °C" is a range; a dash after a bare number is not a sign.
            return not (at and self.tokens[at - 1].kind == "number")
        return self.tokens[at - 1].kind not in ("number", "word", "degree")

    def number_words(self, at: int) -> tuple[float, int, int]:
        """Value, decimals and last token of a number in words: twenty-five, one hundred and five."""
        total, last = float(self.tokens[at].value or 0), at
        while last + 1 < len(self.tokens):
            step = 2 if self.tokens[last + 1].text in _DASHES and last + 2 < len(self.tokens) else 1
            value = self.tokens[last + step].value
            if value is None:
                break
            if value == 100 and 0 < total < 10:
                total *= 100
            elif (20 <= total < 100 and total % 10 == 0 and 0 < value < 10) or (
                total >= 100 and total % 100 == 0 and 0 < value < 100
            ):
                total += value
            else:
                break
            last += step
        return total, 0, last

    def unit_after(self, last: int) -> tuple[Unit | None, int]:
        """The unit that follows token `last`, and its own last token."""
        at = last + 1
        if at < len(self.tokens) and self.tokens[at].text == "-" and at + 1 < len(self.tokens):
            at += self.tokens[at + 1].kind == "word"  # a 15-degree day
        for unit in self.tokens[at].units if at < len(self.tokens) else ():
            stop = at + len(unit.tokens)
            if stop > len(self.tokens):
                continue
            if unit.cased:
                glued = self.reading.starts[at] == self.reading.ends[last]
                if self.tokens[at].raw == unit.tokens[0] or (glued and self.tokens[at].text == unit.tokens[0].lower()):
                    return unit, at
            elif all(token.text == form for token, form in zip(self.tokens[at:stop], unit.tokens, strict=True)):
                return unit, stop - 1
        return None, last

    def unit_before(self, first: int) -> tuple[Unit | None, int]:
        if first:
            for unit in self.tokens[first - 1].units:
                if len(unit.tokens) == 1 and self.kinds[unit.kind].prefix:
                    return unit, first - 1
        return None, first

    def connector(self, first: int, last: int) -> int:
        """The index of the second number of a range whose first ends at `last`; 0 if there is none."""
        at = last + 1
        tokens = self.tokens
        if at >= len(tokens):
            return 0
        text = tokens[at].text
        joins = text in self.to or text in _DASHES
        if not joins and text in self.and_:
            joins = any(tokens[n].text in self.between for n in range(max(0, first - 3), first))
        if not joins:
            return 0
        at += 1
        if at < len(tokens) and (tokens[at].text in _MINUS or tokens[at].text in self.before):
            at += 1
        if at < len(tokens) and (tokens[at].kind == "number" or tokens[at].value is not None):
            return at
        return 0

    def is_list_marker(self, at: int) -> bool:
        """Whether a number only numbers a line: '1. Bring …'."""
        starts_line = at == 0 or self.tokens[at - 1].kind == "newline"
        return starts_line and at + 1 < len(self.tokens) and self.tokens[at + 1].text in (".", ")")

    # --- roles ------------------------------------------------------------------------------------------------------

    def assign_roles(self) -> None:
        quantities = self.reading.quantities
        for kind in {quantity.kind for quantity in quantities}:
            roles = self.reading.all(f"role.{kind}")
            changes = self.reading.all(f"change.{kind}")
            if not roles and not changes:
                continue
            roles = sorted(roles, key=lambda mention: (mention.last, mention.last - mention.first))
            ends = [mention.last for mention in roles]
            by_first = {mention.first: mention for mention in roles}
            changed = {mention.first for mention in changes}
            for n, quantity in enumerate(quantities):
                if quantity.kind != kind:
                    continue
                before = quantities[n - 1].last if n else -1
                after = quantities[n + 1].first if n + 1 < len(quantities) else None
                if quantity.last + 1 in changed:
                    quantity.role = "change"
                    continue
                role = self.role_before(quantity, before, roles, ends) or self.role_after(quantity, after, by_first)
                if role is not None:
                    self.take(quantity, role.keys[0].rpartition(".")[2])

    def pair_highs_with_lows(self) -> None:
        """'18 °C / 9 °C' is a high and a low; '15 °C / 59 °F' is one temperature in two units."""
        quantities = self.reading.quantities
        for a, b in pairwise(quantities):
            between = self.tokens[a.last + 1 : b.first]
            if a.unit.name != b.unit.name or [token.text for token in between] != ["/"] or a.high == b.high:
                continue
            if {a.role, b.role} <= {"actual", *_EXTREMES} and self.roles.get(a.kind, set()) >= _EXTREMES:
                a.role, b.role = ("high", "low") if a.high > b.high else ("low", "high")

    def role_before(self, quantity: Quantity, before: int, roles: list[Mention], ends: list[int]) -> Mention | None:
        at = bisect_left(ends, quantity.first) - 1
        if at < 0 or roles[at].first <= before or quantity.first - ends[at] > _ROLE_REACH:
            return None
        between = self.tokens[ends[at] + 1 : quantity.first]
        if any(token.text in _STOPS or token.text == "," for token in between):
            return None
        return roles[at]

    def role_after(self, quantity: Quantity, after: int | None, by_first: dict[int, Mention]) -> Mention | None:
        """A role directly after its figure, unless another figure follows closely that it belongs to instead."""
        at = quantity.last + 1
        if at < len(self.tokens) and self.tokens[at].text == "(":
            at += 1
        role = by_first.get(at)
        if role is None or after is None or after - role.last > _ROLE_REACH:
            return role
        between = self.tokens[role.last + 1 : after]
        return role if any(token.text in _STOPS or token.text in ",)" for token in between) else None

    def take(self, quantity: Quantity, role: str) -> None:
        if role == "above":
            quantity.high = math.inf
        elif role == "below":
            quantity.low = -math.inf
        else:
            quantity.role = role


def parse_number(digits: str) -> tuple[float, int] | None:
    """Value and decimals of a number in digits: 15.3, 15,3, 1,013 and 1.013,5; None if it is not a number."""
    if len(digits) > _LONGEST_NUMBER:
        return None
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma < 0 and dot < 0:
        return float(digits), 0
    if comma >= 0 and dot >= 0:
        decimal = max(comma, dot)
        whole = digits[:decimal].replace(",", "").replace(".", "")
        return float(f"{whole}.{digits[decimal + 1 :]}"), len(digits) - decimal - 1
    mark = "," if comma >= 0 else "."
    groups = digits.split(mark)
    if len(groups) > 2 or (mark == "," and len(groups[1]) == 3 and groups[0] != "0"):
        if not all(len(group) == 3 for group in groups[1:]) or len(groups[0]) > 3:
            return None
        return float("".join(groups)), 0
    return float(f"{groups[0]}.{groups[1]}"), len(groups[1])
