"""The processes that a process has started, and those that they have started, in whatever session (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from dataclasses import dataclass

_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux


@dataclass(frozen=True, slots=True)
class Descendant:
    """A process. Numbers are given again to new processes, so it is known by its start too."""

    number: int
    started: int
    """Ticks of the system's clock."""

    def kill(self) -> None:
        """End it, if it is still the same."""
        found = _status(self.number)
        if found is not None and found[1] == self.started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.number, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of what this process's children leave behind, so that `descendants` finds it."""
    with suppress(OSError, AttributeError):  # neither Linux nor its C library
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def descendants(process: int) -> set[Descendant]:
    """All processes below one; empty where the system does not list them."""
    children: dict[int, list[Descendant]] = {}
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return set()
    for number in numbers:
        status = _status(number)
        if status is not None:
            children.setdefault(status[0], []).append(Descendant(number, status[1]))
    found: set[Descendant] = set()
    waiting = [process]
    while waiting:
        new = [one for one in children.get(waiting.pop(), ()) if one not in found]
        found.update(new)
        waiting += [one.number for one in new]
    return found


def _status(process: int) -> tuple[int, int] | None:
    """The parent of a process and when it was started; None if it has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The name of the program, in brackets, may contain anything.
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[19])
    except (OSError, ValueError, IndexError):
        return None
