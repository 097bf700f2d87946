"""Keyword stuffing: runs of words from the lists that do not form a sentence.

Knows tokens and mentions; which lists count is the language's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.traits import IN_RUN, has_run

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading
    from assay.chat.reading.tokens import Token

# A run of this many list words or more, without a function word, is keyword stuffing and not a sentence.
_STUFFED = 6
# So many entries of lists are in it at least; one may have several words.
_FEWEST = 4


def may_be_stuffed(reading: Reading) -> bool:
    """Whether a text has so many words in a row without a function word; most have not."""
    return has_run(reading.traits, IN_RUN, _STUFFED)


def stuffed_tokens(reading: Reading, keyword_lists: Sequence[str]) -> set[int]:
    """Indices of tokens in runs of six words and more that are nearly all list words, with no function word."""
    runs = _runs(reading.tokens) if may_be_stuffed(reading) else []
    if not runs:
        return set()
    listed: dict[int, str] = {}
    entry: dict[int, int] = {}  # of each token, where the longest entry that it is in begins
    for root in keyword_lists:
        for mention in reading.all(root):
            for at in range(mention.first, mention.last + 1):
                listed.setdefault(at, root)
                entry[at] = min(entry.get(at, at), mention.first)
    stuffed: set[int] = set()
    for first, last, commas in runs:
        roots = [listed[n] for n in range(first, last) if n in listed]
        if len({entry[n] for n in range(first, last) if n in listed}) < _FEWEST:
            continue  # "das letzte Paar ging heute Morgen raus" has two
        if 3 * len(roots) >= 2 * (last - first - commas) and len(set(roots)) >= (4 if commas else 2):
            stuffed.update(range(first, last))
    return stuffed


def _runs(tokens: Sequence[Token]) -> list[tuple[int, int, int]]:
    """Runs of six words and more without a function word: the first token, the one after the last, and the commas."""
    found = []
    first, commas = 0, 0
    for at, token in enumerate(tokens):
        if token.joins:
            continue
        if token.text == ",":
            commas += 1
            continue
        if at - first - commas >= _STUFFED:
            found.append((first, at, commas))
        first, commas = at + 1, 0
    if len(tokens) - first - commas >= _STUFFED:
        found.append((first, len(tokens), commas))
    return found
