"""The options that say where shards are scored, and what they open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, cast

import typer

from assay.cli._output import note
from assay.errors import AssayError, UsageError, unknown_name

if TYPE_CHECKING:
    from assay.engines import Engine
    from assay.engines.ray import RayEngine
    from assay.events.sharded import Sharding
    from assay.store.store import Store

_ENGINE = "Engine"
_NAMES = ("local", "ray")

EngineName = Annotated[
    str, typer.Option("--engine", help="Where scoring runs: local, or ray for a cluster.", rich_help_panel=_ENGINE)
]
RunEngine = Annotated[
    str,
    typer.Option(
        "--engine", help="Where agents run: local, or ray for the nodes of a cluster.", rich_help_panel=_ENGINE
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="The Ray cluster: auto, HOST:PORT or ray://HOST:PORT; by default RAY_ADDRESS, else a new local one.",
        rich_help_panel=_ENGINE,
    ),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Leave out shards that cannot be read, and name them in the report.",
        rich_help_panel=_ENGINE,
    ),
]


def check_engine(name: str, address: str | None) -> None:
    """Raise UsageError for an unknown engine, or an address that no engine uses."""
    if name not in _NAMES:
        raise unknown_name("engine", name, _NAMES)
    if address is not None and name != "ray":
        raise UsageError("only the engine ray has an address", hint="Add --engine ray, or leave out --address")


@contextmanager
def opened_engine(name: str, address: str | None, workers: int | None) -> Iterator[Engine]:
    """An engine that is stopped at the end, whatever happens."""
    from assay.engines import open_engine

    engine = open_engine(name, address=address, workers=workers)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def opened_cluster(name: str, address: str | None) -> Iterator[RayEngine | None]:
    """The cluster on which agents run, disconnected at the end; None for this machine."""
    check_engine(name, address)
    if name == "local":
        yield None
        return
    with opened_engine(name, address, None) as engine:
        yield cast("RayEngine", engine)


@contextmanager
def opened_sharding(
    name: str, address: str | None, *, threads: int | None, allow_missing: bool, store: str | None, no_store: bool
) -> Iterator[Sharding | None]:
    """How events are scored in shards; None if they are read in one piece."""
    check_engine(name, address)
    if name == "local" and not allow_missing:
        yield None
        return
    from assay.events.sharded import Sharding

    with ExitStack() as stack:
        keeper = None
        kept_in = None if no_store else _store(stack, store)
        if kept_in is not None:
            from assay.runs.finished_shards import ShardsInStore

            keeper = ShardsInStore(kept_in)
        # On this machine one shard is scored at a time, with threads.
        workers = 1 if name == "local" else threads
        engine = stack.enter_context(opened_engine(name, address, workers))
        yield Sharding(engine, allow_missing=allow_missing, keeper=keeper)
        if keeper is not None and keeper.reused:
            note(f"{keeper.reused:,} shards were finished by an earlier evaluation and not scored again")


def _store(stack: ExitStack, address: str | None) -> Store | None:
    """The store; None, with a note, if it is the default one and cannot be opened."""
    from assay.store import VARIABLE, open_store

    try:
        return stack.enter_context(open_store(address))
    except AssayError as error:
        if address or os.environ.get(VARIABLE):
            raise
        note(f"finished shards are not kept: {error}")
        return None
