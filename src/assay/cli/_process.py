"""How a command that computes much with arrays uses its process. Nothing here knows what is computed."""

from __future__ import annotations

import gc
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
