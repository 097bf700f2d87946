"""`KeptByValue`: results of a function of plain data, kept for equal data.

The scenarios of a run are repeated, and every agent plays them: the same ground truths and preferences come again and
again, as other objects with the same values.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# How many results are kept, and the most bytes that the data of one may have.
_MOST = 512
_LARGEST = 16_384


class KeptByValue(Generic[T]):
    """A function of tables, lists, texts and numbers that is computed once for equal data."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._known: dict[bytes, T] = {}

    def __call__(self, data: Any) -> T:
        try:
            key = marshal.dumps(data)  # tells True from 1, and takes only built-in types
        except ValueError:
            return self._compute(data)
        known = self._known.get(key)
        if known is not None:
            return known
        if len(key) > _LARGEST:
            return self._compute(data)
        if len(self._known) >= _MOST:
            self._known.clear()
        # The result may refer to the data, which its owner may change later: it gets a copy.
        known = self._known[key] = self._compute(marshal.loads(key))
        return known
