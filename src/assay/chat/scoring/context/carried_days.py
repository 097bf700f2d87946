"""The day of a sentence that names none, after one that names one: 'Saturday is your day! It will be sunny.'

Knows readings; knows no truth and no metric.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.chat.reading.text import Mention, Reader, Reading
from assay.chat.reading.tokens import Token


class CarriedDays:
    """For each sentence that names no day, the one that is carried into it."""

    def __init__(
        self, response: Reading, reader: Reader, mentions: Sequence[Mention], days: Sequence[str | None]
    ) -> None:
        """`days` has the day to come that each of the mentions names, None if it is none or a span of them."""
        self._response = response
        self._words: Mapping[str, frozenset[str]] = reader.other_time
        self._mentions = mentions
        self._days = days
        self._firsts = [mention.first for mention in mentions]
        self._known: dict[int, tuple[int, bool]] = {}
        """By mention, the end of the last sentence that is known to be of its day, and whether none after it is."""

    def into(self, first: int, last: int) -> Mention | None:
        """The only day named in the last sentence that names any, unless one since tells of other days.

        `first` and `last` are the tokens of the sentence; it names no day.
        """
        at = bisect_left(self._firsts, first) - 1
        if at < 0:
            return None
        end, is_over = self._known.get(at) or self._naming(at)
        while end < last and not is_over:
            start, stop = self._response.sentence(end + 1)
            is_over = self._is_of_other_days(self._response.tokens[start : stop + 1])
            end = end if is_over else stop
        self._known[at] = end, is_over
        return self._mentions[at] if last <= end else None

    def _naming(self, at: int) -> tuple[int, bool]:
        """The end of the sentence that names a day, and whether it names another one too."""
        first, last = self._response.sentence(self._firsts[at])
        named = set(self._days[bisect_left(self._firsts, first) : at + 1])
        return last, len(named) > 1 or None in named

    def _is_of_other_days(self, tokens: Sequence[Token]) -> bool:
        words = [token.text for token in tokens if token.kind == "word"]
        if not words:
            return False
        if words[0] in self._words["first"] or not self._words["words"].isdisjoint(words):
            return True
        return any(f"{one} {next_one}" in self._words["pairs"] for one, next_one in pairwise(words))
