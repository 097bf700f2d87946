"""accuracy: does the answer agree with the ground truth? Figures, states and forecasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.chat.domains import Fact
from assay.chat.reading.dates import WEEKDAYS
from assay.chat.reading.places import words_of
from assay.chat.reading.quantities import Quantity
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.days import day_name
from assay.chat.scoring.metric import Finding, Metric, Rule, TextSpan
from assay.chat.scoring.truth import facts_for, states_in, states_named, true_states

# For differences of decimal fractions: 25.1 − 23.1 must not be more than 2.
_EPSILON = 1e-9
_FORECAST = ("high", "low")


def _no_truth(context: ScoringContext) -> str | None:
    return None if context.truth else "there is no ground truth to compare with"


@dataclass(frozen=True, slots=True)
class _Gap:
    """A figure, and its distance from the nearest fact."""

    quantity: Quantity
    fact: Fact
    size: float


def _worst(context: ScoringContext, role: str) -> list[_Gap]:
    """For each kind of quantity, the figure of this role with the largest error.

    The role 'now' stands for all roles except high and low.
    """
    known = context.derived.get(f"accuracy {role}")
    if isinstance(known, list):
        return known
    gaps: dict[str, list[_Gap]] = {}
    for quantity in context.figures:
        own = quantity.role if quantity.role in _FORECAST else "now"
        if own != role or not context.kind(quantity.kind).checked:
            continue
        gap = _gap(quantity, facts_for(context, quantity))
        if gap is not None:
            gaps.setdefault(quantity.kind, []).append(gap)
    found = [max(_main(context, of_kind), key=lambda gap: gap.size) for of_kind in gaps.values()]
    context.derived[f"accuracy {role}"] = found
    return found


def _main(context: ScoringContext, gaps: list[_Gap]) -> list[_Gap]:
    """Gaps without those about a part of the day ("15 °C, and 9 °C tonight"); if all are, the smallest one."""
    whole = [gap for gap in gaps if not context.is_part_of_day(gap.quantity.first)]
    return whole or [min(gaps, key=lambda gap: gap.size)]


def _gap(quantity: Quantity, facts: Sequence[Fact]) -> _Gap | None:
    if not facts:
        return None
    lows = [fact.value for fact in facts if fact.role == "low"]
    highs = [fact.value for fact in facts if fact.role == "high"]
    if quantity.role == "actual" and len(lows) == len(highs) == 1 and lows[0] <= quantity.low <= highs[0]:
        return None  # between the day's low and high, it is right at some hour
    fact = min(facts, key=lambda fact: quantity.distance(fact.value))
    return _Gap(quantity, fact, quantity.distance(fact.value))


def _off(role: str, *, wrong: bool) -> Callable[[ScoringContext], list[Finding]]:
    """A predicate: figures of a role that are wrong, or those that are slightly off."""

    def off(context: ScoringContext) -> list[Finding]:
        found = []
        for gap in _worst(context, role):
            kind = context.kind(gap.quantity.kind)
            is_wrong = gap.size > kind.far + _EPSILON
            if gap.size > kind.near + _EPSILON and is_wrong is wrong:
                note = f"off by {gap.size:.3g} {kind.unit} (true: {gap.fact.value:g} {kind.unit})"
                found.append(Finding([gap.quantity], note=note))
        return found

    return off


def _state_missing(context: ScoringContext) -> Finding | None:
    """Fires if the response names no true state, or names one that contradicts it."""
    true = true_states(context)
    if not true:
        return None
    named = states_named(context)
    wanted: set[str] = set()
    for words in true:
        states = states_in(context, words)
        own_words = words_of(words)
        if not states and own_words and context.response.find({own_words[0]: [own_words]}):
            return None  # a state the domain has no list for, named in the truth's own words
        wanted |= states | {other for state in states for other in context.domain.states[state].get("includes", ())}
    against = {other for state in wanted for other in context.domain.states[state].get("contradicts", ())} - wanted
    found = [mention for state in against for mention in named.get(state, ())]
    contradicting = sorted(found, key=lambda mention: mention.first)  # a set has no order of its own
    if contradicting:
        return Finding(contradicting, note=f"it contradicts the truth, {true[0]}")
    return None if wanted & named.keys() else Finding(note=true[0])


def _wrong_date(context: ScoringContext) -> Finding | None:
    """A date or weekday that differs from the truth's date for the same thing."""
    response = context.response
    for what, true in context.truth.dates.items():
        about = {response.sentence(mention.first) for mention in context.said(f"dated.{what}")}
        dates = [m for m in response.moments if m.month is not None and response.sentence(m.first) in about]
        wrong: list[TextSpan] = [moment for moment in dates if not moment.is_date(true)]
        for mention in context.said("times"):
            day = day_name(mention)
            if day in WEEKDAYS and response.sentence(mention.first) in about and true.weekday() != WEEKDAYS.index(day):
                wrong.append(mention)
        if wrong:
            return Finding(wrong, note=f"{what} is on {true:%A}, {true.isoformat()}")
    return None


def _later_missing(context: ScoringContext) -> Finding | None:
    if not context.asks_later:
        return None
    named = context.calendar.days_in(context.response)
    days = [mention for name, mention in named.items() if name not in ("now", "today", "yesterday")]
    addressed = context.said("later") or context.own([mention for mention in days if mention.asserted])
    return None if addressed else Finding()


METRIC = Metric(
    name="accuracy",
    group="functional",
    base=1.0,
    asks="Does it agree with the ground truth?",
    unmeasured=_no_truth,
    rules=(
        Rule("figure_off", -0.1, "a figure is slightly off", when=_off("now", wrong=False)),
        Rule("figure_wrong", -0.3, "a figure is wrong", when=_off("now", wrong=True)),
        Rule("high_off", -0.1, "a high is slightly off", when=_off("high", wrong=False)),
        Rule("high_wrong", -0.3, "a high is wrong", when=_off("high", wrong=True)),
        Rule("low_off", -0.1, "a low is slightly off", when=_off("low", wrong=False)),
        Rule("low_wrong", -0.3, "a low is wrong", when=_off("low", wrong=True)),
        Rule("date_wrong", -0.3, "a date is wrong", when=_wrong_date),
        Rule("state_missing", -0.2, "the actual state is not named", when=_state_missing),
        Rule("later_missing", -0.2, "a forecast was asked for and is not addressed", when=_later_missing),
    ),
)
