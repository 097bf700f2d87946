"""Dates and clock times in a text: 20 November, November 20th, 2026-11-20, 15:30, 3 pm; and days counted from today.

Only those written with numbers; names of days and parts of the day are words in lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Lexicon

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DOTTED = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])(?:\.(\d{4}))?")
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


def read_moments(reading: Reading, lexicon: Lexicon) -> list[Moment]:
    """Every date and clock time in the text, in order."""
    months = {name: at for at, name in enumerate(lexicon.language["months"], 1)}
    months |= lexicon.language.get("months_short", {})
    halves: dict[str, int] = lexicon.language["halves_of_day"]
    ordinals = frozenset(lexicon.language["ordinal_endings"])
    links = frozenset(lexicon.language["day_of_month"])
    articles = frozenset(lexicon.language.get("day_articles", ()))
    ordinal_marks: frozenset[str] = frozenset(lexicon.language.get("ordinal_marks", ()))
    dotted = bool(lexicon.language.get("dotted_dates", False))
    tokens = reading.tokens
    found: list[Moment] = []

    def number(at: int, low: int, high: int) -> int | None:
        if not 0 <= at < len(tokens) or tokens[at].kind != "number" or not tokens[at].raw.isdecimal():
            return None
        value = int(tokens[at].raw) if len(tokens[at].raw) <= 4 else -1
        return value if low <= value <= high else None

    def add(first: int, last: int, **fields: int | None) -> int:
        found.append(Moment(reading.starts[first], reading.ends[last], first, last, **fields))
        return last + 1

    def text(at: int) -> str:
        return tokens[at].text if 0 <= at < len(tokens) else ""

    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "number":
            year = number(at, 1000, 9999)
            hour, day = number(at, 0, 24), number(at, 1, 31)
            ordinal = at + 1 + (text(at + 1) in ordinals)
            of = ordinal + (text(ordinal) in links)
            if year is not None and text(at + 1) == text(at + 3) == "-":
                month, iso_day = number(at + 2, 1, 12), number(at + 4, 1, 31)
                if month is not None and iso_day is not None:
                    at = add(at, at + 4, year=year, month=month, day=iso_day)
                    continue
            if hour is not None and text(at + 1) == ":" and (minute := number(at + 2, 0, 59)) is not None:
                half = halves.get(text(at + 3), 0)
                last = at + 2 + (text(at + 3) in halves)
                at = add(at, last, hour=hour % 12 + half if text(at + 3) in halves else hour, minute=minute)
                continue
            if hour is not None and text(at + 1) in halves:
                at = add(at, at + 1, hour=hour % 12 + halves[text(at + 1)], minute=0)
                continue
            if day is not None and text(of) in months:
                at = add(at, of, month=months[text(of)], day=day, year=number(of + 1, 1000, 9999))
                continue
            if day is not None and text(at - 1) in articles and (ordinal > at + 1 or text(at + 1) in ordinal_marks):
                at = add(at, ordinal - 1, day=day)
                continue
            if dotted and (parts := _DOTTED.fullmatch(token.raw)) and (parts[3] or text(at + 1) == "."):
                at = add(at, at, month=int(parts[2]), day=int(parts[1]), year=int(parts[3]) if parts[3] else None)
                continue
        elif token.text in months and (day := number(at + 1, 1, 31)) is not None:
            last = at + 1 + (text(at + 2) in ordinals)
            stated = number(last + 2, 1000, 9999) if text(last + 1) == "," else number(last + 1, 1000, 9999)
            at = add(at, last, month=months[token.text], day=day, year=stated)
            continue
        at += 1
    return found


def read_relative_days(reading: Reading) -> list[Mention]:
    """Days counted from today, as mentions of the list `times`: 'in 3 days' is '+3', 'the next 3 days' is 'next 3'."""
    found = []
    for key, name in (("relative.in", "+{}"), ("relative.next", "next {}")):
        for mention in reading.all(key):
            days = next(filter(None, (_count(reading, at) for at in range(mention.first, mention.last + 1))), None)
            if days is not None and days <= _FARTHEST:
                keys = (f"times.{name.format(days)}", "times")
                found.append(replace(mention, keys=keys))
    if found:
        times = reading.lists.setdefault("times", [])
        times += found
        times.sort(key=lambda mention: mention.first)
    return found


def _count(reading: Reading, at: int) -> int | None:
    token = reading.tokens[at]
    if token.kind == "number":
        return int(token.raw) if token.raw.isdecimal() and len(token.raw) <= 3 else None
    return None if token.value is None else int(token.value)
