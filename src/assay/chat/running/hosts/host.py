"""Hosts: an agent runs in its own worker process or, if it is a function of this process, in this one.

A host plays conversations. Two things can go wrong with the host itself: the agent cannot be built, or its process
crashes. Neither affects any other agent.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from assay.chat.agents import AgentKind, Setup
from assay.chat.running.conversation import Job, PlayedTurn, play
from assay.chat.running.hosts.template import template_of
from assay.chat.running.hosts.worker import OpenAgent, uses_model
from assay.chat.running.processes.child import ChildProcess, ForkedProcess
from assay.chat.running.reception import describe_error
from assay.errors import AssayError, MissingExtraError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.processes.forking import Forked
    from assay.chat.running.tracing import TurnTracing

SetupChoice = Setup | Callable[[bool], Setup]
"""A setup, or a function that returns it, called with whether the agent uses it: its services are started only then."""

# Importing a framework on a busy machine takes seconds, not a minute.
SECONDS_TO_OPEN = 120.0
# Time that a worker has beyond a turn's timeout to report it, before the worker is considered stuck.
_GRACE = 5.0


class RefusedError(AssayError):
    """An agent that cannot be built."""

    def __init__(self, what: str, *, missing: bool = False, unknown: bool = False, unfit: bool = False) -> None:
        super().__init__(what)
        self.missing = missing
        """Whether a package it needs is not installed."""
        self.unknown = unknown
        """Whether there is no such module or function: its name is wrong."""
        self.unfit = unfit
        """Whether it is an agent object that cannot be played as it was named, in no turn."""


class CrashedError(AssayError):
    """A worker process that ended during a conversation."""

    def __init__(
        self, what: str, *, worker: int = 0, shared: bool = False, stuck: bool = False, lost: bool = False
    ) -> None:
        super().__init__(what)
        self.lost = lost
        """Whether it was lost with its machine, for which the agent cannot be blamed."""
        self.stuck = stuck
        """Whether it did not answer and was killed for that."""
        self.worker = worker
        """Which of the agent's processes crashed, counted from 1."""
        self.shared = shared
        """Whether it was playing other conversations, any of which may have caused the crash."""


class Host(Protocol):
    """Runs one agent and plays conversations with it."""

    @property
    def processes(self) -> int:
        """How many processes it has, each of which has to be warmed up."""
        ...

    @property
    def uses_setup(self) -> bool:
        """Whether its model and tools are those of the setup; known once it is open."""
        ...

    @property
    def uses_model(self) -> bool:
        """Whether its model is that of the setup, whatever its tools are; known once it is open."""
        ...

    async def open(self) -> None:
        """Build the agent if it is not built yet; raises RefusedError."""

    def play(self, job: Job) -> AsyncGenerator[PlayedTurn]:
        """Play a conversation; raises RefusedError or CrashedError."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class QueueingHost(Host, Protocol):
    """A host that takes several conversations at once and plays one after the other."""

    def play_all(self, jobs: Sequence[Job]) -> AsyncGenerator[tuple[int, PlayedTurn | None]]:
        """Play conversations without restarts. Each turn comes with the place of its conversation in `jobs`, and after
        its last turn comes None. Raises RefusedError or CrashedError because of the first that has not ended.
        """
        ...


class Child(Protocol):
    """A process that a host talks to; `ChildProcess` is one on this machine."""

    stopped: str
    is_lost: bool

    @property
    def is_running(self) -> bool: ...

    async def send(self, message: dict[str, Any]) -> None: ...

    def messages(self) -> AsyncGenerator[dict[str, Any]]: ...

    async def ending(self) -> str: ...

    def kill(self, reason: str) -> None: ...

    async def close(self) -> None: ...


class LocalHost:
    """An agent in this process, for functions that cannot be sent to another. One that blocks delays all others."""

    processes = 1

    def __init__(self, kind: AgentKind, setup: SetupChoice) -> None:
        self._kind = kind
        self._setup = setup
        self._opened: OpenAgent | None = None
        self._lock = asyncio.Lock()

    @property
    def uses_setup(self) -> bool:
        return self._kind.uses_setup

    @property
    def uses_model(self) -> bool:
        return uses_model(self._kind)

    async def open(self) -> None:
        async with self._lock:
            if self._opened is None:
                try:
                    setup = _setup_for(self._setup, self.uses_setup or self.uses_model)
                    self._opened = await OpenAgent(self._kind, setup, _tracing_for(self._kind)).__aenter__()
                except Exception as error:
                    raise RefusedError(
                        redacted(str(error)) if isinstance(error, AssayError) else describe_error(error),
                        missing=isinstance(error, MissingExtraError),
                    ) from error

    async def play(self, job: Job) -> AsyncGenerator[PlayedTurn]:
        await self.open()
        assert self._opened is not None
        opened = self._opened
        try:
            async for played in play(opened.agent, job, tracing=opened.tracing, preferences=opened.used_preferences):
                yield played
        except Exception as error:
            raise CrashedError(describe_error(error)) from error

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(None, None, None)
            self._opened = None


def _setup_for(choice: SetupChoice, is_used: bool) -> Setup:
    return choice if isinstance(choice, Setup) else choice(is_used)


def _tracing_for(kind: AgentKind) -> TurnTracing:
    from assay.chat.running.tracing import Tracing, TracingIfImported

    return Tracing() if kind.uses_setup or uses_model(kind) else TracingIfImported()


class ProcessHost:
    """An agent in a worker process, which is started again for the next conversation if it crashed."""

    processes = 1

    def __init__(
        self,
        spec: AgentSpec,
        setup: SetupChoice,
        *,
        launch: Callable[[AgentSpec], Awaitable[Child]] | None = None,
        numbers: Iterator[int] | None = None,
        started: Forked | None = None,
    ) -> None:
        """`launch` starts the process, by default on this machine; `numbers` are those of the agent's processes;
        `started` is the first one, if it was started ahead.
        """
        self._spec = spec
        self._setup = setup
        self._launch = launch or launched
        self._numbers = numbers or itertools.count(1)
        self._worker: _Worker | None = None
        self._lock = asyncio.Lock()
        self._started = started
        self._prepared: Child | None = None
        """A process that was started ahead, and has not been sent what it is to build."""
        self.uses_setup = self.uses_model = True

    async def prepare(self) -> None:
        """Start the process, without building the agent; nothing happens for an agent with its own environment."""
        async with self._lock:
            if self._spec.version is None and self._worker is None and self._prepared is None:
                self._prepared = await self._first()

    async def open(self) -> None:
        await self._running()

    async def play(self, job: Job, hear: Callable[[str], None] | None = None) -> AsyncGenerator[PlayedTurn]:
        """Play a conversation; `hear` is called with each piece of text if the job is live."""
        start = 0
        for at, restart in enumerate(job.restarts):
            if restart is None:
                continue
            if at > start:
                async for played in self._play(job.part(start, at), hear):
                    yield played
                    if played.record.status == "failed":
                        return
            start = at
            if restart == "before":
                await self._kill()
                continue
            try:
                async for played in self._play(job.part(at, at + 1, dies=True), hear):
                    yield played  # it made no second request to the model and finished
                    start = at + 1
            except CrashedError as error:
                if error.lost:
                    raise
                # otherwise it crashed as it should
        if start < len(job.messages):
            rest = job.part(start, len(job.messages)) if job.restarts else job
            async with aclosing(self._play(rest, hear)) as turns:
                async for played in turns:
                    yield played

    async def play_all(self, jobs: Sequence[Job]) -> AsyncGenerator[tuple[int, PlayedTurn | None]]:
        worker = await self._running()
        async with aclosing(worker.play_all(jobs)) as turns:
            async for turn in turns:
                yield turn

    async def _play(self, job: Job, hear: Callable[[str], None] | None) -> AsyncGenerator[PlayedTurn]:
        worker = await self._running()
        async with aclosing(worker.play(job, hear)) as turns:
            async for played in turns:
                yield played

    async def _kill(self) -> None:
        """Kill the process; the next turn starts another."""
        if self._worker is not None:
            await self._worker.kill()
            self._worker = None

    async def close(self) -> None:
        if self._prepared is not None:
            await self._prepared.close()
            self._prepared = None
        if self._worker is not None:
            await self._worker.close()
            self._worker = None

    async def _running(self) -> _Worker:
        async with self._lock:
            if self._worker is not None and not self._worker.is_alive:
                await self._worker.close()
                self._worker = None
            if self._worker is None:
                prepared, self._prepared = self._prepared, None
                child = prepared or await self._first()
                self._worker = await _Worker.started(child, self._spec, self._setup, next(self._numbers))
                self.uses_setup, self.uses_model = self._worker.uses_setup, self._worker.uses_model
            return self._worker

    async def _first(self) -> Child:
        """The process that was started ahead, or, for the next one, a new one."""
        started, self._started = self._started, None
        if started is not None and started.poll() is None:
            return ChildProcess(await ForkedProcess.connected(started))
        return await self._launch(self._spec)


async def launched(spec: AgentSpec) -> ChildProcess:
    """The worker process of an agent, on this machine."""
    template = template_of(spec)
    copied = None if template is None else await asyncio.to_thread(template.copy)
    if copied is not None:
        return ChildProcess(await ForkedProcess.connected(copied))
    return await ChildProcess.started("assay.chat.running.hosts.worker", await _interpreter(spec))


async def _interpreter(spec: AgentSpec) -> str:
    """The Python that an agent runs in; making an environment for its version takes a while."""
    if spec.version is None:
        return sys.executable
    from assay.chat.running.versions import interpreter_of

    try:
        return await asyncio.to_thread(interpreter_of, spec)
    except AssayError as error:
        raise RefusedError(str(error)) from error


class _Worker:
    """The runner's end of one worker process."""

    def __init__(self, child: Child, number: int) -> None:
        self.uses_setup = self.uses_model = True
        self._child = child
        self._number = number
        self._jobs: dict[int, asyncio.Queue[dict[str, Any]]] = {}
        """Where messages about each conversation go; those that are played one after the other share a queue."""
        self._next = 0
        self._opening: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen())
        self._is_stuck = False
        self._ended: dict[str, Any] | None = None
        """The message for every waiting conversation, once the process has ended."""
        self._under_way = 0
        """How many conversations it was playing when it ended."""

    @classmethod
    async def started(cls, child: Child, spec: AgentSpec, setup: SetupChoice, number: int) -> _Worker:
        worker = cls(child, number)
        try:
            await worker._child.send({"agent": spec.to_json()})
            answer = await worker._answer_to("uses_setup")
            worker.uses_setup, worker.uses_model = bool(answer["uses_setup"]), bool(answer["uses_model"])
            is_used = worker.uses_setup or worker.uses_model
            await worker._child.send({"setup": _setup_for(setup, is_used).to_json()})
            await worker._answer_to("ready")
        except BaseException:
            await worker.close()
            raise
        return worker

    async def _answer_to(self, step: str) -> dict[str, Any]:
        """The worker's answer to a step of opening; raises RefusedError if it is another one."""
        try:
            answer = await asyncio.wait_for(self._opening.get(), SECONDS_TO_OPEN)
        except TimeoutError:
            raise RefusedError(f"was not ready after {SECONDS_TO_OPEN:g} s") from None
        if step not in answer:
            if "ended" in answer and self._child.is_lost:
                raise self._crash(answer["ended"])
            told = {name: bool(answer.get(name)) for name in ("missing", "unknown", "unfit")}
            raise RefusedError(answer.get("refused") or answer["ended"], **told)
        return answer

    @property
    def is_alive(self) -> bool:
        return self._child.is_running and self._ended is None

    async def play(self, job: Job, hear: Callable[[str], None] | None = None) -> AsyncGenerator[PlayedTurn]:
        async with aclosing(self.play_all([job], hear)) as turns:
            async for _, played in turns:
                if played is not None:
                    yield played

    async def play_all(
        self, jobs: Sequence[Job], hear: Callable[[str], None] | None = None
    ) -> AsyncGenerator[tuple[int, PlayedTurn | None]]:
        """Play conversations one after the other, as `QueueingHost` says."""
        first, self._next = self._next, self._next + len(jobs)
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._jobs |= dict.fromkeys(range(first, self._next), messages)
        if self._ended is not None:
            messages.put_nowait(self._ended)
        at = 0
        try:
            await self._child.send({"first": first, "jobs": [job.to_json() for job in jobs]})
            while at < len(jobs):
                message = await self._message(messages, jobs[at].timeout + _GRACE)
                if "played" in message:
                    yield at, PlayedTurn.from_json(message["played"])
                elif "piece" in message:
                    if hear is not None:
                        hear(message["piece"])
                elif "broke" in message:
                    raise CrashedError(message["broke"], worker=self._number)
                elif "ended" in message:
                    raise self._crash(message["ended"])
                if "done" in message:
                    at += 1
                    yield at - 1, None
        finally:
            for number in range(first, first + len(jobs)):
                del self._jobs[number]
            if at < len(jobs) and self.is_alive:
                await self._child.send({"cancel": first})

    async def _message(self, messages: asyncio.Queue[dict[str, Any]], seconds: float) -> dict[str, Any]:
        """The next message about some conversations; a process that sends none for so many seconds is killed."""
        if not messages.empty():
            return messages.get_nowait()
        try:
            async with asyncio.timeout(seconds):
                return await messages.get()
        except TimeoutError:
            self._is_stuck = True
            self._kill(f"did not answer for {seconds:g} s and was stopped")
            raise self._crash(self._child.stopped) from None

    async def close(self) -> None:
        await self._child.close()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def kill(self) -> None:
        """End the process at once, as the system would, without a chance to write anything."""
        self._kill("was killed")
        await self.close()

    def _crash(self, reason: str) -> CrashedError:
        shared, lost = self._under_way > 1, self._child.is_lost
        return CrashedError(reason, worker=self._number, shared=shared, stuck=self._is_stuck, lost=lost)

    def _kill(self, reason: str) -> None:
        self._under_way = len(set(self._jobs.values()))
        self._child.kill(reason)

    async def _listen(self) -> None:
        """Pass each message to its conversation; at the end of the output, tell them all that the process ended."""
        async for message in self._child.messages():
            waiting = self._jobs.get(message["job"]) if "job" in message else self._opening
            if waiting is not None:
                waiting.put_nowait(message)
        reason = await self._child.ending()
        self._under_way = len(set(self._jobs.values()))
        self._ended = {"ended": reason}
        for queue in {self._opening, *self._jobs.values()}:
            queue.put_nowait(self._ended)
