"""What making an environment needs: commands that can be stopped, one maker at a time, and the state of a checkout."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from assay.errors import UsageError

_SECONDS_TO_INSTALL = 1800
_SECONDS_BETWEEN_LOOKS = 0.1
_SECONDS_TO_END = 5
# What building a checkout writes into it, and what does not belong to its code, as all that begins with a dot.
_NO_SOURCE = ("__pycache__", "build", "dist", "node_modules")

TOLD_TO_STOP: ContextVar[threading.Event | None] = ContextVar("told_to_stop", default=None)
"""What another thread sets to end the command that runs here, and to start no other."""


class MakingStoppedError(Exception):
    """Somebody else has told this thread to stop."""


def ran(command: list[str], name: str) -> subprocess.CompletedProcess[str]:
    """A command that has ended; it is ended if this thread is told to stop, or interrupted."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ends = time.monotonic() + _SECONDS_TO_INSTALL
    _stop_if_told()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    ) as process:
        try:
            while True:
                try:
                    printed, errors = process.communicate(timeout=_SECONDS_BETWEEN_LOOKS)
                    break
                except subprocess.TimeoutExpired:
                    _stop_if_told()
                    if time.monotonic() >= ends:
                        raise UsageError(
                            f"the environment of {name} was not made within {_SECONDS_TO_INSTALL} s"
                        ) from None
        except BaseException:
            _end(process)
            raise
    _stop_if_told()  # Ctrl-C ends the command too, which is no failure of it
    return subprocess.CompletedProcess(command, process.returncode, printed, errors)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()


def _stop_if_told() -> None:
    told = TOLD_TO_STOP.get()
    if told is not None and told.is_set():
        raise MakingStoppedError


@contextmanager
def alone(folder: Path, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Waits until no other process makes this folder, and keeps others from it; a process that dies keeps nobody."""
    import fcntl

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = folder.with_name(f"{folder.name}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"environments cannot be kept in {folder.parent}: {error.strerror or error}",
            hint="Set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    with file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _stop_if_told()
                if not told:
                    waits()
                told = True
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        yield


@cache
def state_of(path: Path) -> str:
    """What changes when a file of a checkout does. The same for a whole run: `state_of.cache_clear()` looks again."""
    if not path.exists():
        return ""
    found = hashlib.sha256()
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(
            name for name in folders if name not in _NO_SOURCE and name[0] != "." and not name.endswith(".egg-info")
        )
        for file in sorted(files):
            _add(found, Path(folder, file), path)
    if path.is_file():
        _add(found, path, path)
    return found.hexdigest()


def _add(found: hashlib._Hash, file: Path, root: Path) -> None:
    try:
        stat = file.stat()
    except OSError:  # a link to nothing
        return
    found.update(f"{file.relative_to(root)}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode(errors="surrogateescape"))
