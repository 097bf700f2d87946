"""Copies of the running command as workers: they have imported what it has, and are ready at once (Linux).

A copy looks to the code in it like `python -P -m MODULE`: a session, streams, a path and exit handlers of its own. Only
the `assay` command itself is copied, before it has threads or an event loop; other programs start a new interpreter.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from subprocess import TimeoutExpired
from types import ModuleType
from typing import IO, Any, NoReturn

# Of the `assay` command, whether it is called by this name or by `python -m`.
_COMMANDS = frozenset({"assay", "assay.cli", "assay.cli.__main__"})
_COLLECT_AFTER = (700, 10, 10)  # what Python starts with


def can_fork() -> bool:
    """Whether this process may be copied."""
    return sys.platform.startswith("linux") and threading.active_count() == 1 and is_command()


def is_command() -> bool:
    """Whether this process is the `assay` command, and nothing else."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    return (spec.name if spec else Path(str(getattr(main, "__file__", ""))).name) in _COMMANDS


class Forked:
    """A copy of this process, used like a `subprocess.Popen` with pipes."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int | None, handle: int | None = None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout = FileIO(stdin, "wb"), FileIO(stdout, "rb")
        self.stderr = None if stderr is None else FileIO(stderr, "rb")
        self.handle = os.pidfd_open(pid) if handle is None else handle
        """A file that can be read once the process has ended."""

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        if self.returncode is None:
            self.returncode = self._exit_code()
            if self.returncode is not None:
                os.close(self.handle)
        return self.returncode

    def _exit_code(self) -> int | None:
        try:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has asked
            return 0
        return os.waitstatus_to_exitcode(status) if ended else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; raises `subprocess.TimeoutExpired`."""
        if self.poll() is None:
            select.select([self.handle], [], [], timeout)
        code = self.poll()
        if code is None:
            raise TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def fork(work: Callable[..., None], *values: Any, has_stderr: bool = True) -> Forked:
    """A copy of this process that calls a function and ends with it; its standard error may go nowhere."""
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    our_errors, their_errors = os.pipe() if has_stderr else (None, os.open(os.devnull, os.O_WRONLY))
    theirs = (their_input, their_output, their_errors)
    for stream in (sys.stdout, sys.stderr):  # what waits in them must not be written twice
        stream.flush()
    # What was imported stays: unless a collection touches it, the two processes share its memory.
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        run_copy(work, values, theirs)
    for one in theirs:
        os.close(one)
    return Forked(pid, our_output, our_input, our_errors)


def run_copy(work: Callable[..., None], values: tuple[Any, ...], pipes: tuple[int, ...]) -> NoReturn:
    """In a copy of a process: call a function with these pipes as standard streams, and end with it."""
    code = 1
    try:
        _settle(sys.modules[work.__module__], pipes)
        work(*values)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        # As at the end of an interpreter: wait for threads, call what was registered, write what is left.
        with suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
        with suppress(BaseException):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):
                stream.flush()
        os._exit(code)


def _settle(module: ModuleType, pipes: tuple[int, ...]) -> None:
    """Make the copy look like a new interpreter that runs the module."""
    os.setsid()  # Ctrl-C at the terminal does not reach it, and what it leaves behind can be ended with it
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # pipes to other processes among them, which would never end
    atexit._clear()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.set_threshold(*_COLLECT_AFTER)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        stream = _stream(number, mode, getattr(sys, f"__{name}__"))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [str(module.__file__)]
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of the program, or the current one, which -P keeps off the path
    # A process that the agent starts with `multiprocessing` imports the main module of this one again.
    main = ModuleType("__main__", module.__doc__)
    main.__spec__, main.__file__ = module.__spec__, module.__file__
    sys.modules["__main__"] = main


def _stream(number: int, mode: str, like: IO[str] | None) -> IO[str]:
    encoding, errors = getattr(like, "encoding", "utf-8"), getattr(like, "errors", "replace")
    return open(number, mode, 1 if number == 2 else -1, encoding=encoding, errors=errors, closefd=False)
