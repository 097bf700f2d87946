"""A cache of recent values, by key, up to a number of them or to their whole weight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class Recent(Generic[_Value]):
    """A cache of recent values, by key; each is computed once, even if several readers ask at the same time.

    `most` is how many values are kept, or what they weigh together if `weigh` says what one of them does.
    """

    def __init__(self, most: int, weigh: Callable[[_Value], int] = lambda value: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[Any, _Value] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Any, threading.Lock] = {}

    def get(self, key: Any, make: Callable[[], _Value]) -> _Value:
        """The value of a key, computed now if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = make()
                with self._lock:
                    self._values[key] = value
                    self._weight += self._weigh(value)
                    while self._weight > self._most:
                        self._weight -= self._weigh(self._values.popitem(last=False)[1])
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return value
