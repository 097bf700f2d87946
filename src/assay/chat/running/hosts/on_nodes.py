"""Agents on the nodes of a Ray cluster: each process of an agent has a place on a node, and plays one conversation at
a time.

`NodeProcess` runs on the node: it starts the same worker process as on one machine and passes its messages on. If the
node is lost, its conversation is played again elsewhere; nothing else notices.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.hosts.host import SECONDS_TO_OPEN, ProcessHost, RefusedError, SetupChoice, launched
from assay.chat.running.processes.child import ChildProcess
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.engines.ray import RayEngine

# How often a process is placed anew if each node is lost before the agent is ready.
_PLACINGS = 5
_LOST = "its node was lost"


class NodeHost:
    """An agent in several processes on the nodes of a cluster; each plays one conversation at a time."""

    def __init__(
        self, spec: AgentSpec, setups: Sequence[SetupChoice], engine: RayEngine, *, whole_cores: bool = True
    ) -> None:
        """One process for each setup. `whole_cores` if each has a core of the cluster to itself."""
        numbers = itertools.count(1)
        self._places = [NodePlace(engine, 1 if whole_cores else 0) for _ in setups]
        self._hosts = [
            ProcessHost(spec, setup, launch=place.launch, numbers=numbers)
            for setup, place in zip(setups, self._places, strict=True)
        ]
        # The last that became free is taken first: a process that crashed is started again at once.
        self._free: asyncio.LifoQueue[ProcessHost] = asyncio.LifoQueue()
        for host in self._hosts:
            self._free.put_nowait(host)

    @property
    def processes(self) -> int:
        return len(self._hosts)

    @property
    def uses_setup(self) -> bool:
        return all(host.uses_setup for host in self._hosts)

    @property
    def uses_model(self) -> bool:
        return all(host.uses_model for host in self._hosts)

    async def open(self) -> None:
        found = await asyncio.gather(*(host.open() for host in self._hosts), return_exceptions=True)
        errors = [error for error in found if isinstance(error, BaseException)]
        if errors:
            raise next((error for error in errors if isinstance(error, RefusedError)), errors[0])

    async def play(self, job: Job, hear: Callable[[str], None] | None = None) -> AsyncGenerator[PlayedTurn]:
        host = await self._free.get()
        try:
            async with aclosing(host.play(job, hear)) as turns:
                async for played in turns:
                    yield played
        finally:
            self._free.put_nowait(host)

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self._hosts), return_exceptions=True)
        await asyncio.gather(*(place.close() for place in self._places), return_exceptions=True)


class NodePlace:
    """Where one process runs: a node, or another one once that is lost. A process that is started again stays there."""

    def __init__(self, engine: RayEngine, cores: int) -> None:
        self._engine = engine
        self._cores = cores
        self._actor: Any = None

    async def launch(self, spec: AgentSpec) -> RemoteChild:
        """Start the worker process of an agent; raises RefusedError if it cannot be started on any node."""
        for _ in range(_PLACINGS):
            if self._actor is None:
                self._actor = self._engine.actor(NodeProcess, cores=self._cores)
            # What is left of a cluster may have fewer cores than processes.
            self._cores = 0
            try:
                started = self._actor.start.remote(spec.to_json(), __version__, os.getcwd())
                await asyncio.wait_for(started, SECONDS_TO_OPEN)
            except TimeoutError:
                raise RefusedError(f"no node of the cluster could start it within {SECONDS_TO_OPEN:g} s") from None
            except self._engine.task_errors as error:
                cause = getattr(error, "cause", None) or error
                missing = isinstance(cause, RefusedError) and cause.missing
                raise RefusedError(str(cause).strip().split("\n")[-1][:500], missing=missing) from None
            except self._engine.lost_errors:
                self._actor = None
                continue
            return RemoteChild(self._actor, self._engine)
        raise RefusedError(f"was placed on {_PLACINGS} nodes, and each was lost")

    async def close(self) -> None:
        """End the process and free its core."""
        if self._actor is not None:
            with suppress(*self._engine.lost_errors, TimeoutError):
                await asyncio.wait_for(self._actor.close.remote(), SECONDS_TO_OPEN)
            self._engine.end_actor(self._actor)
            self._actor = None


class RemoteChild:
    """The runner's end of a process on a node, used like a `ChildProcess`."""

    def __init__(self, actor: Any, engine: RayEngine) -> None:
        self.stopped = ""
        self.is_lost = False
        """Whether its node was lost, rather than the process having ended."""
        self._actor = actor
        self._engine = engine
        self._has_ended = False

    @property
    def is_running(self) -> bool:
        return not (self.stopped or self.is_lost or self._has_ended)

    async def send(self, message: dict[str, Any]) -> None:
        with suppress(*self._engine.lost_errors):  # which `messages` reports
            await self._actor.send.remote(message)

    async def messages(self) -> AsyncGenerator[dict[str, Any]]:
        while not self._has_ended:
            try:
                batch = await self._actor.receive.remote()
            except self._engine.lost_errors:
                self.is_lost = True
                return
            for message in batch:
                if message is None:
                    self._has_ended = True
                else:
                    yield message

    async def ending(self) -> str:
        if not self.is_lost:
            with suppress(*self._engine.lost_errors):
                return self.stopped or str(await self._actor.ending.remote())
        self.is_lost = not self.stopped
        return self.stopped or _LOST

    def kill(self, reason: str) -> None:
        self.stopped = reason
        with suppress(*self._engine.lost_errors):
            self._actor.kill.remote(reason)

    async def close(self) -> None:
        with suppress(*self._engine.lost_errors):
            await self._actor.stop.remote()


# --- on a node --------------------------------------------------------------------------------------------------------


class NodeProcess:
    """A worker process on the node where this runs, as an actor of Ray. If Ray ends the actor, the process ends too."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None
        self._listening: asyncio.Task[None] | None = None
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._storage = ""

    async def start(self, spec: dict[str, Any], version: str, folder: str) -> None:
        """Start the worker; `folder` is the current folder of the command, if this node has it too."""
        from assay.chat.agents.spec import AgentSpec

        if version != __version__:
            raise AssayError(
                f"a node has assay {__version__}, and this is assay {version}",
                hint="Install the same version on every node",
            )
        await self.stop()
        if os.path.isdir(folder):
            os.chdir(folder)
        self._child = await launched(AgentSpec.from_json(spec))
        self._messages = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen(self._child, self._messages))

    async def send(self, message: dict[str, Any]) -> None:
        assert self._child is not None
        setup = message.get("setup")
        if setup is not None and setup.get("storage"):
            # A folder of this node, in which the agent finds its conversations after it was killed.
            self._storage = self._storage or tempfile.mkdtemp(prefix="assay-restart-")
            message = {**message, "setup": {**setup, "storage": self._storage}}
        await self._child.send(message)

    async def receive(self) -> list[dict[str, Any] | None]:
        """The messages that have arrived, at least one; None once there are no more."""
        found = [await self._messages.get()]
        while not self._messages.empty():
            found.append(self._messages.get_nowait())
        return found

    async def ending(self) -> str:
        assert self._child is not None
        return await self._child.ending()

    async def kill(self, reason: str) -> None:
        if self._child is not None:
            self._child.kill(reason)

    async def stop(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            await child.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
            self._listening = None

    async def close(self) -> None:
        """End the process and delete what it stored."""
        await self.stop()
        if self._storage:
            shutil.rmtree(self._storage, ignore_errors=True)

    @staticmethod
    async def _listen(child: ChildProcess, messages: asyncio.Queue[dict[str, Any] | None]) -> None:
        async for message in child.messages():
            messages.put_nowait(message)
        messages.put_nowait(None)
