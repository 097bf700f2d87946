"""What changed between two texts, word by word."""

from __future__ import annotations

import difflib
import re

from assay.report.html.elements import EMPTY, Markup, element, join

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# The time of a comparison grows with the square of its words.
_MOST_WORDS = 4000


def word_difference(before: str, after: str) -> tuple[Markup, Markup]:
    """Both texts with what only one of them has marked: deletions in the first, insertions in the second.

    Of very long texts the beginnings are compared; the rest follows unmarked, after a line that says so.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    rests = [_rest(words[_MOST_WORDS:]) for words in (old, new)]
    old, new = old[:_MOST_WORDS], new[:_MOST_WORDS]
    left: list[str] = []
    right: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[a:b]), "".join(new[c:d])
        if kind == "equal":
            left.append(gone)
            right.append(come)
            continue
        if gone:
            left.append(element("del", gone))
        if come:
            right.append(element("ins", come))
    return join([*left, rests[0]]), join([*right, rests[1]])


def _rest(words: list[str]) -> Markup:
    return element("em", "\n[not compared from here on]\n") + "".join(words) if words else EMPTY
