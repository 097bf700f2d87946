"""Requests that come at the same time share one question to the database, and nobody gets an answer that is too old."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from assay.web.shared_answer import SharedAnswer


class _Slow:
    """Answers with the number of changes so far, each time when it is let go."""

    def __init__(self) -> None:
        self.changes = 0
        self.asked = 0
        self.let_go = threading.Semaphore(0)

    def answer(self) -> int:
        self.asked += 1
        seen = self.changes
        assert self.let_go.acquire(timeout=10)
        return seen


async def _until_asked(slow: _Slow, times: int) -> None:
    async with asyncio.timeout(10):
        while slow.asked < times:
            await asyncio.sleep(0.001)


def test_who_comes_during_a_question_shares_the_next_one() -> None:
    async def main() -> None:
        slow = _Slow()
        shared = SharedAnswer(slow.answer)
        first = asyncio.create_task(shared.now())
        await _until_asked(slow, 1)
        slow.changes += 1  # after the first question was asked: its answer is too old for whoever comes now
        later = [asyncio.create_task(shared.now()) for _ in range(20)]
        slow.let_go.release(2)
        assert await first == 0
        assert await asyncio.gather(*later) == [1] * 20
        assert slow.asked == 2

    asyncio.run(main())


def test_who_leaves_takes_the_answer_from_nobody() -> None:
    async def main() -> None:
        slow = _Slow()
        shared = SharedAnswer(slow.answer)
        leaving, staying = (asyncio.create_task(shared.now()) for _ in range(2))
        await _until_asked(slow, 1)
        leaving.cancel()
        slow.let_go.release()
        assert await staying == 0
        assert leaving.cancelled()

    asyncio.run(main())


def test_a_question_that_fails_does_not_keep_the_next_one_from_being_asked() -> None:
    async def main() -> None:
        answers: Iterator[OSError | int] = iter((OSError("gone"), 7))

        def ask() -> int:
            found = next(answers)
            if isinstance(found, OSError):
                raise found
            return found

        shared = SharedAnswer(ask)
        with pytest.raises(OSError, match="gone"):
            await shared.now()
        assert await shared.now() == 7

    asyncio.run(main())
