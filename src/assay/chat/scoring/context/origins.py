"""Days of what a figure or a state has come from: 'down from 31 °C on Monday', 'after yesterday's rain'.

The day is that of the first figure or state only, and so is that of 'cooler than Sunday's 35'.

Knows readings; knows no ground truth and no metric.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from assay.chat.reading.positions import FIRST
from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS
from assay.chat.reading.traits import RELATES, has

# How many words may stand between a word such as 'from' and what it leads to: "after a mild and rainy Monday".
_DESCRIBING = 4
# How many small words may stand between a figure and its day: "31 °C back on Monday".
_LINKS = 2
_PAST = "times.yesterday"
_ENDS = CLAUSE_MARKS | STOPS


def origins(days: Sequence[Mention], response: Reading, reader: Reader) -> dict[int, Mention]:
    """The day of each token that tells what something has come from; to all other tokens, these days do not reach."""
    found: dict[int, Mention] = {}
    relates = has(response.traits, RELATES) or any(one.role == "change" for one in response.quantities)
    if relates and (response.quantities or response.numbers or "states" in response.lists):
        for day in days:
            span = _span(day, response, reader)
            if span is not None:
                found.update(dict.fromkeys(range(span[0], span[1] + 1), day))
    return found


def _span(day: Mention, response: Reading, reader: Reader) -> tuple[int, int] | None:
    """First and last token of the part that a day is of, if something is only said to have come from it."""
    is_past = day.keys[0] == _PAST
    if response.tokens[day.last].text.endswith(reader.possessive_endings):
        last = _told_from(day.last + 1, response)  # "yesterday's 35 °C"
        opener = -1 if last is None else _opener_of(day.first, response, reader, is_past=is_past)
        if last is None or (opener < 0 and not (is_past and response.tokens[day.last + 1].is_number)):
            return None
        after = last + 2
        if after < len(response.tokens) and response.tokens[after - 1].text in reader.and_words:
            added = _told_from(after, response)  # "Sunday's 22 °C and sun"
            last = last if added is None or opener < 0 else added
        return max(opener, 0) if opener >= 0 else day.first, last
    at = day.first - 1
    if at < 0 or response.tokens[at].text in _ENDS:
        return None
    while at > 0 and at >= day.first - _LINKS and response.tokens[at].text in reader.before_days:
        at -= 1
    change = _change_to(at, response)
    if change is not None:
        return change, day.last  # "up 3 °C on yesterday, to 15 °C"
    first = _told_to(at, response)  # "35 °C yesterday", "a rainy Monday"
    opener = -1 if first is None else _opener_of(first, response, reader, is_past=is_past)
    if first is None or opener < 0:
        return None
    is_after = response.tokens[opener].text in reader.following
    return None if is_after and not is_past and not _opens(opener, day.last, response, reader) else (opener, day.last)


def _opener_of(first: int, response: Reading, reader: Reader, *, is_past: bool) -> int:
    """The word such as 'from' or 'after' that leads to token `first`; −1 if there is none."""
    tokens = response.tokens
    for at in range(first - 1, max(first - 2 - _DESCRIBING, -1), -1):
        token = tokens[at]
        if token.text in (reader.past_origin_words if is_past else reader.origin_words):
            return at
        if token.text in reader.leading and at and tokens[at - 1].text in reader.comparing:
            return at - 1  # "compared to 35 °C yesterday"
        if token.kind != "word" or token.is_number or token.text in _ENDS or token.text in reader.leading:
            return -1
    return -1


def _opens(opener: int, day: int, response: Reading, reader: Reader) -> bool:
    """Whether 'after …' opens its sentence up to a comma: 'After rain on Monday, …', not 'sun after rain on Monday'."""
    tokens = response.tokens
    if response.sentence(opener)[0] != opener or day + 1 >= len(tokens):
        return False
    return tokens[day + 1].text == "," or tokens[day + 1].text in reader.copulas  # "Nach Regen am Montag ist es klar"


def _change_to(last: int, response: Reading) -> int | None:
    """The first token of the difference that ends at token `last`; None if none does."""
    at = bisect_left(response.quantities, last + 1, key=FIRST) - 1
    figure = response.quantities[at] if at >= 0 else None
    return figure.first if figure is not None and figure.last == last and figure.role == "change" else None


def _told_to(last: int, response: Reading) -> int | None:
    """The first token of the figure or state that ends at token `last`; None if none does."""
    before = bisect_left(response.quantities, last + 1, key=FIRST) - 1
    figure = response.quantities[before] if before >= 0 else None
    if figure is not None and figure.last == last:
        return figure.first if figure.low == figure.high and figure.role != "other" else None
    if last >= 0 and response.tokens[last].is_number:
        at = bisect_left(response.numbers, last)
        return last if response.numbers[at : at + 1] == [last] else None
    states = response.all("states")
    at = bisect_left(states, last + 1, key=FIRST) - 1
    if at < 0 or last - states[at].last >= _DESCRIBING:
        return None
    between = response.tokens[states[at].last + 1 : last + 1]  # "a wet and windy Monday"
    return states[at].first if all(token.kind == "word" for token in between) else None


def _told_from(first: int, response: Reading) -> int | None:
    """The last token of the figure or state that begins at token `first`, or after words that describe it."""
    tokens = response.tokens
    for at in range(first, min(first + _DESCRIBING, len(tokens))):
        if tokens[at].text in _ENDS:
            return None
        for said in (response.quantities, response.all("states")):
            n = bisect_left(said, at, key=FIRST)
            if n < len(said) and said[n].first == at:
                return said[n].last
        if tokens[at].is_number:
            return at
    return None
