"""Numbers that count the truth's product without a unit: 'five Oak Stools on hand', or 'Just one' if that is asked.

Knows readings, the name of the product and whether the question is about its number; knows no values of the truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Counted
from assay.chat.reading.positions import within
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.tokens import STOPS, Token
from assay.chat.reading.units import own_unit

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# Between a number and the name of what it counts are at most this many words: "five of our Oak Stools".
_DESCRIBING = 2
# These words link a number with what it counts: "five of the stools", "two more stools".
_LINKING = frozenset({"of", "more"})
# What follows a number that stands for itself has at most this many words: "at the moment".
_LONGEST = 3
# A price is at most this many tokens after the number of pieces that it is of.
_NEAR_PRICE = 8
# Of a clause, at most this many tokens on either side are looked at.
_REACH = 16
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
        if any(one.kind == kind for one in response.quantities):
            continue
        candidates = [one for one in response.counts if one.kind == kind and one.asserted]
        named = {at for place in context.response_places for at in range(place.first, place.last + 1)}
        for one in candidates:
            if one.first in named or one.low in wanted:
                continue
            before, after = _clause_around(context, one.first, one.last)
            is_alone = kind in asked and _is_alone(before, after, words)
            is_counted = is_alone or _counts_product(context, before, after, words)
            if is_counted and _price_of(context, one.last + 1) < 0:
                found.append(one)
        found += _zeros(context, kind, words) if not found else ()
    return found


def _zeros(context: ScoringContext, kind: str, words: Counted) -> Iterator[Quantity]:
    """Words that count the product as none: 'There are no kettles left.'"""
    response = context.response
    for at, token in enumerate(response.tokens[:-1]):
        if token.text not in words.none or response.is_question(at):
            continue
        if response.sentence(at) in response.sentences_with("hypothesis"):
            continue  # "if there are no kettles left"
        _, after = _clause_around(context, at, at)
        last = next((n for n, one in enumerate(after) if not _names_product(context, one)), len(after))
        if last and _follow(after[last:], words):
            unit, start, end = own_unit(context.kind(kind)), response.starts[at], response.ends[at + last]
            yield Quantity(start, end, at, at + last, kind, unit, 0, 0, (0, 0), 0)


def _clause_around(context: ScoringContext, first: int, last: int) -> tuple[Sequence[Token], Sequence[Token]]:
    """The tokens of the clause of tokens `first` to `last` before them and after them."""
    response, ends = context.response, context.reader.clause_ends(context.response)
    start, end = response.sentence(first)
    at = bisect_left(ends, first)
    start = max(start, ends[at - 1] + 1 if at else 0, first - _REACH)
    stop = min(end + 1, ends[at] if at < len(ends) else end + 1, last + 1 + _REACH)
    after = response.tokens[last + 1 : stop]
    if after and after[-1].text in STOPS:
        after = after[:-1]
    return response.tokens[start:first], after


def _counts_product(context: ScoringContext, before: Sequence[Token], after: Sequence[Token], words: Counted) -> bool:
    """Whether the product is named after a number, and nobody buys so many of it."""
    if any(token.text in words.unless for token in before):
        return False
    is_of = bool(after) and after[0].text in context.reader.lexicon.language.get("of_words", ())
    if is_of and _stands_for_product(context, after[1:], words):
        return True
    for at, token in enumerate(after[: _DESCRIBING + 1]):
        begins_unit = token.units and not (is_of and at == 0)  # "of them"
        if token.kind != "word" or begins_unit or token.text in words.never - _LINKING:
            return False
        if _names_product(context, token):
            if any(one.capital and not _names_product(context, one) for one in after[:at]):
                return False  # "12 Pine Stools" counts none of the Oak Stools
            foreign = context.reader.lexicon.foreign.get("count")
            beyond = [one.text for one in after[at + 1 :] if not _names_product(context, one)]
            if is_of and _are_gone(context, beyond, words):
                return False
            return foreign is None or not beyond or beyond[0] not in foreign.after
    return False


def _stands_for_product(context: ScoringContext, after: Sequence[Token], words: Counted) -> bool:
    """Whether tokens after 'of' stand for the product and say no more than that it is left: '17 of it left'."""
    reader = context.reader
    at = 0
    while at < min(len(after), _DESCRIBING) and after[at].text in reader.pronouns | reader.articles | words.things:
        at += 1
    if not at or after[at - 1].text not in reader.pronouns | words.things:
        return False
    at += at < len(after) and after[at].text in reader.copulas
    return _follow(after[at:], words)


def _are_gone(context: ScoringContext, beyond: Sequence[str], words: Counted) -> bool:
    """Whether the words after 'of' and the product say that so many are gone: '17 of the stools are sold'."""
    verbs = [text for text in beyond if text not in context.reader.copulas]
    return bool(verbs) and verbs[0] in words.unless and verbs[0] not in context.reader.function_words


def priced_together(context: ScoringContext, figure: Quantity) -> float:
    """How many pieces a price directly after their number is of: 2 in 'two Oak Stools are €116'; else 1."""
    response, counted = context.response, context.reader.lexicon.counted
    near = figure.first - _NEAR_PRICE, figure.first
    for one in (*within(response.counts, *near), *within(response.quantities, *near)):
        if one.kind not in counted or not 1 < one.low == one.high:
            continue
        if any(place.first <= one.first <= place.last for place in context.response_places):
            continue  # the 2 of a Trail Runner 2
        if _price_of(context, one.last + 1) in (figure.first, figure.first + 1):
            return one.low
    return 1.0


def _price_of(context: ScoringContext, at: int) -> int:
    """The unit of the price of so many pieces, whose number is before token `at`: 'Two Oak Stools are €116'; or -1."""
    tokens, reader = context.response.tokens, context.reader
    stop = min(at + _DESCRIBING + 1 + len(context.subjects.true_words), len(tokens))
    is_named = at > 0 and tokens[at - 1].text in reader.plural_pronouns  # "two of them"
    small = reader.function_words - reader.copulas
    while at < stop and (tokens[at].text in small or _names_product(context, tokens[at])):
        is_named |= tokens[at].text not in small
        at += 1
    verbs = reader.copulas | reader.pricing | {":"}
    if not is_named or at >= len(tokens) or tokens[at].text not in verbs:
        return -1
    at += 1
    at += at < len(tokens) and tokens[at].text in reader.prepositions  # "come to €116"
    prices = {kind.name for kind in context.kinds.values() if kind.family is not None}
    found = (n for n in (at, at + 1) if n < len(tokens) and any(unit.kind in prices for unit in tokens[n].units))
    return next(found, -1)


def _names_product(context: ScoringContext, token: Token) -> bool:
    """Whether a word is one of the product's name, in the singular or plural, or the noun that it ends with."""
    stem = context.reader.lexicon.stemmer.stem
    folded = stem(token.folded)
    for word in context.subjects.true_words:
        if folded == stem(word) or token.folded.rstrip("s") == word.rstrip("s"):
            return True
        if context.reader.joins_nouns and len(folded) >= _SHORTEST_NOUN and stem(word).endswith(folded):
            return True
    return False


def _is_alone(before: Sequence[Token], after: Sequence[Token], words: Counted) -> bool:
    """Whether nothing in the clause of a number says what else it would be: 'Just one', 'exactly 5 at the moment'."""
    return not any(token.kind == "word" and token.text not in words.before for token in before) and _follow(
        after, words
    )


def _follow(after: Sequence[Token], words: Counted) -> bool:
    """Whether tokens are only what may follow a number that stands for itself."""
    rest = [token.text for token in after if token.kind in ("word", "number")]
    while rest:
        size = next((n for n in range(min(_LONGEST, len(rest)), 0, -1) if " ".join(rest[:n]) in words.after), 0)
        if not size:
            return False
        rest = rest[size:]
    return True
