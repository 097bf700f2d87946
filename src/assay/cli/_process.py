"""How a command uses its process: streams, signals, garbage and threads. Nothing here knows what is computed."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.chat.running.processes.forking import is_command

# Exit codes that shells give to commands that SIGINT and SIGTERM have ended.
_INTERRUPTED, _TERMINATED = 130, 143


def open_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next file that is opened, perhaps a store or a report, would get the number of the stream, and text
    that is printed could end up in it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does: temporary files are deleted, transactions and processes are ended."""
    told: list[int] = []

    def stop(number: int, frame: Any) -> None:
        told.append(number)
        interrupt = signal.getsignal(signal.SIGINT)  # a transaction has put Ctrl-C off
        if callable(interrupt):
            interrupt(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as by a command in the background of a script
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:  # while no command was running yet, or any more
        raise SystemExit(_TERMINATED if told else _INTERRUPTED) from None
    except SystemExit as leaving:
        if told and leaving.code == _INTERRUPTED:
            raise SystemExit(_TERMINATED) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """The command ends with the block, as soon as all it has to write is written.

    Python would free every object and module first, which takes a twentieth of a second after large imports.
    """
    try:
        yield
        code: Any = None
    except SystemExit as leaving:
        code = leaving.code
        if not (code is None or isinstance(code, int)):
            raise
    if is_command():
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        except (OSError, ValueError):  # Python reports it
            sys.exit(code)
        os._exit((code or 0) & 0xFF)
    sys.exit(code)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Garbage is seldom looked for: arrays and answers are many objects without cycles, and modules stay."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 100)
    try:
        yield
    finally:
        if not is_command():  # which ends now: a look at all that was made would take a tenth of a second
            gc.set_threshold(*before)
            gc.unfreeze()


_ARROW_POOL = "ARROW_DEFAULT_MEMORY_POOL"


def share_memory_with_arrow() -> None:
    """Arrow takes its memory from where NumPy does, unless the user has chosen another pool.

    Its own pool soon gives what was freed back to the system, which then clears every page again for the next batch: a
    third of the system's time of an evaluation, and a tenth of its peak memory. It reads this when it is loaded.
    """
    if "pyarrow" not in sys.modules:
        os.environ.setdefault(_ARROW_POOL, "system")


_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def load_numpy_with_one_thread() -> None:
    """Matrix products use one thread, unless the user has set how many: ours are short, and threads that wait for the
    next one do so at full load. It has to be said before NumPy is loaded; processes started later do not see it.
    """
    if "numpy" in sys.modules or any(name in os.environ for name in _LIMITS):
        return
    os.environ[_LIMITS[0]] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_LIMITS[0]]
