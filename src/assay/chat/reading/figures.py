"""Finds the figures in a text: value, range, sign and unit.

Knows how numbers are written; units come from the lexicon, and roles are in `roles`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Lexicon, Unit
from assay.chat.reading.numerals import DASHES, MINUS, Number
from assay.chat.reading.quantities import LONGEST_NUMBER, Quantity
from assay.chat.reading.roles import RoleReader
from assay.chat.reading.shared_units import SharedUnitReader

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

_CENT = 0.01
_EXTREMES = frozenset({"high", "low"})
# "And three days": the tokens of the second part of a compound.
_JOINED = 3
# "89 euros 5" does not say how many cents.
_LEAST_CENTS = 10


class FigureReader:
    """Finds figures in texts of one language and domain. Holds how they write numbers."""

    def __init__(self, lexicon: Lexicon) -> None:
        language = lexicon.language
        self.kinds = lexicon.kinds
        self.before = frozenset(language["signs_before"])
        self.after = [tuple(words) for words in language["signs_after"]]
        self.after_words = frozenset(words[0] for words in self.after)
        self.to = frozenset(language["range_words"])
        self.between = frozenset(language["between_words"])
        self.differences = frozenset(language.get("difference_words", ()))
        self.and_ = frozenset(language["and_words"])
        self.or_ = frozenset(language["linking_or"])
        self.perhaps = frozenset(language.get("perhaps_words", ()))
        # Before a number without a unit: it may be an alternative to the figure before it.
        self.before_other = self.or_ | self.perhaps
        # What may follow such a number: a noun would say that it counts something else.
        small = ("function_words", "place_prepositions", "clause_words", "after_alternatives")
        self.after_other = self.and_ | self.or_ | {word for words in small for word in language.get(words, ())}
        self.after_role = frozenset(language.get("after_roles", ())) | {":", "("}
        self.either_or = frozenset(language.get("either_or", ()))
        self.decimal_comma = bool(language.get("decimal_comma", False))
        self.tolerances = [tuple(words.split()) for words in language.get("tolerance_words", ())]
        self.tolerance_openers = frozenset([words[0] for words in self.tolerances])
        self.before_tolerance = self.tolerance_openers | {",", "("}
        self.space_groups = bool(language.get("space_groups", False))
        self.vigesimal = bool(language.get("vigesimal", False))
        self.one_joins = frozenset(language.get("one_joins", ()))
        self.collectives: dict[str, float] = language.get("collectives", {})
        self.times: dict[str, float] = {**language.get("multipliers", {}), **self.collectives}
        self.half = frozenset(language.get("half_words", ()))
        self.of = frozenset(language.get("of_words", ()))
        self.decades: dict[str, int] = language.get("decades", {})
        self.decade_marks = frozenset(language.get("decade_marks", ()))
        self.parts_of_decade: dict[str, list[int]] = language.get("parts_of_decade", {})
        self.in_decades = next((kind for kind in lexicon.kinds.values() if kind.decades), None)
        # What may follow the number of a figure instead of its unit.
        self.roughly = frozenset(language.get("rough_endings", ()))
        marks = self.roughly | DASHES | {"…", ".", "/", "'s"}
        self.joining = marks | self.to | self.and_ | self.decade_marks | self.times.keys() | self.either_or
        # A figure is read as a plain number and unit only if none of these stand before it, after the number, or after
        # the unit. A full stop after the unit joins nothing unless another one follows.
        self.not_before_plain = self.before | MINUS | {"/", "\n"}
        self.not_after_number = self.times.keys() | self.roughly | {"/", "-"}
        self.not_after_plain = (self.joining - self.and_ - self.either_or - {"."}) | self.after_words
        self.before_single = frozenset(language.get("single", {}).get("after", ())) | {"\n", "."}
        self.negative_units = frozenset(self.after)
        # "It's 8 and raining", "8 below".
        self.bare = lexicon.bare
        self.bare_unless = lexicon.bare_unless
        answers = [words.split()[0] for words in (*language.get("yes_words", ()), *language.get("no_words", ()))]
        self.answers = frozenset(answers) - frozenset(language["function_words"])
        self.linking = (
            self.and_ | {",", ":"} | frozenset(language["clause_words"]) | frozenset(language.get("adding_words", ()))
        )
        self.counted = lexicon.counted
        self.pronouns = frozenset(language.get("pronoun_numbers", ()))
        self.before_counted = frozenset(word for counted in lexicon.counted.values() for word in counted.before)
        self.before_count = self.before_counted | frozenset(language.get("before_count", ()))
        self.before_bare = frozenset(words.split()[-1] for listed in lexicon.bare.values() for words in listed)
        self.bare_signs = frozenset(language.get("bare_signs", ())) if self.in_decades is not None else frozenset()
        self.bare_places = frozenset(language.get("bare_places", ()))
        self.prepositions = frozenset(language["place_prepositions"])
        self.after_below = self.after_other - frozenset(language.get("articles", ()))
        self.roles = lexicon.roles
        self.with_extremes = frozenset(kind for kind, roles in lexicon.roles.items() if roles >= _EXTREMES)
        self.extreme_lists = [(f"role.{kind}.{role}", kind) for kind in self.with_extremes for role in _EXTREMES]
        self._roles = RoleReader(lexicon)

    def read(self, reading: Reading, numbers: Sequence[int]) -> None:
        """Fill `reading.quantities` and `reading.numbers`; `numbers` are the indices of all numbers."""
        if self.in_decades is not None and "decade" in reading.lists:
            named = [mention.first for mention in reading.lists["decade"]]  # 'teens'
            numbers = sorted([*numbers, *(at for at in named if not reading.tokens[at].is_number)])
        if "single" in reading.lists:
            single = [one.first for one in reading.lists["single"] if self._is_single(reading, one, numbers)]
            numbers = sorted([*numbers, *single])
        if not numbers:
            return
        parser, tokens = _Parser(reading, self), reading.tokens
        read_to = 0
        for at in numbers:
            if at >= read_to:
                read_to = parser.plain_figure(at)
                if not read_to:
                    is_decade = tokens[at].text in self.decades
                    read_to = max(parser.decade(at) if is_decade else parser.figure(at), at + 1)
                if read_to < len(tokens) and tokens[read_to].text in self.before_tolerance:
                    read_to = parser.widened_to(read_to)
        if reading.quantities:
            self._roles.assign(reading)

    def _is_single(self, reading: Reading, one: Mention, numbers: Sequence[int]) -> bool:
        """Whether an article counts the unit after it, of a kind that is checked: 'within a month'.

        Beside a number it only says it roughly: 'within a week, usually 5 days'.
        """
        first, last = reading.sentence(one.first)
        named = {unit.kind for unit in reading.tokens[one.last].units}
        before = reading.tokens[one.first - 1].text if one.first else ""
        if (not one.first or before in self.before_single) and self._is_compound(reading, one.last, named):
            return True  # "a week and three days"
        here = numbers[bisect_left(numbers, first) : bisect_left(numbers, last)]
        after = [reading.tokens[at + 1] for at in here]
        if any(unit.kind in named for token in after for unit in token.units):
            return False
        kinds = (self.kinds[kind] for kind in named)
        return (not one.first or before in self.before_single) and any(kind.checked for kind in kinds)

    def _is_compound(self, reading: Reading, last: int, kinds: set[str]) -> bool:
        """Whether an 'and' joins a number of a unit of the same kind to the unit at token `last`."""
        after = reading.tokens[last + 1 : last + 4]
        if len(after) < _JOINED or after[0].text not in self.and_ or not after[1].is_number:
            return False
        return any(unit.kind in kinds and self.kinds[unit.kind].checked for unit in after[2].units)


class _Parser(SharedUnitReader):
    def __init__(self, reading: Reading, grammar: FigureReader) -> None:
        super().__init__(reading, grammar)
        self.grammar: FigureReader = grammar
        self.former = {mention.last for mention in reading.all("former.surely")}
        self.differing: dict[str, set[int]] = {}
        if "change" in reading.lists:
            changes = ((kind, reading.lists.get(f"change.{kind}")) for kind in grammar.kinds)
            self.differing = {kind: {one.first for one in found} for kind, found in changes if found}
        self.moments: set[int] = set()
        for moment in reading.moments:
            self.moments.update(range(moment.first, moment.last + 1))

    # --- one figure -------------------------------------------------------------------------------------------------

    def plain_figure(self, at: int) -> int:
        """Read a figure that is a number in digits, with or without a minus sign, and its unit, as most are.

        Return the index to continue from; 0 if it is not one, or if something beside it may belong to it: then `figure`
        has to look.
        """
        tokens, grammar = self.tokens, self.grammar
        token = tokens[at]
        if not at or at + 1 == len(tokens) or token.digits is None or at in self.moments:
            return 0
        after = tokens[at + 1]
        if not after.units or after.text in grammar.not_after_number:
            return 0
        is_negative = False
        if tokens[at - 1].text in grammar.not_before_plain:
            is_negative = self.is_sign(at - 1)
            if not is_negative:
                return 0
        if after.kind == "word" and grammar.in_decades is not None and after.text.lstrip("'") in grammar.decade_marks:
            return 0
        unit, last = self.unit_at(at + 1)
        if unit is None or unit.tokens in grammar.negative_units:
            return 0
        if last + 1 < len(tokens):
            following = tokens[last + 1]
            text = following.text
            if following.is_number or text in grammar.not_after_plain:
                return 0
            if last + 2 < len(tokens) and (text in grammar.and_ or text == "," or text == "."):
                second = tokens[last + 2]
                if second.is_number or second.text in grammar.not_before_plain or second.text == ".":
                    return 0
        reading = self.reading
        reading.numbers.append(at)
        value, decimals = token.digits
        first = at
        if is_negative:
            value, first = -value, at - 1
        low = unit.convert(value)
        start, end = reading.starts[first], reading.ends[last]
        figure = Quantity(start, end, first, last, unit.kind, unit, low, low, (value, value), decimals)
        reading.quantities.append(figure)
        return last + 1

    def figure(self, at: int) -> int:
        """Read the figure whose first number is token `at`; return the index to continue from."""
        if at in self.moments:
            return at + 1
        if self.is_bare(at):
            if not self.is_list_marker(at):
                self.reading.numbers.append(at)
            return at + 1
        tokens = self.tokens
        number = self.number(at)
        if number is None and not tokens[at].is_number:
            number = Number(1.0, 0, at, at)  # "within a month"
        if number is None:
            return at + 1
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_digits = tokens[at].kind == "number"
        if is_digits and not self.is_list_marker(at) and not self.is_slashed(at):
            self.reading.numbers.append(at)
        if is_digits and after is not None and after.kind == "word" and self.grammar.in_decades is not None:
            decade = self.decade(at)
            if decade:
                return decade
        unit, last = self.unit_after(number.last)
        if unit is not None and self.is_of_next_number(number.last, last, unit):
            unit, last = None, number.last
        if unit is not None and unit.kind in self.grammar.counted and self.is_pronoun(number):
            return number.last + 1
        first, second = number, number
        joined = self.connector(number.first, last)
        if joined:
            other = self.number(joined)
            if other is not None and unit is None and self.unit_before(number.first)[0] is not None:
                return self.prefixed(number, other)
            if other is not None:
                other_unit, other_last = self.unit_after(other.last)
                same = unit is None or (other_unit is not None and other_unit.kind == unit.kind)
                # "15 °C – seven degrees down on yesterday"
                is_change = other_unit is not None and other_last + 1 in self.differing.get(other_unit.kind, ())
                if same and not is_change and (other_unit is not None or unit is not None):
                    second, last = other, other_last
                    low_unit, unit = unit or other_unit, other_unit or unit
                    if unit is not None and low_unit is not None:
                        return self.add(first, second, low_unit, unit, last)
        if unit is None:
            if read_to := self.either(number):
                return read_to
            unit, start = self.unit_of_pair(number), number.first
            if unit is not None:
                return self.add(first, second, unit, unit, number.last)
            unit, start = self.unit_before(number.first)
            if unit is None and self.grammar.counted:
                unit, last = self.unit_of_named(number)
                if unit is not None:
                    return self.add(first, second, unit, unit, last)
            if unit is None:
                unit = self.unit_of_other(number) or self.unit_of_role(number)
                return number.last + 1 if unit is None else self.add(first, second, unit, unit, number.last)
            number.first = start
        unit, last = self.compound(number, unit, last)
        return self.add(first, second, unit, unit, last)

    def prefixed(self, number: Number, other: Number) -> int:
        """Read a number with its unit before it, as a range if the next one ends it: '£60–65', '£60 to £65'."""
        unit, number.first = self.unit_before(number.first)
        assert unit is not None
        own = self.unit_before(other.first)[0]
        # "€89.90 – 4 left": a dash between spaces ends a range only if both ends have the unit.
        is_glued = self.reading.starts[other.first] - self.reading.ends[number.last] <= 1
        has_unit = own is not None and own.kind == unit.kind
        if other.value > number.value and (has_unit or (is_glued and self.unit_after(other.last)[0] is None)):
            return self.add(number, other, unit, unit, other.last)
        return self.add(number, number, unit, unit, number.last)

    def widened_to(self, at: int) -> int:
        """Make the figure before token `at` a range if a tolerance follows: '15 °C ± 20'; return the index after it."""
        tokens, known = self.tokens, self.reading.quantities
        if not known or known[-1].last != at - 1:
            return at
        first = at + (tokens[at].text in ",(")
        if first == len(tokens) or tokens[first].text not in self.grammar.tolerance_openers:
            return at
        for words in self.grammar.tolerances:
            after = first + len(words)
            if tuple([token.text for token in tokens[first:after]]) != words:
                continue
            number = self.number(after)
            unit, last = (None, 0) if number is None else self.unit_after(number.last)
            if number is not None and (unit is None or unit.kind == known[-1].kind):
                width = abs(number.value) * (unit or known[-1].unit).size
                known[-1].low -= width
                known[-1].high += width
                known[-1].last, known[-1].end = last, self.reading.ends[last]
                return last + 1
        return at

    def is_bare(self, at: int) -> bool:
        """Whether a number in digits has nothing beside it that could make it a figure; most have not."""
        tokens = self.tokens
        token = tokens[at]
        if token.kind != "number" or len(token.raw) > LONGEST_NUMBER or not token.raw.isdecimal():
            return False
        if at + 1 < len(tokens):
            after = tokens[at + 1]
            if after.units or after.text in self.grammar.joining or after.kind == "number":
                return False
            if after.text in self.grammar.bare_signs:
                return False
        if not at:
            return True
        if at in self.changing:
            return False
        before = tokens[at - 1]
        if before.units or before.text == "/" or before.text in self.grammar.before_other:
            return False
        if self.grammar.bare and before.text in MINUS and self.is_sign(at - 1):
            return False
        if before.text in self.grammar.before_bare or before.text in self.grammar.before_counted:
            return False
        return not (self.role_ends and self.role_of(at, at)) and not (self.counting and self.counted(at))

    def compound(self, number: Number, unit: Unit, last: int) -> tuple[Unit, int]:
        """Join the parts of a compound figure (1 hour 35 minutes, 2 ft 3 in) in `number`.

        Returns the smallest unit, which `number` is then in, and the last token.
        """
        part, tokens = number, self.tokens
        while unit.zero == 0 and part.value.is_integer():
            at = last + 1
            if at < len(tokens) and (tokens[at].text in self.grammar.and_ or tokens[at].text == ","):
                at += 1
            following = self.number(at) if at < len(tokens) and tokens[at].is_number else None
            if following is None or following.first != at:
                break
            smaller, smaller_last = self.unit_after(following.last, second=unit.kind)
            if smaller is None and self.is_bare_cents(last, following):
                number.value += following.value * _CENT
                number.decimals = 2
                return unit, following.last
            if smaller is None or smaller.kind != unit.kind or smaller.zero != 0 or smaller.size >= unit.size:
                break
            if following.value * smaller.size >= unit.size:
                break
            number.value = number.value * unit.size / smaller.size + following.value
            number.decimals = following.decimals
            part, unit, last = following, smaller, smaller_last
        return unit, last

    def is_bare_cents(self, unit: int, cents: Number) -> bool:
        """Whether a number is the cents of the price whose unit is token `unit`: 89€90, eighty-nine euros ninety."""
        token = self.tokens[cents.first]
        if cents.first != unit + 1 or not (_LEAST_CENTS <= cents.value < 1 / _CENT):
            return False
        if token.kind == "number" and (len(token.raw) != 2 or not token.raw.isdecimal()):
            return False
        if not any(self.grammar.kinds[one.kind].prefix for one in self.tokens[unit].units):
            return False
        is_glued = self.reading.starts[cents.first] == self.reading.ends[unit]
        after = self.tokens[cents.last + 1] if cents.last + 1 < len(self.tokens) else None
        return is_glued or after is None or after.kind != "word" or after.text in self.grammar.after_other

    def decade(self, at: int) -> int:
        """Read 'the mid-teens', 'the low 20s' at token `at`; return the index after it, or 0 if nothing matches."""
        tokens = self.tokens
        token = tokens[at]
        last = at
        base = self.grammar.decades.get(token.text)
        if token.kind == "number":
            following = tokens[at + 1] if at + 1 < len(tokens) else None
            if (
                following is None
                or following.text.lstrip("'") not in self.grammar.decade_marks
                or not token.raw.isdecimal()
            ):
                return 0
            if self.reading.starts[at + 1] != self.reading.ends[at]:
                return 0
            base, last = int(token.raw) if len(token.raw) <= 2 else None, at + 1
        if base is None or base % 10 or self.grammar.in_decades is None or not base:
            return 0
        before = at - 1
        while before >= 0 and tokens[before].text in DASHES:
            before -= 1
        part = self.grammar.parts_of_decade.get(tokens[before].text) if before >= 0 else None
        if part is None:
            return 0
        unit, unit_last = self.unit_after(last)
        if unit is None or unit.kind != self.grammar.in_decades.name:
            unit, unit_last = self.usual_unit(self.grammar.in_decades, base), last
        low, high = Number(base + part[0], 0, before, last), Number(base + part[1], 0, before, last)
        return self.add(low, high, unit, unit, unit_last)

    def add(self, first: Number, second: Number, low_unit: Unit, high_unit: Unit, last: int) -> int:
        tokens = self.tokens
        is_signed = last + 1 < len(tokens) and tokens[last + 1].text in self.grammar.after_words
        if high_unit.tokens in self.grammar.after:  # eight below zero
            first.value = -abs(first.value)
        elif is_signed and first is second and self.grammar.kinds[high_unit.kind].checked:
            for words in self.grammar.after:  # five degrees below zero
                stretch = tuple(token.text for token in tokens[last + 1 : last + 1 + len(words)])
                if stretch == words:
                    first.value, last = -abs(first.value), last + len(words)
                    break
            else:
                if self.is_below(last + 1):
                    first.value, last = -abs(first.value), last + 1
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

    def either(self, number: Number) -> int:
        """Read a number that has its unit after an alternative; return the index to continue from, 0 if it has none.

        '2 or 3 days' is a range; '15 or 25 °C' are two figures.
        """
        at, tokens = number.last + 2, self.tokens
        is_other = at < len(tokens) and tokens[at - 1].text in self.grammar.either_or
        other = self.number(at + (tokens[at].text in MINUS)) if is_other else None
        unit, last = (None, 0) if other is None else self.unit_after(other.last)
        if other is None or unit is None:
            return 0
        precise = self.grammar.kinds[unit.kind].precise
        if precise is not None and abs(unit.convert(other.value) - unit.convert(number.value)) <= precise:
            return self.add(number, other, unit, unit, last)
        return self.add(number, number, unit, unit, number.last)

    def connector(self, first: int, last: int) -> int:
        """The index of the second number of a range whose first ends at `last`; 0 if there is none."""
        at = last + 1
        tokens = self.tokens
        if at >= len(tokens):
            return 0
        text = tokens[at].text
        if (
            text not in self.grammar.joining
            or first in self.changing
            or (self.former and self.unit_before(first)[1] - 1 in self.former)
            or (text in self.grammar.to and tokens[self.unit_before(first)[1] - 1].text in self.grammar.differences)
        ):
            return 0  # "went from 80 to 64 euros" and "rose by 10 to 90 euros" are no ranges
        joins = text in self.grammar.to or text in DASHES or text == "…"
        if text == "." and [token.text for token in tokens[at : at + 3]] == ["."] * 3:
            joins, at = True, at + 2
        if not joins and text in self.grammar.and_:
            joins = any(tokens[n].text in self.grammar.between for n in range(max(0, first - 3), first))
        if not joins:
            return 0
        at += 1
        if at < len(tokens) and (tokens[at].text in MINUS or tokens[at].text in self.grammar.before):
            at += 1
        elif at + 1 < len(tokens) and any(self.grammar.kinds[unit.kind].prefix for unit in tokens[at].units):
            at += 1  # "£60 to £65"
        if at < len(tokens) and (tokens[at].kind == "number" or tokens[at].value is not None):
            return at
        return 0

    def is_slashed(self, at: int) -> bool:
        """Whether a number is one side of a slash between bare numbers: 24/7, 4/5."""
        tokens = self.tokens
        if not (at + 1 < len(tokens) and tokens[at + 1].text == "/") and not (at and tokens[at - 1].text == "/"):
            return False
        for slash, other in ((at + 1, at + 2), (at - 1, at - 2)):
            if 0 <= other < len(self.tokens) and self.tokens[slash].text == "/" and self.tokens[other].kind == "number":
                return self.unit_after(max(at, other))[0] is None
        return False
