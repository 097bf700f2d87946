"""Parts of a text that say what is wished, hoped for or yet to be looked up: "I wish I could tell you it's sunny".

They claim nothing and deny nothing. Knows clauses and the words of a language; what becomes of the words is decided in
`clauses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.chat.reading.tokens import STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

INTENTION = "intention"
"""The list of words by which a text says that something is wished or yet to be found out."""
_HOPED, _PROMISED, _AFTER = f"{INTENTION}.hoped", f"{INTENTION}.promised", f"{INTENTION}.after"
# At most so many tokens are wished at once, so that the time of reading is linear in the length of a text.
_REACH = 40
# "Let me check the rain, and it's 12 °C": a verb at most this many tokens after an 'and' begins another sentence.
_ADDED = 2


class IntentionReader:
    """Finds in texts of one language what is only wished or promised."""

    def __init__(self, language: Mapping[str, Any], clause_ends: frozenset[str]) -> None:
        grammar = language.get("intentions", {})
        self._clause_ends = clause_ends
        self._and = frozenset(language["and_words"])
        self._or = frozenset(language["linking_or"])
        self._reasons = frozenset(grammar.get("reasons", ()))
        self._showing = frozenset(grammar.get("showing", ()))
        self._verbs = frozenset(language["copulas"]) | frozenset(language.get("present_verbs", ()))
        self._not_after = frozenset(grammar.get("not_before", ()))

    def tokens(self, reading: Reading) -> set[int]:
        """Indices of the tokens that are only wished, hoped for or promised."""
        found: set[int] = set()
        for mention in reading.all(INTENTION):
            if mention.keys[0] == _AFTER:
                found.update(self._before(reading, mention))
            elif not self._is_told(reading, mention):
                found.update(self._after(reading, mention))
        return found

    def _is_told(self, reading: Reading, mention: Mention) -> bool:
        """Whether what follows the words is not what is wished: 'I hope so'."""
        after = mention.last + 1
        return after < len(reading.tokens) and reading.tokens[after].text in self._not_after

    def _after(self, reading: Reading, mention: Mention) -> range:
        """The tokens from the words to the end of their clause, or of their list: 'it's sunny, warm and dry'."""
        tokens, kind = reading.tokens, mention.keys[0]
        start = mention.first
        at = mention.last + 1
        if kind == _HOPED and at < len(tokens) and tokens[at].text == ",":
            at += 1  # "hopefully, it stays dry"
        stop = min(len(tokens), at + _REACH)
        while at < stop:
            text = tokens[at].text
            if text in STOPS or text in self._reasons:
                break
            if text in self._clause_ends and not (text == "," and self._continues_list(reading, at)):
                break
            if kind == _PROMISED and (text in self._showing or (text in self._and and self._begins(reading, at + 1))):
                break
            at += 1
        return range(start, at)

    def _before(self, reading: Reading, mention: Mention) -> range:
        """The tokens from the start of the clause to words at its end: 'we'll have sun, with any luck'."""
        tokens = reading.tokens
        first = max(reading.sentence(mention.first)[0], mention.first - _REACH)
        at = mention.first - (mention.first > first and tokens[mention.first - 1].text == ",")
        while at > first and tokens[at - 1].text not in self._clause_ends:
            at -= 1
        return range(at, mention.last + 1)

    def _continues_list(self, reading: Reading, comma: int) -> bool:
        """Whether a comma only separates items of a list, of which the last is behind an 'and'."""
        after = [token.text for token in reading.tokens[comma + 2 : comma + 3]]
        return bool(after) and (after[0] == "," or after[0] in self._and or after[0] in self._or)

    def _begins(self, reading: Reading, at: int) -> bool:
        """Whether a sentence with a verb of its own begins at token `at`."""
        return any(token.text in self._verbs for token in reading.tokens[at : at + _ADDED])
