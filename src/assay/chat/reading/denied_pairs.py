"""Figures and states that a negation denies together: "it isn't 30 °C and sunny, it's 12 °C and raining".

Knows negations, figures and states; which negations deny what an 'and' adds is the language's data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from assay.chat.reading.positions import FIRST, within
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.tokens import STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

_STATES = "states"
_PARTS = frozenset({_STATES, "tells", "topic"})
# How many tokens may stand between the 'and' and what it adds: "30 °C and brilliantly sunny".
_BETWEEN = 3
# What is so instead is at most this many tokens later.
_REPLACED = 40
# How many tokens may stand between the first part and the 'and': "30 °C in Oslo and sunny".
_BEFORE = 3


class PairReader:
    """Finds in texts of one language what is denied as the second part of a pair."""

    def __init__(self, language: Mapping[str, Any], clause_ends: frozenset[str]) -> None:
        negation = language["negation"]
        self._clause_ends = clause_ends
        self._and = frozenset(language["and_words"]) | frozenset(negation.get("with", ()))
        self._alternatives = frozenset(language["and_words"])
        self._of_pairs = frozenset(negation.get("pairs", ()))
        # A verb after the 'and' begins a sentence of its own: "it isn't 30 °C and it's sunny".
        self._verbs = frozenset(language["copulas"]) | frozenset(language.get("present_verbs", ()))
        self._adverbs = frozenset(language.get("adverbs", ())) | frozenset(language.get("articles", ()))

    def deny(self, reading: Reading, said: Sequence[Mention | Quantity], negations: Sequence[int]) -> None:
        """Deny the second part of each pair of which a negation denies the first.

        That the pair is denied shows a figure given instead, or that the negation is directly before the first figure:
        "it's not even 10 °C and raining" denies no rain.
        """
        if not self._of_pairs or len(negations) == 0:
            return
        parts = sorted([one for one in said if _is_part(one)], key=FIRST)
        denied: list[Mention | Quantity] = []
        for first, second in _pairs(parts):
            if not first.refuted or not second.asserted or not self._are_joined(reading, first, second):
                continue
            at = bisect_right(negations, first.first) - 1
            if at < 0 or not self._denies_pairs(reading, negations[at]):
                continue
            if isinstance(first, Quantity):
                is_pair = self._is_direct(reading, negations[at], first) or _is_replaced(reading, first, second)
            elif isinstance(second, Quantity):
                is_pair = _is_replaced(reading, second, second)
            else:
                is_pair = self._is_other_state(reading, first, second, parts)
            if is_pair:
                denied += [first, second]
        _deny(denied, parts)

    def _denies_pairs(self, reading: Reading, negation: int) -> bool:
        token = reading.tokens[negation]
        return token.denies or token.text in self._of_pairs

    def _is_direct(self, reading: Reading, negation: int, first: Mention | Quantity) -> bool:
        """Whether a negation is directly before the first part, and an 'and' joins the second."""
        between = reading.tokens[negation + 1 : first.first]
        after = reading.tokens[first.last + 1].text if first.last + 1 < len(reading.tokens) else ""
        return not between and after in self._alternatives

    def _is_other_state(
        self, reading: Reading, first: Mention, second: Mention, parts: Sequence[Mention | Quantity]
    ) -> bool:
        """Whether another state is given instead of a word and a state: 'not cold and wet: clear'."""
        after = reading.tokens[second.last + 1].text if second.last + 1 < len(reading.tokens) else ""
        if first.keys[-1] == second.keys[-1] or after in self._verbs:
            return False
        last = min(reading.sentence(second.first)[1], second.last + _REPLACED)
        return any(
            not isinstance(one, Quantity) and one.asserted and one.keys[-1] == _STATES and one.keys != second.keys
            for one in within(parts, second.last + 1, last + 1)
        )

    def _are_joined(self, reading: Reading, first: Mention | Quantity, second: Mention | Quantity) -> bool:
        """Whether an 'and' or a 'with' joins two parts, without a verb or the end of a clause between them."""
        tokens = reading.tokens[first.last + 1 : second.first]
        joint = next((at for at, token in enumerate(tokens) if token.text in self._and), None)
        if joint is None or joint > _BEFORE or len(tokens) - joint - 1 > _BETWEEN:
            return False
        return not any(
            token.text in STOPS
            or token.text in self._clause_ends
            or "'" in token.text
            or (token.text in self._verbs and token.text not in self._adverbs)
            for token in tokens
        )


def _pairs(parts: Sequence[Mention | Quantity]) -> Iterator[tuple[Mention | Quantity, Mention | Quantity]]:
    """Each figure and state with what is said before it; a word may be both a state and about the weather: 'wet'."""
    before: Mention | Quantity | None = None
    for first, second in pairwise(parts):
        if first.first < second.first:
            before = first
        if before is not None and (isinstance(second, Quantity) or second.keys[-1] == _STATES):
            yield before, second


def _is_part(said: Mention | Quantity) -> bool:
    return isinstance(said, Quantity) or said.keys[-1] in _PARTS


def _is_replaced(reading: Reading, denied: Quantity, last: Mention | Quantity) -> bool:
    """Whether another figure of the kind follows in the sentence or the next one: 'it's 12 °C'."""
    end = reading.sentence(last.first)[1]
    if end + 1 < len(reading.tokens):
        end = reading.sentence(end + 1)[1]
    after = within(reading.quantities, last.last + 1, min(end, last.last + _REPLACED) + 1)
    return any(one.kind == denied.kind and one.role == denied.role and one.asserted for one in after)


def _deny(denied: Sequence[Mention | Quantity], parts: Sequence[Mention | Quantity]) -> None:
    """Deny parts of pairs, but not what is claimed elsewhere: 'it isn't 30 °C and raining, it's 12 °C and raining'."""
    for part in denied:
        part.asserted = False
    claimed = {_content(one) for one in parts if one.asserted} if denied else set()
    for part in denied:
        part.denied = part.refuted = _content(part) not in claimed


def _content(part: Mention | Quantity) -> tuple[object, ...]:
    return (part.kind, part.low, part.high) if isinstance(part, Quantity) else part.keys
