"""How a command that computes much with arrays uses its process. Nothing here knows what is computed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
