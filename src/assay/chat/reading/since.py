"""Tells 'since' of a time from 'since' of a reason: in 'raining since this morning' it gives no reason, and the time is
not that of the rain alone; in 'since this morning is cold' it does.

Knows words, times and dates; the words beside them are the data of the language (`since`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.chat.reading.positions import within
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS

if TYPE_CHECKING:
    from assay.chat.reading.dates import Moment
    from assay.chat.reading.text import Mention, Reading

# Lists whose words are not of the text's own time after such a 'since', or give no reason with it.
_TIMED = ("times", "part_of_day", "earlier", "later", "reasons", "flow")
_ENDS = CLAUSE_MARKS | STOPS
# How many tokens a time has at most, and how many after 'since' are searched for a verb of the present.
_LONGEST, _VERB_REACH = 9, 4
# Of a long clause, so many tokens before 'since' are searched.
_CLAUSE = 30
_EVENT = 10


class SinceReader:
    """Finds the times since when something is so, in texts of one language."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        words = language.get("since", {})
        self._before = frozenset(words.get("before_time", ()))
        self._times = frozenset(words.get("times", ()))
        self._after = frozenset(words.get("after_time", ()))
        self._perfect = frozenset(words.get("perfect", ()))
        self._past = frozenset(words.get("past", ()))
        self._present = frozenset(words.get("present", ()))
        self._subjects = frozenset(words.get("subjects", ()))
        self._possessive = tuple(language.get("possessive_endings", ()))

    def read(self, reading: Reading) -> None:
        """Take what a time since when something is so names out of the lists of times and reasons."""
        taken: set[int] = set()
        for since in reading.all("since"):
            last = self._end_of_time(reading, since.first)
            if last is None and self._is_event(reading, since.first):
                last = self._end_of_event(reading, since.first)
            if last is not None:
                taken.update(range(since.first, last + 1))
        for key in [key for key in reading.lists if key.partition(".")[0] in _TIMED] if taken else ():
            reading.lists[key] = [one for one in reading.lists[key] if one.first not in taken]
            if not reading.lists[key]:
                del reading.lists[key]

    def _end_of_time(self, reading: Reading, since: int) -> int | None:
        """The last token of the time after 'since', if nothing is said of that time: then it is a reason."""
        tokens, stop = reading.tokens, since + 1 + _LONGEST
        named: set[int] = set()
        near: tuple[Sequence[Mention | Moment], ...] = (
            reading.all("times"),
            reading.all("part_of_day"),
            reading.moments,
        )
        for times in near:
            for one in within(times, since + 1, stop):
                named.update(range(one.first, one.last + 1))
        last, is_time = since, False
        for at in range(since + 1, min(stop, len(tokens))):
            token = tokens[at]
            if token.text.endswith(self._possessive) and at in named:
                return None  # "since yesterday's rain left puddles"
            names_time = at in named or token.is_number or token.text in self._times
            if not names_time and token.text not in self._before:
                break
            is_time |= names_time
            last = at if names_time else last
        if not is_time:
            return None
        after = tokens[last + 1] if last + 1 < len(tokens) else None
        if after is None or after.kind != "word" or after.text in _ENDS:
            return last
        is_subject = after.capital or after.text in self._subjects
        return last if is_subject or after.text in self._after else None

    def _is_event(self, reading: Reading, since: int) -> bool:
        """Whether something has been so since an event: 'it has been raining since the storm passed'."""
        tokens = reading.tokens
        following = [token.text for token in tokens[since + 1 : since + 1 + _VERB_REACH]]
        if not self._present.isdisjoint(following):
            return False
        is_added = since > 0 and tokens[since - 1].kind == "word"  # ", since the rain started" gives a reason
        if is_added and not self._past.isdisjoint(following):
            return True
        first = since
        while first > max(0, since - _CLAUSE) and tokens[first - 1].text not in _ENDS:
            first -= 1
        return not self._perfect.isdisjoint([token.text for token in tokens[first:since]])

    def _end_of_event(self, reading: Reading, since: int) -> int:
        """The last token of what happened since when something is so: 'since the front came through on Monday'."""
        last = since
        while last + 1 < min(len(reading.tokens), since + 1 + _EVENT) and reading.tokens[last + 1].text not in _ENDS:
            last += 1
        return last
