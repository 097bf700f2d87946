"""Which day each part of an answer is about.

Knows readings and the dates of a truth; knows no figures of the truth and no metric.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from assay.chat.reading.columns import tables
from assay.chat.reading.positions import FIRST, within
from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.scoring.context.calendar import ANOTHER_DAY, MONTHS, PAST, Calendar, day_name, is_later, longest
from assay.chat.scoring.context.carried_days import CarriedDays
from assay.chat.scoring.context.compared_days import is_compared_with
from assay.chat.scoring.context.origins import origins
from assay.chat.scoring.context.respective import paired, respective
from assay.chat.scoring.context.sections import Sections, sections_by
from assay.chat.scoring.context.set_aside import without_rejected
from assay.chat.scoring.once import once

# Questions about these are about several days.
_SPANS = frozenset({None, "week", "weekend", "later"})
# In a longer clause, only this many tokens on either side are searched.
_CLAUSE_REACH = 20
# Brackets around a clause are at most so many of its parts away.
_MOST_PARTS = 40
# The roles of figures that are those of a day.
_OF_DAY = frozenset({"actual", "high", "low"})
# "A clear but frigid Thursday": how many tokens before a day its description may begin.
_DESCRIBING = 3


class ResponseDays:
    """The day that each part of a response is about."""

    def __init__(
        self,
        response: Reading,
        *,
        reader: Reader,
        calendar: Calendar,
        default: str | None,
        is_open: bool = False,
        is_of_several: bool = False,
    ) -> None:
        """`default` is the day that the user asked about; `is_open` tells whether the user asks which day it is.

        `is_of_several` tells whether the user asks about several days to come.
        """
        self._is_open = is_open
        self._is_of_several = is_of_several
        self._response = response
        self._reader = reader
        self._calendar = calendar
        self._default = default
        self._known: dict[str, str] = {}
        self._has_table = "|" in response.text
        mentions = [one for one in calendar.mentions(response) if not is_compared_with(one, response, reader)]
        if len(mentions) > 1 and "negation" in response.lists:
            mentions = without_rejected(mentions, response, reader)
        self._origins = origins(mentions, response, reader)
        if self._origins:
            aside = {one.first for one in self._origins.values()}
            mentions = [one for one in mentions if one.first not in aside]
        self._mentions = mentions
        self._firsts = [mention.first for mention in self._mentions]
        self._may_be_paired = len(self._mentions) > 1 and len(response.quantities) > 1

    def at(self, index: int) -> str | None:
        """The day that token `index` is about; the default if the response does not say.

        It is the nearest day named in the same clause, else the nearest one before the token in its sentence, else the
        day in the heading or at the start of the line.
        """
        if not self._mentions and not self._origins:
            return self._default
        return self.in_sentence(index, *self._response.sentence(index))

    def in_sentence(self, index: int, first: int, last: int) -> str | None:
        """As `at`, of a token in the sentence of tokens `first` to `last`."""
        if index in self._origins:
            return self._known_day(self._origins[index].keys[0])
        if not self._mentions:
            return self._default
        column = self._by_column.get(index) if self._has_table else None
        column = column or (self._respective.get(index) if self._may_be_paired else None)
        if column is not None:
            return self._known_day(column.keys[0])
        if self._is_named_in(first, last):
            index = self._restated(index)
            if "other_days" in self._response.lists and self._is_of_other_days(index, first):
                return self._default if self._default in _SPANS else ANOTHER_DAY
            chosen = self._nearest(self._mentions, self._firsts, index, first, last)
            if chosen is not None:
                return self._known_day(chosen.keys[0])
        section = self._section_of(index, self._sections) if self._sections[0] else None
        if section is None and self._is_of_several:
            section = None if self._has_table else self._carried.into(first, last)
        elif section is None and self._default is None:
            section = self._day_before(index)
        return self._default if section is None else self._known_day(section.keys[0])

    def _restated(self, index: int) -> int:
        """The figure that the one at token `index` repeats in brackets, if it does: '5 °C (41 °F)'."""
        if index < 2 or self._response.tokens[index - 1].text != "(":
            return index
        figures = self._response.quantities
        at = bisect_left(figures, index - 1, key=FIRST) - 1
        return figures[at].first if at >= 0 and figures[at].last == index - 2 else index

    def _is_of_other_days(self, index: int, first: int) -> bool:
        """Whether token `index` follows 'otherwise', and no day is named between: 'Monday is dry; otherwise rain'."""
        said = [one.last for one in within(self._response.all("other_days"), first, index) if one.last < index]
        return bool(said) and not self._is_named_in(said[-1] + 1, index)

    @once
    def _by_column(self) -> dict[int, Mention]:
        """The day of each token in a table whose columns have days as headings."""
        days: dict[int, Mention] = {}
        for head, rows in tables(self._response):
            for column, cell in enumerate(head):
                named = within(self._mentions, *cell)
                cells = [row[column] for row in rows if column < len(row)] if len(named) == 1 and column else []
                days.update((at, named[0]) for inner in cells for at in range(inner.first, inner.stop))
        return days

    @once
    def _respective(self) -> dict[int, Mention]:
        pairs = paired(self._response, self._mentions, self._reader.and_words)
        return {**pairs, **respective(self._response, self._mentions)}

    def is_one_day(self, first: int, last: int) -> bool:
        """Whether all of the sentence of tokens `first` to `last` is about one day: it names none, and no line does."""
        if self._origins:
            return False
        if not self._mentions:
            return True
        return not (self._sections[0] or self._is_named_in(first, last) or self._has_table)

    def is_told(self, index: int) -> bool:
        """Whether the response itself says which day token `index` is about, in its sentence or its section."""
        if index in self._origins:
            return True
        if not self._mentions:
            return False
        if self._is_named_in(*self._response.sentence(index)):
            return True
        return bool(self._sections[0]) and self._section_of(index, self._sections) is not None

    def _is_named_in(self, first: int, last: int) -> bool:
        """Whether a day is named between two tokens."""
        at = bisect_left(self._firsts, first)
        return at < len(self._firsts) and self._firsts[at] <= last

    def _day_before(self, index: int) -> Mention | None:
        """The day of the sentence before, if this one speaks of 'that day', or of the future and names no day."""
        response = self._response
        here = response.sentence(index)
        is_same = self._is_open or any(
            here in response.sentences_with(key) for key in ("same_day", "asks.later.future")
        )
        if not is_same:
            return None
        at = bisect_left(self._firsts, here[0]) - 1
        if at < 0 or not is_later(day_name(self._mentions[at])):
            return None
        return self._mentions[at] if response.sentence(self._firsts[at])[1] + 1 == here[0] else None

    @once
    def _carried(self) -> CarriedDays:
        sections = self._sections
        days = [
            None if self._section_of(one.first, sections) is not None else self._single_day(day_name(one))
            for one in self._mentions
        ]
        return CarriedDays(self._response, self._reader, self._mentions, days)

    def _single_day(self, day: str) -> str | None:
        """A day to come that the truth has data for; None for another one, and for a span of days."""
        is_known = is_later(day) and self._calendar.within_truth(day) == day
        return day if is_known and day not in _SPANS and not day.startswith("next ") else None

    def _section_of(self, index: int, sections: Sections) -> Mention | None:
        """The time of the section that token `index` is in."""
        starts, ends = sections
        start = self._response.starts[index]
        at = bisect_right(starts, start) - 1
        return ends[at][1] if at >= 0 and start < ends[at][0] else None

    @property
    def has_parts(self) -> bool:
        """Whether the response names a part of a day."""
        return bool(self._times[2])

    def part_of_day(self, index: int) -> str | None:
        """The part of a day that token `index` is about: 'evening', 'tonight', 'clock'; None if it is the whole day."""
        times, firsts, parts = self._times
        if not parts:
            return None
        first, last = self._response.sentence(index)
        nearest = self._nearest(times, firsts, index, first, last)
        nearest = nearest or self._section_of(index, self._part_sections)
        if nearest is None:
            return None
        found = (at for at in range(nearest.first, nearest.last + 1) if at in parts)
        return next((self._response.tokens[at].text for at in found), None)

    def _nearest(
        self, mentions: Sequence[Mention], firsts: Sequence[int], index: int, first: int, last: int
    ) -> Mention | None:
        """The mention nearest to token `index` in its clause, else the nearest one before it in its sentence.

        `firsts` are the first tokens of the mentions; `first` and `last` are those of the sentence.
        """
        at = bisect_left(firsts, index)
        before = mentions[at - 1] if at and firsts[at - 1] >= first else None
        if before is not None and day_name(before) in MONTHS and self._parted(before.last, index):
            before = None  # "in July it is warmer, but now …"
        elif before is not None and day_name(before) in PAST and self._is_past_aside(before, index):
            before = None
        if at == len(firsts) or firsts[at] > last:
            return before
        if "easing" in self._response.lists and self._is_of_easing(index, mentions[at].first):
            return before
        if self._describes(index, firsts[at]):
            return mentions[at]
        start, stop = self._clause(index, first, last)
        if firsts[at] > stop:
            is_free = before is None or before.first < start
            return mentions[at] if is_free and self._is_in_brackets_after(stop, mentions[at]) else before
        if self._is_of_next_figure(index, mentions[at].first) or self._is_of_next_state(index, start, mentions[at]):
            return before
        if before is not None and before.first >= start and self._is_second(before.last, index, mentions[at].first):
            return mentions[at]
        # What follows is in the clause: it is nearer than what is before the clause.
        is_nearer = before is None or before.first < start or firsts[at] - index < index - before.first
        return mentions[at] if is_nearer else before

    def _is_of_easing(self, index: int, time: int) -> bool:
        """Whether a time is when what token `index` names ends: in 'rain easing off soon', it rains until then."""
        tokens, easing = self._response.tokens, self._response.all("easing")
        at = bisect_right(easing, index, key=FIRST)
        if at == len(easing) or easing[at].first > time:
            return False
        between = {token.text for token in tokens[index + 1 : easing[at].first]}
        return between <= self._reader.copulas | self._reader.adverbs

    def _is_in_brackets_after(self, stop: int, time: Mention) -> bool:
        """Whether what ends at token `stop` has a figure and its day in brackets: 'rainy (11 °C on Wednesday)'."""
        tokens, figures = self._response.tokens, self._response.quantities
        if tokens[stop + 1].text != "(" or time.last - stop > _CLAUSE_REACH:
            return False
        at = bisect_left(figures, stop + 2, key=FIRST)
        if at == len(figures) or figures[at].first != stop + 2 or figures[at].role not in _OF_DAY:
            return False
        return all(token.kind == "word" for token in tokens[figures[at].last + 1 : time.first])

    def _describes(self, index: int, day: int) -> bool:
        """Whether token `index` describes the day at token `day` after it: 'snow on Friday and a clear Saturday'."""
        tokens = self._response.tokens
        if not 0 < day - index <= _DESCRIBING or not index or tokens[index - 1].text not in self._reader.articles:
            return False
        return all(token.kind == "word" for token in tokens[index + 1 : day])

    def _is_second(self, before: int, index: int, after: int) -> bool:
        """Whether an 'and' parts token `index` from the time before it only: 'sun on Monday and rain on Tuesday'."""
        joins, tokens = self._reader.and_words, self._response.tokens
        return any(token.text in joins for token in tokens[before + 1 : index]) and not any(
            token.text in joins for token in tokens[index + 1 : after]
        )

    def _parted(self, first: int, last: int) -> bool:
        """Whether a word such as 'but' is between two tokens."""
        ends, tokens = self._reader.clause_ends(self._response), self._response.tokens
        between = ends[bisect_right(ends, first) : bisect_left(ends, last)]
        return any(tokens[at].kind == "word" for at in between)

    def _is_past_aside(self, time: Mention, index: int) -> bool:
        """Whether a past time does not reach to token `index` after it.

        It is that of the figure before it, which another is compared with ("12 °C, against 19 °C yesterday"), or
        a clause follows that tells of the present ("up from 12 °C earlier; it's cloudy").
        """
        figures, first = self._response.quantities, time.last
        at = bisect_left(figures, time.first, key=FIRST) - 1
        ends, tokens = self._reader.clause_ends(self._response), self._response.tokens
        is_of_figure = at > 0 and figures[at].last + 1 == time.first
        if is_of_figure and tokens[figures[at].first - 1].text in self._reader.leading:
            return True
        at = bisect_right(ends, first)
        if at == len(ends) or ends[at] > index:
            return False
        return any(token.text in self._reader.present_verbs for token in tokens[ends[at] + 1 : index + 1])

    def _is_of_next_figure(self, index: int, day: int) -> bool:
        """Whether a day directly follows a figure that token `index` leads to: in '10 °C, rising to 14 °C tomorrow'.

        Figures of a list share the day: 'a high of 14 °C and a low of 6 °C tomorrow'.
        """
        figures, tokens = self._response.quantities, self._response.tokens
        at = bisect_left(figures, day, key=FIRST) - 1
        if at < 1 or figures[at - 1].first != index:
            return False
        if any(token.text not in self._reader.function_words for token in tokens[figures[at].last + 1 : day]):
            return False
        between = tokens[figures[at - 1].last + 1 : figures[at].first]
        return any(token.text in self._reader.leading or token.text in self._reader.than_days for token in between)

    def _is_of_next_state(self, index: int, start: int, time: Mention) -> bool:
        """Whether a later time is only that of a state added after token `index`: 'it's clear with rain tomorrow'."""
        tokens, states = self._response.tokens, self._response.all("states")
        at = bisect_left(states, time.first, key=FIRST) - 1
        if at < 0 or states[at].first <= index or not is_later(day_name(time)):
            return False
        if self._reader.adding.isdisjoint([token.text for token in tokens[index + 1 : states[at].first]]):
            return False
        is_present = any(token.text in self._reader.present_verbs for token in tokens[start:index])
        return is_present or day_name(time) == "later"

    def _known_day(self, key: str) -> str:
        """The day of a list inside `times`, as the truth knows it."""
        known = self._known.get(key)
        if known is None:
            day = key.removeprefix("times.")
            known = self._known[key] = day if day == self._default else self._calendar.within_truth(day)
        return known

    @once
    def _sections(self) -> Sections:
        return sections_by(self._response, self._mentions)

    @once
    def _part_sections(self) -> Sections:
        """The same by parts of the day: what follows the heading "Tonight"."""
        return sections_by(self._response, self._times[0])

    @once
    def _times(self) -> tuple[list[Mention], list[int], frozenset[int]]:
        """Times by name and clock, where they start, and the tokens that name a part of the day or an hour."""
        response = self._response
        if not response.moments and "part_of_day" not in response.lists:
            return [], [], frozenset()
        clock = [
            Mention(moment.start, moment.end, moment.first, moment.last, ("times.clock",))
            for moment in response.moments
            if moment.hour is not None
        ]
        parts = frozenset([part.last for part in [*response.all("part_of_day"), *clock]])
        if not parts:
            return [], [], parts
        times = sorted([*longest(response.all("times")), *clock], key=lambda mention: mention.first)
        return times, [mention.first for mention in times], parts

    def _clause(self, index: int, first: int, last: int) -> tuple[int, int]:
        """First and last token of the clause around token `index`, at most `_CLAUSE_REACH` tokens to either side.

        `first` and `last` are the tokens of its sentence.
        """
        ends, tokens = self._reader.clause_ends(self._response), self._response.tokens
        before, after = bisect_left(ends, index), bisect_right(ends, index)
        in_sentence = range(before - 1, max(bisect_left(ends, first), before - _MOST_PARTS) - 1, -1)
        opened = next((at for at in in_sentence if tokens[ends[at]].text in "()"), None)
        if opened is not None and tokens[ends[opened]].text == "(":
            # "A change (22 °C, storms) comes this evening": the clause is the one around the brackets.
            before, closed = opened, after
            while closed < min(len(ends), after + _MOST_PARTS) and tokens[ends[closed]].text != ")":
                closed += 1
            after = closed + 1
        start = max(first, index - _CLAUSE_REACH, ends[before - 1] + 1 if before else 0)
        stop = min(last, index + _CLAUSE_REACH, ends[after] - 1 if after < len(ends) else last)
        return start, stop
