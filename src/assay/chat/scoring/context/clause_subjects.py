"""Whether a clause is about something that is neither the truth's product nor one with a name: lids, a colour, a size.

Knows clauses and the words of a language; knows no values of the ground truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.tokens import Token

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# What a clause is about is among this many tokens before what it says.
_REACH = 8


def is_of_something_else(context: ScoringContext, index: int) -> bool:
    """Whether the clause of token `index` begins with another subject: 'and spare lids are €6', 'blue is sold out'.

    That is a word that no list has, after an article or before a verb or a noun; and nothing in the clause before token
    `index` stands for the product.
    """
    reader = context.reader
    if index > 1 and context.response.tokens[index - 1].text == "(":
        index -= 1  # "bulbs not included (€8.50)"
    clause = _clause_before(context, index)
    while clause and clause[0].text in reader.small_words and clause[0].text not in reader.articles:
        clause = clause[1:]
    if (
        len(clause) < 2
        or reader.has_anaphor(clause)
        or any(context.subjects.is_true_word(one.folded) for one in clause)
    ):
        return False
    if clause[0].text in reader.articles:
        return _is_thing(context, clause[1])
    second = clause[1].text in reader.copulas or clause[1].text in reader.nots or _is_thing(context, clause[1])
    return _is_thing(context, clause[0]) and second


def _clause_before(context: ScoringContext, index: int) -> Sequence[Token]:
    """The tokens of a clause up to token `index`; an 'and' begins another."""
    response, reader = context.response, context.reader
    ends = reader.clause_ends(response)
    at = bisect_left(ends, index) - 1
    start = max(response.sentence(index)[0], index - _REACH, ends[at] + 1 if at >= 0 else 0)
    joins = [n for n in range(start, index) if response.tokens[n].text in reader.and_words]
    return response.tokens[joins[-1] + 1 if joins else start : index]


def _is_thing(context: ScoringContext, token: Token) -> bool:
    return token.kind == "word" and not token.phrases and token.text not in context.reader.small_words
