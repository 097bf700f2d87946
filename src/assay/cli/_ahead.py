"""Processes that a command starts before it imports what it needs itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.store.process import StoreProcess


@contextmanager
def store_ahead(address: str | None, *, is_used: bool) -> Iterator[StoreProcess | None]:
    """The store of a new run in a process of its own, which imports what it needs while this one does.

    None if this process is not the command itself: other programs have most of it imported.
    """
    from assay.chat.running.processes.forking import is_command

    if not (is_used and is_command()):
        yield None
        return
    from assay.store.process import StoreProcess

    with StoreProcess(address) as process:
        yield process
