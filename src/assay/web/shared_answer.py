"""Shares one query among many requests: those that arrive while a query is running share the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from anyio import to_thread

T = TypeVar("T")


class SharedAnswer(Generic[T]):
    """Asks a question that takes a while in a thread, at most once at a time.

    An answer is given only to those who wanted it before the question was asked, so it is never older than a request.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[T] | None = None
        """Too late to share."""
        self._next: asyncio.Task[T] | None = None

    async def now(self) -> T:
        """The answer to a question that is asked after this call."""
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._asked(self._asking))
        # One reader who leaves does not take the answer from the others.
        return await asyncio.shield(self._next)

    async def _asked(self, before: asyncio.Task[T] | None) -> T:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._asking, self._next = self._next, None
        return await to_thread.run_sync(self._ask)
