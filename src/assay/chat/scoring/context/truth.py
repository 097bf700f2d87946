"""What the ground truth says about a response: facts to compare a number with, states that hold, aspects.

Functions over a `ScoringContext`; they know no metric and no points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from assay.chat.domains import Fact
from assay.chat.reading.text import Mention
from assay.chat.reading.tokens import CLAUSE_MARKS
from assay.chat.scoring.context.absences import absences
from assay.chat.scoring.context.calendar import PAST, PRESENT, is_later
from assay.chat.scoring.context.claims import INSTEAD, NOT_COMPARED, FigureClaim, StateClaim
from assay.chat.scoring.context.clause_subjects import is_of_something_else
from assay.chat.scoring.context.counts import priced_together
from assay.chat.scoring.context.own_figures import of_product

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# For differences of decimal fractions: 25.1 − 23.1 must not be more than 2.
EPSILON = 1e-9
# More states than this, of one place and time, tell the user nothing.
_MOST_STATES = 2
# "30 days, 14 days if it was opened": an answer with this many figures is not read so.
_MOST_TERMS = 4


def facts_for(context: ScoringContext, claim: FigureClaim) -> list[Fact]:
    """The facts that a figure can be compared with; empty if the truth has none."""
    role, day = INSTEAD.get(claim.said.role, claim.said.role), claim.day
    if not claim.is_about_truth or role in NOT_COMPARED or day in PAST:
        return []
    memory = context.truth.memory
    key = "facts", claim.what, role, day
    found = memory.get(key)
    if not isinstance(found, list):
        found = memory[key] = _facts_of(context, claim.what, role, day)
    return found or (_facts_asked(context, claim) if role == "actual" and not context.domain.by_day else found)


def _facts_asked(context: ScoringContext, claim: FigureClaim) -> list[Fact]:
    """The facts of the role that is asked for, if this is the only figure without one: 'Can I return it?' '14 days.'

    If several roles are asked for, it is the one that no other figure has. The first of several figures counts if the
    others are on terms: '30 days, and 14 days if it was opened'. One that is denied counts if no other is given: 'Not 3
    days.'
    """
    several, told = _unroled(context, claim.what)
    if len(several) == _MOST_TERMS or (claim is not _exact(context, several) if several else claim.affirmed):
        return []
    facts = [fact for fact in context.truth.facts if fact.kind == claim.what]
    asked = {fact.role for fact in facts if context.query.all(f"role.{claim.what}.{fact.role}")}
    if not asked and context.query.all(f"asks_bare.{claim.what}"):
        roles = {fact.role for fact in facts}
        asked = roles if len(roles) == 1 else roles & {context.kind(claim.what).asked}
    asked -= told
    return [fact for fact in facts if fact.role in asked] if len(asked) == 1 else []


def _unroled(context: ScoringContext, what: str) -> tuple[list[FigureClaim], set[str]]:
    """The first figures of a kind without a role of their own, and the roles that others have."""
    known = context.derived.get(f"roles of {what}")
    if not isinstance(known, tuple):
        alike = [one for one in context.figure_claims if one.what == what and one.said.role not in NOT_COMPARED]
        plain = islice((one for one in alike if one.said.role == "actual"), _MOST_TERMS)
        known = context.derived[f"roles of {what}"] = (list(plain), {one.said.role for one in alike})
    return known


def _exact(context: ScoringContext, claims: Sequence[FigureClaim]) -> FigureClaim | None:
    """The first of one or more figures, in its smallest unit if it is repeated ('a month, i.e. 30 days').

    None if others differ, and are neither on terms nor of something else: '36 months. Registration takes 2 minutes.'
    """
    first, agree = claims[0], context.kind(claims[0].what).agree
    same = [one for one in claims if abs(one.said.high - first.said.high) <= agree]
    terms = {one.first - 1 for one in context.response.all("hypothesis")} if len(same) < len(claims) else set[int]()
    for one in claims:
        if one not in same and one.said.last not in terms and not is_of_something_else(context, one.said.first):
            return None
    return min(same, key=lambda claim: claim.said.unit.size)


def comparable(context: ScoringContext) -> list[tuple[FigureClaim, list[Fact]]]:
    """The figures of an answer that the truth can check, with the facts to compare each with."""
    if not context.truth.facts:
        return []
    found = [(claim, facts) for claim in context.figure_claims if (facts := facts_for(context, claim))]
    if context.domain.uses_places:
        return found
    several = {id(claim): _of_so_many(context, claim, facts) for claim, facts in found}
    single = [(claim, _with_multiples(context, facts)) for claim, facts in found if several[id(claim)] is None]
    found = [*of_product(context, single), *((claim, own) for claim, _ in found if (own := several[id(claim)]))]
    told = {fact.role for _, facts in found for fact in facts}
    absent = [claim for claim in absences(context) if claim.said.role not in told]
    return [*found, *((claim, facts_for(context, claim)) for claim in absent)]


def _of_so_many(context: ScoringContext, claim: FigureClaim, facts: list[Fact]) -> list[Fact] | None:
    """The facts for a price of several pieces ('two Oak Stools are €116'); None if it is of one.

    Several may have a price of their own, which no fact gives.
    """
    kind = context.kind(claim.what)
    number = priced_together(context, claim.said) if kind.family is not None else 1
    if number == 1:
        return None
    facts = [replace(fact, value=fact.value * number) for fact in facts]
    return [fact for fact in facts if claim.said.distance(fact.value) <= kind.near + EPSILON]


def _with_multiples(context: ScoringContext, facts: list[Fact]) -> list[Fact]:
    """The facts with prices of as many as the question names: 'How much are two stools?' '€116.'"""
    numbers = [number for number in context.question.counting[1] if number > 1]
    prices = [fact for fact in facts if context.kind(fact.kind).family is not None] if numbers else []
    return [*facts, *(replace(fact, value=fact.value * number) for fact in prices for number in numbers)]


def _facts_of(context: ScoringContext, kind: str, role: str, day: str | None) -> list[Fact]:
    facts = [fact for fact in context.truth.facts if fact.kind == kind]
    if role in ("high", "low"):
        return _on_day(context, [fact for fact in facts if fact.role == role], day)
    current = [fact for fact in facts if fact.role == role and fact.day is None]
    if not is_later(day):
        return current
    later = _on_day(context, [fact for fact in facts if fact.day is not None], day)
    return [*later, *current] if context.calendar.may_be_today(day) else later


def _on_day(context: ScoringContext, facts: list[Fact], day: str | None) -> list[Fact]:
    """The facts of a day; all of them if it is not known which day of the truth it is."""
    exact = [fact for fact in facts if context.calendar.is_day(fact.day, day)]
    if exact or day is None or not is_later(day):
        return exact or facts
    return [] if context.calendar.today is not None and context.calendar.dates_of(day) is not None else facts


def is_vague(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact]) -> bool:
    """Whether a figure is a range too wide to say much; that of a day is its low and high."""
    precise, said = context.kind(claim.what).precise, claim.said
    if precise is None or said.high - said.low <= precise + EPSILON:
        return False
    is_of_day = said.role == "actual" and {"low", "high"} <= {fact.role for fact in facts}
    return not is_of_day or said.high - said.low == float("inf")


def is_of_asked_time(context: ScoringContext, claim: FigureClaim) -> bool:
    """Whether a figure is of the time asked about, as far as is known."""
    return not context.domain.by_day or _is_asked_time(context, claim.day)


def true_states(context: ScoringContext) -> list[str]:
    """The states, in the truth's words, at the time asked about."""
    if _asks_for_any_forecast(context):
        return list(context.truth.states.values())
    memory, key = context.truth.memory, ("true states", *context.question.days)
    known = memory.get(key)
    if not isinstance(known, list):
        known = memory[key] = _states_at(context, context.question.days)
    return known


def _states_at(context: ScoringContext, days: Sequence[str]) -> list[str]:
    states = context.truth.states
    found: list[str] = []
    for asked in days:
        if is_later(asked):
            exact = [words for true_day, words in states.items() if context.calendar.is_day(true_day, asked)]
            found += exact or [words for true_day, words in states.items() if true_day is not None]
        elif None in states:
            found.append(states[None])
    if found:
        return found
    return [states[None]] if None in states else list(states.values())


def states_on(context: ScoringContext, day: str | None) -> list[str]:
    """The states of one day, in the truth's words; empty if the truth does not know that day."""
    if day in PRESENT and None in context.truth.states and not _asks_for_any_forecast(context):
        return [context.truth.states[None]]
    if day is None or not is_later(day):
        return context.true_states
    return [words for true_day, words in context.truth.states.items() if context.calendar.is_day(true_day, day)]


@dataclass(frozen=True, slots=True)
class StateSets:
    """Which states agree with some words of the truth, and which contradict them."""

    wanted: frozenset[str]
    against: frozenset[str]
    instead: frozenset[str]
    """Those that contradict them if none that agrees is named."""


def compare_states(context: ScoringContext, truths: list[str]) -> StateSets:
    """The states that agree with, and those that contradict, what the truth says in words."""
    key = "compared states", tuple(truths)
    return context.question.kept(key, StateSets) or context.question.keep(key, _compare(context, truths))


def _compare(context: ScoringContext, truths: list[str]) -> StateSets:
    known = context.domain.states
    wanted: set[str] = set()
    for words in truths:
        states = states_in(context, words)
        wanted |= states | {other for state in states for other in known[state].get("includes", ())}
    against = {other for state in wanted for other in known[state].get("contradicts", ())} - wanted
    own = [state for words in truths for state in states_in(context, words)]
    instead = {other for state in own for other in known[state].get("instead", ())} - wanted
    return StateSets(frozenset(wanted), frozenset(against), frozenset(instead))


def asked_claims(context: ScoringContext) -> list[StateClaim]:
    """Claims of states about the truth's subject and the time asked about."""
    if not context.state_claims:
        return []
    if not context.calendar.dates and not context.question.days and not any(c.day for c in context.state_claims):
        claims = [claim for claim in context.state_claims if claim.is_about_truth]
        if context.domain.uses_places:
            return claims
        claims = [claim for claim in claims if not _is_of_alternative(context, claim)]
        if len(claims) < 2:
            return claims
        return [claim for claim in claims if not is_of_something_else(context, claim.said.first)] or claims
    return [
        claim
        for claim in context.state_claims
        if claim.is_about_truth and _is_asked_time(context, claim.day, state=claim.what)
    ]


def _is_of_alternative(context: ScoringContext, claim: StateClaim) -> bool:
    """Whether a state is that of something offered after a plain no: 'No, but the similar Brisa is in stock.'"""
    polar = context.yes_or_no
    if polar is None or polar.yes or not claim.affirmed or claim.what not in polar.states:
        return False
    at, tokens = claim.said.first - 1, context.response.tokens
    while at > polar.said.last and tokens[at].text not in CLAUSE_MARKS:
        if tokens[at].capital and not context.subjects.is_true_word(tokens[at].folded):
            return True
        at -= 1
    return False


def crowded(context: ScoringContext, claims: list[StateClaim], charged: frozenset[str]) -> list[Mention]:
    """Mentions of states of one time that are more than two or exclude each other; empty if there are none.

    A state that another one implies (clouds, if it rains) does not count, and neither does one in `charged` for being
    excluded: it contradicts the truth.
    """
    known = context.domain.states
    by_time: dict[tuple[str | None, str | None], dict[str, Mention]] = {}
    for claim in claims:
        if claim.affirmed:
            by_time.setdefault((claim.day, claim.part), {}).setdefault(claim.what, claim.said)
    for named in by_time.values():
        implied = {other for state in named for other in known[state].get("implies", ())}
        counted = [state for state in named if state not in implied]
        excluded = {other for state in named.keys() - charged for other in known[state].get("contradicts", ())}
        if len(counted) > _MOST_STATES or excluded & (named.keys() - charged):
            return sorted(named.values(), key=lambda mention: mention.first)
    return []


def states_in(context: ScoringContext, words: str) -> frozenset[str]:
    """The domain's states that words of the truth stand for; they may be in any language that has a word list."""
    return context.states_in(words)


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
    return context.asks_later and not context.question.days


def _is_asked_time(context: ScoringContext, day: str | None, *, state: str | None = None) -> bool:
    """Whether something said of `day`, a figure or a state, answers the query."""
    if day is None or day in context.question.days:
        return True
    if _asks_for_any_forecast(context) or (not context.question.days and None not in context.truth.states):
        return day not in PAST
    later = [asked for asked in context.question.days if is_later(asked)]
    if later:
        same = [context.calendar.is_same(asked, day) for asked in later]
        if any(same) or (is_later(day) and None in same):
            return True
        return day in PRESENT and any(asked in PRESENT for asked in context.question.days)
    if context.calendar.may_be_today(day):  # said of the day's forecast, it contradicts nothing
        return state is None or state in states_in(context, context.truth.states.get(None, ""))
    return day in PRESENT or not (is_later(day) or day in PAST)
