"""Runs a program in a fresh interpreter with a timeout, passes data to it and returns its result.

The result comes back in a file, so that output printed by a framework cannot be mistaken for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.redaction import redacted

# Without these variables an interpreter does not start or does not find its packages. All others are left out: a
# key or a setting in the environment must not change what is measured.
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV")

# At its end Python would search everything that was imported for cycles, a fifth of such a process's time.
_WRITE_RESULT = """
import gc as _gc, json as _json
with open({path!r}, "w", encoding="utf-8") as _file:
    _json.dump(result, _file)
_gc.freeze()
"""
_MAX_ERROR_LENGTH = 400
_SECONDS_BETWEEN_LOOKS = 0.1

TOLD_TO_STOP: ContextVar[threading.Event | None] = ContextVar("told_to_stop", default=None)
"""What another thread sets to end the program that runs here, and to start no other."""


class ProcessError(AssayError):
    """A program timed out or ended without a result."""


class MeasuringStoppedError(Exception):
    """Somebody else has told this thread to stop."""


def run_program(program: str, given: str, *, timeout: float) -> dict[str, Any]:
    """Run a program that reads `given` from standard input and assigns a dictionary to `result`.

    Raises MeasuringStoppedError once `TOLD_TO_STOP` is set.
    """
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        answer = Path(folder) / "answer.json"
        # `-P` keeps the current folder out of the import path, so that only installed packages are imported.
        with subprocess.Popen(
            [sys.executable, "-P", "-c", program + _WRITE_RESULT.format(path=str(answer))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=folder,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        ) as process:
            try:
                errors = _errors_of(process, given, timeout)
            except BaseException:
                process.kill()
                raise
        if not answer.exists():
            last = redacted(errors).strip().rpartition("\n")[2][:_MAX_ERROR_LENGTH]
            raise ProcessError(last or f"the process ended with status {process.returncode} and no result")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def _errors_of(process: subprocess.Popen[str], given: str, timeout: float) -> str:
    """What a process writes to standard error, once it has ended."""
    ends, told = time.monotonic() + timeout, TOLD_TO_STOP.get()
    message: str | None = given
    while True:
        if told is not None and told.is_set():
            raise MeasuringStoppedError
        try:
            return process.communicate(message, timeout=_SECONDS_BETWEEN_LOOKS)[1]
        except subprocess.TimeoutExpired:
            message = None  # it is on its way
            if time.monotonic() >= ends:
                raise ProcessError(f"the process took more than {timeout:g} seconds") from None
