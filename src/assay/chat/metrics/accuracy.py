"""accuracy: does the answer agree with the ground truth? Figures, the state, and what is to come."""

from __future__ import annotations

from collections.abc import Callable

from assay.chat.case import Case
from assay.chat.domain import Fact
from assay.chat.figures import Quantity
from assay.chat.metric import Finding, Metric, Rule

# Differences are of decimal fractions: 25.1 − 23.1 must not come out as more than 2.
_EPSILON = 1e-9


def _no_truth(case: Case) -> str | None:
    return None if case.truth else "there is no ground truth to compare with"


def _worst(case: Case, roles: tuple[str, ...]) -> tuple[Quantity, Fact, float] | None:
    """The figure of these roles that lies farthest from what it should be, with the fact nearest to it."""
    cached = case.derived.get(f"accuracy {roles}")
    if isinstance(cached, list):
        return cached[0] if cached else None
    worst: tuple[Quantity, Fact, float] | None = None
    for quantity in case.figures:
        if quantity.role not in roles or not case.kind(quantity.kind).checked:
            continue
        facts = case.facts_for(quantity)
        if not facts:
            continue
        lows = [fact.value for fact in facts if fact.role == "low"]
        highs = [fact.value for fact in facts if fact.role == "high"]
        if quantity.role == "actual" and len(lows) == len(highs) == 1 and lows[0] <= quantity.low <= highs[0]:
            continue  # some time of that day it is as warm as that
        fact = min(facts, key=lambda fact: quantity.distance(fact.value))
        gap = quantity.distance(fact.value)
        if worst is None or gap > worst[2]:
            worst = quantity, fact, gap
    case.derived[f"accuracy {roles}"] = [] if worst is None else [worst]
    return worst


def _off(*roles: str, wrong: bool) -> Callable[[Case], Finding | None]:
    def off(case: Case) -> Finding | None:
        worst = _worst(case, roles)
        if worst is None:
            return None
        quantity, fact, gap = worst
        kind = case.kind(quantity.kind)
        is_wrong = gap > kind.far + _EPSILON
        if is_wrong is not wrong or gap <= kind.near + _EPSILON:
            return None
        return Finding([quantity], note=f"off by {gap:.3g} {kind.unit} (true: {fact.value:g} {kind.unit})")

    return off


def _state_missing(case: Case) -> Finding | None:
    """Fires where no true state is named, or one is that contradicts them."""
    true = case.true_states
    if not true:
        return None
    named = case.states_named()
    wanted: set[str] = set()
    for words in true:
        states = case.states_in(words)
        if not states and case.response.find(tuple(token.text for token in case.reader.read(words).tokens)):
            return None  # a state the domain has no list for, named in the truth's own words
        wanted |= states | {other for state in states for other in case.domain.states[state].get("includes", ())}
    against = {other for state in wanted for other in case.domain.states[state].get("contradicts", ())} - wanted
    contradicting = [mention for state in against for mention in named.get(state, ())]
    if contradicting:
        return Finding(contradicting, note=f"it says otherwise, and it is {true[0]}")
    return None if wanted & named.keys() else Finding(note=true[0])


def _later_missing(case: Case) -> Finding | None:
    if not case.asks_later:
        return None
    named = case.days_of(case.response)
    days = [mention for name, mention in named.items() if name not in ("now", "today", "yesterday")]
    addressed = case.said("later") or case.own([mention for mention in days if mention.asserted])
    return None if addressed else Finding()


METRIC = Metric(
    name="accuracy",
    group="functional",
    base=1.0,
    asks="Does it agree with the ground truth?",
    unmeasured=_no_truth,
    rules=(
        Rule("figure_off", -0.1, "a figure is a little off", when=_off("actual", "feels_like", wrong=False)),
        Rule("figure_wrong", -0.3, "a figure is wrong", when=_off("actual", "feels_like", wrong=True)),
        Rule("high_off", -0.1, "a high is a little off", when=_off("high", wrong=False)),
        Rule("high_wrong", -0.3, "a high is wrong", when=_off("high", wrong=True)),
        Rule("low_off", -0.1, "a low is a little off", when=_off("low", wrong=False)),
        Rule("low_wrong", -0.3, "a low is wrong", when=_off("low", wrong=True)),
        Rule("state_missing", -0.2, "the actual state is not named", when=_state_missing),
        Rule("later_missing", -0.2, "what is to come was asked for and is not addressed", when=_later_missing),
    ),
)
