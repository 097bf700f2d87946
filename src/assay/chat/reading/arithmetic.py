"""The words by which a text says that a figure follows from others: twice, together, the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Words of one language for arithmetic."""

    sums: frozenset[str]
    differences: frozenset[str]
    means: frozenset[str]
    combining: frozenset[str]
    """All of these: what combines two figures of a kind."""
    shares: frozenset[str]
    """With these, a number divides: €150 for three, so €50 each."""
    factors: Mapping[str, tuple[float, ...]]
    """By word, the numbers that it may stand for: a week of seven days, or of five."""

    @classmethod
    def of(cls, language: Mapping[str, Any]) -> Arithmetic:
        """The words of a language's file; none if it has none."""
        words = language.get("derived", {})
        sums, differences, means, shares = (
            frozenset(words.get(name, ())) for name in ("sums", "differences", "means", "shares")
        )
        factors = {word: tuple(map(float, listed)) for word, listed in words.get("factors", {}).items()}
        return cls(sums, differences, means, sums | differences | means, shares, factors)
