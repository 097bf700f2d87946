"""Which figures of an answer are of the truth's product itself, and not of an accessory, a fee or another shop's offer.

Knows the claims of an answer and what its clauses are about; knows no values of the ground truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.domains import Fact
from assay.chat.scoring.context.claims import INSTEAD, RATES, FigureClaim
from assay.chat.scoring.context.clause_subjects import About, about, is_of_accessory, is_of_something_else
from assay.chat.scoring.context.derived import EPSILON, derived
from assay.chat.scoring.context.other_offers import is_of_others, may_tell_of_others

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# Periods are at least this long: year, Jahr, mois.
_SHORTEST_PERIOD = 4

# Of a long answer, at most so many figures are added to a right one.
_MOST_OTHERS = 12

_Compared = list[tuple[FigureClaim, list[Fact]]]


def of_product(context: ScoringContext, found: _Compared) -> _Compared:
    """The figures that are of the product; `found` are those that the truth could check, with its facts."""
    if found and may_tell_of_others(context):
        found = [one for one in found if not is_of_others(context, one[0].said.first)]
    if not found:
        return found
    found = _without_rates(context, _without_derived(context, found))
    windows = [one for one in found if one[0].said.role != "refund"]
    if any(facts[0].role == "returns" for _, facts in windows):
        found = windows  # "30 days; the refund takes 5 days"
    if len(found) == 1 and _asks_price(context):
        claim = found[0][0]
        return [] if _is_price(context, claim) and is_of_accessory(context, claim.said.first) else found
    found = _without_elsewhere(context, _without_repeated(context, found))
    return _without_others(context, found)


def _without_derived(context: ScoringContext, found: _Compared) -> _Compared:
    """Figures without those that follow from a right one: 'It's €50. Half of that is €25.', '… and €85 with the stove'.

    A figure that should follow and does not is compared as if it stood alone.
    """
    if not 2 <= len(found) <= _MOST_OTHERS or context.question.counting[1]:
        return found
    close = {claim.what: context.kind(claim.what).near + EPSILON for claim, _ in found}
    right = [
        claim for claim, facts in found if any(claim.said.distance(fact.value) <= close[claim.what] for fact in facts)
    ]
    if not right or len(right) == len(found):
        return found
    stated = context.figure_claims
    kept = []
    for claim, facts in found:
        if claim in right or not _is_price(context, claim) or not _follows(context, claim, right, stated):
            kept.append((claim, facts))
    return kept


def _follows(
    context: ScoringContext, claim: FigureClaim, right: Sequence[FigureClaim], stated: Sequence[FigureClaim]
) -> bool:
    """Whether a figure follows from a right one, alone or with another that the answer states."""
    if derived(context, claim, right) is not None:
        return True
    others = [one for one in stated if one is not claim and one not in right and one.what == claim.what]
    return any(derived(context, claim, [base, other]) == () for base in right[:1] for other in others[:_MOST_OTHERS])


def _asks_price(context: ScoringContext) -> bool:
    """Whether the question asks for a price, or names one."""
    query = context.query
    return bool(query.all("asks_figure") or query.all("asks_bare.price")) or any(
        context.kind(one.kind).family for one in query.quantities
    )


def _is_price(context: ScoringContext, claim: FigureClaim) -> bool:
    return context.kind(claim.what).family is not None


def _without_rates(context: ScoringContext, found: _Compared) -> _Compared:
    """Figures without prices of a measure or a period beside a plain one: '7.49 USD (9.99 USD per litre)'.

    If there is no plain one, the product is sold so, and the first counts, or that of the period asked for. A price of
    a period is one only if the price is asked for: otherwise it is a way to pay.
    """
    rates = [claim for claim, _ in found if claim.said.role in RATES]
    if not rates:
        return found
    prices = [claim for claim, _ in found if _is_price(context, claim)]
    plain = {
        context.family(claim.what)
        for claim in prices
        if claim.said.role not in RATES
        and (claim is prices[0] or about(context, claim.said.first, claim.said.last) is not About.OTHER)
    }
    if not _asks_price(context):
        rates = [claim for claim in rates if claim.said.role != "recurring"]
    of_period = [claim for claim in rates if _is_of_period_asked(context, claim)]
    first = next(iter(of_period or rates), None)
    kept = first is not None and (bool(of_period) or context.family(first.what) not in plain)
    if kept and of_period:
        return [one for one in found if not _is_price(context, one[0]) or one[0] is first]
    return [one for one in found if one[0].said.role not in RATES or (kept and one[0] is first)]


def _is_of_period_asked(context: ScoringContext, rate: FigureClaim) -> bool:
    """Whether the question names the period of a price: 'How much a month?' 'It's $12.99 monthly.'"""
    last = rate.said.last
    after = [token.text for token in context.response.tokens[last + 1 : last + 3] if token.kind == "word"]
    asked = [token.text for token in context.query.tokens if len(token.text) >= _SHORTEST_PERIOD]
    return any(word.startswith(period) for word in after for period in asked)


def _without_repeated(context: ScoringContext, found: _Compared) -> _Compared:
    """Figures without those of the user's that an answer with one of its own refers to: 'send us the $349 offer'.

    "It's €79" claims the price, whoever named it first.
    """
    asked = {(figure.kind, figure.low, figure.high) for figure in context.query.quantities}
    own = {claim.what for claim, _ in found if (claim.what, claim.said.low, claim.said.high) not in asked}
    if not asked or not own:
        return found
    return [
        one
        for one in found
        if (one[0].what, one[0].said.low, one[0].said.high) not in asked
        or one[0].what not in own
        or _is_predicate(context, one[0].said.first)
    ]


def _is_predicate(context: ScoringContext, index: int) -> bool:
    """Whether the figure at token `index` is what something costs: 'it's still €79', not 'within your €100'."""
    reader, tokens = context.reader, context.response.tokens
    at = index - 1
    while at > 0 and tokens[at].text in reader.adverbs:
        at -= 1
    return at < 0 or tokens[at].text in reader.copulas or tokens[at].text in reader.anaphors


def _without_elsewhere(context: ScoringContext, found: _Compared) -> _Compared:
    """Figures without those of other shops, beside one of this one: 'you'll find it elsewhere for €95'."""
    response = context.response
    if "elsewhere" not in response.lists or len(found) < 2:
        return found
    ends = context.reader.clause_ends(response)
    named = {bisect_left(ends, one.first) for one in response.all("elsewhere")}
    own = [one for one in found if bisect_left(ends, one[0].said.first) not in named or not _is_price(context, one[0])]
    return own if any(_is_price(context, claim) for claim, _ in own) else found


def _without_others(context: ScoringContext, found: _Compared) -> _Compared:
    """Figures without those of something else, beside one of the product, or if no price is asked for."""
    response = context.response
    of_truth = [place for place in context.subjects.mentions(response) if context.subjects.is_true_name([place.name])]
    named = {response.sentence(place.first) for place in of_truth}
    if not named and found:  # the first figure is that of what was asked about: "$299 for the small one."
        named = {response.sentence(found[0][0].said.first)}
    families = {context.kind(claim.what).family for claim, _ in found if response.sentence(claim.said.first) in named}
    subjects = [_subject(context, claim) for claim, _ in found]
    has_own = About.PRODUCT in subjects
    must_own = not _asks_price(context)
    told: set[tuple[str, str]] = set()  # of what a figure of the product itself came before
    kept = []
    for (claim, facts), subject in zip(found, subjects, strict=True):
        if len(found) > 1 and _is_of_another(context, claim, named, families):
            continue
        sort = context.family(claim.what), INSTEAD.get(claim.said.role, claim.said.role)
        if subject is About.OTHER and (has_own or must_own or sort in told):
            continue
        if sort in told and (subject is About.DEFINITE or is_of_something_else(context, claim.said.first)):
            continue
        told.add(sort)
        kept.append((claim, facts))
    return kept


def _subject(context: ScoringContext, claim: FigureClaim) -> About:
    """What a price is of; of other figures, it is not asked here."""
    if not _is_price(context, claim):
        return About.OPEN
    subject, response = about(context, claim.said.first, claim.said.last), context.response
    if not _asks_price(context):  # "If you'd like it assembled, that's £30."
        start = response.sentence(claim.said.first)[0]
        if any(start <= one.first < claim.said.first for one in response.all("hypothesis")):
            return About.OTHER
    return subject


def _is_of_another(
    context: ScoringContext, claim: FigureClaim, named: set[tuple[int, int]], families: set[str | None]
) -> bool:
    """Whether a price is that of something else: 'The Kids Bike is €199. Our helmets start at €29.90.'

    So it is if the answer gives one in a sentence that names the product, or in its first, and this one's sentence
    names something else before it, and neither the product nor a word that stands for it.
    """
    family, response, first = context.kind(claim.what).family, context.response, claim.said.first
    sentence = response.sentence(first)
    if family is None or family not in families or sentence in named:
        return False
    before = response.tokens[sentence[0] : first]
    if context.reader.has_anaphor(response.tokens[sentence[0] : sentence[1] + 1]):
        return False
    return any(token.kind == "word" and token.text not in context.reader.small_words for token in before)
