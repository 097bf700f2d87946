"""What an answer claims that the ground truth can check, and whether it claims what the question asks for.

Functions over a `ScoringContext`; they know no metric and no points.
"""

from __future__ import annotations

from assay.chat.reading.places import words_of
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import TextSpan
from assay.chat.scoring.truth import facts_for, states_in, states_named


def claims(context: ScoringContext) -> list[TextSpan]:
    """Where the answer states something that the truth can check: figures, states and dates, right or wrong."""
    figures: list[TextSpan] = [
        figure for figure in context.figures if context.kind(figure.kind).checked and facts_for(context, figure)
    ]
    return [*figures, *_states(context), *_dates(context)]


def unclaimed(context: ScoringContext) -> str | None:
    """What the question asks for, the truth knows and the answer does not claim, as a clause; None if nothing."""
    if not context.truth:
        return None
    given = {figure.kind for figure in context.figures if facts_for(context, figure)}
    for kind in sorted(_kinds_asked(context) - given):
        return f"the question asks for a figure in {context.kind(kind).unit}, and the answer has none"
    if _asks_figure(context) and context.truth.facts and not given:
        return "the question asks for a figure, and the answer has none that the truth can check"
    return None if claims(context) else "the answer claims nothing that the truth can check"


def _states(context: ScoringContext) -> list[TextSpan]:
    if not context.truth.states:
        return []
    named: list[TextSpan] = [mention for mentions in states_named(context).values() for mention in mentions]
    for words in context.truth.states.values():
        own = words_of(words)
        if own and not states_in(context, words):  # a state that the domain has no list for
            named += context.response.find({own[0]: [own]})
    return named


def _dates(context: ScoringContext) -> list[TextSpan]:
    """Dates and weekdays in sentences about something that the truth has a date of."""
    response = context.response
    found: list[TextSpan] = []
    for what in context.truth.dates:
        about = {response.sentence(mention.first) for mention in context.said(f"dated.{what}")}
        found += [moment for moment in response.moments if response.sentence(moment.first) in about]
        found += [mention for mention in context.said("times") if response.sentence(mention.first) in about]
    return found


def _kinds_asked(context: ScoringContext) -> set[str]:
    """Kinds of figure that the truth has and the question names: 'What is the price?'.

    "Is it in stock?" is answered by yes or no, although stock is counted in pieces.
    """
    if _is_yes_or_no(context):
        return set()
    words = {token.text for token in context.query.tokens}
    known = {fact.kind for fact in context.truth.facts}
    return {kind for kind in known if context.kind(kind).checked and context.kind(kind).keys & words}


def _asks_figure(context: ScoringContext) -> bool:
    return bool(context.query.all("asks.figure"))


def _is_yes_or_no(context: ScoringContext) -> bool:
    """Whether a sentence of the question begins with a word like 'is' or 'does'."""
    return any(
        mention.first == context.query.sentence(mention.first)[0] for mention in context.query.all("asks.whether")
    )
