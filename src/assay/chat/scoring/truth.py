"""What the ground truth says about a response: facts to compare a number with, states that hold, aspects.

Functions over a `ScoringContext`; they know no metric and no points.
"""

from __future__ import annotations

from assay.chat.domains import Fact
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.days import PAST, PRESENT, is_later

# Roles of numbers that the truth has no value for: differences, and values of other things (the sea, an average).
_NOT_COMPARED = frozenset({"change", "other"})
# If an answer names this many states for one place and day, none of them counts.
_TOO_MANY_STATES = 4


def facts_for(context: ScoringContext, quantity: Quantity) -> list[Fact]:
    """The facts that a number can be compared with; empty if the truth has none."""
    day = context.day_at(quantity.first)
    if day in PAST or quantity.role in _NOT_COMPARED or not context.is_about_truth(quantity.first):
        return []
    facts = [fact for fact in context.truth.facts if fact.kind == quantity.kind]
    if quantity.role in ("high", "low"):
        return _on_day(context, [fact for fact in facts if fact.role == quantity.role], day)
    current = [fact for fact in facts if fact.role == quantity.role and fact.day is None]
    if not is_later(day):
        return current
    later = _on_day(context, [fact for fact in facts if fact.day is not None], day)
    return [*later, *current] if context.calendar.may_be_today(day) else later


def _on_day(context: ScoringContext, facts: list[Fact], day: str | None) -> list[Fact]:
    """The facts of a day; all of them if the truth has no day of that name."""
    exact = [fact for fact in facts if context.calendar.is_day(fact.day, day)]
    return exact or facts


def true_states(context: ScoringContext) -> list[str]:
    """The states, in the truth's words, at the time asked about."""
    states = context.truth.states
    day = context.query_day
    if _asks_for_any_forecast(context):
        return list(states.values())
    if is_later(day):
        exact = [words for true_day, words in states.items() if context.calendar.is_day(true_day, day)]
        later = exact or [words for true_day, words in states.items() if true_day is not None]
        if later:
            return later
    if None in states:
        return [states[None]]
    return list(states.values())


def states_named(context: ScoringContext) -> dict[str, list[Mention]]:
    """States that the response names for the subject and time asked about; empty if it names too many for one day."""
    now = states_in(context, context.truth.states.get(None, ""))
    named: dict[str, list[Mention]] = {}
    by_day: dict[str | None, set[str]] = {}
    for state, mentions in context.said_by_name("states").items():
        for mention in mentions:
            day = context.day_at(mention.first)
            if context.is_about_truth(mention.first) and _is_asked_time(context, day, is_true_now=state in now):
                named.setdefault(state, []).append(mention)
                by_day.setdefault(day, set()).add(state)
    return {} if any(len(states) >= _TOO_MANY_STATES for states in by_day.values()) else named


def states_in(context: ScoringContext, words: str) -> set[str]:
    """The domain's states that words of the truth stand for."""
    return set(context.reader.read(words).sublists("states"))


def has_aspect(context: ScoringContext, name: str) -> bool:
    """Whether an aspect holds ('cold'): by the truth, or by the response if the truth does not say."""
    truth = context.truth
    aspect = context.domain.aspects[name]
    if "quantity" in aspect:
        kind, limit = aspect["quantity"], float(aspect["at_most"])
        true = [fact.value for fact in truth.facts if fact.kind == kind and fact.role == "actual"]
        true = true or [fact.value for fact in truth.facts if fact.kind == kind]
        if true:
            return min(true) <= limit
        said = [figure.low for figure in context.figures if figure.kind == kind and figure.role == "actual"]
        return (min(said) <= limit) if said else bool(context.said(aspect["words"]))
    wanted = set(aspect["states"])
    if truth.states:
        return any(wanted & states_in(context, words) for words in truth.states.values())
    return bool(wanted & set(context.said_by_name("states")))


def _asks_for_any_forecast(context: ScoringContext) -> bool:
    """Whether the query asks for a forecast and names no day: any day of the truth will do."""
    return context.asks_later and not context.calendar.days_in(context.query)


def _is_asked_time(context: ScoringContext, day: str | None, *, is_true_now: bool) -> bool:
    """Whether something said of `day` answers the query."""
    if day is None or day == context.query_day:
        return True
    if _asks_for_any_forecast(context):
        return day not in PAST
    if is_later(context.query_day):
        return is_later(day)
    if context.calendar.may_be_today(day):  # said of the day's forecast, it contradicts nothing
        return is_true_now
    return day in PRESENT or not (is_later(day) or day in PAST)
