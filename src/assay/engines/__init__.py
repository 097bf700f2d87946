"""Engines: where the shards of a large evaluation are scored, on this machine or on a Ray cluster.

An engine applies one function to many items and gives each result with the number of its item. It knows nothing about
events or conversations. Functions must be importable, and give the same result each time: a shard that was lost with
its machine is scored again. Whoever uses an engine adds the results up in the order of the items, so that neither the
number of workers nor the order in which they finish can change a number.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from assay.errors import AssayError, UsageError, unknown_name

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item that could not be done, and why."""

    error: Exception


class Engine(Protocol):
    """What an engine can do."""

    @property
    def name(self) -> str: ...

    def results(
        self, work: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Generator[tuple[int, ResultT | FailedItem], None, None]:
        """`work` of each item with the item's number, as they finish. Closing the generator stops what is running.

        Items are taken as they are needed: few are being worked on at a time, and none far ahead of the first that is
        unfinished.
        """

    def close(self) -> None:
        """Stop the workers."""


def open_engine(name: str, *, address: str | None = None, workers: int | None = None) -> Engine:
    """An engine by its name. `address` is that of a Ray cluster; `workers` limits the processes on this machine."""
    if name == "local":
        if address is not None:
            raise UsageError("the local engine has no address", hint="Add --engine ray, or leave out --address")
        from assay.engines.local import LocalEngine

        return LocalEngine(workers)
    if name == "ray":
        from assay.engines.ray import RayEngine

        return RayEngine(address, workers=workers)
    raise unknown_name("engine", name, ENGINES)


def attempted(work: Callable[[ItemT], ResultT], item: ItemT) -> ResultT | FailedItem:
    """`work` of an item, or why it failed. Runs on a worker, so the error has to survive pickling."""
    try:
        return work(item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return FailedItem(AssayError(f"{type(error).__name__}: {error}"))
        return FailedItem(error)


def unsent(error: Exception) -> FailedItem:
    """A result that its worker could not send, or that could not be read here: its machine or a package is faulty."""
    reason = f"{type(error).__name__}: {error}"[:300]
    hint = "Its machine may be faulty, or have another version of a package; nothing of it was counted"
    return FailedItem(AssayError(f"a worker could not send its result: {reason}", hint=hint))
