"""Spans of days: those between the first and the last that a text names, as in 'from Friday to Sunday'.

Knows readings and the dates of a truth; knows no values of it and no metric.
"""

from __future__ import annotations

from itertools import pairwise

from assay.chat.reading.dates import WEEKDAYS
from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.scoring.context.calendar import Calendar, day_name

_DASHES = frozenset("-–—")
# How many tokens may part the days of a span ("to the", "right through to"), and stand after a 'between'.
_MOST_BETWEEN = 3
_AFTER_BETWEEN = 2


def days_with_spans(query: Reading, calendar: Calendar, reader: Reader) -> list[str]:
    """The days that a text names, in order, and those inside the spans that it names."""
    mentions = calendar.mentions(query)
    if len(mentions) < 2:
        return [day_name(mention) for mention in mentions]
    parts = {at for one in query.all("part_of_day") for at in range(one.first, one.last + 1)}
    days: dict[str, None] = {day_name(mentions[0]): None}
    for first, last in pairwise(mentions):
        if _is_span(first, last, parts, query, reader):
            days.update(dict.fromkeys(_inside(day_name(first), day_name(last), calendar)))
        days[day_name(last)] = None
    return list(days)


def _is_span(first: Mention, last: Mention, parts: set[int], query: Reading, reader: Reader) -> bool:
    """Whether two days are the ends of a span: 'Friday to Sunday', 'Fri–Sun', 'between Friday and Sunday'.

    `parts` are tokens that name a part of a day, as in 'Friday evening to Sunday'.
    """
    between = [query.tokens[at] for at in range(first.last + 1, last.first) if at not in parts]
    words = [token.text for token in between]
    if not 0 < len(words) <= _MOST_BETWEEN:
        return False
    if words[0] in reader.and_words:
        before = query.tokens[max(0, first.first - _AFTER_BETWEEN) : first.first]
        return any(token.text in reader.between for token in before)
    links = reader.day_ranges | _DASHES
    is_plain = all(token.text in links or (token.kind == "word" and not token.capital) for token in between)
    return is_plain and not links.isdisjoint(words)


def _inside(first: str, last: str, calendar: Calendar) -> list[str]:
    """The days after the first and before the last: weekdays by name, else dates of the truth."""
    if first in WEEKDAYS and last in WEEKDAYS:
        start, stop = WEEKDAYS.index(first), WEEKDAYS.index(last)
        return [WEEKDAYS[(start + days) % 7] for days in range(1, (stop - start) % 7)]
    starts, stops = calendar.dates_of(first), calendar.dates_of(last)
    if not starts or not stops:
        return []
    return [day.isoformat() for day in calendar.dates if min(starts) < day < max(stops)]
