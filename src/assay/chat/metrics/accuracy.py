"""accuracy: does the answer agree with the ground truth? Figures, states and forecasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from assay.chat.domains import Fact
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.arrivals import arrivals, true_arrival
from assay.chat.scoring.context.asked import dates_claimed, own_words, tells_amount
from assay.chat.scoring.context.calendar import ANOTHER_DAY, PAST, PRESENT, is_later
from assay.chat.scoring.context.claims import RATES, Claim, FigureClaim, StateClaim, denied_figures
from assay.chat.scoring.context.elsewhere import told_elsewhere
from assay.chat.scoring.context.truth import (
    EPSILON,
    StateSets,
    compare_states,
    crowded,
    facts_for,
    states_on,
)
from assay.chat.scoring.metric import Finding, Metric, Rule, TextSpan

_FORECAST = ("high", "low")


def _nothing_to_check(context: ScoringContext) -> str | None:
    if not context.truth:
        return "there is no ground truth to compare with"
    kinds, in_other_units = context.kinds, context.question.kinds_in_other_units
    for claim in context.figure_claims:
        is_of_truth = claim.what not in in_other_units and claim.said.role != "other" and claim.day != ANOTHER_DAY
        is_checked = is_of_truth and kinds[claim.what].checked and claim.what in context.question.fact_kinds
        is_due = claim.said.role not in RATES and context.question.asks_state
        if is_checked and (is_due or any(claim is one for one, _ in context.comparable)):
            return None
    if context.comparable or _denied_truth(context) is not None or dates_claimed(context):
        return None
    if told_elsewhere(context):
        return None
    says_state = context.yes_or_no or any(claim.day != ANOTHER_DAY for claim in context.state_claims)
    if says_state and context.truth.states:
        return None
    return None if own_words(context, context.true_states) else "the answer claims nothing that could be checked"


class _Gap(msgspec.Struct, eq=False, gc=False):
    """A figure, and its distance from the fact it is compared with."""

    claim: FigureClaim
    fact: Fact
    size: float
    role: str
    """'high', 'low' or 'now' for all other roles."""
    vague: bool = False
    """Whether it is a range that contains the truth, and too wide to say much."""


def _gaps(context: ScoringContext) -> dict[str, list[_Gap]]:
    """By role, the figure of each kind with the largest error."""
    known = context.derived.get("accuracy gaps")
    if isinstance(known, dict):
        return known
    by_role: dict[tuple[str, str], list[_Gap]] = {}
    for claim, facts in context.comparable:
        if context.kinds[claim.what].checked:
            for gap in _compare(context, claim, facts):
                by_role.setdefault((gap.role, claim.what), []).append(gap)
    largest: dict[tuple[str, str], list[_Gap]] = {}
    for (role, what), gaps in by_role.items():
        largest.setdefault((role, context.family(what)), []).append(max(_main(gaps), key=_size))
    found: dict[str, list[_Gap]] = {}
    for (role, _), of_family in largest.items():
        # If the truth does not say in which currency, the first one counts: "€79 (about $85)". If the closest did, an
        # answer could name a different number in every currency.
        found.setdefault(role, []).append(of_family[0])
    context.derived["accuracy gaps"] = found
    return found


def _size(gap: _Gap) -> tuple[float, bool]:
    return gap.size, gap.vague


def _main(gaps: list[_Gap]) -> list[_Gap]:
    """Gaps without those about a part of the day ("15 °C, and 9 °C tonight"); if all are, the smallest one.

    A high or low is that of the whole day.

    A vague range beside an exact figure does no harm.
    """
    if len(gaps) == 1:
        return gaps
    whole = [gap for gap in gaps if gap.claim.part is None or gap.claim.said.role in _FORECAST]
    kept = whole or [min(gaps, key=_size)]
    return [gap for gap in kept if not gap.vague] or kept


def _compare(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact]) -> list[_Gap]:
    quantity = claim.said
    if quantity.role in _FORECAST:
        return [_nearest(context, claim, facts, quantity.role)]
    lows = [fact for fact in facts if fact.role == "low"]
    highs = [fact for fact in facts if fact.role == "high"]
    precise = context.kind(claim.what).precise
    if quantity.role == "actual" and lows and highs:
        low, high = min(lows, key=lambda fact: fact.value), max(highs, key=lambda fact: fact.value)
        if precise is not None and precise < quantity.high - quantity.low < float("inf"):  # the range of a day
            return [
                _Gap(claim, low, _ends_apart(quantity.low, lows), "low"),
                _Gap(claim, high, _ends_apart(quantity.high, highs), "high"),
            ]
        if (len(lows) == len(highs) == 1 or quantity.low < quantity.high) and (
            low.value <= quantity.high and quantity.low <= high.value
        ):
            return []  # between the day's low and high, it is right at some hour
    return [_nearest(context, claim, facts, "now")]


def _ends_apart(value: float, facts: Sequence[Fact]) -> float:
    return min(abs(value - fact.value) for fact in facts)


def _nearest(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact], role: str) -> _Gap:
    quantity: Quantity = claim.said
    fact = min(facts, key=lambda fact: quantity.distance(fact.value))
    precise = context.kind(claim.what).precise
    size = quantity.distance(fact.value)
    vague = precise is not None and size == 0 and quantity.high - quantity.low > precise + EPSILON
    return _Gap(claim, fact, size, role, vague)


def _off(role: str, *, wrong: bool) -> Callable[[ScoringContext], list[Finding]]:
    """A predicate: figures of a role that are wrong, or those that are slightly off."""

    def off(context: ScoringContext) -> list[Finding]:
        gaps = _gaps(context).get(role)
        if gaps is None:
            return []
        found = []
        for gap in gaps:
            kind = context.kind(gap.claim.what)
            is_wrong = gap.size > kind.far + EPSILON
            if gap.size > kind.near + EPSILON and is_wrong is wrong:
                note = f"off by {gap.size:.3g} {kind.unit} (true: {gap.fact.value:g} {kind.unit})"
                found.append(Finding([gap.claim.said], note=note))
        return found

    return off


def _vague(context: ScoringContext) -> list[Finding]:
    gaps = [gap for of_role in _gaps(context).values() for gap in of_role if gap.vague]
    return [
        Finding([gap.claim.said], note=f"true: {gap.fact.value:g} {context.kind(gap.claim.what).unit}") for gap in gaps
    ]


def _figure_missing(context: ScoringContext) -> Finding | None:
    """A figure that was asked for, or that is part of the answer to a question about the present, is not given."""
    for kind in context.question.kinds_due(asks_later=context.asks_later):
        given = any(
            claim.what == kind and claim.is_about_truth and claim.day not in PAST and tells_amount(context, claim)
            for claim in context.figure_claims
        )
        if not given:
            return Finding(note=kind)
    in_other_units = context.question.kinds_in_other_units
    for claim in context.figure_claims if in_other_units else ():
        if claim.what not in in_other_units:
            continue
        family = context.family(claim.what)
        compared = {context.family(one.what) for one, _ in context.comparable}
        if family not in compared and claim.is_about_truth and context.query.all(f"asks_figure.{family}"):
            known = [context.kind(fact.kind) for fact in context.truth.facts]
            unit = next(kind.unit for kind in known if kind.family == family)
            return Finding([claim.said], note=f"the truth is in {unit}")
    return None


def _state_missing(context: ScoringContext) -> Finding | None:
    """Fires if the response names no true state, or names one that contradicts it."""
    true = context.true_states
    if not true or context.unknown_language is not None or own_words(context, true):
        return None
    claims = context.asked_claims
    named = named_now = False
    by_day: dict[object, _Day] = {}
    contradicting: list[TextSpan] = []
    instead: list[TextSpan] = []
    later_today: list[TextSpan] = []
    for claim in claims:
        if claim.affirmed:
            on_day = states_on(context, claim.day) or true
            sets = context.true_sets if on_day is true else compare_states(context, on_day)
            named |= claim.what in sets.wanted
            named_now |= claim.what in sets.wanted and claim.part is None
            if claim.day is not None and len(on_day) == 1 and is_later(claim.day):
                by_day.setdefault(context.calendar.dates_of(claim.day) or claim.day, _Day(sets)).claims.append(claim)
            if claim.what in sets.against:
                (contradicting if claim.part is None else later_today).append(claim.said)
            elif claim.what in sets.instead:
                instead.append(claim.said)
    if not named_now or context.asks_later:  # "clear now, with snow this evening" is right if it is clear
        contradicting += later_today
    sets = context.true_sets
    polar = context.yes_or_no
    if polar is not None and polar.states:
        named |= bool(polar.states & sets.wanted) if polar.yes else not polar.states & sets.wanted
        if polar.states & (sets.against if polar.yes else sets.wanted):
            contradicting.append(polar.said)
    elif context.question.polar_states:  # "It isn't" answers "Is it?"
        refuted = {claim.what for claim in claims if not claim.affirmed} & context.question.polar_states
        named |= bool(refuted) and not refuted & sets.wanted
    if not named:
        # "None at all", if there is some. Beside the true state, another form of it may be denied: "just a little".
        contradicting += [claim.said for claim in claims if not claim.affirmed and claim.what in sets.wanted]
        contradicting += instead
    else:
        contradicting += [said for day in by_day.values() for said in day.wrong()]
    if contradicting:
        return Finding(contradicting, note=f"it contradicts the truth, {true[0]}")
    return None if named or not context.question.asks_state else Finding(note=true[0])


class _Day(msgspec.Struct, eq=False, gc=False):
    """A day to come of which the truth has one state, and the states that the answer affirms of it."""

    sets: StateSets
    claims: list[StateClaim] = msgspec.field(default_factory=list)

    def wrong(self) -> list[TextSpan]:
        """The states affirmed if none of them agrees with the truth: another day that agrees does not excuse it."""
        if any(claim.what in self.sets.wanted for claim in self.claims):
            return []
        return [claim.said for claim in self.claims if claim.what not in self.sets.against]


def _crowded(context: ScoringContext) -> Finding | None:
    claims = context.asked_claims
    mentions = crowded(context, claims, context.true_sets.against) if len(claims) > 1 else []
    return Finding(mentions) if mentions else None


def _denied_truth(context: ScoringContext) -> Finding | None:
    """The true figure is denied, and no other is given: 'it doesn't cost €89'."""
    for denied in denied_figures(context):
        figure, kind = denied.said, context.kind(denied.what)
        if not kind.checked or figure.role != "actual" or figure.low < figure.high:
            continue
        if denied.day is not None and denied.day not in PRESENT and denied.day != context.question.day:
            continue  # "16 in place of Sunday's 21 °C"
        facts = facts_for(context, denied)
        given = {context.family(claim.what) for claim, _ in context.comparable}
        is_true = any(figure.distance(fact.value) <= kind.near + EPSILON for fact in facts)
        if is_true and context.family(denied.what) not in given:
            return Finding([figure])
    return None


def _denies_itself(context: ScoringContext) -> Finding | None:
    """A figure, or the true state in the same word, that the answer affirms and denies of one time: 'yes and no'."""
    denied_claims = denied_figures(context)
    affirmed: dict[tuple[object, ...], FigureClaim] = {}
    for figure in context.figure_claims if denied_claims else ():
        affirmed.setdefault((*_thing_and_time(figure), figure.said.low, figure.said.high), figure)
    for denied in denied_claims:
        same = affirmed.get((*_thing_and_time(denied), denied.said.low, denied.said.high))
        if same is not None:
            return Finding([same.said, denied.said])
    if all(claim.affirmed for claim in context.asked_claims):
        return None
    wanted = context.true_sets.wanted
    claims = [claim for claim in context.asked_claims if claim.what in wanted]
    word = context.reader.lexicon.stem
    tokens = context.response.tokens
    named: dict[tuple[object, ...], list[TextSpan]] = {}  # the first two places where each is affirmed
    for claim in claims:
        if claim.affirmed:
            places = named.setdefault((*_thing_and_time(claim), word(tokens[claim.said.first].text)), [])
            if len(places) < 2:
                places.append(claim.said)
    for claim in claims:
        if claim.affirmed:
            continue
        for said in named.get((*_thing_and_time(claim), word(tokens[claim.said.first].text)), ()):
            if said.start != claim.said.start:
                return Finding([said, claim.said])
    return None


def _thing_and_time(claim: Claim) -> tuple[object, ...]:
    """What a claim is of; of several claims, it is equal if they are of the same thing and time."""
    return claim.what, tuple(claim.subjects), claim.day, claim.part


def _wrong_date(context: ScoringContext) -> Finding | None:
    """A date, a weekday or a span of days that differs from the truth's for the same thing."""
    wrong = [one for one in arrivals(context) if one.is_right is False]
    if not wrong:
        return None
    alike = [one.said for one in wrong if one.what == wrong[0].what]
    return Finding(alike, note=f"{wrong[0].what} is {true_arrival(context, wrong[0].what)}")


def _later_missing(context: ScoringContext) -> Finding | None:
    if not context.asks_later or context.unknown_language is not None:
        return None
    if told_elsewhere(context):
        return Finding()
    named = context.calendar.days_in(context.response)
    asked = set(context.question.days)
    days = [mention for name, mention in named.items() if name in asked or name not in ("now", "today", "yesterday")]
    if asked and asked <= PRESENT:  # "until the evening" is a forecast for today
        days += context.response.all("part_of_day")
    chances = context.response.sentences_with("chance")  # "a 10 % chance later" speaks of later
    addressed = (
        context.said("later")
        or [one for one in context.response.all("later") if context.response.sentence(one.first) in chances]
        or context.own([day for day in days if _is_told(day) or context.response.sentence(day.first) in chances])
        or dates_claimed(context)
        or [claim for claim in context.figure_claims if claim.said.role in _FORECAST and claim.is_about_truth]
        or _tells_asked_day(context)
        or _is_not_to_be_had(context)
    )
    return None if addressed else Finding()


def _is_not_to_be_had(context: ScoringContext) -> bool:
    """Whether what was asked for at a time is not there: 'Can I get the tent this week?' 'It's sold out.'"""
    absent = {kind.states.get("none") for kind in context.kinds.values()}
    return any(claim.affirmed and claim.what in absent for claim in context.asked_claims)


def _tells_asked_day(context: ScoringContext) -> bool:
    """Whether an answer that names no time gives the state or an extreme of the day asked about, or says yes or no.

    'Yes.' and '27 °C and clear' answer "Will it be nice tomorrow?"; "It's 27 °C and clear" tells of now.
    """
    polar = context.yes_or_no
    if polar is not None and polar.states:
        return True
    wanted = context.true_sets.wanted
    told = [claim.said.first for claim in context.asked_claims if claim.affirmed and claim.what in wanted]
    told += [claim.said.first for claim, facts in context.comparable if _is_extreme(context, claim, facts)]
    return any(not _is_of_present(context, index) for index in told)


def _is_extreme(context: ScoringContext, claim: FigureClaim, facts: Sequence[Fact]) -> bool:
    """Whether the figure is one of the highs and lows among the facts."""
    near = context.kind(claim.what).near + EPSILON
    return any(claim.said.distance(fact.value) <= near for fact in facts if fact.role in _FORECAST)


def _is_of_present(context: ScoringContext, index: int) -> bool:
    """Whether the sentence of token `index` has a verb or a time of the present."""
    first, last = context.response.sentence(index)
    words = {token.text for token in context.response.tokens[first : last + 1]}
    if not words.isdisjoint(context.reader.present_verbs):
        return True
    return any(first <= day.first <= last for day in context.calendar.days_in(context.response).values())


def _is_told(mention: Mention) -> bool:
    return mention.asserted or mention.refuted


METRIC = Metric(
    name="accuracy",
    group="functional",
    by_words=False,
    base=1.0,
    asks="Does it agree with the ground truth?",
    unmeasured=_nothing_to_check,
    needs=("figure_claims", "state_claims"),
    rules=(
        Rule("figure_off", -0.1, "a figure is slightly off", when=_off("now", wrong=False)),
        Rule("figure_wrong", -0.3, "a figure is wrong", when=_off("now", wrong=True)),
        Rule("high_off", -0.1, "a high is slightly off", when=_off("high", wrong=False)),
        Rule("high_wrong", -0.3, "a high is wrong", when=_off("high", wrong=True)),
        Rule("low_off", -0.1, "a low is slightly off", when=_off("low", wrong=False)),
        Rule("low_wrong", -0.3, "a low is wrong", when=_off("low", wrong=True)),
        Rule("figure_vague", -0.2, "a range is too wide to say much", when=_vague),
        Rule("figure_missing", -0.2, "a figure that was asked for is not given", when=_figure_missing),
        Rule("date_wrong", -0.3, "a date is wrong", when=_wrong_date),
        Rule("state_missing", -0.2, "the actual state is not named", when=_state_missing),
        Rule(
            "states_crowded",
            -0.2,
            "names more than two states for one time, or two that exclude each other",
            when=_crowded,
        ),
        Rule("figure_contradicted", -0.3, "denies the true figure", when=_denied_truth),
        Rule("denies_itself", -0.3, "affirms and denies the same", when=_denies_itself),
        Rule("later_missing", -0.2, "a forecast was asked for and is not addressed", when=_later_missing),
    ),
)
