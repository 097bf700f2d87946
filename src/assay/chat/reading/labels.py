"""Labels whose value is a no: 'Rain: none', '| Snow | no |', 'Regen – nicht erwartet'.

Knows tokens and the words of a language; knows no domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS, Token

_MARKS = frozenset(":–—-|(")
_SAYING = frozenset({"word", "number"})


class Labels:
    """What the values of labels say in a language."""

    def __init__(self, negation: Mapping[str, Any]) -> None:
        self._none = frozenset(negation.get("values", ()))
        self._doubtful = frozenset(negation.get("doubtful_values", ()))
        self.values = self._none | self._doubtful
        """Words that, as the value of a label, say that there is none, or leave it open."""
        self._after = frozenset(negation.get("after", ()))
        # Words that deny nothing elsewhere are looked for in the text itself: « Pluie : non ».
        own = sorted(self.values.difference(negation.get("words", ())))
        self._texts = [f"{mark} {form}" for mark in ":|" for word in own for form in (word, word.capitalize())]

    def may_deny(self, text: str) -> bool:
        """Whether a value that denies nothing elsewhere stands after a mark."""
        if ": " not in text and "| " not in text:
            return False
        return any(one in text for one in self._texts)

    def denies(self, tokens: Sequence[Token], first: int, mark: int) -> bool:
        """Whether what is from token `first` up to a mark is a label, and the value after the mark says no."""
        return self._has_value(tokens, first, mark, self._none)

    def leaves_open(self, tokens: Sequence[Token], first: int, mark: int) -> bool:
        """The same of a value that does not tell: 'Rain: maybe'."""
        return self._has_value(tokens, first, mark, self._doubtful)

    def _has_value(self, tokens: Sequence[Token], first: int, mark: int, values: frozenset[str]) -> bool:
        if mark + 1 >= len(tokens) or tokens[mark].text not in _MARKS or tokens[mark + 1].text not in values:
            return False
        if first and tokens[first - 1].kind in _SAYING:
            return False
        if mark + 2 >= len(tokens):
            return True
        following = tokens[mark + 2]
        if following.kind in _SAYING:
            return following.text in self._after
        return following.text in STOPS or following.text in CLAUSE_MARKS or not following.text.isascii()
