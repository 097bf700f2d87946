"""Traits of tokens, a bit each: what the tokens of a text are searched for.

A text has a byte for each token, so that one fast pass finds all tokens with a trait. Knows no words.
"""

from __future__ import annotations

from itertools import compress

# NOTABLE: starts a list entry or negates. MARKED: the tokeniser has to look at it (formatting, the end of a line or
# sentence, a number). NAMES_CITY: starts the name of a city. IN_RUN: a content word or a comma, as in keyword stuffing.
# FOREIGN: can give a figure another object than the domain's. RELATES: can relate figures, by arithmetic or as what
# one has come from.
_ALL = tuple(1 << bit for bit in range(8))
NOTABLE, MARKED, NAMES_CITY, IN_RUN, IS_WORD, ENDS_CLAUSE, FOREIGN, RELATES = _ALL
_HAVING = {trait: bytes(int(bool(traits & trait)) for traits in range(256)) for trait in _ALL}


def having(traits: bytes, trait: int) -> list[int]:
    """Indices of the tokens that have a trait, ascending."""
    return list(compress(range(len(traits)), traits.translate(_HAVING[trait])))


def has(traits: bytes, trait: int) -> bool:
    """Whether a token has a trait."""
    return b"\1" in traits.translate(_HAVING[trait])


def count(traits: bytes, trait: int) -> int:
    """How many tokens have a trait."""
    return traits.translate(_HAVING[trait]).count(1)


def has_run(traits: bytes, trait: int, length: int) -> bool:
    """Whether so many tokens with a trait follow one another."""
    return b"\1" * length in traits.translate(_HAVING[trait])
