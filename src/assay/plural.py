"""Counts with their nouns, singular or plural."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """How many of something; the plural is needed only if it is not the noun with an s.

    Example:
        >>> counted(1, "agent"), counted(1050, "trial")
        ('1 agent', '1,050 trials')

    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
