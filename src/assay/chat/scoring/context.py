"""One answer to be scored, with all that is known around it, and the questions that several metrics ask of it.

Knows the reading of each text, the truth and the domain's data; knows no metric and no points.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, TypeVar

from assay.chat.domains import Domain, Fact, Truth, leaves
from assay.chat.reading.dates import Moment
from assay.chat.reading.lexicon import Kind
from assay.chat.reading.places import main_name, words_of
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Mention, Place, Reader, Reading
from assay.chat.scoring.trajectory import Call, Trajectory

Said = TypeVar("Said", Mention, Quantity)

_PRESENT = frozenset({"now", "today"})
# A day that the truth says nothing about; a bare month ("the average for May") is one too.
_ANOTHER_DAY = "another day"
_PAST = frozenset({"yesterday", _ANOTHER_DAY})
_PARTS_OF_DAY = frozenset({"morning", "afternoon", "evening", "night"})
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Roles of figures that the truth has nothing for: by how much, and those of something else (the sea, an average).
_UNCOMPARED = frozenset({"change", "other"})
# An answer that names this many states for one place and time names none.
_TOO_MANY_STATES = 4
# A line with a day, no figure and at most this many words can be a heading.
_LONGEST_HEADING = 5
# Longer clauses are looked at only this many tokens to either side.
_CLAUSE_REACH = 20
# A figure, its unit and a preposition: a place this near behind is what the figure is said of.
_CLOSE = 5
_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier turn; either side may be missing."""

    user: Reading | None
    assistant: Reading | None


@dataclass
class Case:
    """What was asked, what was answered, and what is known."""

    query: Reading
    response: Reading
    framework: str
    domain: Domain
    reader: Reader
    truth: Truth
    history: Sequence[Exchange] = ()
    preferences: frozenset[str] = frozenset()
    """Names of the domain's preferences that the user has."""
    response_time: float | None = None
    tool_call_count: int | None = None
    tool_calls: Sequence[Call] | None = None
    expected_calls: Sequence[Call] | None = None
    characteristics: Mapping[str, Any] | None = None
    names: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    """Subjects that the suite knows, cities or products besides the gazetteer's: folded words by the first of them."""
    derived: dict[str, object] = field(default_factory=dict)
    """What metrics have worked out for several of their rules."""
    _places: dict[int, frozenset[str]] = field(default_factory=dict)
    _located: dict[int, tuple[list[Place], list[int]]] = field(default_factory=dict)

    # --- what is asked ----------------------------------------------------------------------------------------------

    @cached_property
    def asks_data(self) -> bool:
        """Whether the query is about the domain's subject, by itself or as a follow-up: 'and tomorrow?'."""
        return bool(self._asked("topic")) or (self._is_vague and self._was_topical)

    def _asked(self, key: str) -> list[Mention]:
        """Mentions of a list in the query, but for sentences that only tell a dislike: 'I can't stand the rain.'"""
        return [mention for mention in self.query.all(key) if self.query.sentence(mention.first) not in self._dislikes]

    @cached_property
    def _dislikes(self) -> set[tuple[int, int]]:
        """Sentences of the query that tell a dislike and ask for nothing: neither a question, nor of a place or day."""
        query = self.query
        named = [*(place.first for place in self._named(query)), *(day.first for day in self._day_mentions(query))]
        told = [mention.first for mention in query.all("preference.negative") if not query.is_question(mention.first)]
        return {query.sentence(index) for index in told} - {query.sentence(index) for index in named}

    @cached_property
    def asks_advice(self) -> bool:
        return bool(self.query.all("asks.advice") or self.query.all("asks_topic.advice"))

    @cached_property
    def asks_later(self) -> bool:
        """Whether the query is about what is to come."""
        if not self.asks_data:
            return False
        days = self.days_of(self.query)
        return bool(self.query.all("asks.later")) or any(day not in _PRESENT | _PAST for day in days)

    @property
    def needs_data(self) -> bool:
        """Whether the query cannot be answered without data."""
        return self.asks_data or bool(self.query.all("asks_topic.advice"))

    @cached_property
    def query_day(self) -> str | None:
        """The day asked about, where there is exactly one."""
        days = self.days_of(self.query)
        return next(iter(days)) if len(days) == 1 else None

    @cached_property
    def query_places(self) -> frozenset[str]:
        return self.places_in(self.query)

    # --- what is answered -------------------------------------------------------------------------------------------

    def said(self, key: str) -> list[Mention]:
        """Mentions of a list that the response itself states: the user's words quoted back are not its own."""
        stated = self.response.stated(key)
        return self.own(stated) if stated and self.quoted else stated

    def said_by_name(self, key: str) -> dict[str, list[Mention]]:
        """As `said`, by the lists inside `key`."""
        found = self.response.sublists(key)
        if not self.quoted:
            return found
        return {name: own for name, mentions in found.items() if (own := self.own(mentions))}

    def own(self, found: Sequence[Said]) -> list[Said]:
        """Those of `found` that are not quoted from the user."""
        return [one for one in found if one.first not in self.quoted]

    @cached_property
    def figures(self) -> list[Quantity]:
        """Figures with a unit that the response states."""
        return self.own([quantity for quantity in self.response.quantities if quantity.asserted])

    @cached_property
    def told(self) -> list[Mention | Quantity]:
        """Where the response tells something of the domain: figures, states, telling words; in order."""
        found: list[Mention | Quantity] = [*self.figures, *self.said("states"), *self.said("tells")]
        return sorted(found, key=lambda one: one.start)

    @cached_property
    def advice(self) -> list[Mention]:
        """Where it advises, in order."""
        return sorted([*self.said("advice"), *self.said("items")], key=lambda mention: mention.start)

    @cached_property
    def errors(self) -> list[Mention]:
        return self.said("error")

    @cached_property
    def clarifications(self) -> list[Mention]:
        """Where it asks the user for something it needs to know; offers of more help are none."""
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
        return self.own(sorted([*asked, *requested], key=lambda mention: mention.start))

    @cached_property
    def quoted(self) -> frozenset[int]:
        """Indices of tokens, in quotation marks or quoted lines, that repeat what the user said."""
        reading = self.response
        runs: list[tuple[int, int]] = []
        open_at: int | None = None
        closing = ""
        for at, token in enumerate(reading.tokens):
            if open_at is not None and token.text == closing:
                runs.append((open_at + 1, at - 1))
                open_at = None
            elif open_at is None and token.text in _QUOTES:
                open_at, closing = at, _QUOTES[token.text]
            elif token.text == ">" and (at == 0 or reading.tokens[at - 1].kind == "newline"):
                newline = bisect_left(self._newlines, at)
                stop = self._newlines[newline] if newline < len(self._newlines) else len(reading.tokens)
                runs.append((at + 1, stop - 1))
        if not runs:
            return frozenset()
        users = [f" {self.query.plain()} "] + [f" {turn.user.plain()} " for turn in self.history if turn.user]
        return frozenset(at for run in runs if self._is_repeated(run, users) for at in range(run[0], run[1] + 1))

    @cached_property
    def _newlines(self) -> list[int]:
        return [at for at, token in enumerate(self.response.tokens) if token.kind == "newline"]

    def _is_repeated(self, run: tuple[int, int], users: Sequence[str]) -> bool:
        words = [token.text for token in self.response.tokens[run[0] : run[1] + 1] if token.kind in ("word", "number")]
        return bool(words) and any(f" {' '.join(words)} " in user for user in users)

    # --- places and days --------------------------------------------------------------------------------------------

    def places_in(self, reading: Reading) -> frozenset[str]:
        """Subjects named in a text: those of the gazetteer, of the suite and of the truth."""
        known = self._places.get(id(reading))
        if known is None:
            known = self._places[id(reading)] = frozenset(place.name for place in self._named(reading))
        return known

    def _named(self, reading: Reading) -> list[Place]:
        known = reading.find(self._subjects) if self._subjects else []
        if not known:
            return reading.places
        if self.domain.uses_places:
            known = [replace(place, name=main_name(tuple(place.name.split()))) for place in known]
        taken = {at for place in known for at in range(place.first, place.last + 1)}
        others = [place for place in reading.places if place.first not in taken]
        return sorted([*known, *others], key=lambda place: place.first)

    @cached_property
    def _subjects(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Known names by their first word: those of the suite, and the truth's."""
        subject = self._truth_subject
        if not subject:
            return self.names
        known = self.names.get(subject[0], ())
        return self.names if subject in known else {**self.names, subject[0]: [*known, subject]}

    @cached_property
    def _truth_subject(self) -> tuple[str, ...]:
        """The folded words of what the truth is about; what follows a comma ('Helsinki, FI') is left out."""
        return words_of(self.truth.subject.split(",")[0]) if self.truth.subject else ()

    def _places_of(self, reading: Reading) -> tuple[list[Place], list[int]]:
        known = self._located.get(id(reading))
        if known is None:
            places = self._named(reading)
            known = self._located[id(reading)] = places, [place.first for place in places]
        return known

    @property
    def response_places(self) -> list[Place]:
        """Subjects that the response names, in order."""
        return self._places_of(self.response)[0]

    def is_about_subject(self, index: int) -> bool:
        """Whether what stands at token `index` of the response is said of the truth's subject."""
        if not self.truth.subject:
            return True
        words = self._truth_subject
        return self.is_about(self.response, index, [main_name(words) if self.domain.uses_places else " ".join(words)])

    def is_about(self, reading: Reading, index: int, subjects: Iterable[str]) -> bool:
        """Whether what stands at token `index` of a text is said of one of `subjects`.

        It belongs to the one that directly follows ("28 °C in Madrid"), else to the nearest one named before it in its
        sentence, else after it there, else before that sentence.
        """
        places, firsts = self._places_of(reading)
        if not places:
            return True
        first, last = reading.sentence(index)
        at = bisect_right(firsts, index) - 1
        if at + 1 < len(places) and self._follows(reading, index, places[at + 1]):
            nearest = at + 1
        elif at >= 0 and places[at].first >= first:
            nearest = at
        elif at + 1 < len(places) and places[at + 1].first <= last:
            nearest = at + 1
        elif at >= 0:
            nearest = at
        else:
            return True
        around = places[max(0, nearest - 1) : nearest + 2]
        joined = [
            place for place in around if place is places[nearest] or _is_one_place(reading, place, places[nearest])
        ]
        return any(_same_name(place.name, subject) for place in joined for subject in subjects)

    def _follows(self, reading: Reading, index: int, place: Place) -> bool:
        """Whether a place stands directly behind what begins at token `index`, with a preposition between."""
        if not 1 < place.first - index <= _CLOSE + 1:
            return False
        between = reading.tokens[index + 1 : place.first]
        return (
            between[-1].text in self.reader.prepositions
            and not any(token.kind == "word" and not token.units for token in between[:-1])
            and not any(token.text in ",;.|" for token in between)
        )

    def days_of(self, reading: Reading) -> dict[str, Mention]:
        """Days named in a text, each with its first mention; parts of a day are none."""
        days: dict[str, Mention] = {}
        for mention in self._day_mentions(reading):
            days.setdefault(mention.keys[0].removeprefix("times."), mention)
        return days

    def _day_mentions(self, reading: Reading) -> list[Mention]:
        """Days by name and by date, in order; a date is named as the truth names it ('times.2026-11-20')."""
        dates = [
            Mention(moment.start, moment.end, moment.first, moment.last, (f"times.{day}",))
            for moment in reading.moments
            if (day := self._day_of(moment)) is not None
        ]
        dated = {at for moment in reading.moments for at in range(moment.first, moment.last + 1)}
        named = [
            mention
            for mention in _longest(reading.all("times"))
            if mention.first not in dated and mention.keys[0].removeprefix("times.") not in _PARTS_OF_DAY
        ]
        return sorted([*named, *dates], key=lambda mention: mention.first)

    def _day_of(self, moment: Moment) -> str | None:
        """The truth's name of a date; None where the truth has no dates to compare it with."""
        if moment.month is None or not self._true_dates:
            return None
        if self._today is not None and moment.is_date(self._today):
            return "today"
        return next((day.isoformat() for day in self._true_dates if moment.is_date(day)), _ANOTHER_DAY)

    @cached_property
    def _true_dates(self) -> list[date]:
        """The dates that the truth has something for, ascending."""
        days = {*self.truth.states, *(fact.day for fact in self.truth.facts), self.truth.today}
        return sorted(filter(None, map(_date, days)))

    @cached_property
    def _today(self) -> date | None:
        return _date(self.truth.today)

    def day_at(self, index: int) -> str | None:
        """The day that what stands at token `index` of the response is said of; the one asked about by default.

        It is the nearest one named in the same clause, else before it in the sentence.
        """
        mentions, firsts = self._response_days
        if mentions:
            first, last = self.response.sentence(index)
            at = bisect_left(firsts, index)
            near = [mention for mention in mentions[max(0, at - 1) : at + 1] if first <= mention.first <= last]
            if near:
                start, stop = self._clause(index)
                inside = [mention for mention in near if start <= mention.first <= stop]
                before = [mention for mention in near if mention.first < index]
                if inside or before:
                    chosen = min(inside or before, key=lambda mention: abs(mention.first - index))
                    return self._true_day(chosen.keys[0].removeprefix("times."))
            at = bisect_right(self._sections[0], self.response.starts[index]) - 1
            if at >= 0 and self.response.starts[index] < self._sections[1][at][0]:
                return self._true_day(self._sections[1][at][1])
        return self.query_day

    def _true_day(self, day: str) -> str:
        """The day itself, or that it is another one: a bare month, or a weekday that the truth's dates do not reach."""
        if day == self.query_day:
            return day
        beyond = (
            day in _WEEKDAYS and bool(self._true_dates) and not any(self._is_day(str(d), day) for d in self._true_dates)
        )
        return _ANOTHER_DAY if beyond or day in _MONTHS else day

    @cached_property
    def _sections(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Lines that stand under a day ("### Tuesday") or behind it ("Tuesday: …"): starts, and ends with the day."""
        mentions, _ = self._response_days
        mention_starts = [mention.start for mention in mentions]
        figure_starts = [figure.start for figure in self.response.quantities]
        starts: list[int] = []
        ends: list[tuple[int, str]] = []
        heading: str | None = None
        used = False
        start = 0
        for line in self.response.text.splitlines(keepends=True):
            stop = start + len(line)
            at = bisect_left(mention_starts, start)
            mention = mentions[at] if at < len(mentions) and mentions[at].start < stop else None
            figure = bisect_left(figure_starts, start)
            has_figure = figure < len(figure_starts) and figure_starts[figure] < stop
            day = None if mention is None else mention.keys[0].removeprefix("times.")
            if not line.strip():
                heading = None if used else heading
            elif mention is not None and not has_figure and _is_heading(line):
                heading, used = day, False
            elif mention is not None and _leads_line(self.response.text, start, mention, stop):
                starts.append(start)
                ends.append((stop, str(day)))
            elif heading is not None:
                starts.append(start)
                ends.append((stop, heading))
                used = True
            start = stop
        return starts, ends

    def is_part_of_day(self, index: int) -> bool:
        """Whether what stands at token `index` of the response is said of a part of the day: this evening, tonight."""
        times, firsts, parts = self._response_times
        if not parts:
            return False
        first, _ = self.response.sentence(index)
        start, stop = self._clause(index)
        at = bisect_left(firsts, index)
        near = times[max(0, at - 1) : at + 1]
        inside = [mention for mention in near if start <= mention.first <= stop]
        before = [mention for mention in near if first <= mention.first < index]
        if not inside and not before:
            return False
        nearest = min(inside or before, key=lambda mention: abs(mention.first - index))
        return any(at in parts for at in range(nearest.first, nearest.last + 1))

    @cached_property
    def _response_times(self) -> tuple[list[Mention], list[int], frozenset[int]]:
        """Times by name and clock, where they begin, and the tokens that name a part of the day or an hour."""
        clock = [
            Mention(moment.start, moment.end, moment.first, moment.last, ("times.clock",))
            for moment in self.response.moments
            if moment.hour is not None
        ]
        times = sorted([*_longest(self.response.all("times")), *clock], key=lambda mention: mention.first)
        parts = frozenset(part.last for part in [*self.response.all("part_of_day"), *clock])
        return times, [mention.first for mention in times], parts

    def _clause(self, index: int) -> tuple[int, int]:
        tokens = self.response.tokens
        first, last = self.response.sentence(index)
        start = index
        while start > first and index - start < _CLAUSE_REACH and not self.reader.ends_clause(tokens[start - 1]):
            start -= 1
        stop = index
        while stop < last and stop - index < _CLAUSE_REACH and not self.reader.ends_clause(tokens[stop + 1]):
            stop += 1
        return start, stop

    @cached_property
    def _response_days(self) -> tuple[list[Mention], list[int]]:
        mentions = self._day_mentions(self.response)
        return mentions, [mention.first for mention in mentions]

    # --- what is true -----------------------------------------------------------------------------------------------

    def kind(self, name: str) -> Kind:
        return self.reader.lexicon.kinds[name]

    def facts_for(self, quantity: Quantity) -> list[Fact]:
        """The facts that a figure can be compared with; none where the truth is silent."""
        day = self.day_at(quantity.first) if self.domain.by_day else None
        if day in _PAST or quantity.role in _UNCOMPARED or not self.is_about_subject(quantity.first):
            return []
        facts = [fact for fact in self.truth.facts if fact.kind == quantity.kind]
        if quantity.role in ("high", "low"):
            return self._on_day([fact for fact in facts if fact.role == quantity.role], day)
        current = [fact for fact in facts if fact.role == quantity.role and fact.day is None]
        if not self._is_later(day):
            return current
        later = self._on_day([fact for fact in facts if fact.day is not None], day)
        return [*later, *current] if self._may_be_today(day) else later

    def _on_day(self, facts: list[Fact], day: str | None) -> list[Fact]:
        """Those of the day; where the truth's days cannot be told apart by name, all of them."""
        exact = [fact for fact in facts if self._is_day(fact.day, day)]
        return exact or facts

    def _is_later(self, day: str | None) -> bool:
        """Whether a day, by name or by date, is one to come."""
        return day is not None and (day in self._later_days or day[:1].isdigit())

    def _may_be_today(self, day: str | None) -> bool:
        """Whether a date may be today's: the first that the truth has, where it does not say which day it is."""
        return self._today is None and bool(self._true_dates) and day == self._true_dates[0].isoformat()

    @cached_property
    def _later_days(self) -> frozenset[str]:
        return frozenset({"tomorrow", "week", "weekend", "later", *_WEEKDAYS})

    def _is_day(self, true_day: str | None, said: str | None) -> bool:
        if true_day is None or said is None or true_day == said:
            return true_day == said or (true_day is None and said in _PRESENT)
        moment = _date(true_day)
        if moment is None:
            return False
        if said in _WEEKDAYS:
            return moment.weekday() == _WEEKDAYS.index(said)
        if said == "weekend":
            return moment.weekday() >= 5
        today = self._today
        if today is None:
            return False
        return moment == {"tomorrow": today + timedelta(days=1), "today": today, "now": today}.get(said)

    @cached_property
    def true_states(self) -> list[str]:
        """The states in words that hold at the time asked about."""
        states = self.truth.states
        day = self.query_day
        if self._asks_outlook:
            return list(states.values())
        if day is not None and self._is_later(day):
            exact = [words for true_day, words in states.items() if self._is_day(true_day, day)]
            later = exact or [words for true_day, words in states.items() if true_day is not None]
            if later:
                return later
        if None in states:
            return [states[None]]
        return list(states.values())

    @property
    def _asks_outlook(self) -> bool:
        """Whether a forecast is asked for and no day is named: any that the truth has will do."""
        return self.asks_later and not self.days_of(self.query)

    def states_named(self) -> dict[str, list[Mention]]:
        """States that the response names for the subject at the time asked about; too many for one day are none."""
        now = self.states_in(self.truth.states.get(None, ""))
        named: dict[str, list[Mention]] = {}
        by_day: dict[str | None, set[str]] = {}
        for state, mentions in self.said_by_name("states").items():
            for mention in mentions:
                day = self.day_at(mention.first) if self.domain.by_day else None
                if self.is_about_subject(mention.first) and self._is_asked_time(day, is_true_now=state in now):
                    named.setdefault(state, []).append(mention)
                    by_day.setdefault(day, set()).add(state)
        return {} if any(len(states) >= _TOO_MANY_STATES for states in by_day.values()) else named

    def _is_asked_time(self, day: str | None, *, is_true_now: bool) -> bool:
        if day is None or day == self.query_day:
            return True
        if self._asks_outlook:
            return day not in _PAST
        if self._is_later(self.query_day):
            return self._is_later(day)
        if self._may_be_today(day):  # said of the day's forecast, it contradicts nothing
            return is_true_now
        return day in _PRESENT or not (self._is_later(day) or day in _PAST)

    def has_aspect(self, name: str) -> bool:
        """Whether an aspect holds ('cold'): by the truth, or where it is silent by the response."""
        aspect = self.domain.aspects[name]
        if "quantity" in aspect:
            kind, limit = aspect["quantity"], float(aspect["at_most"])
            true = [fact.value for fact in self.truth.facts if fact.kind == kind and fact.role == "actual"]
            true = true or [fact.value for fact in self.truth.facts if fact.kind == kind]
            if true:
                return min(true) <= limit
            said = [figure.low for figure in self.figures if figure.kind == kind and figure.role == "actual"]
            return (min(said) <= limit) if said else bool(self.said(aspect["words"]))
        wanted = set(aspect["states"])
        if self.truth.states:
            return any(wanted & self.states_in(words) for words in self.truth.states.values())
        return bool(wanted & set(self.said_by_name("states")))

    def states_in(self, words: str) -> set[str]:
        """The domain's states that a few words of the truth stand for."""
        return set(self.reader.read(words).sublists("states"))

    # --- tools ------------------------------------------------------------------------------------------------------

    @property
    def calls_made(self) -> int | None:
        """How many tools were called, where that is known."""
        if self.tool_call_count is not None:
            return self.tool_call_count
        return None if self.tool_calls is None else len(self.tool_calls)

    @cached_property
    def failed_calls(self) -> list[Call]:
        """Calls that failed and that no later call of the same tool made good."""
        calls = list(self.tool_calls or ())
        return [
            call
            for at, call in enumerate(calls)
            if call.error is not None and not any(c.name == call.name and c.error is None for c in calls[at + 1 :])
        ]

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """Expected against actual calls, where both are known."""
        if self.tool_calls is None or self.expected_calls is None:
            return None
        return Trajectory.match(self.expected_calls, self.tool_calls)

    @cached_property
    def lacks_data(self) -> bool:
        """Whether data was asked for and the answer has none, though it did not have to ask back first."""
        if not self.needs_data or self.told:
            return False
        return not (self.missing_parts and self.clarifications)

    # --- what the query leaves open ---------------------------------------------------------------------------------

    @cached_property
    def missing_parts(self) -> list[str]:
        """What the query lacks: 'place', 'time', 'intent'; what an earlier turn has said is not lacking."""
        missing = []
        earlier = [turn.user for turn in self.history if turn.user is not None]
        needs_place = bool(self._asked("needs_place")) or bool(self.query.all("asks_topic.advice"))
        if needs_place and not self.query_places and not any(map(self.places_in, earlier)):
            missing.append("place")
        times = self.query.all("times") or self.query.moments or self.query.all("asks.when")
        if self.domain.by_day and self.asks_data and self.query.all("asks.later.future") and not times:
            missing.append("time")
        if not self.needs_data and not self.asks_advice and self._is_vague:
            missing.append("intent")
        return missing

    @property
    def _was_topical(self) -> bool:
        return any(turn.user is not None and turn.user.all("topic") for turn in self.history)

    @cached_property
    def _is_vague(self) -> bool:
        if self.query.all("asks.vague"):
            return True
        named = {at for place in self._named(self.query) for at in range(place.first, place.last + 1)}
        named |= {at for mention in self.query.all("times") for at in range(mention.first, mention.last + 1)}
        words = [at for at, token in enumerate(self.query.tokens) if token.kind == "word"]
        return bool(named) and len(set(words) - named) <= 1


def _is_one_place(reading: Reading, a: Place, b: Place) -> bool:
    """Whether two names are one place, as in 'Kallio, Helsinki'."""
    left, right = sorted((a, b), key=lambda place: place.first)
    return right.first == left.last + 2 and reading.tokens[left.last + 1].text == ","


def _longest(mentions: Sequence[Mention]) -> list[Mention]:
    """Without those that lie inside another: 'today' in 'later today'."""
    kept: list[Mention] = []
    for mention in mentions:
        if kept and mention.last <= kept[-1].last:
            if mention.first > kept[-1].first or mention.last < kept[-1].last:
                continue
        elif kept and mention.first == kept[-1].first:
            kept.pop()
        kept.append(mention)
    return kept


def _is_heading(line: str) -> bool:
    """Whether a line that names a day is a heading and no sentence: '**Tuesday, Nov 17**'."""
    return len(line.split()) <= _LONGEST_HEADING and line.rstrip(" *_\r\n")[-1:] not in tuple(".!?")


def _leads_line(text: str, start: int, mention: Mention, stop: int) -> bool:
    """Whether a line begins with a day and goes on with what is said of it: '- **Tuesday:** …'."""
    after = text[mention.end : stop].lstrip("*_ )")
    return not any(char.isalnum() for char in text[start : mention.start]) and after[:1] in (":", "–", "—", "-", "|")


def _date(day: str | None) -> date | None:
    """The date that a day of the truth is, where it is one."""
    try:
        return date.fromisoformat(day[:10]) if day else None
    except ValueError:
        return None


def _same_name(name: str, other: str) -> bool:
    """Whether two names are one, or one begins the other: Trail Runner, Trail Runner 2."""
    return f"{name} ".startswith(f"{other} ") or f"{other} ".startswith(f"{name} ")


def read_preferences(data: Mapping[str, Any], domain: Domain, reader: Reader) -> frozenset[str]:
    """The domain's preferences that stored data express, flat (`dislikes_cold: true`) or nested in any shape.

    Each value is taken with the names that lead to it as one line of words: `{"dislikes": ["cold"]}` and
    `{"dislikes_cold": true}` both say "dislikes cold".
    """
    stem = reader.lexicon.stemmer.stem
    patterns = {
        name: [frozenset(map(stem, pattern.split())) for pattern in preference["patterns"]]
        for name, preference in domain.preferences.items()
    }
    negative = {stem(word) for word in ("dislikes", "hates", "avoid", "no", "not", "never", "disliked")}
    found = set()
    for path, value in leaves(data):
        if value is None or value is False or (isinstance(value, str) and value.lower() in ("", "false", "no", "none")):
            continue
        line = " ".join(path).replace("_", " ").replace("-", " ")
        if isinstance(value, str):
            line = f"{line} {value.replace('_', ' ')}"
        words = {stem(token.text) for token in reader.read(line).tokens if token.kind == "word"}
        for name, options in patterns.items():
            wants = any(option <= words for option in options)
            needs_dislike = any(option & negative for option in options)
            if wants and (needs_dislike or not words & negative):
                found.add(name)
    return frozenset(found)
