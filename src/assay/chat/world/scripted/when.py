"""Which days an English message names: today, tomorrow, weekdays, dates, the next days. Needs no calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

LONGEST_FORECAST = 5
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH_NAMES = (
    "january jan",
    "february feb",
    "march mar",
    "april apr",
    "may",
    "june jun",
    "july jul",
    "august aug",
    "september sept sep",
    "october oct",
    "november nov",
    "december dec",
)
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_NUMBER = rf"\d{{1,2}}|{'|'.join(NUMBERS)}"


def whole_words(*patterns: str) -> re.Pattern[str]:
    """A pattern that matches any of the given words, as whole words and in any case."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


_PRESENT = whole_words(
    "now", "today(?:'s)?", "tonight", "currently", "current", "this (?:morning|afternoon|evening)", "moment"
)
_LATER_TODAY = whole_words("later(?: today| this| tonight| on)?")
_PAST = whole_words(
    "yesterday",
    "days? ago",
    f"last (?:night|week|month|year|{'|'.join(WEEKDAY_NAMES)})",
    "was it",
    "were the",
    "has it been",
)
_AFTER_TOMORROW = re.compile(r"\b(?:the )?day after tomorrow\b")
_TOMORROW = whole_words("tomorrow(?:'s)?", "tmrw", "tomorow", "tommorow")
_IN_DAYS = re.compile(rf"\bin ({_NUMBER}) days?(?:' time|'s time)?\b")
_FEW_DAYS = re.compile(rf"\b(?:(?:next|coming|following|for|over the) )*({_NUMBER}|couple of)[ -]days?\b")
_SPAN = whole_words(
    r"(?:next|coming|following|upcoming) (?:few |couple of |several )?days",
    r"(?:the|this|next|coming|all|whole) week",
    "rest of the week",
    "week ahead",
    "days ahead",
    "weekly",
)
_OUTLOOK = whole_words("forecasts?", "outlook", "predict(?:ed|ion)?")
_WEEKEND = whole_words("weekends?")
_BEYOND = whole_words(
    "next (?:month|year|spring|summer|autumn|fall|winter)",
    r"in (?:two|three|four|a few|\d+) (?:weeks|months)",
    "in a (?:month|year)",
    "this (?:spring|summer|autumn|fall|winter)",
    "(?:at|for|over) (?:christmas|easter)",
)
_WEEKDAY = re.compile(
    rf"\b({'|'.join(day[:3] for day in WEEKDAY_NAMES)})(?:{'|'.join(day[3:] for day in WEEKDAY_NAMES)})s?\b"
)
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})|({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?"
    r"|\d{4}-(\d\d)-(\d\d))\b"
)


@dataclass(frozen=True, slots=True)
class When:
    """The days that a message names; all fields have their defaults if it names none."""

    now: bool = False
    """Now, or today."""
    later_today: bool = False
    ahead: tuple[int, ...] = ()
    """Days from today: 1 is tomorrow."""
    weekdays: tuple[str, ...] = ()
    dates: tuple[tuple[int, int], ...] = ()
    """Month and day."""
    span: int = 0
    """This many days from tomorrow on."""
    beyond: bool = False
    """Whether it names a day beyond the forecast."""
    past: bool = False

    @property
    def is_said(self) -> bool:
        return self != When()

    @property
    def needs_forecast(self) -> bool:
        return bool(self.ahead or self.weekdays or self.dates or self.span or self.beyond or self.later_today)

    @property
    def needs_current(self) -> bool:
        return self.now or self.past or self.later_today or not self.needs_forecast

    def includes(self, day: date) -> bool:
        """Whether a date is named, by date or by weekday."""
        return WEEKDAY_NAMES[day.weekday()] in self.weekdays or (day.month, day.day) in self.dates

    @property
    def days(self) -> int:
        """How many days of forecast are needed; a weekday may be any of the next days."""
        if self.weekdays or self.dates or self.beyond:
            return LONGEST_FORECAST
        return max(1, min(LONGEST_FORECAST, max((self.span, *self.ahead))))


def read_when(text: str) -> When:
    """The days that a message names."""
    low = text.lower()
    ahead = [_count(number) for number in _IN_DAYS.findall(low)]
    if _AFTER_TOMORROW.search(low):
        ahead.append(2)
    if _TOMORROW.search(_AFTER_TOMORROW.sub(" ", low)):
        ahead.append(1)
    weekdays = [day for day in WEEKDAY_NAMES if day[:3] in _WEEKDAY.findall(low)]
    if _WEEKEND.search(low):
        weekdays += [day for day in ("saturday", "sunday") if day not in weekdays]
    dates = _dates(low)
    beyond = bool(_BEYOND.search(low)) or any(days > LONGEST_FORECAST for days in ahead)
    named = bool(ahead or weekdays or dates or beyond)
    is_present = bool(_PRESENT.search(low))
    return When(
        now=is_present,
        later_today=bool(_LATER_TODAY.search(low)) and not named,
        ahead=tuple(sorted({days for days in ahead if days <= LONGEST_FORECAST})),
        weekdays=tuple(weekdays),
        dates=dates,
        span=_span(_IN_DAYS.sub(" ", low), named=named or is_present),
        beyond=beyond,
        past=bool(_PAST.search(low)),
    )


def _span(low: str, *, named: bool) -> int:
    few = _FEW_DAYS.search(low)
    if few and few.group(1) != "a":
        return max(1, min(LONGEST_FORECAST, 2 if few.group(1) == "couple of" else _count(few.group(1))))
    if _SPAN.search(low) or (_OUTLOOK.search(low) and not named):
        return LONGEST_FORECAST
    return 0


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else NUMBERS[word]


def _dates(low: str) -> tuple[tuple[int, int], ...]:
    found = []
    for day_first, month_after, month_first, day_after, iso_month, iso_day in _DATE.findall(low):
        month = int(iso_month) if iso_month else MONTHS[month_after or month_first]
        day = int(iso_day or day_first or day_after)
        if 1 <= month <= 12 and 1 <= day <= 31:
            found.append((month, day))
    return tuple(found)
