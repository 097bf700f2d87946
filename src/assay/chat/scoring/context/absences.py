"""Statements that there is none of something: 'sold without a warranty' claims a warranty of 0 days.

Knows the lists `none` and `asks_any` of a domain, and which facts the ground truth has; knows none of their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention
from assay.chat.reading.units import own_unit
from assay.chat.scoring.context.claims import FigureClaim
from assay.chat.scoring.context.clause_subjects import may_be_of_product

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext


def absences(context: ScoringContext) -> Iterator[FigureClaim]:
    """A claim of zero for each kind and role that the answer says there is none of, and gives no other figure of."""
    given = {(claim.what, claim.said.role) for claim in context.figure_claims}
    for kind, role in dict.fromkeys((fact.kind, fact.role) for fact in context.truth.facts):
        if (kind, role) in given:
            continue
        said = _denial(context, f"{kind}.{role}")
        if said is not None:
            unit = own_unit(context.kind(kind))
            none = Quantity(said.start, said.end, said.first, said.last, kind, unit, 0, 0, (0, 0), 0, role)
            claim = FigureClaim(kind, True, *context.locate(said.first), none)
            if claim.is_about_truth:
                yield claim


def _denial(context: ScoringContext, name: str) -> Mention | None:
    """The words by which an answer says that there is none, or its no to the question whether there is any."""
    for mention in context.said(f"none.{name}"):
        if may_be_of_product(context, mention.first) and not _is_limited(context, mention, name.partition(".")[0]):
            return mention
    answer = context.yes_or_no
    is_asked = answer is not None and not answer.yes and not answer.states and context.query.all(f"asks_any.{name}")
    return answer.said if answer is not None and is_asked else None


def _is_limited(context: ScoringContext, denial: Mention, kind: str) -> bool:
    """Whether it is so only in some case: 'You can't return it after 30 days', 'it can't be returned once opened'."""
    response = context.response
    first, last = response.sentence(denial.first)
    cases = [one.first for one in response.all("hypothesis")]
    cases += [one.first for one in response.quantities if one.kind == kind]
    if any(first <= at <= last for at in cases):
        return True
    after = response.tokens[denial.last + 1 : denial.last + 2]
    return any(token.kind == "word" and token.text not in context.reader.small_words for token in after)
