"""Words for how many: counts with their nouns, singular or plural, and lists of names."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str = "") -> str:
    """How many of something; the plural is needed only if it is not the noun with an s.

    Example:
        >>> counted(1, "agent"), counted(1050, "trial")
        ('1 agent', '1,050 trials')

    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def times(count: int) -> str:
    """How often something happened.

    Example:
        >>> times(1), times(2), times(1050)
        ('once', 'twice', '1,050 times')

    """
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def listed(names: Sequence[str]) -> str:
    """All the names, of which there is at least one, in words.

    Example:
        >>> listed(["a", "b", "c"])
        'a, b and c'

    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
