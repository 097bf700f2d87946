"""Numbers without a unit between which something has moved: 'dropped from 35 yesterday to 22', '22, up from 14'.

Knows the lists `former`, `times` and `other_measures`; knows no units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading

# How many tokens may stand between the two numbers: "from 35 on Sunday afternoon to 22".
_REACH = 6
_ENDS = CLAUSE_MARKS | STOPS


def changing_numbers(reading: Reading, to_words: frozenset[str]) -> dict[int, int]:
    """The numbers of a change in digits, each with the other one of it; both may be written without a unit.

    There are none in a sentence about something else than the domain's bare numbers: 'humidity fell from 80 to 60'.
    """
    found: dict[int, int] = {}
    tokens = reading.tokens
    others = reading.sentences_with("other_measures") if "other_measures" in reading.lists else ()
    days = {one.first: one.last for one in reading.all("times")}
    for former in reading.all("former.surely"):
        if reading.sentence(former.first) in others:
            continue
        at = former.last + 1
        at = days.get(at, at - 1) + 1  # "from yesterday's 35"
        if at >= len(tokens) or not tokens[at].is_number:
            continue
        target = _after(reading, at, to_words) or _before(reading, former.first)
        if target is not None:
            found[at], found[target] = target, at
    return found


def _after(reading: Reading, origin: int, to_words: frozenset[str]) -> int | None:
    """The number that something has moved to: 'from 35 yesterday to 22'."""
    tokens = reading.tokens
    for at in range(origin + 1, min(origin + _REACH + 1, len(tokens) - 1)):
        if tokens[at].text in _ENDS or tokens[at].kind == "newline":
            return None
        if tokens[at].text in to_words and tokens[at + 1].is_number:
            return at + 1
    return None


def _before(reading: Reading, former: int) -> int | None:
    """The number directly before the words: '22, down from 35'."""
    tokens, at = reading.tokens, former - 1
    at -= at > 0 and tokens[at].text in ",("
    return at if at >= 0 and tokens[at].is_number else None
