"""Numbers that count the truth's product without a unit: 'five Oak Stools on hand', or 'Just one' if that is asked.

Knows readings, the name of the product and whether the question is about its number; knows no values of the truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Counted
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.tokens import STOPS, Token

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# Between a number and the name of what it counts are at most this many words: "five of our Oak Stools".
_DESCRIBING = 2
# These words link a number with what it counts: "five of the stools", "two more stools".
_LINKING = frozenset({"of", "more"})
# Of a compound, the noun has at least this many letters: the "maschine" of Espressomaschine.
_SHORTEST_NOUN = 5


def counts_of_product(context: ScoringContext) -> list[Quantity]:
    """The numbers of an answer that count the product, unless it has one with a unit.

    A number of the question's is what the user wants: "Three stools? That's no problem."
    """
    response = context.response
    asked, wanted = context.question.counting
    found = []
    for kind, words in context.reader.lexicon.counted.items():
        candidates = [one for one in response.counts if one.kind == kind and one.asserted]
        if not candidates or any(one.kind == kind for one in response.quantities):
            continue
        named = {at for place in context.response_places for at in range(place.first, place.last + 1)}
        is_asked = kind in asked
        for one in candidates:
            if one.first in named or one.low in wanted:
                continue
            before, after = _clause_around(context, one)
            if _counts_product(context, before, after, words) or (is_asked and _is_alone(before, after, words)):
                found.append(one)
    return found


def _clause_around(context: ScoringContext, number: Quantity) -> tuple[Sequence[Token], Sequence[Token]]:
    """The tokens of a number's clause before it and after it."""
    response = context.response
    first, last = response.sentence(number.first)
    ends = context.reader.clause_ends(response)
    at = bisect_left(ends, number.first)
    start = max(first, ends[at - 1] + 1 if at else 0)
    stop = min(last + 1, ends[at] if at < len(ends) else last + 1)
    after = response.tokens[number.last + 1 : stop]
    if after and after[-1].text in STOPS:
        after = after[:-1]
    return response.tokens[start : number.first], after


def _counts_product(context: ScoringContext, before: Sequence[Token], after: Sequence[Token], words: Counted) -> bool:
    """Whether the product is named after a number, and nobody buys so many of it."""
    if any(token.text in words.unless for token in before):
        return False
    for at, token in enumerate(after[: _DESCRIBING + 1]):
        if token.kind != "word" or token.units or token.text in words.never - _LINKING:
            return False
        if _names_product(context, token):
            foreign = context.reader.lexicon.foreign.get("count")
            beyond = [one.text for one in after[at + 1 :] if not _names_product(context, one)]
            return foreign is None or not beyond or beyond[0] not in foreign.after
    return False


def _names_product(context: ScoringContext, token: Token) -> bool:
    """Whether a word is one of the product's name, in the singular or plural, or the noun that it ends with."""
    stem = context.reader.lexicon.stemmer.stem
    folded = stem(token.folded)
    for word in context.subjects.true_words:
        if folded == stem(word):
            return True
        if context.reader.joins_nouns and len(folded) >= _SHORTEST_NOUN and stem(word).endswith(folded):
            return True
    return False


def _is_alone(before: Sequence[Token], after: Sequence[Token], words: Counted) -> bool:
    """Whether nothing in the clause of a number says what else it would be: 'Just one', 'exactly 5 at the moment'."""
    rest_before = [token for token in before if token.kind == "word" and token.text not in words.before]
    rest_after = [token for token in after if token.kind in ("word", "number") and token.text not in words.after]
    return not rest_before and not rest_after
