"""Roles of figures: what a number with a unit is the value of ("feels like", "a high of", the sea).

Knows the figures of a text and the words of roles; knows nothing of how numbers are written.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Foreign, Lexicon
from assay.chat.reading.traits import FOREIGN, has

if TYPE_CHECKING:
    from assay.chat.reading.quantities import Quantity
    from assay.chat.reading.text import Mention, Reading
    from assay.chat.reading.tokens import Token

_STOPS = frozenset(".!?…\n;")
_VALUES = frozenset({"high", "low", "above", "below", "other", "change"})
_EXTREMES = frozenset({"high", "low"})
# These stand directly before their figure, or with one word between: "above 20 °C", "by about 3 degrees".
_CLOSE = (".above", ".below", ".change")
_BOUNDS = (".above", ".below")
_CLAUSE_ENDS = frozenset(",:()|—–")
# What a figure is of may be at most this many tokens before it.
_SUBJECT_REACH = 10
# What parts a role from the next figure, so that it is not that figure's.
_PARTING = _STOPS | {",", ")"}
_CLOSING = frozenset(")")
# Marks between parts of a line that have nothing to do with each other.
_PARTS = frozenset("–—|•·")
# A word of at most this many letters before a full stop is shortened.
_SHORTENED = 4
# How many words may link a figure with the role after it: "13 °C as the high".
_LINKS = 2
# A role may be at most this many tokens before its figure.
_ROLE_REACH = 5
# "Thursday's high in Phoenix is forecast at 86 °F."
_NOUN_REACH = 8
_NOUNS = (".high", ".low")
# A clause begins at most this many tokens before a figure in it.
_CLAUSE_REACH = 40
# A label before a colon has at most this many tokens: "Lake water: 19 °C".
_LABEL = 3
# So many tokens may be before a role that begins its sentence: "Factoring in the wind chill, it's more like 3 °C".
_OPENING = 3
# What a span of time is of may be further away: "the warranty on the Nova Headphones only lasts 6 months".
_TOPIC_REACH = 12
# What a figure is of may follow it in so many words: "35° above the horizon".
_AFTER = 6
_ARC_MINUTES = frozenset("'′’")
# A figure may be repeated in another unit at most this many tokens later, and differ by less than this by rounding.
_CONVERSION_REACH = 4
_ROUNDED = 1.0


class RoleReader:
    """Sets the roles of figures in texts of one language and domain."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.roles = lexicon.roles
        self.foreign = lexicon.foreign
        self.unchecked = frozenset(kind.name for kind in lexicon.kinds.values() if not kind.checked)
        # Kinds whose roles name what a figure is of, and not which value it is.
        self.of_topics = frozenset(kind for kind, roles in lexicon.roles.items() if roles.isdisjoint(_VALUES))
        self.function_words = frozenset(lexicon.language["function_words"])
        self.prepositions = frozenset(lexicon.language["place_prepositions"])
        self.copulas = frozenset(lexicon.language["copulas"])
        self.small_words = self.function_words | self.prepositions
        self.links = frozenset(lexicon.language.get("role_links", ()))
        self.starting = frozenset(lexicon.language.get("starting_words", ()))
        self.parting = _PARTING | frozenset(lexicon.language["and_words"])
        self.listing = frozenset(lexicon.language["and_words"]) | frozenset(lexicon.language["linking_or"]) | {","}
        self.ends = _STOPS | _CLAUSE_ENDS
        self.alternatives = frozenset(lexicon.language["linking_or"]) | {",", "/", "."}
        self.after_alternative = self.alternatives | _STOPS
        # By kind, the lists of its roles, of words for a change, and of roles that only stand after or before a figure.
        names = ("role", "change", "role_after", "role_beside")
        self._lists = {kind: tuple(f"{name}.{kind}" for name in names) for kind in lexicon.kinds}

    def assign(self, reading: Reading) -> None:
        """Set the role of each figure of a text."""
        kinds = {quantity.kind for quantity in reading.quantities}
        may_be_foreign = bool(self.foreign) and has(reading.traits, FOREIGN)
        lists = reading.lists
        for kind in kinds:
            foreign = self.foreign.get(kind) if may_be_foreign or kind in self.unchecked else None
            role, change, after, beside = self._lists[kind]
            if role in lists or change in lists or foreign is not None or after in lists or beside in lists:
                _Roles(reading, self).assign(kind, reading.all(role), reading.all(change), foreign)
        if "/" in reading.text:
            _Roles(reading, self).pair_highs_with_lows()
        for a, b in pairwise(reading.quantities):
            if a.role != b.role and _is_conversion(a, b):
                a.role = b.role = a.role if b.role == "actual" else b.role


def _names_city(token: Token) -> bool:
    return token.cities is not None and token.cities.alone is not None


def _is_conversion(a: Quantity, b: Quantity) -> bool:
    """Whether a figure only repeats the one before it in another unit: 'a low of 75 °F (24 °C)'."""
    is_near = b.first - a.last <= _CONVERSION_REACH and abs(a.high - b.high) < _ROUNDED
    return is_near and a.kind == b.kind and a.unit.name != b.unit.name


class _Roles:
    def __init__(self, reading: Reading, grammar: RoleReader) -> None:
        self.reading = reading
        self.tokens = reading.tokens
        self.grammar = grammar

    def assign(self, kind: str, roles: list[Mention], changes: list[Mention], foreign: Foreign | None) -> None:
        quantities = self.reading.quantities
        roles = sorted(roles, key=lambda mention: (mention.last, mention.last - mention.first))
        ends = [mention.last for mention in roles]
        by_first = {mention.first: mention for mention in roles}
        changed = {mention.first for mention in changes}
        only_after = {mention.first: mention for mention in self.reading.all(f"role_after.{kind}")}
        beside = {mention.last: mention for mention in self.reading.all(f"role_beside.{kind}")}
        taken: Mention | None = None
        for n, quantity in enumerate(quantities):
            if quantity.kind != kind:
                continue
            former = quantities[n - 1] if n else None
            before = former.last if former is not None else -1
            if quantity.last + 1 in changed:
                quantity.role = "change"
                continue
            if foreign is not None and (
                self.is_foreign(quantity, before, foreign) or self.is_bearing(former, quantity, foreign)
            ):
                quantity.role = "other"
                continue
            role = self.role_before(quantity, before, roles, ends)
            if role is None or role is taken:
                role = only_after.get(quantity.last + 1)
            if role is None:
                role = beside.get(quantity.first - 1)
            if role is None:
                following = quantities[n + 1] if n + 1 < len(quantities) else None
                after = following.first if following is not None and following.kind == kind else None
                role = taken = self.role_after(quantity, after, by_first)
            if role is None and kind in self.grammar.of_topics:
                role = self.role_beyond(quantity, by_first)
            if role is not None:
                self.take(quantity, role.keys[0].rpartition(".")[2])
            elif n and kind in self.grammar.of_topics and self.is_alternative(quantities[n - 1], quantity):
                quantity.role = quantities[n - 1].role

    def is_alternative(self, a: Quantity, b: Quantity) -> bool:
        """Whether a figure is only listed after another: '3 days, 14 days or 21 days', and not '14 days if opened'."""
        if a.kind != b.kind:
            return False
        between = {token.text for token in self.tokens[a.last + 1 : b.first]}
        after = self.tokens[b.last + 1].text if b.last + 1 < len(self.tokens) else "."
        return bool(between) and between <= self.grammar.alternatives and after in self.grammar.after_alternative

    def is_foreign(self, quantity: Quantity, before: int, foreign: Foreign) -> bool:
        """Whether a figure is of something else: 'the sea is at 14 °C', 'wind from 240°', '60° north'."""
        tokens = self.tokens
        if self.is_before(quantity.last, foreign) or self.is_coordinate(quantity.last):
            return True
        if self.is_in(quantity.last, foreign) or self.is_owned(quantity.last, foreign):
            return True
        if foreign.heads and any(
            token.text in foreign.heads for token in tokens[quantity.last + 1 : quantity.last + 3]
        ):
            return True
        previous = self.word_before(quantity.first)
        if foreign.heads and previous == "+":
            return True  # "express delivery (+€6)"
        if previous == ":" and self.is_labelled(quantity.first - 1, foreign):
            return True
        leading = {previous, f"{tokens[quantity.first - 2].text} {previous}" if quantity.first > 1 else ""}  # "out of"
        is_bare = not foreign.bare or tokens[quantity.last].text in foreign.bare
        directed = is_bare and not leading.isdisjoint(foreign.directions)
        if is_bare and foreign.bare and self.is_direction(quantity.first, foreign):
            return True
        # "Wind at 12 km/h from 240°": the speed is between the wind and its direction.
        nearest = before if leading.isdisjoint(foreign.origins) else -1
        if previous == "(" and quantity.first > 1 and tokens[quantity.first - 2].text in foreign.subjects:
            return True  # "shipping (€4.95)"
        if before >= 0 and previous in foreign.predicates and self.is_of_first(quantity.first, foreign):
            return True
        if before >= 0 and tokens[before + 1].text == ")":
            nearest = before = -1  # the figure before is in brackets: "express (2 days) is €25"
        inside = 0
        for at in range(quantity.first - 1, max(nearest, quantity.first - _SUBJECT_REACH), -1):
            token = tokens[at]
            text = token.text
            if text == ")" or inside:
                inside += (text == ")") - (text == "(")
                continue
            if directed and text in foreign.directed:
                return True
            if text in self.grammar.ends or (token.capital and token.cities is not None):
                return False
            if text in foreign.verbs:
                return True
            if text in foreign.subjects and at > before:
                if tokens[at + 1].text in foreign.predicates:
                    return True
                article = at - 1 - (tokens[at - 1].text in self.grammar.function_words if at else 0)
                around = {tokens[n].text for n in (at - 1, article) if n >= 0}
                return not around & foreign.beside and not (
                    at + 1 < len(tokens) and tokens[at + 1].text in foreign.compounds
                )
        return False

    def is_before(self, last: int, foreign: Foreign) -> bool:
        """Whether what the figure that ends at token `last` is of follows it: '60° north', '35° above the horizon'."""
        after = self.tokens[last + 1 : last + 1 + _AFTER]
        if not after:
            return False
        if after[0].text in foreign.after or after[0].raw in foreign.after:
            return True
        words = [token.text for token in after]
        return any(" ".join(words[:size]) in foreign.after for size in range(2, len(words) + 1))

    def is_coordinate(self, last: int) -> bool:
        """Whether minutes of arc follow a figure: 60°10'."""
        tokens = self.tokens
        if last + 2 >= len(tokens) or tokens[last].text != "°":
            return False
        return tokens[last + 1].kind == "number" and tokens[last + 2].text in _ARC_MINUTES

    def is_direction(self, first: int, foreign: Foreign) -> bool:
        """Whether the figure at token `first` is directly after what has a direction: 'wind 310°', 'wind (310°)'."""
        tokens = self.tokens
        at = first - 1 - (first > 0 and tokens[first - 1].text == "(")
        return at >= 0 and tokens[at].text in foreign.directed

    def is_bearing(self, former: Quantity | None, quantity: Quantity, foreign: Foreign) -> bool:
        """Whether a figure is the direction of the one before it: '24 km/h from 240°', '24 km/h (240°)'."""
        if former is None or former.kind not in foreign.directed_kinds or self.tokens[quantity.last].text != "°":
            return False
        between = {token.text for token in self.tokens[former.last + 1 : quantity.first]}
        return bool(between - {","}) and between <= foreign.directions | {",", "("}

    def is_of_first(self, first: int, foreign: Foreign) -> bool:
        """Whether its sentence or clause begins with what the figure is of: 'Delivery takes 3 days and costs €5'."""
        tokens, start = self.tokens, self.reading.sentence(first)[0]
        if first < start + 2 or tokens[first - 2].text not in self.grammar.listing:
            return False
        near = range(first - 2, max(start, first - _CLAUSE_REACH), -1)
        clause = next((at for at in near if tokens[at - 1].text in self.grammar.ends), start)
        starts = [at + (tokens[at].text in self.grammar.function_words) for at in {start, clause}]
        return any(tokens[at].text in foreign.subjects for at in starts)

    def is_labelled(self, colon: int, foreign: Foreign) -> bool:
        """Whether the label before a colon is what the figure is of: 'Lake water: 19 °C'."""
        first = max(self.reading.sentence(colon)[0], colon - _LABEL)
        label = {token.text for token in self.tokens[first:colon]}
        if first and self.tokens[first - 1].text not in self.grammar.ends:
            return False  # a sentence, and not a label
        if colon - first == 1 and self.tokens[first].capital and _names_city(self.tokens[first]):
            return False  # "Bath: 12 °C"
        return not label.isdisjoint(foreign.subjects) and label.isdisjoint(foreign.beside | foreign.compounds)

    def word_before(self, first: int) -> str:
        """The word before the number at token `first`, or before the first of several: 'sizes 42 and 43'."""
        at, tokens = first - 1, self.tokens
        while at > 1 and tokens[at - 1].kind == "number" and tokens[at].text in self.grammar.listing:
            at -= 2
        return tokens[at].text if at >= 0 else ""

    def is_in(self, last: int, foreign: Foreign) -> bool:
        """Whether 'in the oven' follows the figure that ends at token `last`."""
        if last + 3 < len(self.tokens) and self.tokens[last + 1].text in self.grammar.copulas:
            last += 1  # "the €9 was for shipping"
        if last + 2 >= len(self.tokens) or self.tokens[last + 1].text not in self.grammar.prepositions:
            return False
        after = self.tokens[last + 1 : last + 4]
        if after[1].capital and after[1].cities is not None:
            return False  # "12 °C in Bath"
        return after[1].text in foreign.subjects or (
            len(after) > 2 and after[1].text in self.grammar.function_words and after[2].text in foreign.subjects
        )

    def is_owned(self, last: int, foreign: Foreign) -> bool:
        """Whether a possession follows the figure that ends at token `last`: 'the 21 °C (that) your AC is set to'."""
        tokens = self.tokens
        for at in range(last + 1, min(last + 3, len(tokens))):
            if tokens[at].text in foreign.owners:
                return any(token.text in foreign.subjects for token in tokens[at + 1 : at + 3])
            if tokens[at].kind != "word" or tokens[at].text not in self.grammar.small_words:
                return False
        return False

    def pair_highs_with_lows(self) -> None:
        """'18 °C / 9 °C' is a high and a low; '15 °C / 59 °F' is one temperature in two units."""
        quantities = self.reading.quantities
        for a, b in pairwise(quantities):
            if b.first != a.last + 2 or self.tokens[a.last + 1].text != "/":
                continue
            if a.unit.name != b.unit.name or a.high == b.high:
                continue
            if {a.role, b.role} <= {"actual", *_EXTREMES} and self.grammar.roles.get(a.kind, set()) >= _EXTREMES:
                a.role, b.role = ("high", "low") if a.high > b.high else ("low", "high")

    def role_before(self, quantity: Quantity, before: int, roles: list[Mention], ends: list[int]) -> Mention | None:
        at = bisect_left(ends, quantity.first) - 1
        reach = _TOPIC_REACH if quantity.kind in self.grammar.of_topics else _ROLE_REACH
        opens = at >= 0 and self.opens_sentence(roles[at], before)
        if opens or (at >= 0 and roles[at].keys[0].endswith(_NOUNS)):
            reach = max(reach, _NOUN_REACH)
        if at < 0 or roles[at].first <= before or quantity.first - ends[at] > reach:
            return None
        between = self.tokens[ends[at] + 1 + opens : quantity.first]
        if len(between) >= _ROLE_REACH and any(token.text in self.grammar.parting for token in between):
            return None  # "delivery to your home is free and you have 30 days"
        if len(between) == 1 and between[0].text == "." and len(self.tokens[ends[at]].text) <= _SHORTENED:
            return roles[at]  # "min. 6 °C"
        if any(token.text in _STOPS or token.text == "," for token in between):
            return None
        if between and between[0].text == ":" and roles[at].keys[0].endswith(_BOUNDS):
            return None  # "yes, well below: −7 °C"
        if quantity.kind in self.grammar.of_topics and any(token.text in _PARTS for token in between):
            return None  # "ships free – 3-year warranty"
        if len(between) > 1 and roles[at].keys[0].endswith(_CLOSE):
            return None  # "the rain is over: clear and 15 °C"
        return roles[at]

    def opens_sentence(self, role: Mention, before: int) -> bool:
        """Whether a role is the phrase that opens its sentence, before a comma: 'With the wind chill, it's 3 °C'.

        The figure before it ends at token `before`: 'Three years of warranty, plus 60 days' opens with a figure.
        """
        after = role.last + 1
        if after >= len(self.tokens) or self.tokens[after].text != ",":
            return False
        first = self.reading.sentence(role.first)[0]
        return before < first and role.first - first <= _OPENING

    def role_after(self, quantity: Quantity, after: int | None, by_first: dict[int, Mention]) -> Mention | None:
        """A role directly after its figure, unless another figure follows closely that it belongs to instead.

        In "13 °C au maximum et 7 °C au minimum", it is linked with the figure before it.
        """
        at = quantity.last + 1
        in_brackets = at < len(self.tokens) and self.tokens[at].text == "("
        at += in_brackets
        role, parting = by_first.get(at), self.grammar.parting
        for token in self.tokens[at : at + _LINKS]:
            if role is not None or token.text not in self.grammar.links:
                break
            at += 1
            role = by_first.get(at)
        if role is not None and role.keys[0].endswith(_BOUNDS):
            return None  # "15 °C under heavy showers"
        if role is None or after is None or after - role.last > _ROLE_REACH:
            return role
        between = self.tokens[role.last + 1 : after]
        if in_brackets:
            parting = _CLOSING  # "14 °C (min. 6 °C)"
        return role if any(token.text in parting for token in between) else None

    def role_beyond(self, quantity: Quantity, by_first: dict[int, Mention]) -> Mention | None:
        """The role of a span after what it starts with: '30 days from delivery to exchange it'."""
        tokens, at = self.tokens, quantity.last + 1
        if at >= len(tokens) or tokens[at].text not in self.grammar.starting:
            return None
        for link in range(at + 2, min(at + _NOUN_REACH, len(tokens) - 1)):
            if tokens[link].text in self.grammar.ends:
                return None
            if tokens[link].text in self.grammar.links and link + 1 in by_first:
                return by_first[link + 1]
        return None

    def take(self, quantity: Quantity, role: str) -> None:
        if role == "above":
            quantity.high = math.inf
        elif role == "below":
            quantity.low = -math.inf
        else:
            quantity.role = role
