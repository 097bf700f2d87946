"""repeatability: does the same question get the same answer again?"""

from __future__ import annotations

from assay.chat.metrics._soundness import is_baseless
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Reading
from assay.chat.scoring.context import Exchange, ScoringContext
from assay.chat.scoring.context.calendar import PRESENT
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.plural import counted

_SHORT = 30
_EPSILON = 1e-9
_EARLIER_UNKNOWN = object()
_NO_INTENT = (False, False, False)


def _no_similar_query(context: ScoringContext) -> str | None:
    return None if _earlier(context) is not None else "no earlier query has the same intent and place"


def _earlier(context: ScoringContext) -> Reading | None:
    """The latest answer to a query of the same intent, place and day."""
    known = context.derived.get("earlier", _EARLIER_UNKNOWN)
    if known is _EARLIER_UNKNOWN:
        known = context.derived["earlier"] = _find_earlier(context)
    return known if isinstance(known, Reading) else None


def _find_earlier(context: ScoringContext) -> Reading | None:
    intent = _intent(context.query) if context.history else None
    if intent == _NO_INTENT and context.question.follows_up:  # "Hamburg again?" has that of the last query with one
        intent = next((one for turn in reversed(context.history) if any(one := _intent_of(turn))), intent)
    for turn in reversed(context.history):
        if turn.user is not None and _intent(turn.user) == intent and _is_similar(context, turn, intent):
            return turn.assistant
    return None


def _intent_of(turn: Exchange) -> tuple[bool, bool, bool]:
    return _NO_INTENT if turn.user is None else _intent(turn.user)


def _is_similar(context: ScoringContext, turn: Exchange, intent: tuple[bool, bool, bool]) -> bool:
    """Whether an earlier query of the same intent had the same place and day."""
    query, other = context.query, turn.user
    if other is None or turn.assistant is None:
        return False
    if not any(intent):
        return query.plain() == other.plain()
    same_places = context.subjects.names_in(query) == context.subjects.names_in(other)
    return same_places and _days(context, query) == _days(context, other)


def _intent(query: Reading) -> tuple[bool, bool, bool]:
    """Whether a query is about the subject, asks for advice, asks about the future; all false if none is recognised."""
    known = query.memory.get("intent")
    if not isinstance(known, tuple):
        topical = bool(query.all("topic") or query.all("asks_topic.of_place"))
        advice = bool(query.all("asks.advice") or query.all("asks_topic.advice"))
        known = topical, advice, (topical or advice) and bool(query.all("asks.later"))
        query.memory["intent"] = known
    return known


def _days(context: ScoringContext, query: Reading) -> frozenset[str]:
    return frozenset(context.calendar.days_in(query)) - PRESENT


def _pairs(context: ScoringContext) -> list[tuple[Quantity, Quantity]]:
    """Pairs of figures in the two answers with the same kind, role, place and day."""
    earlier = _earlier(context)
    asked = context.question.places
    if earlier is None:
        return []
    days = context.days_of(earlier)
    before: dict[tuple[object, ...], Quantity] = {}
    for figure in earlier.quantities:
        about = not asked or context.subjects.is_about(earlier, figure.first, asked)
        if figure.asserted and about and context.kind(figure.kind).checked:
            before.setdefault((figure.kind, figure.role, _day(days.at(figure.first))), figure)
    now: dict[tuple[object, ...], Quantity] = {}
    for claim in context.figure_claims:
        figure = claim.said
        about = context.subjects.is_about(context.response, figure.first, asked) if asked else claim.is_about_truth
        if about:
            now.setdefault((figure.kind, figure.role, _day(claim.day)), figure)
    return [(now[what], before[what]) for what in now if what in before]


def _day(day: str | None) -> str | None:
    return None if day in PRESENT else day


def _agrees(context: ScoringContext, now: Quantity, before: Quantity) -> bool:
    gap = max(now.low - before.high, before.low - now.high, 0.0)
    return gap <= context.kind(now.kind).agree + _EPSILON


def _same_figure(context: ScoringContext) -> Finding | None:
    pairs = [] if is_baseless(context) else _pairs(context)
    if pairs and all(_agrees(context, now, before) for now, before in pairs):
        return Finding([now for now, _ in pairs])
    return None


def _other_figure(context: ScoringContext) -> Finding | None:
    earlier = _earlier(context)
    wrong = [(now, before) for now, before in _pairs(context) if not _agrees(context, now, before)]
    if not wrong or earlier is None:
        return None
    return Finding(
        [now for now, _ in wrong], note=f"the earlier answer said {earlier.text[wrong[0][1].start : wrong[0][1].end]}"
    )


def _same_advice(context: ScoringContext) -> Finding | None:
    earlier = _earlier(context)
    if earlier is None or not context.advice or not (earlier.stated("advice") or earlier.stated("items")):
        return None
    if is_baseless(context):  # a constant text repeats itself, whatever is true
        return None
    return Finding(context.advice[:1])


def _same_items(context: ScoringContext) -> Finding | None:
    earlier = _earlier(context)
    if earlier is None or is_baseless(context):
        return None
    before, now = earlier.sublists("items"), context.items
    return Finding([now[name][0] for name in now if name in before]) if before.keys() & now.keys() else None


def _reversed_advice(context: ScoringContext) -> Finding | None:
    """An item that one answer recommends and the other advises against."""
    earlier = _earlier(context)
    if earlier is None:
        return None
    for mention in context.response.all("items"):
        other = [m for m in earlier.all("items") if m.keys == mention.keys]
        if other and not any(m.denied == mention.denied for m in other):
            return Finding([mention])
    return None


def _short(context: ScoringContext) -> Finding | None:
    return Finding(note=counted(context.length, "character")) if context.length < _SHORT else None


METRIC = Metric(
    name="repeatability",
    group="behavioural",
    base=0.7,
    neutral=0.7,
    asks="Does the same question get the same answer again?",
    unmeasured=_no_similar_query,
    rules=(
        Rule("same_figure", +0.3, "the figures agree with the earlier answer", when=_same_figure),
        Rule("same_advice", +0.3, "gives advice, as the earlier answer did", when=_same_advice),
        Rule("same_items", +0.2, "names the same items", when=_same_items),
        Rule("other_figure", -0.3, "contradicts the earlier answer's figure", when=_other_figure),
        Rule("reversed_advice", -0.2, "advises the opposite of the earlier answer", when=_reversed_advice),
        Rule("hedges", -0.1, "hedges", words="hedges"),
        Rule("short", -0.1, "under 30 characters", when=_short),
    ),
)
