"""The local engine: processes of this machine, or this process itself if there is one worker."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from assay.engines import FailedItem, ItemT, ResultT, attempted, unsent
from assay.errors import AssayError

# Items that wait for each worker.
_AHEAD = 3


class LocalEngine:
    """Processes of this machine. They are started when they are first needed."""

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()
        self._pool: ProcessPoolExecutor | None = None

    def results(
        self, work: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Generator[tuple[int, ResultT | FailedItem], None, None]:
        """As `Engine.results`."""
        if self.workers == 1:
            yield from enumerate(attempted(work, item) for item in items)
            return
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_start_worker)
        running: dict[Future[Any], int] = {}
        try:
            for number, item in enumerate(items):
                # A slow item holds the others up, so that results that wait for it do not fill the memory.
                while len(running) >= _AHEAD * self.workers or (
                    running and number - min(running.values()) >= 2 * _AHEAD * self.workers
                ):
                    yield from _finished(running)
                running[self._pool.submit(attempted, work, item)] = number
            while running:
                yield from _finished(running)
        except BrokenProcessPool as error:
            raise AssayError(
                "a worker process ended while it was scoring",
                hint="It may have run out of memory; try --workers 1",
            ) from error
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Stop the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _finished(running: dict[Future[Any], int]) -> list[tuple[int, Any]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    return sorted(((running.pop(future), _received(future)) for future in done), key=lambda found: found[0])


def _received(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # not of the work itself, whose errors `attempted` returns
        return unsent(error)


def _start_worker() -> None:
    # Ctrl-C reaches every process of a terminal; the parent stops the workers, and says so once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Scoring makes many objects and hardly any cycles: searching for them only takes time.
    gc.set_threshold(100_000, 20, 20)
