"""Starts what a command will need before it needs it, so that it does not have to wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
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
    from assay.cli import _early
    from assay.store.process import StoreProcess

    with StoreProcess(address, _early.take()) as process:
        yield process


def import_tables(_: str = "") -> None:
    """Import what draws the result of agents while their turns are played: at the end, nothing else is left to do."""
    Thread(target=import_module, args=("assay.report.terminal.agents",), daemon=True).start()
