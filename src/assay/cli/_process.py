"""How a command that computes much with arrays uses its process. Nothing here knows what is computed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# OpenBLAS reads the first when NumPy loads it.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def load_numpy() -> None:
    """Load NumPy so that its matrix products use one thread, unless the environment says how many.

    The products here are many and small. Between two of them OpenBLAS's other threads wait in a loop, which takes more
    of the processor's time than they save.
    """
    if "numpy" in sys.modules or any(name in os.environ for name in _THREADS):
        return
    os.environ[_THREADS[0]] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS[0]]  # processes that are started later decide for themselves


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Garbage is seldom looked for: arrays make many objects and no cycles, and modules stay until the end."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
