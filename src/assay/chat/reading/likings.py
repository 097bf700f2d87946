"""Parts of a text that say what the user likes, dislikes, wishes or plans: "since you hate the rain" claims no rain.

Knows persons and words of liking, which are the language's data; what becomes of the words is decided in `clauses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.chat.reading.tokens import STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

LIKINGS = frozenset({"liking.opener", "liking.verb", "liking.after"})
"""The lists of words by which a text says what the user likes."""
# How many tokens a word of liking reaches ahead or back in its clause.
_REACH = 8
# How many tokens may be between a person and what they like: "you have always been fond of".
_GAP = 4
# "I know you hate snow and the cold": what "and" adds has at most this many tokens.
_ADDED = 4
# What stands directly before a word such as "lover": "as a sun-lover".
_BESIDE = 2


class LikingReader:
    """Finds in texts of one language what is said of the user's likings."""

    def __init__(self, language: Mapping[str, Any], clause_ends: frozenset[str]) -> None:
        grammar = language.get("likings", {})
        self._persons = frozenset(grammar.get("persons", ()))
        self._between = frozenset(grammar.get("between", ()))
        self._helpers = frozenset(grammar.get("helpers", ()))
        self._relative = frozenset(grammar.get("relative", ()))
        self._verb_last = bool(grammar.get("verb_last", False))
        self._modals = frozenset(grammar.get("modals", ()))
        self._ends = clause_ends | STOPS
        self._joining = frozenset(language["and_words"]) | frozenset(language["linking_or"])
        self._stops = frozenset(language["negation_stops"]) - self._joining
        self._copulas = frozenset(language["copulas"])
        self._linking = self._copulas | frozenset(language.get("adverbs", ())) | frozenset(grammar.get("denials", ()))

    def tokens(self, reading: Reading) -> set[int]:
        """Indices of the tokens that are the object of a liking."""
        found: set[int] = set()
        for mention in reading.all("liking.opener"):
            found.update(self._ahead(reading, mention.last))
        for mention in reading.all("liking.verb"):
            person = self._person_before(reading, mention)
            if person is not None:
                found.update(range(person, mention.first))
                found.update(self._ahead(reading, mention.last))
            elif self._verb_last and self._is_person(reading, mention.last + 1):
                found.update(self._back(reading, mention.first))  # Regen magst du nicht
        for mention in reading.all("liking.after"):
            at = mention.first - 1
            while at >= 0 and reading.tokens[at].text in self._linking:
                at -= 1
            found.update(at - n for n in range(_BESIDE) if at >= n and not self._is_end(reading, at - n))
            between = reading.tokens[at + 1 : mention.first]
            if between and all(token.text in self._copulas for token in between):
                # "9 °C is your favourite" claims nothing; "it's 9 °C, your favourite" does.
                found.update(figure.first for figure in reading.quantities if figure.last == at)
        return found

    def _person_before(self, reading: Reading, mention: Mention) -> int | None:
        """The token of the person whose liking a verb is: 'you really hate', 'du Regen hasst'."""
        tokens = reading.tokens
        reach = _REACH if self._verb_last else _GAP
        for at in range(mention.first - 1, max(-1, mention.first - 2 - reach), -1):
            text = tokens[at].text
            if text in self._persons:
                return at if self._is_subject(reading, at) else None
            if text in self._ends or text in self._modals or not (self._verb_last or text in self._between):
                return None
        return None

    def _is_person(self, reading: Reading, at: int) -> bool:
        return at < len(reading.tokens) and reading.tokens[at].text in self._persons

    def _is_subject(self, reading: Reading, at: int) -> bool:
        """Whether the person at token `at` begins a clause, and does not qualify the weather: 'the sun you love'."""
        tokens = reading.tokens
        if at and tokens[at - 1].text in self._helpers:
            return False  # "helps you avoid the rain"
        before = at - 1 - (at > 0 and tokens[at - 1].text in self._relative)
        return before < 0 or not any(phrase.keys[-1] in ("states", "topic") for phrase in tokens[before].phrases)

    def _ahead(self, reading: Reading, last: int) -> range:
        """The tokens after token `last` up to the end of its clause."""
        tokens = reading.tokens
        at = last + 1
        while at < len(tokens) and at <= last + _REACH and not self._is_end(reading, at):
            if tokens[at].text in self._joining and not self._adds(reading, at):
                break
            at += 1
        return range(last + 1, at)

    def _adds(self, reading: Reading, joint: int) -> bool:
        """Whether 'and' adds another object, and not another sentence: 'you hate snow and the cold'."""
        tokens = reading.tokens
        for at in range(joint + 1, joint + 2 + _ADDED):
            if at >= len(tokens) or self._is_end(reading, at):
                return True
            if tokens[at].text in self._copulas or "'" in tokens[at].text:
                return False
        return False

    def _back(self, reading: Reading, first: int) -> range:
        at = first
        while at > 0 and at > first - _REACH and not self._is_end(reading, at - 1):
            at -= 1
        return range(at, first)

    def _is_end(self, reading: Reading, at: int) -> bool:
        text = reading.tokens[at].text
        return text in self._ends or text in self._stops
