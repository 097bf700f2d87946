"""Dates and clock times in a text: 20 November, November 20th, 2026-11-20, 15:30, 3 pm.

Only those written with numbers; names of days and parts of the day are words in lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import Lexicon

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


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
        return (self.month, self.day) == (other.month, other.day) and self.year in (None, other.year)


def read_moments(reading: Reading, lexicon: Lexicon) -> list[Moment]:
    """Every date and clock time in the text, in order."""
    months = {name: at for at, name in enumerate(lexicon.language["months"], 1)}
    months |= lexicon.language.get("months_short", {})
    halves: dict[str, int] = lexicon.language["halves_of_day"]
    ordinals = frozenset(lexicon.language["ordinal_endings"])
    links = frozenset(lexicon.language["day_of_month"])
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
        elif token.text in months and (day := number(at + 1, 1, 31)) is not None:
            last = at + 1 + (text(at + 2) in ordinals)
            stated = number(last + 2, 1000, 9999) if text(last + 1) == "," else number(last + 1, 1000, 9999)
            at = add(at, last, month=months[token.text], day=day, year=stated)
            continue
        at += 1
    return found
