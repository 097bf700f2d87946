"""Parts of what was found in a text, by position. Knows no words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol, TypeVar


class _Positioned(Protocol):
    @property
    def first(self) -> int: ...


T = TypeVar("T", bound=_Positioned)
FIRST = attrgetter("first")


def within(found: Sequence[T], first: int, stop: int) -> Sequence[T]:
    """Those of `found`, which is in the order of the text, that begin at token `first` or later and before `stop`.

    A search in all of them for each sentence or cell would take quadratic time.
    """
    at = bisect_left(found, first, key=FIRST)
    return found[at : bisect_left(found, stop, lo=at, key=FIRST)]
