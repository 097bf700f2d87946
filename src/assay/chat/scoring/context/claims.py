"""What an answer claims: each figure and state that it affirms or denies, of which subject, day and part of the day.

The one place where an answer becomes statements that can be checked; every metric that checks something reads these.
Knows readings, subjects and days; knows no ground truth's values and no metric.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.chat.reading.columns import tables
from assay.chat.reading.places import Place
from assay.chat.reading.positions import within
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# Figures that say nothing about the subject itself: differences, and values of other things (the sea, an average).
NOT_COMPARED = frozenset({"change", "difference", "other"})
# Prices of a measure or a period: "$9.99 per litre", "$12.99 a month". They are the product's if it has no other.
RATES = frozenset({"rate", "recurring"})
# What figures of a role are compared with; beside others of that, they are not.
INSTEAD = {"rate": "actual", "recurring": "actual", "refund": "returns"}
Where = tuple[Sequence[str], bool, str | None, str | None]


class Claim(msgspec.Struct, eq=False, gc=False):
    """One statement that can be checked."""

    what: str
    """A kind of quantity, or a state."""
    affirmed: bool
    """False if the answer says that it is not so."""
    subjects: Sequence[str]
    """The names of what it is about; empty if the answer does not say."""
    is_about_truth: bool
    """Whether it is about the ground truth's subject."""
    day: str | None
    """The day it is about, as the text names it; None if the truth does not depend on the day or no day is known."""
    part: str | None
    """The part of the day it is about; None for the whole day."""


class FigureClaim(Claim, eq=False, gc=False):
    """A figure that the answer affirms."""

    said: Quantity


class StateClaim(Claim, eq=False, gc=False):
    """A state that the answer affirms or denies."""

    said: Mention


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """A yes or no that answers a question about the subject."""

    said: Mention
    yes: bool
    states: frozenset[str]
    """The states that the question asks about."""


def figure_claims(context: ScoringContext) -> list[FigureClaim]:
    """The figures that an answer affirms."""
    locate, habits = context.locate, context.response.all("habitual") if context.domain.by_day else ()
    said = [one for one in context.figures if not _is_habitual(context, one, habits)] if habits else context.figures
    return [FigureClaim(figure.kind, True, *locate(figure.first), figure) for figure in said]


def denied_figures(context: ScoringContext) -> list[FigureClaim]:
    """The figures that an answer denies: 'not 25 °C'."""
    locate = context.locate
    denied = context.own([figure for figure in context.response.quantities if figure.refuted])
    return [FigureClaim(figure.kind, False, *locate(figure.first), figure) for figure in denied]


def state_claims(context: ScoringContext) -> list[StateClaim]:
    """The states that an answer affirms or denies; 'I can't tell whether it rains' does neither."""
    response = context.response
    errors = [one for one in response.all("error") if one.keys[0] != "error.regret"]
    failed = {response.sentence(one.first) for one in errors}
    missing = {at for one in errors for at in range(one.first, one.last + 1)}
    locate = context.locate
    found = []
    known: dict[int, Where] = {}  # several states may be of one word
    times = {mention.first: mention.last for mention in response.all("times")}
    habits = response.all("habitual")
    for mention in context.own(response.all("states")):
        if mention.last <= times.get(mention.first, -1):
            continue  # "Sun 22 Nov" is a day; "currently dry" is more than a time
        refuted = mention.refuted and (
            response.sentence(mention.first) not in failed or mention.first in missing  # "the lamp is not available"
        )
        if not (mention.asserted or refuted) or len(mention.keys) < 2:
            continue
        if habits and _is_habitual(context, mention, habits):
            continue
        if mention.first in context.states_of_no_product:
            continue
        where = known.get(mention.first)
        if where is None:
            where = known[mention.first] = locate(mention.first)
        found.append(StateClaim(mention.keys[-2].removeprefix("states."), mention.asserted, *where, mention))
    if found and "|" in response.text:
        found = _answered_in_cells(context, found)
    if len(context.response_places) > 1 and found and "negation" in response.lists:
        found += _elliptic_denials(context, found)
    if not any(claim.is_about_truth for claim in found):
        found += _elliptic_answers(context)
    return found or _states_of_figures(context)


def _elliptic_answers(context: ScoringContext) -> list[StateClaim]:
    """What an answer says of each of several without repeating the question: 'The Duo is, the Trio isn't.'"""
    asked, response, reader = context.question.polar_states, context.response, context.reader
    asked = asked or _states_asked_of(context)
    if len(asked) != 1 or context.quoted:
        return []
    found: list[StateClaim] = []
    state, tokens = next(iter(asked)), response.tokens
    for place in context.response_places:
        at = place.last + 1
        after = at + 1
        if not context.question.polar_states and _is_alone(context, place):  # "Which is in stock?" "Only the Duo."
            said = Mention(place.start, place.end, place.first, place.last, (f"states.{state}", "states"))
            found.append(StateClaim(state, True, *context.locate(place.first), said))
            continue
        if at >= len(tokens) or not (tokens[at].denies or tokens[at].text in reader.copulas):
            continue
        is_denied = tokens[at].denies
        if not is_denied and after < len(tokens) and tokens[after].text in reader.nots:
            is_denied, after = True, after + 1
        if after < len(tokens) and tokens[after].kind == "word" and tokens[after].text not in reader.contrasting:
            continue
        said = Mention(response.starts[at], response.ends[after - 1], at, after - 1, (f"states.{state}", "states"))
        claim = StateClaim(state, not is_denied, *context.locate(place.first), said)
        found += [claim, *([other] if is_denied and (other := _opposite(context, claim)) is not None else [])]
    return found


def _states_asked_of(context: ScoringContext) -> frozenset[str]:
    """The states of which a question asks what they are of: 'Which of these is in stock?'"""
    if context.domain.uses_places or not context.query.is_question(0):
        return frozenset()
    return frozenset(one.keys[-2].removeprefix("states.") for one in context.query.all("states") if len(one.keys) > 1)


def _is_alone(context: ScoringContext, place: Place) -> bool:
    """Whether a sentence has little more than a name, and denies nothing."""
    response, reader = context.response, context.reader
    first, last = response.sentence(place.first)
    rest = [*response.tokens[first : place.first], *response.tokens[place.last + 1 : last + 1]]
    denied = any(first <= one.first <= last for one in response.all("negation"))
    idle = reader.small_words.union(reader.lexicon.language.get("only_words", ()))
    return not denied and not any(one.kind == "word" and one.text not in idle for one in rest)


def _answered_in_cells(context: ScoringContext, found: list[StateClaim]) -> list[StateClaim]:
    """The claims with those that a table makes by yes or no under or beside a state: '| In stock | Yes | No |'."""
    response, polar = context.response, context.reader.polar
    headings = {claim.said.first: claim for claim in found}
    used: set[int] = set()
    added = []
    for head, rows in tables(response):
        for row in rows:
            for column, cell in enumerate(row):
                tokens = response.tokens[cell.first : cell.stop]
                yes = polar.of_cell(tokens)
                if yes is None or not column:
                    continue
                for heading in (row[0], head[column] if column < len(head) else row[0]):
                    stated = next((at for at in range(heading.first, heading.stop) if at in headings), None)
                    if stated is None:
                        continue
                    used.add(stated)
                    said = Mention(
                        response.starts[cell.first],
                        response.ends[cell.stop - 1],
                        cell.first,
                        cell.stop - 1,
                        headings[stated].said.keys,
                    )
                    claim = StateClaim(headings[stated].what, yes, *context.locate(cell.first), said)
                    added += [claim, *([] if yes or (other := _opposite(context, claim)) is None else [other])]
                    break
    kept = [claim for claim in found if claim.said.first not in used]
    return sorted([*kept, *added], key=lambda claim: claim.said.first)


def _elliptic_denials(context: ScoringContext, found: Sequence[StateClaim]) -> list[StateClaim]:
    """What a clause denies of another subject without repeating it: 'Rome is sunny, but Oslo isn't', 'not in Oslo'."""
    response, reader = context.response, context.reader
    ends = [-1, *reader.clause_ends(response)]
    told = {claim.said.first for claim in found} | {figure.first for figure in response.quantities}
    idle = {at for key in ("times", "negation") for one in response.all(key) for at in range(one.first, one.last + 1)}
    idle |= {at for place in context.response_places for at in range(place.first, place.last + 1)}
    firsts = [claim.said.first for claim in found]
    denied: dict[int, StateClaim] = {}
    for negation in response.all("negation"):
        first, last = response.sentence(negation.first)
        after = bisect_right(ends, negation.first)
        start, stop = max(first, ends[after - 1] + 1), min(ends[after] if after < len(ends) else last + 1, last + 1)
        named = within(context.response_places, start, stop)
        stated = found[bisect_left(firsts, first) : bisect_left(firsts, start)]
        before = [claim for claim in stated if claim.affirmed]
        if not named or not before or not told.isdisjoint(range(start, stop)):
            continue
        rest = [response.tokens[at] for at in range(start, stop) if at not in idle]
        if all(token.kind != "word" or token.text in reader.small_words | reader.prepositions for token in rest):
            where = context.locate(named[-1].first)
            said = Mention(negation.start, negation.end, negation.first, negation.last, before[-1].said.keys)
            denied[start] = StateClaim(before[-1].what, False, *where, said)
    return [*denied.values(), *(opposite for claim in denied.values() if (opposite := _opposite(context, claim)))]


def _opposite(context: ScoringContext, denied: StateClaim) -> StateClaim | None:
    """The state that holds if another does not: what is not in stock is out of stock."""
    for kind in context.kinds.values():
        if kind.states.get("some") == denied.what:
            where = (denied.subjects, denied.is_about_truth, denied.day, denied.part)
            return StateClaim(kind.states["none"], True, *where, denied.said)
    return None


def _is_habitual(context: ScoringContext, said: Mention | Quantity, habits: Sequence[Mention]) -> bool:
    """Whether it is what a place usually has: 'it's typically sunny there', not 'usually sunny, but it rains'."""
    response = context.response
    ends = context.reader.clause_ends(response)
    at = bisect_right(ends, said.first) - 1
    first = response.sentence(said.first)[0]
    if at >= 0 and ends[at] > first and response.tokens[ends[at] + 1].text in context.reader.adding:
        at -= 1  # "usually around 14 °C, with some clouds": what is added is as usual
    start = max(first, ends[at] if at >= 0 else 0)
    return any(start <= habit.first < said.first or habit.last == start - 1 for habit in habits)


def _states_of_figures(context: ScoringContext) -> list[StateClaim]:
    """The states that figures stand for: 'we have 4 left' says that it is in stock."""
    found = []
    for claim in context.figure_claims:
        states, figure = context.kind(claim.what).states, claim.said
        is_some = figure.low > 0 or (figure.low == float("-inf") and figure.high > 0)  # "no more than 12 left"
        state = states.get("some" if is_some else "none") if is_some or figure.high == 0 else None
        if state is not None:
            said = Mention(figure.start, figure.end, figure.first, figure.last, (f"states.{state}", "states"))
            found.append(StateClaim(state, True, claim.subjects, claim.is_about_truth, claim.day, claim.part, said))
    return found


def locator(context: ScoringContext) -> Callable[[int], Where]:
    """A function that tells which subjects, day and part of the day a token of the response is about."""
    response, subjects = context.response, context.subjects
    days = context.response_days if context.domain.by_day else None
    has_parts = days is not None and days.has_parts
    places = subjects.mentions(response)
    # Most answers name one subject, and all that follows is about it.
    only = [place.name for place in places]
    first, last = 0, -1  # the sentence of the token that was located last; the next is often in it
    day: str | None = None
    is_one_day = False
    is_only_true = subjects.is_true_name(only)
    is_certain = len(places) == 1 and (is_only_true or context.domain.uses_places)
    certain_from = places[0].first if is_certain else -1 if not places else len(response.tokens)

    def locate(index: int) -> Where:
        nonlocal first, last, day, is_one_day
        if index >= certain_from:
            names, is_about_truth = only, is_only_true
        else:
            names = subjects.subject_at(response, index)
            is_about_truth = subjects.is_true_name(names)
        if days is None:
            return names, is_about_truth, None, None
        if not first <= index <= last:
            first, last = response.sentence(index)
            is_one_day = days.is_one_day(first, last)
            day = days.in_sentence(index, first, last)
        elif not is_one_day:
            day = days.in_sentence(index, first, last)
        return names, is_about_truth, day, days.part_of_day(index) if has_parts else None

    return locate


def yes_or_no(context: ScoringContext) -> YesOrNo | None:
    """The yes or no that an answer begins with, if the query can be answered by one and asks about the subject."""
    states = context.question.polar_states
    found: tuple[int, int, bool] | None
    if context.question.polar_mentions:
        found = context.reader.polar.answer(context.response.tokens)
    elif context.question.needing_states and context.truth.states and not context.state_claims:
        states, found = context.question.needing_states, _is_needed(context)
    else:
        return None
    if found is None:
        return None
    first, last, yes = found
    response = context.response
    said = Mention(response.starts[first], response.ends[last], first, last, ("yes" if yes else "no",))
    return YesOrNo(said, yes, states)


def _is_needed(context: ScoringContext) -> tuple[int, int, bool] | None:
    """Where an answer says whether one needs what was asked about, and whether one does: 'Nah', 'leave it at home'."""
    found = context.reader.polar.answer(context.response.tokens)
    if found is not None:
        return found
    said = sorted(
        [(one.first, one.last, one.keys[0] == "needed.yes") for one in context.response.all("needed") if one.asserted]
    )
    return said[0] if said else None
