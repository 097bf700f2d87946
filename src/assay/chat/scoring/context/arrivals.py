"""What an answer says of when something arrives, in dates, weekdays, days counted from today and spans of days.

Each is compared with the date or the number of days that the truth has. Knows no metric and no points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from assay.chat.reading.dates import WEEKDAYS, Moment
from assay.chat.reading.positions import within
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention, Reading
from assay.chat.scoring.context.calendar import day_name
from assay.chat.scoring.context.truth import EPSILON

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# More tokens than a sentence has between a date and a verb.
_PARTED = 100
# Times that tell no day: "it's on its way now", "it arrives soon".
_NO_DAY = frozenset({"now", "later", "yesterday", "morning", "midday", "afternoon", "evening", "night"})
_WEEK = 7
_SATURDAY = 5
_IN_WORDS = "arriving"
# What is said of a faster delivery is at most this many tokens away from its name.
_LONGEST_OPTION = 40
# "Before Saturday" is right up to so many days before.
_SHORTLY_BEFORE = 3


class Arrival(NamedTuple):
    """Where an answer says when something arrives."""

    what: str
    said: Mention | Moment | Quantity
    is_right: bool | None
    """None if the truth does not tell."""


class _Truth(NamedTuple):
    """When something arrives: the date, the number of days from today, and today, as far as they are known."""

    day: date | None
    days: float | None
    today: date | None
    figures: bool
    """Whether spans of days are figures that the truth has a fact for."""


def arrivals(context: ScoringContext) -> list[Arrival]:
    """Where an answer says when something arrives that the truth has a date or a number of days for."""
    known = context.derived.get("arrivals")
    if not isinstance(known, list):
        known = context.derived["arrivals"] = [*_arrivals(context)]
    return known


def true_arrival(context: ScoringContext, what: str) -> str:
    """When the truth says that something arrives, in words for a person who reads why an answer is wrong."""
    true = _true(context)[what]
    if true.day is not None:
        return f"on {true.day:%A}, {true.day.isoformat()}"
    return f"in {true.days:g} days"


def sentences_of_date(context: ScoringContext, what: str) -> set[tuple[int, int]]:
    """Sentences whose dates are those of `what`: they speak of it, or it is asked for and the answer names nothing."""
    response = context.response
    said = {response.sentence(mention.first) for mention in context.said(f"dated.{what}")}
    if said or not context.query.all(f"dated.{what}") or response.all("dated"):
        return said
    found: list[Mention | Moment | Quantity] = [
        *response.moments,
        *context.said("times"),
        *context.said("arriving"),
        *_spans(context),
    ]
    # "Please try again in 15 minutes."
    others = set().union(*(response.sentences_with(key) for key in ("fallback", "way_forward")))
    others |= {response.sentence(one.first) for one in context.response.all("error") if one.keys[0] != "error.regret"}
    return {response.sentence(one.first) for one in found} - others


def _true(context: ScoringContext) -> dict[str, _Truth]:
    """By name, what the truth knows of when something arrives."""
    truth, found = context.truth, {}
    facts = {fact.role: fact for fact in truth.facts if fact.role == context.kind(fact.kind).asked}
    for what in (*truth.dates, *(role for role in facts if role not in truth.dates)):
        day, fact = truth.dates.get(what), facts.get(what)
        days = None if fact is None else fact.value
        today = truth.as_of
        if today is None and day is not None and days is not None:
            today = day - timedelta(days=round(days))
        if today is not None and day is None and days is not None:
            day = today + timedelta(days=round(days))
        elif today is not None and day is not None:
            days = float((day - today).days)
        found[what] = _Truth(day, days, today, fact is not None)
    return found


def _arrivals(context: ScoringContext) -> Iterator[Arrival]:
    if not context.truth.dates and not context.reader.has_arrivals:
        return  # nothing in this domain arrives
    true = _true(context)
    if not true:
        return
    response = context.response
    beside = _of_others(context)
    if "sent" in response.lists:
        said: list[Mention | Moment | Quantity] = [*response.moments, *response.all("times"), *response.quantities]
        named = [one.first for one in said]
        beside |= {first for first in named if _is_of_dispatch(context, first)}
    for what, when in true.items():
        about = sentences_of_date(context, what)
        if not about:
            continue
        for one in _said(context, what, when):
            if response.sentence(one.first) not in about:
                continue
            is_right = _is_right(context, one, when) if one.first not in beside else None
            if is_right is not None or _may_be_right(one):
                yield Arrival(what, one, is_right)


def _may_be_right(said: Mention | Moment | Quantity) -> bool:
    """Whether it tells something although the truth cannot check it: a date or a day by name, and no span of days."""
    return isinstance(said, Moment) or (isinstance(said, Mention) and _IN_WORDS not in said.keys)


def _said(context: ScoringContext, what: str, when: _Truth) -> list[Mention | Moment | Quantity]:
    """Dates, days by name, days in words and spans of days, none inside another."""
    response = context.response
    spans = _spans(context)
    counted = {at for span in spans for at in range(span.first, span.last + 1)}
    worded = _longest(context.said(_IN_WORDS))
    taken = {at for one in worded for at in range(one.first, one.last + 1)}
    read = counted | taken if when.days is not None else set()  # else a name of the day is all that there is
    days = [
        one
        for one in _longest(context.said("times"))
        if day_name(one) not in _NO_DAY and read.isdisjoint(range(one.first, one.last + 1))
    ]
    dates = [moment for moment in response.moments if moment.day is not None]
    alike = [span for span in spans if span.first not in taken and span.role in ("actual", what)]
    return [*dates, *worded, *days, *([] if when.figures else alike)]


def _is_right(context: ScoringContext, said: Mention | Moment | Quantity, when: _Truth) -> bool | None:
    if isinstance(said, Moment):
        return None if when.day is None else said.is_date(when.day)
    if isinstance(said, Quantity):
        return _is_span(context, said, when)
    return _is_in_words(said, when) if _IN_WORDS in said.keys else _is_named_day(context, said, when)


def _of_others(context: ScoringContext) -> set[int]:
    """Tokens that tell of another day than that of the arrival, or of a faster delivery than the one asked about."""
    response, tokens = context.response, context.response.tokens
    found: set[int] = set()
    for one in response.all("undated"):
        stop = one.last + 2
        stop += stop <= len(tokens) and tokens[stop - 1].text in context.reader.articles  # "was due on the 18th"
        found.update(range(one.first, stop))
    if "express" in response.lists and not context.query.all("express"):
        ends = context.reader.clause_ends(response)
        for one in response.all("express"):
            first, last = response.sentence(one.first)
            after = bisect_right(ends, one.first)
            start = max(first, ends[after - 1] + 1) if after else first
            stop = min(last, _next_option(ends, after, last, response), one.first + _LONGEST_OPTION)
            found.update(range(max(start, one.first - _LONGEST_OPTION), stop + 1))
    return found


def _next_option(ends: Sequence[int], after: int, last: int, response: Reading) -> int:
    """Where the clause ends that names a faster delivery, with what a comma adds: 'in a hurry, express takes …'."""
    furthest = after + 2
    while after < min(furthest, len(ends)) and ends[after] <= last and response.tokens[ends[after]].text == ",":
        after += 1
    return ends[after] if after < len(ends) else last


def _spans(context: ScoringContext) -> list[Quantity]:
    """How long something takes, of the kinds that stand for an arrival if a question asks how long."""
    asked = {kind.name for kind in context.kinds.values() if kind.asked}
    return [figure for figure in context.response.quantities if figure.kind in asked and figure.asserted]


def _is_span(context: ScoringContext, span: Quantity, when: _Truth) -> bool | None:
    """Whether a span of days ends on the true day; working days count from Monday to Friday."""
    if when.days is None or when.day is None or when.today is None:
        return None
    far = context.kind(span.kind).far + EPSILON
    response = context.response
    working = within(response.all("working_days"), span.first, span.last + 1)
    if working:
        days = [when.today + timedelta(days=n) for n in range(1, int(when.days) + 1)]
        return span.distance(sum(day.weekday() < _SATURDAY for day in days)) <= far
    return span.distance(when.days) <= far


def _is_named_day(context: ScoringContext, mention: Mention, when: _Truth) -> bool | None:
    """Whether a day by name is the true one."""
    name = day_name(mention)
    tokens, at = context.response.tokens, mention.first - 1
    at -= at > 0 and tokens[at].text in context.reader.articles
    is_before = at >= 0 and tokens[at].text in context.reader.before_a_day
    if name in WEEKDAYS:
        if when.day is None:
            return None
        apart = (WEEKDAYS.index(name) - when.day.weekday()) % _WEEK
        return 0 < apart <= _SHORTLY_BEFORE if is_before else apart == 0
    if when.days is None:
        return None
    exact = {"today": 0, "tomorrow": 1}.get(name)
    exact = int(name[1:]) if name.startswith("+") else exact
    if exact is not None:
        return 0 <= when.days < exact if is_before else exact == round(when.days)
    if name.startswith("next "):
        return 0 <= when.days <= int(name[5:])
    if name == "weekend" and when.day is not None and when.today is not None:
        saturday = when.today + timedelta(days=(_SATURDAY - when.today.weekday()) % _WEEK)
        return when.today <= when.day < saturday if is_before else saturday <= when.day <= saturday + timedelta(days=1)
    return None


def _longest(mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions that are not inside another: 'early next week' without its 'next week'."""
    kept: list[Mention] = []
    for one in sorted(mentions, key=lambda mention: (mention.first, -mention.last)):
        if not kept or one.last > kept[-1].last:
            kept.append(one)
    return kept


def _is_in_words(mention: Mention, when: _Truth) -> bool | None:
    """Whether something said in words of the list `arriving` is so: 'same-day', 'by the end of next week'.

    Its lists are called by the days that they allow, counted from today or in weeks from Monday to Sunday.
    """
    name = mention.keys[0].removeprefix("arriving.")
    if name.startswith("days "):
        first, _, last = name.removeprefix("days ").partition("-")
        return None if when.days is None else int(first) <= when.days <= int(last or first)
    if when.day is None or when.today is None:
        return None
    monday = when.today - timedelta(days=when.today.weekday())
    first, _, last = name.removeprefix("week ").partition("-")
    return monday + timedelta(days=int(first)) <= when.day <= monday + timedelta(days=int(last))


def _is_of_dispatch(context: ScoringContext, index: int) -> bool:
    """Whether the date at token `index` is nearer to a word for sending than to one for the delivery.

    'It left on Monday and arrives on Thursday': words behind an 'and' or a comma are far.
    """
    response = context.response
    first, last = response.sentence(index)
    joins = context.reader.and_words | {","}
    sending = {one.first for one in response.all("sent")}

    def distance(key: str) -> int:
        words = [one.first for one in response.all(key) if first <= one.first <= last]
        if key == "dated":
            words = [at for at in words if at not in sending]  # "shipped" tells of the dispatch only
        apart = (
            abs(at - index)
            + _PARTED * any(token.text in joins for token in response.tokens[min(at, index) : max(at, index)])
            for at in words
        )
        return min(apart, default=2 * _PARTED)

    return distance("sent") < distance("dated")
