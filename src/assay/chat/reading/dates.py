"""Dates and clock times in a text: 20 November, November 20th, 2026-11-20, 15:30, 3 pm; and days counted from today.

Only those written with numbers; names of days and parts of the day are words in lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DOTTED = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])(?:\.(\d{4}))?")
# Abbreviated weekdays have at most this many characters, with a mark; two different ones make a list of days.
_LONGEST_SHORT = 6
_LEAST_SHORT = 2
# Those that are days only where a line begins with them.
_OF_LINE = "short.line."
# Marks between cells, clauses and ranges; a row or an item of a list may begin with some of them.
_PARTING = frozenset(",;:|/–—-")
_DASHES = frozenset("-–—")
_ROW_MARKS = frozenset("|-–—")
# What parts the date at the start of a line from what is said of it.
_AFTER_HEAD = frozenset(":–—|")
# No forecast looks further ahead, in days.
_FARTHEST = 366


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a clock time, with its position in the text."""

    start: int
    end: int
    first: int
    last: int
    month: int | None = None
    day: int | None = None
    year: int | None = None
    hour: int | None = None
    minute: int | None = None

    @property
    def key(self) -> tuple[int | None, ...]:
        """Equal for two mentions of the same date or time."""
        return self.month, self.day, self.hour, self.minute

    def is_date(self, other: date) -> bool:
        """Whether it names that date; a missing year matches any."""
        if self.month is None:  # the 20th
            return self.day == other.day
        return (self.month, self.day) == (other.month, other.day) and self.year in (None, other.year)


class DateReader:
    """Finds dates and clock times in texts of one language."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        self._months = {name: at for at, name in enumerate(language["months"], 1)} | language.get("months_short", {})
        self._halves: dict[str, int] = language["halves_of_day"]
        self._ordinals = frozenset(language["ordinal_endings"])
        self._links = frozenset(language["day_of_month"])
        self._articles = frozenset(language.get("day_articles", ()))
        self._before_dates = frozenset(language.get("before_dates", ()))
        self._ordinal_marks = frozenset(language.get("ordinal_marks", ()))
        self._dotted = bool(language.get("dotted_dates", False))
        self._day_first = bool(language.get("day_first", False))
        # What follows a number in every date and time whose month does not come before it.
        self._following = frozenset((":", "-", "/", *self._months, *self._halves)) | self._ordinals | self._links
        self._following |= self._ordinal_marks

    def read(self, reading: Reading, numbers: Sequence[int]) -> list[Moment]:
        """Every date and clock time in the text, in order; `numbers` are the indices of its numbers."""
        found: list[Moment] = []
        taken_to = -1
        tokens, months, following = reading.tokens, self._months, self._following
        final = len(tokens) - 1
        for at in numbers:
            if at <= taken_to or tokens[at].kind != "number":
                continue
            is_beside = (at < final and tokens[at + 1].text in following) or (at and tokens[at - 1].text in months)
            if is_beside or self._dotted:
                moment = self._at(reading, at)
                if moment is not None:
                    found.append(moment)
                    taken_to = moment.last
        return found

    def _at(self, reading: Reading, at: int) -> Moment | None:
        """The date or time whose first number is token `at`."""
        tokens = reading.tokens
        raw = tokens[at].raw
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        before = tokens[at - 1].text if at else ""
        if not raw.isdecimal() or len(raw) > 4:
            parts = _DOTTED.fullmatch(raw) if self._dotted else None
            if parts is None or not (parts[3] or after == "."):
                return None
            year = int(parts[3]) if parts[3] else None
            return _moment(reading, at, at, month=int(parts[2]), day=int(parts[1]), year=year)
        value = int(raw)
        is_day = 1 <= value <= 31
        if is_day and before in self._months:  # November 20th, 2026
            last = at + (after in self._ordinals)
            following = tokens[last + 1].text if last + 1 < len(tokens) else ""
            year = _number(reading, last + 1 + (following == ","), 1000, 9999)
            return _moment(reading, at - 1, last, month=self._months[before], day=value, year=year)
        if value >= 1000 and after == "-" and at + 4 < len(tokens) and tokens[at + 3].text == "-":
            month, day = _number(reading, at + 2, 1, 12), _number(reading, at + 4, 1, 31)
            if month is not None and day is not None:
                return _moment(reading, at, at + 4, year=value, month=month, day=day)
        if after == "/":
            return self._slashed(reading, at, value)
        if value <= 24:
            time = self._time(reading, at, value, after)
            if time is not None:
                return time
        if not is_day:
            return None
        ordinal = at + 1 + (after in self._ordinals)
        named = ordinal + (ordinal < len(tokens) and tokens[ordinal].text in self._links)
        if named < len(tokens) and tokens[named].text in self._months:
            year = _number(reading, named + 1, 1000, 9999)
            return _moment(reading, at, named, month=self._months[tokens[named].text], day=value, year=year)
        if before in self._articles and (ordinal > at + 1 or after in self._ordinal_marks):
            return _moment(reading, at, ordinal - 1, day=value)
        if (
            ordinal > at + 1
            and ordinal < len(tokens)
            and tokens[ordinal].text in _AFTER_HEAD
            and _begins_line(reading, at)
        ):
            return _moment(reading, at, ordinal - 1, day=value)  # "6th: cloudy"
        return None

    def _slashed(self, reading: Reading, at: int, first: int) -> Moment | None:
        """20/11/2026 or 11/20/2026; None if either number could be the month."""
        second, year = _number(reading, at + 2, 1, 31), _number(reading, at + 4, 1000, 9999)
        if second is None or not 1 <= first <= 31:
            return None
        if year is None or reading.tokens[at + 3].text != "/":
            return self._heading(reading, at, first, second)
        if first > 12 or self._day_first or first == second:
            first, second = second, first
        elif second <= 12:
            return None
        return _moment(reading, at, at + 4, year=year, month=first, day=second) if first <= 12 else None

    def _heading(self, reading: Reading, at: int, day: int, month: int) -> Moment | None:
        """A date without a year that heads its line, '16/07: sunny', or after a word: 'on 20/11'; not '24/18, rain'."""
        tokens, after = reading.tokens, at + 3
        is_head = after < len(tokens) and tokens[after].text in _AFTER_HEAD and _begins_line(reading, at)
        if not is_head and not (at and tokens[at - 1].text in self._before_dates):
            return None
        if not self._day_first and month > 12 >= day:
            day, month = month, day
        elif month > 12 or not (self._day_first or day > 12):
            return None
        return _moment(reading, at, at + 2, month=month, day=day)

    def _time(self, reading: Reading, at: int, hour: int, after: str) -> Moment | None:
        if after == ":":
            minute = _number(reading, at + 2, 0, 59)
            if minute is None:
                return None
            half = reading.tokens[at + 3].text if at + 3 < len(reading.tokens) else ""
            if half not in self._halves:
                return _moment(reading, at, at + 2, hour=hour, minute=minute)
            return _moment(reading, at, at + 3, hour=hour % 12 + self._halves[half], minute=minute)
        if after in self._halves:
            return _moment(reading, at, at + 1, hour=hour % 12 + self._halves[after], minute=0)
        return None


def _number(reading: Reading, at: int, low: int, high: int) -> int | None:
    """The number at token `at`, if there is one within the limits."""
    if at >= len(reading.tokens) or reading.tokens[at].kind != "number":
        return None
    raw = reading.tokens[at].raw
    value = int(raw) if raw.isdecimal() and len(raw) <= 4 else -1
    return value if low <= value <= high else None


def _moment(reading: Reading, first: int, last: int, **fields: int | None) -> Moment:
    return Moment(reading.starts[first], reading.ends[last], first, last, **fields)


def read_relative_days(reading: Reading) -> list[Mention]:
    """Days counted from today, as mentions of the list `times`: 'in 3 days' is '+3', 'the next 3 days' is 'next 3'."""
    found: list[Mention] = []
    if "relative" not in reading.lists:
        return found
    for key, name in (("relative.in", "+{}"), ("relative.next", "next {}")):
        for mention in reading.all(key):
            days = next(filter(None, (_count(reading, at) for at in range(mention.first, mention.last + 1))), None)
            if days is not None and days <= _FARTHEST:
                keys = (f"times.{name.format(days)}", "times")
                found.append(mention.of_lists(keys))
    if found:
        times = reading.lists.setdefault("times", [])
        times += found
        times.sort(key=lambda mention: mention.first)
    return found


def read_short_weekdays(
    reading: Reading, and_words: frozenset[str], openers: frozenset[str], range_words: frozenset[str]
) -> list[Mention]:
    """Abbreviated weekdays that are also other words (Sun, So, Mer), as mentions of the list `times`.

    They are days where a line, a row or a clause begins with them, and another abbreviated weekday is in the text, or
    alone where a word such as 'on' leads to them and nothing follows: 'You leave on Sun.' They are so too at an end of
    a span of days: 'Fri–Sun', 'from Fri to Sun'.
    """
    listed = reading.all("short")
    alone = [mention for mention in listed if _stands_alone(reading, mention, openers)] if listed else []
    if listed:
        alone += _ends_of_spans(reading, listed, range_words)
    short = [
        mention
        for mention in listed
        if (_begins_line(reading, mention.first) if mention.keys[0].startswith(_OF_LINE) else True)
        and _begins(reading, mention.first, and_words)
    ]
    if not short and not alone:
        return []
    others = {one.keys[0].rpartition(".")[2] for one in short}
    others |= {one.keys[0].rpartition(".")[2] for one in reading.all("times") if one.end - one.start <= _LONGEST_SHORT}
    if len(others.intersection(WEEKDAYS)) < _LEAST_SHORT:
        short = []
    known = {mention.first for mention in reading.all("times")}
    found = [
        mention.of_lists((f"times.{mention.keys[0].rpartition('.')[2]}", "times"))
        for mention in dict.fromkeys((*short, *alone))
        if mention.first not in known
    ]
    if not found:
        return []
    times = reading.lists.setdefault("times", [])
    times += found
    times.sort(key=lambda mention: mention.first)
    return found


def _stands_alone(reading: Reading, mention: Mention, openers: frozenset[str]) -> bool:
    """Whether a word such as 'on' leads to a day and nothing follows in its clause: 'You leave on Sun.'"""
    tokens, after = reading.tokens, mention.last + 1
    if not mention.first or tokens[mention.first - 1].text not in openers or not tokens[mention.first].capital:
        return False
    return after == len(tokens) or tokens[after].text in _PARTING or tokens[after].text in ".,;"


def _ends_of_spans(reading: Reading, listed: Sequence[Mention], range_words: frozenset[str]) -> list[Mention]:
    """Those of the abbreviated weekdays that are linked with another weekday: 'Fri–Sun', 'Fri to Sun', 'Fr–So'."""
    tokens, starts, ends = reading.tokens, reading.starts, reading.ends
    named = {one.first for one in reading.all("times") if one.keys[0].rpartition(".")[2] in WEEKDAYS}
    named.update(one.first for one in listed)
    found: list[Mention] = []
    for mention in listed:
        for first, last in ((mention.first - 2, mention.first), (mention.first, mention.first + 2)):
            if first not in named or last not in named or tokens[first].capital != tokens[last].capital:
                continue
            link = first + 1
            if tokens[link].text in _DASHES:
                is_tight = ends[first] == starts[link] and ends[link] == starts[last]
                is_span = is_tight or last + 1 == len(tokens) or tokens[last + 1].text == "?"
            else:
                is_span = tokens[link].text in range_words and tokens[last].capital
            if is_span:
                found.append(mention)
                break
    return found


def _begins(reading: Reading, at: int, and_words: frozenset[str]) -> bool:
    """Whether a line, a row of a table, an item or a clause begins at token `at`; emoji may stand before it."""
    tokens, before = reading.tokens, at - 1
    while before >= 0 and tokens[before].kind == "mark" and tokens[before].text not in _PARTING:
        before -= 1
    if before >= 0 and tokens[before].text in _ROW_MARKS:
        before -= 1
    elif before >= 0 and (tokens[before].text in and_words or tokens[before].text in ",;"):
        return True
    return before < 0 or tokens[before].kind == "newline"


def _begins_line(reading: Reading, at: int) -> bool:
    """Whether there is nothing but marks before token `at` in its line."""
    before = at - 1
    while before >= 0 and reading.tokens[before].kind == "mark":
        before -= 1
    return before < 0 or reading.tokens[before].kind == "newline"


def _count(reading: Reading, at: int) -> int | None:
    token = reading.tokens[at]
    if token.kind == "number":
        return int(token.raw) if token.raw.isdecimal() and len(token.raw) <= 3 else None
    return None if token.value is None else int(token.value)
