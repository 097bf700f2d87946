"""ambiguity_handling: does the answer handle an ambiguous query, and answer a clear one without asking back?"""

from __future__ import annotations

from collections.abc import Sequence

from assay.chat.metrics._soundness import is_baseless
from assay.chat.reading.text import Mention
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.asked import unclaimed
from assay.chat.scoring.context.ways_forward import ways_forward
from assay.chat.scoring.metric import Finding, Metric, Rule, TextSpan

_PARTS = {
    "place": "a place",
    "which place": "which of several places of one name it means",
    "time": "a time",
    "intent": "an intent",
}


def _clear(context: ScoringContext) -> str | None:
    return None if context.missing_parts or _asks_instead(context) else "the query is clear"


def _asks_instead(context: ScoringContext) -> bool:
    """Whether the response asks back instead of answering; a question after an answer does not count.

    If the truth is known, words that claim nothing of what was asked do not answer it: 'It's mild. Which city?'.
    """
    if not (context.told or context.advice):
        return bool(_questions(context))
    return bool(context.clarifications) and unclaimed(context) is not None


def _needless_question(context: ScoringContext) -> Finding | None:
    return Finding(_questions(context)[:1]) if not context.missing_parts and _asks_instead(context) else None


def _questions(context: ScoringContext) -> Sequence[TextSpan]:
    """Where the response asks for information, or what the user would like if it says nothing else to a clear query."""
    if context.clarifications or context.errors or not context.asks_data:
        return context.clarifications
    response = context.response
    return [offer for offer in context.own(response.all("offer")) if response.is_question(offer.first)]


def _clarifies(context: ScoringContext) -> Finding | None:
    asked = _asked_back(context)
    return Finding(asked[:1], note=_missing(context)) if asked else None


def _asked_back(context: ScoringContext) -> list[Mention]:
    """Where it asks for information, in a question or a sentence; keywords in a row ask nothing."""
    return [one for one in context.clarifications if one.asserted or context.response.is_question(one.first)]


def _helps_anyway(context: ScoringContext) -> Finding | None:
    found = context.told or context.advice
    return Finding(found[:1]) if found and not _told_of_nowhere(context) and not is_baseless(context) else None


def _told_of_nowhere(context: ScoringContext) -> Finding | None:
    """Figures or states although the query names no place, and neither does the response, nor what it assumes."""
    is_open = "place" in context.missing_parts or ("intent" in context.missing_parts and not context.question.places)
    if not is_open or context.response_places or _assumptions(context):
        return None
    told: list[TextSpan] = [*context.figures, *context.said("states")]
    return Finding(told[:1]) if told else None


def _asks_place(context: ScoringContext) -> Finding | None:
    if not {"place", "which place"} & set(context.missing_parts):
        return None
    asked = {context.response.sentence(clarification.first) for clarification in _asked_back(context)}
    places = [place for place in context.response.all("place_words") if context.response.sentence(place.first) in asked]
    return Finding(places[:1]) if places else None


def _assumes(context: ScoringContext) -> Finding | None:
    """Says what it assumes, in words or by saying which place of the name it means: 'Springfield, Illinois'."""
    said = _assumptions(context)
    if said:
        return Finding(said[:1])
    named = [place for place in context.response.places if place.name in context.open_places and not place.several]
    return Finding(named[:1]) if named else None


def _assumptions(context: ScoringContext) -> list[Mention]:
    """Where the response says what it assumes; 'as before' assumes nothing of a place that nobody has named."""
    said = context.said("assumption")
    is_of_nowhere = "place" in context.missing_parts and not (context.response_places or context.history)
    return [] if is_of_nowhere else said


def _ignored(context: ScoringContext) -> Finding | None:
    answers = context.clarifications or context.told or context.advice
    if answers or _assumptions(context) or _guided(context):
        return None
    return Finding(note=_missing(context))


def _guides(context: ScoringContext) -> Finding | None:
    guided = _guided(context)
    return Finding(guided[:1]) if guided else None


def _guided(context: ScoringContext) -> list[Mention]:
    """Where the response says what the user can do, in general or to get what was asked for."""
    ways = ways_forward(context)
    return context.said("guidance") or ways.alternatives + ways.fallbacks


def _missing(context: ScoringContext) -> str:
    return f"the query lacks {' and '.join(_PARTS[part] for part in context.missing_parts)}"


METRIC = Metric(
    name="ambiguity_handling",
    group="behavioural",
    base=0.5,
    asks="Does it handle what the query leaves open?",
    unmeasured=_clear,
    rules=(
        Rule("needless_question", -0.2, "asks back although the query is clear", when=_needless_question, alone=True),
        Rule("clarifies", +0.4, "asks for clarification", when=_clarifies),
        Rule("assumes", +0.3, "says what it assumes", when=_assumes),
        Rule("helps_anyway", +0.2, "helps anyway", when=_helps_anyway),
        Rule("asks_place", +0.2, "asks for the missing place", when=_asks_place),
        Rule("guidance", +0.2, "guides the user", when=_guides),
        Rule("nowhere", -0.4, "tells figures or states of no place", when=_told_of_nowhere),
        Rule("ignored", -0.2, "ignores what the query leaves open", when=_ignored),
    ),
)
