"""What an answer says only of another shop or of other products: it is not the product's, even if it stands alone.

Knows the clauses of an answer and the words of its language; knows no ground truth but the name of its product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.chat.reading.positions import within
from assay.chat.reading.tokens import CLAUSE_MARKS

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention
    from assay.chat.scoring.context import ScoringContext


def may_tell_of_others(context: ScoringContext) -> bool:
    """Whether an answer has any words that say so."""
    lists = context.response.lists
    return "elsewhere" in lists or "not_this" in lists


def is_of_others(context: ScoringContext, index: int) -> bool:
    """Whether what is said at token `index` is of another shop, 'a competitor sells it for €95', or of other products.

    It is not if its part of the sentence also speaks of this shop: "unlike a competitor, we sell it for €89.90".
    """
    response = context.response
    first, stop = _part(context, index)
    if any(_reaches(context, one, index) for one in within(response.all("elsewhere"), first, stop)):
        return context.reader.lexicon.this_shop.isdisjoint([token.text for token in response.tokens[first:stop]])
    if within(context.subjects.mentions(response), first, index):
        return False
    # "Other tents cost €95", not "the other day"
    said = [one for one in within(response.all("not_this"), first, index) if one.first == first or _is_anywhere(one)]
    return any(not context.reader.has_anaphor(response.tokens[one.last + 1 : index]) for one in said)


def _reaches(context: ScoringContext, elsewhere: Mention, index: int) -> bool:
    """Whether another shop is named before token `index` or in its clause: not in '€89.90 – not cheaper elsewhere'."""
    between = context.response.tokens[index : elsewhere.first]
    return not any(token.text in CLAUSE_MARKS for token in between)


def _is_anywhere(said: Mention) -> bool:
    return said.keys[0] != "not_this.opening"


def _part(context: ScoringContext, index: int) -> tuple[int, int]:
    """The first token of the part of a sentence in which token `index` is, and the one after its last: up to 'but'."""
    tokens, contrasting = context.response.tokens, context.reader.contrasting
    first, last = context.response.sentence(index)
    for at in range(first, last + 1):
        if tokens[at].text == ";" or tokens[at].text in contrasting:
            if at > index:
                return first, at
            first = at + 1
    return first, last + 1
