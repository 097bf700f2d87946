"""Where an agent lives while it is run: a worker process of its own, or, for a function that is at hand, this process.

A host plays conversations. What goes wrong with the host itself is one of two errors: the agent cannot be built, or its
process ended. Neither touches any other agent.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol

from assay.chat.agents import AgentKind
from assay.chat.running.conversation import Job, Played, describe, play
from assay.chat.running.worker import OpenAgent, Surroundings
from assay.errors import AssayError, MissingExtraError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec

# Importing a framework on a busy machine takes seconds, not a minute.
_SECONDS_TO_OPEN = 120.0
# What a worker has beyond a turn's own time to say that the time is up, before it is taken for stuck.
_GRACE = 5.0
_SECONDS_TO_CLOSE = 5.0
_KEPT_LINES = 20
_LONGEST_LINE = 20_000
_LONGEST_SHOWN = 500
_LINE_LIMIT = 64 * 2**20


class RefusedError(AssayError):
    """An agent that cannot be built."""

    def __init__(self, what: str, *, missing: bool = False) -> None:
        super().__init__(what)
        self.missing = missing
        """Whether something it needs is not installed."""


class CrashedError(AssayError):
    """A worker that ended while it had something to do."""

    def __init__(self, what: str, *, worker: int = 0, shared: bool = False) -> None:
        super().__init__(what)
        self.worker = worker
        """Which of the agent's processes it was, counted from 1."""
        self.shared = shared
        """Whether it was holding other conversations too, any of which may have ended it."""


class Host(Protocol):
    """Where an agent lives."""

    @property
    def uses_setup(self) -> bool:
        """Whether its model and tools are those it was given; known once it is open."""
        ...

    async def open(self) -> None:
        """Build the agent, if that is still to be done; raises RefusedError."""

    def play(self, job: Job) -> AsyncGenerator[Played]:
        """Hold a conversation; raises RefusedError or CrashedError."""
        ...

    async def close(self) -> None: ...


class LocalHost:
    """An agent in this process: for functions that cannot be sent elsewhere. One that blocks holds up all others."""

    def __init__(self, kind: AgentKind, surroundings: Surroundings) -> None:
        self._kind = kind
        self._surroundings = surroundings
        self._opened: OpenAgent | None = None
        self._lock = asyncio.Lock()

    @property
    def uses_setup(self) -> bool:
        return self._kind.uses_setup

    async def open(self) -> None:
        async with self._lock:
            if self._opened is None:
                try:
                    self._opened = await OpenAgent(self._kind, self._surroundings).__aenter__()
                except Exception as error:
                    raise RefusedError(
                        redacted(str(error)) if isinstance(error, AssayError) else describe(error),
                        missing=isinstance(error, MissingExtraError),
                    ) from error

    async def play(self, job: Job) -> AsyncGenerator[Played]:
        await self.open()
        assert self._opened is not None
        opened = self._opened
        try:
            async for played in play(opened.agent, job, tracing=opened.tracing, preferences=opened.preferences):
                yield played
        except Exception as error:
            raise CrashedError(describe(error)) from error

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(None, None, None)
            self._opened = None


class ProcessHost:
    """An agent in a worker process. One that crashed is started again for the next conversation."""

    def __init__(self, spec: AgentSpec, surroundings: Surroundings) -> None:
        self._spec = spec
        self._surroundings = surroundings
        self._worker: _Worker | None = None
        self._started = 0
        self._lock = asyncio.Lock()
        self.uses_setup = True

    async def open(self) -> None:
        await self._running()

    async def play(self, job: Job) -> AsyncGenerator[Played]:
        worker = await self._running()
        async for played in worker.play(job):
            yield played

    async def close(self) -> None:
        if self._worker is not None:
            await self._worker.close()
            self._worker = None

    async def _running(self) -> _Worker:
        async with self._lock:
            if self._worker is not None and not self._worker.is_alive:
                await self._worker.close()
                self._worker = None
            if self._worker is None:
                self._started += 1
                self._worker = await _Worker.started(self._spec, self._surroundings, self._started)
                self.uses_setup = self._worker.uses_setup
            return self._worker


class _Worker:
    """The runner's end of one worker process."""

    def __init__(self, process: asyncio.subprocess.Process, number: int) -> None:
        self.uses_setup = True
        self._process = process
        self._number = number
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._jobs: dict[int, asyncio.Queue[dict[str, Any]]] = {}
        self._next = 0
        self._opening: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._overhear())]
        self._stopped = ""
        """Why it was killed, where it was."""
        self._ended: dict[str, Any] | None = None
        """What everyone who waits is told, once it has ended."""
        self._together: frozenset[int] = frozenset()
        """The conversations that were under way when it ended."""

    @classmethod
    async def started(cls, spec: AgentSpec, surroundings: Surroundings, number: int) -> _Worker:
        # A session of its own: Ctrl-C at the terminal is for the runner, which then closes its workers. And -P keeps
        # the current folder off the path: a folder called `agents` there would hide the OpenAI Agents SDK.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "assay.chat.running.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            start_new_session=True,
        )
        worker = cls(process, number)
        await worker._send({"agent": spec.to_json(), "surroundings": surroundings.to_json()})
        try:
            answer = await asyncio.wait_for(worker._opening.get(), _SECONDS_TO_OPEN)
        except TimeoutError:
            await worker.close()
            raise RefusedError(f"it was not ready after {_SECONDS_TO_OPEN:g} s") from None
        if "ready" not in answer:
            await worker.close()
            raise RefusedError(answer.get("refused") or answer["ended"], missing=bool(answer.get("missing")))
        worker.uses_setup = bool(answer["uses_setup"])
        return worker

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None and not self._stopped and self._ended is None

    async def play(self, job: Job) -> AsyncGenerator[Played]:
        number, self._next = self._next, self._next + 1
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._jobs[number] = answers
        if self._ended is not None:
            answers.put_nowait(self._ended)
        try:
            await self._send({"job": number, "of": job.to_json()})
            while True:
                try:
                    message = await asyncio.wait_for(answers.get(), job.timeout + _GRACE)
                except TimeoutError:
                    self._kill(f"it did not answer for {job.timeout + _GRACE:g} s and was stopped")
                    raise self._crash(self._stopped) from None
                if "played" in message:
                    yield Played.from_json(message["played"])
                elif "done" in message:
                    return
                elif "broke" in message:
                    raise CrashedError(message["broke"], worker=self._number)
                else:
                    raise self._crash(message["ended"])
        finally:
            del self._jobs[number]

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_CLOSE)
        except TimeoutError:
            self._kill("it did not close")
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _crash(self, reason: str) -> CrashedError:
        return CrashedError(reason, worker=self._number, shared=len(self._together) > 1)

    def _kill(self, reason: str) -> None:
        self._stopped = reason
        self._together = frozenset(self._jobs)
        if self._process.returncode is None:
            self._process.kill()

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended; whoever waits for an answer hears so from `_listen`

    async def _listen(self) -> None:
        """Hand each line to whom it concerns; when there are no more, tell everyone that it ended."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            waiting = self._jobs.get(message["job"]) if "job" in message else self._opening
            if waiting is not None:
                waiting.put_nowait(message)
        code = await self._process.wait()
        self._together = frozenset(self._jobs)
        self._ended = {"ended": self._stopped or self._how_it_ended(code)}
        for queue in (self._opening, *self._jobs.values()):
            queue.put_nowait(self._ended)

    async def _overhear(self) -> None:
        """Keep the last lines of what it prints: they tell why it ended."""
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._said.append(line.decode("utf-8", "replace").rstrip()[:_LONGEST_LINE])

    def _how_it_ended(self, code: int) -> str:
        how = f"with exit code {code}"
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            how = f"by {names.get(-code, f'signal {-code}')}"
        # All lines together: a key may be broken over several.
        said = redacted("\n".join(self._said)).splitlines()
        last = next((line for line in reversed(said) if line.strip()), "")
        return f"its process ended {how}" + (f"; it said last: {last[:_LONGEST_SHOWN]}" if last else "")
