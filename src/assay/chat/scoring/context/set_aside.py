"""Days and places that a text names only to say that they are not meant: 'on Wednesday, not Thursday, it rains'.

Knows readings; knows no ground truth and no metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from assay.chat.reading.places import Place
from assay.chat.reading.text import Mention, Reader, Reading

# What may part the two names, and stand after the second: "Wednesday (not Thursday) has".
_BEFORE = frozenset(",(–—-")
_AFTER = frozenset(",)–—-")
# How many small words may stand between "not" and a name: "nicht am Donnerstag", "pas à Lyon".
_SMALL = 2
_Named = TypeVar("_Named", Mention, Place)


def without_rejected(named: Sequence[_Named], reading: Reading, reader: Reader) -> list[_Named]:
    """The names without those that the one before is told from: 'Leeds, not Porto, gets the rain'."""
    kept: list[_Named] = []
    for one in named:
        if not (kept and _is_rejected(one, kept[-1], reading, reader)):
            kept.append(one)
    return kept


def _is_rejected(one: Mention | Place, before: Mention | Place, reading: Reading, reader: Reader) -> bool:
    tokens, after = reading.tokens, one.last + 1
    if after + 1 >= len(tokens) or tokens[after].text not in _AFTER:
        return False
    if tokens[after + 1].text in reader.when_words:
        return False  # "sunny on Wednesday, not Thursday, when it rains"
    at = _negation_before(one.first, reading, reader)
    if at < 0:
        return False
    at -= 1
    at -= at > 0 and tokens[at].text in reader.and_words
    return at == before.last + 1 and tokens[at].text in _BEFORE


def _negation_before(first: int, reading: Reading, reader: Reader) -> int:
    """The 'not' before a name that begins at token `first`; −1 if there is none."""
    tokens = reading.tokens
    for at in range(first - 1, max(first - 2 - _SMALL, -1), -1):
        if tokens[at].text in reader.nots:
            return at
        if tokens[at].text not in reader.small_words and tokens[at].text not in reader.prepositions:
            return -1
    return -1
