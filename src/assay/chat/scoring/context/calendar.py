"""The days that texts name, and how they match the dates of a ground truth.

Knows readings and the dates of a truth; knows no figures of the truth, no questions and no metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from assay.chat.reading.dates import WEEKDAYS, Moment
from assay.chat.reading.text import Mention, Reading

# A day that the truth has no data for; a bare month ("the average for May") counts as one too.
ANOTHER_DAY = "another day"
PRESENT = frozenset({"now", "today"})
PAST = frozenset({"yesterday", ANOTHER_DAY})
_LATER = frozenset({"tomorrow", "week", "weekend", "later", *WEEKDAYS})
_WEEKEND = frozenset({"saturday", "sunday"})
_OF_WEEKEND = [{"weekend", day} for day in _WEEKEND]
_PARTS_OF_DAY = frozenset({"morning", "midday", "afternoon", "evening", "night"})
MONTHS = frozenset({"january", "february", "march", "april", "may", "june", "july"})
MONTHS |= {"august", "september", "october", "november", "december"}


def day_name(mention: Mention) -> str:
    """The day that a mention of the list `times` names: 'tomorrow', 'monday', '2026-11-20'."""
    return mention.keys[0].removeprefix("times.")


def is_later(day: str | None) -> bool:
    """Whether a day, by name or by date, is in the future."""
    return day is not None and (day in _LATER or day[:1].isdigit() or day.startswith(("+", "next ")))


class Calendar:
    """The dates of a ground truth, and the days that texts name in terms of them."""

    def __init__(self, days: Iterable[str | None], today: str | None) -> None:
        """`days` are those that the truth has data for."""
        self.today = _date(today)
        self.dates = sorted(filter(None, map(_date, days)))
        """The dates among them, ascending."""
        self._resolved: dict[str, frozenset[date] | None] = {}
        self.token = object()
        """Stands for these dates in what is kept with a reading; it refers to nothing."""

    def days_in(self, reading: Reading) -> dict[str, Mention]:
        """Days that a text names, each with its first mention; parts of a day do not count."""
        days: dict[str, Mention] = {}
        for mention in self.mentions(reading):
            days.setdefault(day_name(mention), mention)
        return days

    def mentions(self, reading: Reading) -> list[Mention]:
        """Days by name and by date, in order; a date has the truth's name for it ('times.2026-11-20')."""
        if not reading.moments:
            return _named_days(reading)
        dates = [
            Mention(moment.start, moment.end, moment.first, moment.last, (f"times.{day}",))
            for moment in reading.moments
            if (day := self._day_of(moment)) is not None
        ]
        dated = {at for moment in reading.moments for at in range(moment.first, moment.last + 1)}
        named = [mention for mention in _named_days(reading) if mention.first not in dated]
        return sorted([*named, *dates], key=lambda mention: mention.first)

    def dates_of(self, said: str) -> frozenset[date] | None:
        """The dates that a day named in a text can be; None if that depends on a date of today that is not known."""
        known = self._resolved.get(said)
        if known is None and said not in self._resolved:
            known = self._resolved[said] = self._resolve(said)
        return known

    def _resolve(self, said: str) -> frozenset[date] | None:
        if said in WEEKDAYS:
            return frozenset(day for day in self.dates if day.weekday() == WEEKDAYS.index(said))
        if said == ANOTHER_DAY:
            return frozenset()
        exact = _date(said)
        if exact is not None:
            return frozenset([exact])
        if self.today is None:
            return frozenset(day for day in self.dates if day.weekday() >= 5) if said == "weekend" else None
        if said == "weekend":
            return frozenset(self._after(n) for n in range(7) if self._after(n).weekday() >= 5)
        if said.startswith("+"):
            return frozenset([self._after(int(said[1:]))])
        if said.startswith("next "):
            return frozenset(self._after(n) for n in range(1, int(said[5:]) + 1))
        if said == "week":
            return frozenset(self._after(n) for n in range(14))
        days = {"tomorrow": 1, "today": 0, "now": 0, "yesterday": -1}.get(said)
        return None if days is None else frozenset([self._after(days)])

    def _after(self, days: int) -> date:
        assert self.today is not None
        return self.today + timedelta(days=days)

    def is_day(self, true_day: str | None, said: str | None) -> bool:
        """Whether a day that a text names is a given day of the truth; None is now."""
        if true_day is None or said is None or true_day == said:
            return true_day == said or (true_day is None and said in PRESENT)
        if said == "weekend" and true_day in WEEKDAYS:
            return true_day in _WEEKEND
        moment, dates = _date(true_day), self.dates_of(said)
        return moment is not None and dates is not None and moment in dates

    def is_same(self, a: str, b: str) -> bool | None:
        """Whether two days that texts name can be the same; None if that is not known."""
        if a == b or {a, b} in _OF_WEEKEND:
            return True
        first, second = self.dates_of(a), self.dates_of(b)
        return None if first is None or second is None else not first.isdisjoint(second)

    def may_be_today(self, day: str | None) -> bool:
        """Whether a date may be today: the truth's first date, if the truth does not say which day is today."""
        return self.today is None and bool(self.dates) and day == self.dates[0].isoformat()

    def within_truth(self, day: str) -> str:
        """The day itself, 'today' by its weekday, or `ANOTHER_DAY` for one that the truth's dates do not include."""
        beyond = day in WEEKDAYS and bool(self.dates) and not any(self.is_day(str(known), day) for known in self.dates)
        if day in WEEKDAYS and self.today is not None and self.today.weekday() == WEEKDAYS.index(day):
            later = [known for known in self.dates if known > self.today and known.weekday() == self.today.weekday()]
            return day if later else "today"
        return ANOTHER_DAY if beyond or day in MONTHS else day

    def _day_of(self, moment: Moment) -> str | None:
        """The truth's name for a date; None if the truth has no dates to compare it with."""
        if moment.day is None or not self.dates:
            return None
        if self.today is not None and moment.is_date(self.today):
            return "today"
        return next((day.isoformat() for day in self.dates if moment.is_date(day)), ANOTHER_DAY)


def _named_days(reading: Reading) -> list[Mention]:
    """Days that a text names in words; parts of a day do not count."""
    known = reading.memory.get("named days")
    if not isinstance(known, list):
        known = [mention for mention in longest(reading.all("times")) if day_name(mention) not in _PARTS_OF_DAY]
        reading.memory["named days"] = known
    return known


def longest(mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions that are not inside another: 'later today' without its 'today'."""
    kept: list[Mention] = []
    for mention in mentions:
        if kept and mention.last <= kept[-1].last:
            if mention.first > kept[-1].first or mention.last < kept[-1].last:
                continue
        elif kept and mention.first == kept[-1].first:
            kept.pop()
        kept.append(mention)
    return kept


def _date(day: str | None) -> date | None:
    """The date that a day of the truth stands for; None if it is not an ISO date."""
    try:
        return date.fromisoformat(day[:10]) if day else None
    except ValueError:
        return None
