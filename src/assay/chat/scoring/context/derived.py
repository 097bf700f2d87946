"""Figures that follow by arithmetic from others: 'three of them would be €150', 'both come to €85', 'a swing of 12 °C'.

Knows claims and the words of a language (`derived`); knows no metric and no points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.chat.reading.traits import RELATES, has
from assay.chat.scoring.context.claims import FigureClaim

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# Of a long answer, at most so many figures and numbers are combined.
_MOST_BASES, _MOST_FACTORS, _MOST_SUMMED = 12, 12, 4
# Of more figures, none is derived: each is looked at beside all others.
_MOST_DERIVED = 60
# A number beyond these counts nothing that somebody buys.
_LEAST_FACTOR, _LARGEST_FACTOR = 2, 10_000
_PERCENT = "percentage"
# For products and sums of decimal fractions.
EPSILON = 1e-9


DIFFERENCE = "difference"
"""The role of figures that tell how far two others are apart: 'a swing of 12 °C'."""


def without_derived(
    context: ScoringContext, claims: Sequence[FigureClaim], bases: Sequence[FigureClaim]
) -> list[FigureClaim]:
    """The figures that follow neither from `bases`, nor from facts of the truth, nor from others that do."""
    left = list(claims)
    based = {one.what for one in bases} | {fact.kind for fact in context.truth.facts}
    open_claims = [claim for claim in claims if claim.what in based]
    if not open_claims or len(claims) + len(bases) > _MOST_DERIVED:
        return left
    may_multiply = not context.reader.multiplied.isdisjoint([claim.what for claim in open_claims])
    if not may_multiply and not has(context.response.traits, RELATES):
        return left
    known = [*bases, *_facts(context, open_claims)]
    for claim in open_claims:
        operands = derived(context, claim, known)
        if operands is not None:
            known.append(claim)
            left = [one for one in left if one is not claim and not any(one is other for other in operands)]
    return left


def _facts(context: ScoringContext, claims: Sequence[FigureClaim]) -> list[FigureClaim]:
    """The truth's own figures of the kinds of some claims, as if they had been said."""
    found = []
    for kind in dict.fromkeys(claim.what for claim in claims):
        like = next(claim for claim in claims if claim.what == kind)
        for value in dict.fromkeys(fact.value for fact in context.truth.facts if fact.kind == kind):
            said = replace(like.said, low=value, high=value)
            found.append(FigureClaim(kind, True, like.subjects, like.is_about_truth, like.day, like.part, said))
    return found


def derived(context: ScoringContext, claim: FigureClaim, bases: Sequence[FigureClaim]) -> Sequence[FigureClaim] | None:
    """The figures beside `bases` from which a figure follows by arithmetic that its sentence names; None if from none.

    A number that multiplies is such a figure if it has a unit: the 'three of them' of 'three of them would be €150'.
    """
    figure, kind = claim.said, context.kind(claim.what)
    if figure.low < figure.high:
        return None
    alike = [one for one in bases if one.what == claim.what and one is not claim and one.said.low == one.said.high]
    values = list(dict.fromkeys(one.said.low for one in alike))[:_MOST_BASES]
    if not values:
        return None
    words = _words_around(context, figure.first)
    close = max(kind.support, 0.5 * 10.0**-figure.decimals) if kind.family is None else max(kind.support, kind.near)
    cues = context.reader.arithmetic
    if not words.isdisjoint(cues.sums) and _is_sum(context, claim, bases, values, close):
        return ()
    if not words.isdisjoint(cues.differences) and _is_difference(values, figure.low, close):
        return ()
    if not words.isdisjoint(cues.means) and any(
        abs((a + b) / 2 - figure.low) <= close + EPSILON for a, b in combinations(values, 2)
    ):
        return ()
    return _multiplied(context, claim, bases, values) if claim.what in context.reader.multiplied else None


def _is_difference(values: Sequence[float], said: float, close: float) -> bool:
    return any(abs(abs(a - b) - abs(said)) <= close + EPSILON for a, b in combinations(values, 2))


def _is_sum(
    context: ScoringContext, claim: FigureClaim, bases: Sequence[FigureClaim], values: Sequence[float], close: float
) -> bool:
    """Whether a figure is the sum of some of the values, each as many times as its sentence says."""
    counts = [1.0, *(factor for factor, _ in _factors(context, claim, bases))][: _MOST_SUMMED + 1]
    said = claim.said.low
    for size in range(2, min(_MOST_SUMMED, len(values)) + 1):
        for chosen in combinations(values, size):
            if abs(sum(chosen) - said) <= close + EPSILON:
                return True
    pairs = combinations(values, 2)
    return any(abs(n * a + m * b - said) <= close + EPSILON for a, b in pairs for n in counts for m in counts)


def _multiplied(
    context: ScoringContext, claim: FigureClaim, bases: Sequence[FigureClaim], values: Sequence[float]
) -> Sequence[FigureClaim] | None:
    """The figures that a multiple, a part or a share names beside its base."""
    said, step = claim.said, 0.5 * 10.0**-claim.said.decimals
    size = said.unit.size
    for factor, at in _factors(context, claim, bases):
        if any(abs(value * factor - said.low) <= step * size + EPSILON for value in values):
            around = (one for one in context.figure_claims if one.what != claim.what)
            return [one for one in around if one.said.first <= at <= one.said.last]
    return None


def _factors(context: ScoringContext, claim: FigureClaim, bases: Sequence[FigureClaim]) -> Iterator[tuple[float, int]]:
    """By what a figure may multiply others, and where its sentence, or the one before, says so."""
    response, cues = context.response, context.reader.arithmetic
    tokens, (first, last) = response.tokens, response.sentence(claim.said.first)
    if first:
        first = response.sentence(first - 1)[0]
    taken = {
        at for one in context.figure_claims if one.what == claim.what for at in range(one.said.first, one.said.last + 1)
    }
    is_shared = any(token.text in cues.shares for token in tokens[first : last + 1])
    found = 0
    for at in range(first, last + 1):
        token = tokens[at]
        factors = list(cues.factors.get(token.text, ()))
        if token.is_number and at not in taken:
            value = token.digits[0] if token.digits is not None else token.value
            if value is not None and value == int(value) and _LEAST_FACTOR <= value <= _LARGEST_FACTOR:
                factors += [float(value), *([1 / value] if is_shared else [])]
        for factor in factors:
            yield factor, at
        found += bool(factors)
        if found >= _MOST_FACTORS:
            break
    for one in bases:
        if one.what == _PERCENT and first <= one.said.first <= last and 0 < one.said.low < 100:
            yield 1 - one.said.low / 100, one.said.first
            yield one.said.low / 100, one.said.first
            yield 1 + one.said.low / 100, one.said.first


def _words_around(context: ScoringContext, index: int) -> set[str]:
    """The words of the sentence of token `index`."""
    first, last = context.response.sentence(index)
    return {token.text for token in context.response.tokens[first : last + 1]}
