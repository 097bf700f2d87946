"""The process that keeps the store of `assay chat run`, started before the command imports anything else.

It imports about as much as the command does until its options are read, and both can do so at the same time. This
module is imported first, imports next to nothing itself, and starts nothing in other programs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

# Options with which no new run is stored.
_WITHOUT = ("--resume", "--no-store", "--help", "-h")
_started: list[Popen[bytes]] = []


def is_wanted(words: Sequence[str]) -> bool:
    """Whether these words of a command line are those of the `assay` command, and it will store a new run.

    While `python -m` looks for a module, its name is not known yet.
    """
    folder, name = os.path.split(words[0])
    is_command = name in ("-m", "assay") or (name == "__main__.py" and os.path.basename(folder) in ("assay", "cli"))
    return is_command and list(words[1:3]) == ["chat", "run"] and not any(one.startswith(_WITHOUT) for one in words)


def start(words: Sequence[str]) -> None:
    """Start the process if it will be needed; one that is not taken ends with the command."""
    try:
        for number in range(3):
            os.fstat(number)
    except OSError:  # a standard stream is closed, and a pipe would get its number
        return
    if is_wanted(words):
        import atexit

        from assay.store.starting import start_store_process

        _started.append(start_store_process())
        atexit.register(_end_untaken)


def take() -> Popen[bytes] | None:
    """The process, if it was started and nobody has it."""
    return _started.pop() if _started else None


def _end_untaken() -> None:
    process = take()
    if process is not None:
        process.kill()
        process.wait()


start(sys.argv)
