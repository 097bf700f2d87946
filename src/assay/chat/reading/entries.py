"""List entries in a text, found by an automaton over words that grows as texts are read.

A run of words is a state; it knows the entries that it is and those that it may become with the words after it. Equal
runs come again and again, so that most steps are a look-up. Knows words and entries, and nothing of clauses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.chat.reading.lexicon import ANY_NUMBER, Phrase

if TYPE_CHECKING:
    from assay.chat.reading.tokens import Token

# How many of the words that have followed a run of words are remembered with it.
_MOST_STEPS = 1_000
_NOTHING: Sequence[Phrase] = ()


class WordRun:
    """What a run of words says, beginning with its first word."""

    __slots__ = (
        "_candidates",
        "_first",
        "_length",
        "_longer",
        "found",
        "hidden",
        "is_open",
        "is_silent",
        "negates",
        "only_says",
        "steps",
    )

    found: tuple[tuple[int, tuple[str, ...]], ...]
    """The entries that it is, each as the number of words after the first and its lists, in the order of mentions."""
    hidden: int
    """How many words after the first are hidden with it; −1 if not even the first is."""
    negates: bool
    """Whether the first word negates by its ending, and is not hidden."""
    is_open: bool
    """Whether it may become another entry with the words after it."""
    is_silent: bool
    """Whether it has no effect: it is not an entry, and neither negates nor hides anything. Most runs have none."""
    only_says: bool
    """Whether it neither negates nor hides anything."""
    steps: dict[Token, WordRun]
    """The runs that it has become, by the word after it."""

    def __init__(
        self, first: Token, candidates: Sequence[Phrase], length: int, longer: Mapping[str, Sequence[Phrase]]
    ) -> None:
        """`candidates` are entries of several words that begin like the run; of a single word, they are in `longer`."""
        self._first = first
        self._candidates = candidates
        self._length = length
        self._longer = longer
        self.steps = {}
        whole = [phrase for phrase in candidates if phrase.reach < length]
        self.is_open = bool(longer) or len(whole) < len(candidates)
        self.hidden = max([phrase.reach for phrase in whole if phrase.hides], default=-1)
        if self.hidden < 0 and first.hides:
            self.hidden = 0
        found = [(phrase.reach, phrase.keys) for phrase in whole if phrase.reach >= self.hidden]
        if self.hidden <= 0:  # else the first word is inside what hides it
            found += [(0, phrase.keys) for phrase in first.phrases]
        self.found = tuple(found)
        self.negates = first.denies and self.hidden < 0
        self.only_says = not self.negates and self.hidden < 0
        self.is_silent = not found and self.only_says

    def followed_by(self, token: Token) -> WordRun:
        """The run with one more word."""
        if len(self.steps) >= _MOST_STEPS:
            self.steps.clear()
        step = self.steps[token] = WordRun(self._first, self._continued(token), self._length + 1, {})
        return step

    def _continued(self, token: Token) -> Sequence[Phrase]:
        """The candidates that the run still is with one more word."""
        at = self._length
        if at > 1:
            return [phrase for phrase in self._candidates if phrase.reach < at or is_part(token, phrase.parts[at])]
        listed = [phrase for key in token.seconds for phrase in self._longer.get(key, _NOTHING)]
        fitting = [phrase for phrase in listed if is_part(token, phrase.parts[1])]
        # Two entries of a list may be the same words: "feels like", "feel like".
        return list({(phrase.keys, phrase.parts[2:]): phrase for phrase in fitting}.values())


def is_part(token: Token, part: tuple[str, bool]) -> bool:
    """Whether a word is a word of a list entry."""
    form, exact = part
    if not exact:
        return token.stem == form and token.kind == "word"
    return token.is_number if form == ANY_NUMBER else is_form(part, token.raw, token.text)


def is_form(part: tuple[str, bool], raw: str, text: str) -> bool:
    """Whether a word is the form that a list entry gives; an entry with a capital letter requires one."""
    form, exact = part
    return not exact or form == (text if form == form.lower() else raw)
