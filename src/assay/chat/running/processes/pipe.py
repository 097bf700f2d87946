"""The worker's end of the pipe to the process that started it: JSON lines both ways; it ends with that process."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from assay.chat.running.processes.descendants import adopt_orphans

# Seconds between two checks of whether the process that started this one still exists.
_LOOK_EVERY = 1.0
_LONGEST_LINE = 64 * 2**20
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


async def connect() -> tuple[asyncio.StreamReader, Callable[[Mapping[str, Any]], None]]:
    """The lines that arrive, and a function that sends one."""
    # Our lines go to the pipe and everything else that is printed to standard error, so that the two cannot mix.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))

    def tell(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return reader, tell


def end_with_parent() -> None:
    """End this process when the one that started it is gone, even while an agent blocks the event loop.

    If the system has a signal for that, it ends the process even if an agent holds the interpreter's lock.
    """
    parent = os.getppid()
    adopt_orphans()
    with suppress(OSError, AttributeError):  # neither Linux nor its C library
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the signal was set
        os._exit(1)
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)
