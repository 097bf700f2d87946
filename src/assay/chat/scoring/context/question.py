"""`Question`: what a query asks about a ground truth, whatever is answered: its subject, days, places, states, figures.

Every agent and every repetition gets the same questions, so what is found out about one is kept for all its answers.
Knows no answer, no earlier turn, and of the truth what it is about, but no value.
"""

from __future__ import annotations

from typing import TypeVar

from assay.chat.domains import Domain, Outline
from assay.chat.reading.dates import Moment
from assay.chat.reading.places import Place
from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.scoring.context.calendar import PAST, PRESENT, Calendar, is_later
from assay.chat.scoring.context.day_spans import days_with_spans
from assay.chat.scoring.context.places import Subjects
from assay.chat.scoring.once import once

# A question without a verb has at most this many tokens.
_ELLIPTIC = 8
# How many results a question keeps: words of the truth are part of some keys.
_MOST_KEPT = 256
T = TypeVar("T")


class Question:
    """A query, with what the ground truth is about."""

    def __init__(
        self,
        query: Reading,
        *,
        query_reader: Reader,
        domain: Domain,
        outline: Outline,
        subjects: Subjects,
        calendar: Calendar,
    ) -> None:
        """`outline` is that of the ground truth; `subjects` and `calendar` follow from it."""
        self.query = query
        self.query_reader = query_reader
        self.domain = domain
        self.outline = outline
        self.subjects = subjects
        self.calendar = calendar
        self._kept: dict[object, object] = {}

    def kept(self, key: object, kind: type[T]) -> T | None:
        """A result of the type `kind` that was kept with the question; None if there is none."""
        known = self._kept.get(key)
        return known if isinstance(known, kind) else None

    def keep(self, key: object, result: T) -> T:
        """Keep a result that follows from the question and the key alone."""
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = result
        return result

    # --- about what -------------------------------------------------------------------------------------------------

    @once
    def is_topical(self) -> bool:
        """Whether it is about the domain's subject by itself, and not as a follow-up."""
        return bool(self.mentions("topic")) or self.is_of_place

    @once
    def is_of_place(self) -> bool:
        """Whether it asks what a place is like: 'What's it like in Bergen?', 'Bergen tomorrow?'."""
        return asks_of_place(self.query, self.subjects, self.query_reader)

    def mentions(self, key: str) -> list[Mention]:
        """Mentions of a list, without sentences that only state a dislike: 'I can't stand the rain.'"""
        found = self.query.all(key)
        if not found or not self._dislikes:
            return found
        return [mention for mention in found if self.query.sentence(mention.first) not in self._dislikes]

    @once
    def _dislikes(self) -> set[tuple[int, int]]:
        """Sentences that state a dislike and ask nothing: not a question, and name no place or day."""
        query = self.query
        places, days = self.subjects.mentions(query), self.calendar.mentions(query)
        named = [*(place.first for place in places), *(day.first for day in days)]
        stated = [mention.first for mention in query.all("preference.negative") if not query.is_question(mention.first)]
        return {query.sentence(index) for index in stated} - {query.sentence(index) for index in named}

    @once
    def asks_advice(self) -> bool:
        return bool(self.query.all("asks.advice") or self.on_advice)

    @once
    def on_advice(self) -> bool:
        """Whether it asks for advice that needs data: 'What should I wear?', 'Should I take a coat?'."""
        query = self.query
        if query.all("asks_topic.advice"):
            return True
        asking = {
            query.sentence(mention.first)
            for mention in query.all("asks_topic.of_item")
            if query.is_question(mention.first)
        }
        return any(query.sentence(mention.first) in asking for mention in query.all("items"))

    @once
    def needs_place(self) -> bool:
        """Whether it cannot be answered without a place."""
        return bool(self.mentions("needs_place")) or self.on_advice

    # --- of when and where ------------------------------------------------------------------------------------------

    @once
    def days(self) -> list[str]:
        """The days that it names, and those between the ends of a span of them."""
        return days_with_spans(self.query, self.calendar, self.query_reader)

    @once
    def day(self) -> str | None:
        """The day asked about, if there is exactly one."""
        return self.days[0] if len(self.days) == 1 else None

    @once
    def is_of_several_days(self) -> bool:
        """Whether it asks about several days to come and none else: 'this weekend', 'on Friday or Saturday'."""
        days = self.days
        if len(days) == 1:
            return days[0] in ("week", "weekend", "later") or days[0].startswith("next ")
        return bool(days) and all(is_later(day) for day in days)

    @once
    def is_of_future(self) -> bool:
        """Whether it names a time to come."""
        return bool(self.query.all("asks.later")) or any(day not in PRESENT | PAST for day in self.days)

    @once
    def lacks_time(self) -> bool:
        """Whether it is about the future and does not say when."""
        query = self.query
        times = query.all("times") or query.moments or query.all("asks.when")
        return self.domain.by_day and bool(query.all("asks.later.future")) and not times

    @once
    def places(self) -> frozenset[str]:
        return self.subjects.names_in(self.query)

    # --- in how many words ------------------------------------------------------------------------------------------

    @once
    def follows_up(self) -> bool:
        """Whether it is a question of hardly more than a place or a day: 'And there now?'."""
        return self.query.is_question(0) and self._says_little(self.query_reader.function_words)

    @once
    def is_vague(self) -> bool:
        return bool(self.query.all("asks.vague")) or self._says_little(frozenset())

    def _says_little(self, ignored: frozenset[str]) -> bool:
        """Whether it names a place or a day and has at most one other word that is not ignored."""
        named = {at for place in self.subjects.mentions(self.query) for at in range(place.first, place.last + 1)}
        named |= {at for mention in self.query.all("times") for at in range(mention.first, mention.last + 1)}
        tokens = self.query.tokens
        words = [at for at, token in enumerate(tokens) if token.kind == "word" and token.text not in ignored]
        return bool(named) and len(set(words) - named) <= 1

    # --- for yes, no, or a figure -----------------------------------------------------------------------------------

    @once
    def is_polar(self) -> bool:
        """Whether one of its sentences is answered by yes or no."""
        query = self.query
        return any(self._is_polar_at(at) for at in [*query.stops, len(query.tokens) - 1])

    def _is_polar_at(self, index: int) -> bool:
        return self.query_reader.is_polar_question(self.query, index)

    @once
    def polar_mentions(self) -> list[Mention]:
        """States and other words about the subject that are asked for yes or no."""
        states, tells = self.query.all("states"), self.query.all("tells")
        return [
            *(mention for mention in states if self._is_polar_at(mention.first) or self._is_elliptic_at(mention.first)),
            *(mention for mention in tells if self._is_polar_at(mention.first)),
        ]

    def _is_elliptic_at(self, index: int) -> bool:
        """Whether a question of the domain's products only names a state: 'Harvest Blender in stock?'"""
        query, (first, last) = self.query, self.query.sentence(index)
        asking = self.query_reader.polar.interrogatives
        is_short = not self.domain.uses_places and last - first <= _ELLIPTIC and query.is_question(index)
        return is_short and asking.isdisjoint([token.text for token in query.tokens[first:last]])

    @once
    def polar_states(self) -> frozenset[str]:
        """The states that are asked for yes or no; "will the rain stop?" asks for none."""
        ending = self.query.sentences_with("asks.ending")
        states = [
            mention.keys
            for mention in self.polar_mentions
            if mention.keys[-1] == "states" and self.query.sentence(mention.first) not in ending
        ]
        return frozenset(keys[-2].removeprefix("states.") for keys in states if len(keys) > 1)

    @once
    def needing_states(self) -> frozenset[str]:
        """The states in which one needs what it asks about: 'Do I need a brolly?'; empty if it asks about more."""
        query, needed = self.query, self.domain.needed_in
        if not needed or not query.all("asks_topic.need") or query.all("negation") or not self.is_polar:
            return frozenset()
        items = {mention.keys[0].removeprefix("items.") for mention in query.all("items")}
        states = frozenset(state for item in items for state in needed.get(item, ()))
        return states if items and items <= needed.keys() else frozenset()

    @once
    def fact_kinds(self) -> frozenset[str]:
        """Kinds of figure that the truth has."""
        return frozenset(kind for kind, _, _ in self.outline.facts)

    @once
    def kinds_in_other_units(self) -> frozenset[str]:
        """Kinds of figure that the truth has only in units that they do not convert into: other currencies."""
        kinds = self.query_reader.lexicon.kinds
        families = {kinds[kind].family or kind for kind in self.fact_kinds if kind in kinds}
        return frozenset(name for name, kind in kinds.items() if (kind.family or name) in families) - self.fact_kinds

    @once
    def kinds(self) -> frozenset[str]:
        """Kinds of figure that the truth has and the question names: 'What is the price?'.

        "Is it in stock?" is answered by yes or no, although stock is counted in pieces.
        """
        if self.is_polar:
            return frozenset()
        fees = {at for one in self.query.all("asks_fee") for at in range(one.first, one.last + 1)}
        words = {token.text for at, token in enumerate(self.query.tokens) if at not in fees}
        kinds = self.query_reader.lexicon.kinds
        named = [
            kind
            for kind in self.fact_kinds
            if kinds[kind].checked and (kinds[kind].keys & words or self.query.all(f"asks_figure.{kind}"))
        ]
        # "Which of these is in stock?" asks for no number of pieces.
        return frozenset(kind for kind in named if not kinds[kind].states or self.query.all("asks.figure"))

    @once
    def asks_state(self) -> bool:
        """Whether the subject's state is part of the answer: that of a day always is, and not for 'How much is it?'"""
        if self.domain.by_day or "states" in self.query.lists or self.counting[0]:
            return True
        return not self.kinds and self.query.lists.keys().isdisjoint(("role", "asks_figure", "asks.figure"))

    @once
    def counting(self) -> tuple[frozenset[str], frozenset[float]]:
        """Kinds of figure of which a number alone answers it ('Any left?' 'One.'), and the counts that it names."""
        counted, query = self.query_reader.lexicon.counted, self.query
        asked = frozenset(kind for kind in counted if query.all(f"asks_bare.{kind}") and kind in self.fact_kinds)
        names = {at for place in self.subjects.mentions(query) for at in range(place.first, place.last + 1)}
        numbers = [one for one in (*query.counts, *query.quantities) if one.kind in counted and one.first not in names]
        return asked, frozenset(one.low for one in numbers)

    def kinds_due(self, *, asks_later: bool) -> list[str]:
        """Kinds of figure that are part of the answer: asked for, or the truth's for a question about the present."""
        return self._due_later if asks_later else self._due_now

    @once
    def _due_now(self) -> list[str]:
        return self._find_due(asks_later=False)

    @once
    def _due_later(self) -> list[str]:
        return self._find_due(asks_later=True)

    def _find_due(self, *, asks_later: bool) -> list[str]:
        checked = [kind.name for kind in self.query_reader.lexicon.kinds.values() if kind.checked]
        return [kind for kind in checked if self._is_due(kind, asks_later=asks_later)]

    def _is_due(self, kind: str, *, asks_later: bool) -> bool:
        if self.query.all(f"asks_figure.{kind}"):
            return kind in self.fact_kinds
        if asks_later or (kind, "actual", None) not in self.outline.facts:
            return False
        whole = [mention for mention in self.query.all("asks_figure.due") if not self._is_polar_at(mention.first)]
        return bool(whole) and all(day in PRESENT for day in self.days)


def asks_of_place(user: Reading, subjects: Subjects, reader: Reader) -> bool:
    """Whether a message of the user asks what a place is like, without a word about the domain's subject."""
    if user.all("asks_topic.of_place"):
        return bool(subjects.names_in(user))
    openers = {mention.last + 1 for mention in user.all("asks_topic.of_next")}
    if openers and any(_ends_question(user, one) for one in subjects.mentions(user) if one.first in openers):
        return True
    if not reader.reads_places or not subjects.names_in(user):
        return False
    has_day = bool(user.all("times") or user.moments)
    if has_day and (user.all("asks_topic.of_place_and_day") or _is_only_of_place_and_day(user, subjects, reader)):
        return True
    suits = [*user.all("asks_topic.suits_time"), *(user.all("asks_topic.suits_day") if has_day else ())]
    asking = {user.sentence(mention.first) for mention in suits}
    return any(user.sentence(mention.first) in asking for mention in user.all("asks_topic.outdoors"))


def _is_only_of_place_and_day(user: Reading, subjects: Subjects, reader: Reader) -> bool:
    """Whether a message names nothing but places and days: 'Bergen tomorrow?', 'Give me the next three days in Oslo'.

    'What about the museum in Oslo tomorrow?' names something more.
    """
    listed = (*user.all("times"), *user.all("asks_topic.with_day"), *user.all("courtesy"))
    named: list[Mention | Place | Moment] = [*listed, *subjects.mentions(user), *user.moments]
    known = {at for one in named for at in range(one.first, one.last + 1)}
    beside = reader.beside_places if len(subjects.names_in(user)) > 1 else reader.beside_place
    return all(
        at in known or token.kind not in ("word", "number") or token.text in beside
        for at, token in enumerate(user.tokens)
    )


def _ends_question(user: Reading, place: Place) -> bool:
    """Whether only a time follows a place in its sentence: 'How's Oslo today?', not 'How's Oslo nightlife?'."""
    _, last = user.sentence(place.first)
    times = {at for mention in user.all("times") for at in range(mention.first, mention.last + 1)}
    rest = range(place.last + 1, last + 1)
    return user.tokens[place.last].text.isalpha() and all(at in times or user.tokens[at].kind != "word" for at in rest)
