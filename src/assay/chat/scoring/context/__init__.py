"""`ScoringContext`: one answer to be scored, with what is known about it, and the questions that several metrics ask.

Knows the reading of each text, the ground truth and the domain's data; knows no metric and no points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

from assay.chat.domains import Domain, Fact, Truth
from assay.chat.reading.lexicon import QuantityKind
from assay.chat.reading.places import Place
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.scoring.context.asked import dates_claimed
from assay.chat.scoring.context.calendar import Calendar, is_later
from assay.chat.scoring.context.claims import (
    FigureClaim,
    StateClaim,
    Where,
    YesOrNo,
    figure_claims,
    locator,
    state_claims,
    yes_or_no,
)
from assay.chat.scoring.context.clause_subjects import is_of_accessory, is_of_no_product
from assay.chat.scoring.context.counts import counts_of_product
from assay.chat.scoring.context.days import ResponseDays
from assay.chat.scoring.context.elsewhere import is_said_elsewhere
from assay.chat.scoring.context.failures import failures
from assay.chat.scoring.context.other_offers import is_of_others, may_tell_of_others
from assay.chat.scoring.context.places import Subjects, names_in_lists
from assay.chat.scoring.context.question import Question, asks_of_place
from assay.chat.scoring.context.quotations import quoted_tokens
from assay.chat.scoring.context.truth import StateSets, asked_claims, comparable, compare_states, true_states
from assay.chat.scoring.metric import Entry
from assay.chat.scoring.once import once, once_for_all
from assay.chat.scoring.trajectory import Trajectory
from assay.chat.transcript import ToolCall

_Found = TypeVar("_Found", Mention, Quantity)
_START = attrgetter("start")
# In tokens: "the first attempt failed because of a timeout, but the second one worked".
_RECOVERY_REACH = 20


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier turn; either side may be missing."""

    user: Reading | None
    assistant: Reading | None


@dataclass(kw_only=True)
class ScoringContext:
    """What was asked, what was answered, and what is known."""

    question: Question
    response: Reading
    framework: str
    domain: Domain
    reader: Reader
    """The reader of the response's language."""
    truth_reader: Reader
    """The reader of the words of the truth, if the response's does not know them."""
    truth: Truth
    unknown_language: str | None = None
    """The code of the response's language if no word list covers it; only its figures are read then."""
    history: Sequence[Exchange] = ()
    preferences: frozenset[str] = frozenset()
    """Names of the domain's preferences that the user has."""
    response_time: float | None = None
    tool_call_count: int | None = None
    tool_calls: Sequence[ToolCall] | None = None
    are_calls_unknown: bool = False
    """Whether the agent was played and did not report its calls; for an answer alone it is just not said."""
    expected_calls: Sequence[ToolCall] | None = None
    characteristics: Mapping[str, Any] | None = None
    scored: dict[int, Entry] = field(default_factory=dict)
    """The entry of each metric that has been scored, by the metric's identity."""
    derived: dict[str, object] = field(default_factory=dict)
    """Results that a metric keeps for several of its rules."""
    query: Reading = field(init=False)
    kinds: Mapping[str, QuantityKind] = field(init=False)
    """The domain's kinds of quantity."""
    subjects: Subjects = field(init=False)
    """The cities or products that the texts name."""
    calendar: Calendar = field(init=False)
    """The ground truth's dates, and the days that texts name."""

    def __post_init__(self) -> None:
        question = self.question
        self.query, self.subjects, self.calendar = question.query, question.subjects, question.calendar
        self.kinds = self.reader.lexicon.kinds

    # --- the query --------------------------------------------------------------------------------------------------

    @once
    def is_small_talk(self) -> bool:
        """Whether the query neither needs data nor asks for advice: then neither completes anything.

        A follow-up question in a conversation about the subject, such as 'Are you sure?', is not small talk.
        """
        if self.needs_data or self.question.asks_advice:
            return False
        return not (self.was_topical and self.query.is_question(0))

    @once
    def asks_data(self) -> bool:
        """Whether the query is about the domain's subject, by itself or as a follow-up: 'and tomorrow?'."""
        question = self.question
        return question.is_topical or ((question.is_vague or question.follows_up) and self.was_topical)

    @once
    def asks_later(self) -> bool:
        """Whether the query is about the future."""
        return self.asks_data and self.question.is_of_future

    @once
    def needs_data(self) -> bool:
        """Whether the query cannot be answered without data."""
        return self.asks_data or self.question.on_advice

    @once
    def missing_parts(self) -> list[str]:
        """What the query lacks, of 'place', 'which place', 'time' and 'intent'; an earlier turn may have said which."""
        missing = []
        question = self.question
        if question.needs_place and not question.places and not any(map(self.subjects.names_in, self._earlier_users)):
            missing.append("place")
        if self.needs_data and self.open_places:
            missing.append("which place")
        if question.lacks_time and self.asks_data:
            missing.append("time")
        if not self.needs_data and not question.asks_advice and question.is_vague:
            missing.append("intent")
        return missing

    @property
    def _earlier_users(self) -> list[Reading]:
        return [turn.user for turn in self.history if turn.user is not None]

    @once
    def open_places(self) -> frozenset[str]:
        """Places that the query names and of which there are several of note; an earlier turn may have said which.

        Of a name with lesser namesakes, it is open which one is meant if the response asks and tells them apart.
        """
        named = [place.name for place in self.query.places if place.several or self._is_told_apart(place)]
        if not named:
            return frozenset()
        earlier = [side for turn in self.history for side in (turn.user, turn.assistant) if side is not None]
        told = {place.name for side in earlier for place in side.places if not place.several}
        return frozenset(named) - told

    def _is_told_apart(self, place: Place) -> bool:
        """Whether the response asks which place of a name is meant, and names two regions: 'in Oregon or in Maine?'."""
        if not place.namesakes:
            return False
        asked = {self.response.sentence(mention.first) for mention in self.clarifications}
        name = frozenset(token.folded for token in self.query.tokens[place.first : place.last + 1])
        return any(len(self.subjects.regions_in(self.response, one, name)) > 1 for one in asked)

    @once
    def was_topical(self) -> bool:
        """Whether an earlier message of the user was about the domain's subject."""
        reader = self.question.query_reader
        return any(
            user.all("topic") or user.all("asks_topic.advice") or asks_of_place(user, self.subjects, reader)
            for user in self._earlier_users
        )

    # --- the response -----------------------------------------------------------------------------------------------

    def said(self, key: str) -> list[Mention]:
        """Mentions of a list that the response itself states; quoted words of the user do not count, nor do names."""
        listed = self.response.lists.get(key)
        if not listed:
            return []
        stated = [mention for mention in listed if mention.asserted]
        return self.own(stated) if stated and self.unsaid else stated

    def said_by_name(self, key: str) -> dict[str, list[Mention]]:
        """As `said`, by the lists inside `key`."""
        if key not in self.response.lists:
            return {}
        found = self.response.sublists(key)
        if not self.unsaid:
            return found
        return {name: own for name, mentions in found.items() if (own := self.own(mentions))}

    def own(self, found: Sequence[_Found]) -> list[_Found]:
        """Those of `found` that the response says itself."""
        unsaid = self.unsaid
        if not unsaid:
            return list(found)
        return [one for one in found if one.first not in unsaid]

    @once
    def unsaid(self) -> frozenset[int]:
        """Indices of the response's tokens that quote the user, or are a name: Sunny Isles Beach is not sunny."""
        return self.quoted | names_in_lists(self.response, self.response_places)

    @once
    def quoted(self) -> frozenset[int]:
        """Indices of the response's tokens that quote the user."""
        return quoted_tokens(self.response, [self.query, *(turn.user for turn in self.history if turn.user)])

    @once
    def shared(self) -> dict[str, Any]:
        """What follows from the response, the subjects, the dates and the day asked about, whatever else is asked.

        One text often answers several questions, as a refusal does. It is kept with the reading, for the last of them.
        """
        question = self.question
        about = question.day, question.is_of_several_days, question.counting
        key = self.subjects.token, self.calendar.token, about, self.quoted
        known: tuple[object, dict[str, Any]] | None = self.response.memory.get("as an answer")
        if known is None or known[0] != key:
            known = self.response.memory["as an answer"] = (key, {})
        return known[1]

    @once
    def length(self) -> int:
        """How many characters of the response a reader sees, without space around it."""
        return self.response.length

    @once_for_all
    def figures(self) -> list[Quantity]:
        """Numbers with a unit that the response states, and those that count the truth's product."""
        stated = self.own([quantity for quantity in self.response.quantities if quantity.asserted])
        return stated + self.own(counts_of_product(self)) if self.reader.lexicon.counted else stated

    @once
    def locate(self) -> Callable[[int], Where]:
        """Tells which subjects, day and part of the day a token of the response is about."""
        return locator(self)

    @once_for_all
    def figure_claims(self) -> list[FigureClaim]:
        """The figures that the response affirms, with subject and day."""
        return figure_claims(self)

    @once_for_all
    def state_claims(self) -> list[StateClaim]:
        """The states that the response affirms or denies, with subject and day."""
        return state_claims(self)

    @once
    def states_of_no_product(self) -> frozenset[int]:
        """Where states begin that are not said of the product: 'the stock service is unavailable'.

        So are those of other products and shops, and of what is only for the product.
        """
        if not self.reader.lexicon.not_stocked:
            return frozenset()
        states = {one.first for one in self.response.all("states")}
        tells_of_others = may_tell_of_others(self)
        return frozenset(
            at
            for at in states
            if is_of_no_product(self, at) or is_of_accessory(self, at) or (tells_of_others and is_of_others(self, at))
        )

    @once
    def yes_or_no(self) -> YesOrNo | None:
        """The yes or no by which the response answers the query."""
        found = yes_or_no(self)
        return None if found is not None and is_said_elsewhere(self, found) else found

    @once
    def comparable(self) -> list[tuple[FigureClaim, list[Fact]]]:
        """The figures that the truth can check, with the facts to compare each with."""
        return comparable(self)

    @once
    def asked_claims(self) -> list[StateClaim]:
        """Claims of states about the truth's subject and the time asked about."""
        return asked_claims(self)

    @once
    def true_states(self) -> list[str]:
        """The states, in the truth's words, at the time asked about."""
        return true_states(self)

    @once
    def true_sets(self) -> StateSets:
        """The states that agree with the truth at the time asked about, and those that contradict it."""
        return compare_states(self, self.true_states)

    def states_in(self, words: str) -> frozenset[str]:
        """The domain's states that words of the truth stand for."""
        found = _states_in(self.truth_reader.read(words)) or _states_in(self.reader.read(words))
        return found or self.domain.states_named(words)

    @once
    def told(self) -> list[Mention | Quantity]:
        """Where the response gives data of the domain: numbers, states, and words that describe it; in order."""
        if self.yes_or_no is None or not self.question.polar_mentions:
            return self._told_in_words  # "yes, take one" is advice
        return sorted([*self._told_in_words, self.yes_or_no.said], key=_START)

    @once_for_all
    def _told_in_words(self) -> list[Mention | Quantity]:
        """Where the response gives data in words other than yes or no."""
        figures = [figure for figure in self.figures if self._is_data(figure)]
        found: list[Mention | Quantity] = [*figures, *self.said("states"), *self.said("tells")]
        found += [claim.said for claim in self.state_claims if not claim.affirmed]
        return sorted(found, key=_START)

    @once_for_all
    def advice(self) -> list[Mention]:
        """Where the response gives advice, in order."""
        return sorted([*self.said("advice"), *self.said("items")], key=_START)

    @once_for_all
    def items(self) -> dict[str, list[Mention]]:
        """Where the response recommends things to act on, by name: 'umbrella'."""
        return self.said_by_name("items")

    @once
    def errors(self) -> list[Mention]:
        """Where the response reports an error; an expression of regret is one only if no data is given.

        Nor is one that is over: 'the first attempt failed, but the second one worked'.
        """
        said = self.said("error")
        if not said or not (self.told or dates_claimed(self)):
            return said
        over = [mention.first for mention in self.said("recovered")]
        states = {claim.said.first for claim in self.state_claims}  # "unavailable" tells of a product
        # "It's in stock; express delivery is unavailable" tells of the product too.
        others = self.states_of_no_product if states or self.figure_claims else ()
        lasting = [
            error
            for error in said
            if error.first not in states
            and not any(error.first <= at <= error.last for at in others)
            and not any(0 < at - error.last <= _RECOVERY_REACH for at in over)
            and not self._is_made_good(error)
        ]
        return lasting if any(mention.keys[0] != "error.regret" for mention in lasting) else []

    @once
    def failures(self) -> list[Mention]:
        """The errors without those beside a whole answer: 'It's 29 °C. I couldn't find the UV index.'"""
        return failures(self)

    def _is_made_good(self, error: Mention) -> bool:
        """Whether what was asked for follows an error all the same: 'I can't see the radar, but it's 29 °C there'."""
        response, (contrasts, claimed) = self.response, self._made_good
        _, last = response.sentence(error.first)
        if last + 1 < len(response.tokens) and response.tokens[last + 1].text in self.reader.contrasting:
            last = response.sentence(last + 1)[1]  # "I can't see the radar. However, it's 29 °C there."
        at = bisect_right(contrasts, error.last)
        if at == len(contrasts) or contrasts[at] >= last:
            return False
        at = bisect_right(claimed, contrasts[at])
        return at < len(claimed) and claimed[at] <= last

    @once
    def _made_good(self) -> tuple[list[int], list[int]]:
        """Where words such as 'but' are, and where figures that answer the query, ascending."""
        words = self.reader.contrasting
        claims = [claim for claim, _ in self.comparable if is_later(claim.day) or not self.asks_later]
        contrasts = [at for at, token in enumerate(self.response.tokens) if token.text in words]
        return contrasts, sorted(claim.said.first for claim in claims)

    @once_for_all
    def clarifications(self) -> list[Mention]:
        """Where the response asks the user for information it needs; offers of more help do not count."""
        if "clarify" not in self.response.lists:
            return []
        first_offer: dict[tuple[int, int], int] = {}
        for offer in self.response.all("offer"):
            first_offer.setdefault(self.response.sentence(offer.first), offer.first)
        asked = [
            mention
            for mention in self.response.all("clarify.question")
            if self.response.is_question(mention.first)
            # "Which city would you like me to check?" asks; "Shall I tell you which city is warmer?" offers.
            and first_offer.get(self.response.sentence(mention.first), mention.first + 1) > mention.first
        ]
        requested = [mention for mention in self.response.all("clarify.request") if not mention.denied]
        return self.own(sorted([*asked, *requested], key=_START))

    @once
    def lacks_data(self) -> bool:
        """Whether the query needs data and the response gives none, although it did not have to ask back first."""
        if not self.needs_data or any(self._is_data(one) for one in self.told):
            return False
        return not (self.missing_parts and self.clarifications)

    def _is_data(self, told: Mention | Quantity) -> bool:
        """Whether something told is about the subject: a latitude is not, nor is the warmth of 'a warm coat'."""
        if isinstance(told, Quantity):
            needs = self.kinds[told.kind].told_with
            if told.role == "other" or needs is None:
                return told.role != "other"
            return self.response.sentence(told.first) in self.response.sentences_with(needs)
        return told.last + 1 not in self._first_of_items

    @once_for_all
    def _first_of_items(self) -> frozenset[int]:
        return frozenset(item.first for item in self.response.all("items"))

    def kind(self, name: str) -> QuantityKind:
        return self.kinds[name]

    def family(self, name: str) -> str:
        """The family of a kind, or the kind itself if it has none."""
        return self.kinds[name].family or name

    # --- places and days --------------------------------------------------------------------------------------------

    @property
    def response_places(self) -> list[Place]:
        """Cities or products that the response names, in order."""
        return self.subjects.mentions(self.response)

    def is_about_truth(self, index: int) -> bool:
        """Whether token `index` of the response is about the ground truth's subject."""
        return self.subjects.is_about_truth(self.response, index)

    @once
    def response_days(self) -> ResponseDays:
        return self.days_of(self.response)

    def days_of(self, answer: Reading) -> ResponseDays:
        """The day that each part of an answer to this query is about."""
        day, is_open = self.question.day, bool(self.query.all("asks.which_day"))
        return ResponseDays(
            answer,
            reader=self.reader,
            calendar=self.calendar,
            default=day,
            is_open=is_open,
            is_of_several=self.question.is_of_several_days,
        )

    # --- tools ------------------------------------------------------------------------------------------------------

    @once
    def calls_made(self) -> int | None:
        """How many tools were called; None if unknown."""
        if self.tool_call_count is not None:
            return self.tool_call_count
        return None if self.tool_calls is None else len(self.tool_calls)

    @once
    def failed_calls(self) -> list[ToolCall]:
        """Calls that failed and were not followed by a successful call of the same tool."""
        calls = self.tool_calls
        if not calls:
            return []
        return [
            call
            for at, call in enumerate(calls)
            if call.error is not None and not any(c.name == call.name and c.error is None for c in calls[at + 1 :])
        ]

    @once
    def trajectory(self) -> Trajectory | None:
        """Expected against actual calls; None unless both are known."""
        if self.tool_calls is None or self.expected_calls is None:
            return None
        return Trajectory.match(self.expected_calls, self.tool_calls)


def _states_in(reading: Reading) -> frozenset[str]:
    """The states that a text names; kept with its reading."""
    known = reading.memory.get("states")
    if not isinstance(known, frozenset):
        known = reading.memory["states"] = frozenset(reading.sublists("states"))
    return known
