"""What a text only reports: what it tells of the past, what it says that others say, and what it imagines.

Knows tokens, clauses and the words of a language; what is reported is not stated of now, and not denied either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading

# How many tokens before a form of the past a word of the perfect may be: "it has just rained".
_NEXT = 2


class ReportReader:
    """Finds the reported parts of texts of one language."""

    def __init__(self, language: Mapping[str, Any], clause_ends: frozenset[str]) -> None:
        hypothesis = language["hypothesis"]
        self._clause_ends = clause_ends
        self._comparing = frozenset(hypothesis.get("comparing", ()))
        self._clause_words = frozenset(language["clause_words"])
        self._was = frozenset(hypothesis.get("was", ()))
        self._past_forms = frozenset(hypothesis.get("past_forms", ()))
        self._perfect = frozenset(hypothesis.get("perfect", ()))

    def past(self, reading: Reading) -> set[int]:
        """Tokens that tell of the past: 'it was sunny this morning', 'it rained all night', not 'it has rained'.

        In a clause that names an earlier time, these are all that follow a verb in the past.
        """
        found: set[int] = set()
        tokens = reading.tokens
        for state in reading.all("states") if self._past_forms else ():
            at = state.first
            if tokens[at].text in self._past_forms:
                before = {token.text for token in tokens[max(0, at - _NEXT) : at]}
                if self._perfect.isdisjoint(before):
                    found.add(at)
        for earlier in reading.all("earlier"):
            sentence = reading.sentence(earlier.first)
            first, last = earlier.first, earlier.last
            while first > sentence[0] and tokens[first - 1].text not in self._clause_ends:
                first -= 1
            while last < sentence[1] and tokens[last + 1].text not in self._clause_ends:
                last += 1
            verb = next((at for at in range(first, last + 1) if tokens[at].text in self._was), None)
            if verb is not None:
                found.update(range(verb, last + 1))
        return found

    def hearsay(self, reading: Reading) -> set[int]:
        """Tokens after 'some say' or 'in a perfect world', up to a word such as 'but', a colon or the sentence's end.

        A colon that directly follows leads to what is said. "As elsewhere, it rains" says that it rains.
        """
        found: set[int] = set()
        for hearsay in reading.all("hearsay"):
            if hearsay.first and reading.tokens[hearsay.first - 1].text in self._comparing:
                continue
            _, last = reading.sentence(hearsay.first)
            for at in range(hearsay.last + 1, last + 1):
                text = reading.tokens[at].text
                if text in self._clause_words or (text in ":;" and at > hearsay.last + 1):
                    break
                found.add(at)
        return found
