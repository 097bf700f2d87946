"""Measures this process: resident memory, and the longest stall of its event loop.

Memory is read from /proc on Linux; on other systems it is the highest value so far, which never falls.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# How often memory is read, and how often the event loop is asked to wake the stall meter.
_MEMORY_EVERY = 0.05
_WAKE_EVERY = 0.005
_STATUS = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Resident memory of this process."""
    try:
        return int(_STATUS.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return highest if sys.platform == "darwin" else highest * 1024


def settled_bytes() -> int:
    """Resident memory after garbage was collected and free pages were given back to the system."""
    gc.collect()
    with suppress(AttributeError, OSError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    return resident_bytes()


class PeakMemory:
    """The highest resident memory while a `with` block runs, read by a thread, so that a busy loop cannot hide it."""

    def __init__(self) -> None:
        self.highest = 0
        self._over = threading.Event()

    def __enter__(self) -> PeakMemory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._over.set()
        self._thread.join()
        self.highest = max(self.highest, resident_bytes())

    def _watch(self) -> None:
        while not self._over.wait(_MEMORY_EVERY):
            self.highest = max(self.highest, resident_bytes())


class StallMeter:
    """The longest delay of a timer of the event loop: how long something else blocked it."""

    def __init__(self) -> None:
        self.longest = 0.0

    @contextmanager
    def running(self) -> Iterator[StallMeter]:
        """Watch the running loop while a `with` block runs."""
        task = asyncio.ensure_future(self._watch())
        try:
            yield self
        finally:
            task.cancel()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _WAKE_EVERY
            try:
                await asyncio.sleep(_WAKE_EVERY)
            finally:
                # Also if it is cancelled: the loop may have been blocked until the very end.
                self.longest = max(self.longest, loop.time() - due)
