"""`once`: a property that is computed when it is first read, and then kept; `once_for_all`: kept for all objects that
share a memory.

`once` differs from `functools.cached_property` in having no lock, which costs more than most of the values do; two
threads that read a value at the same time may both compute it, with the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as once
    from functools import cached_property as once_for_all
else:

    class once:  # noqa: N801
        """A property that is computed when it is first read."""

        def __init__(self, compute: Any) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._compute(instance)
            return value

    class once_for_all(once):  # noqa: N801
        """A property that is computed when it is first read of any object with the same `shared` dictionary."""

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            shared = instance.shared
            if self._name not in shared:
                shared[self._name] = self._compute(instance)
            value = instance.__dict__[self._name] = shared[self._name]
            return value


__all__ = ["once", "once_for_all"]
