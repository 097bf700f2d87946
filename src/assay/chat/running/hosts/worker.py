"""An agent in a separate process: `python -m assay.chat.running.hosts.worker`, which reads and writes JSON lines.

A crash, an exit or an endless loop of one agent then affects that agent only, its imports do not slow down other
agents, and every span of the process is its own. The first line says what to build; each further line is a
conversation, or several, which are played one after the other. When its input ends, the worker ends: it never outlives
the runner.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.chat.agents import AgentKind, Setup
from assay.chat.agents.function import UnfitObjectError, UnknownFunctionError
from assay.chat.running.conversation import Job, is_cancelled, play
from assay.chat.running.processes.pipe import connect, end_with_parent
from assay.chat.running.reception import describe_error
from assay.chat.scoring.answers import Record
from assay.chat.world.shop import SHOP
from assay.errors import AssayError, MissingExtraError
from assay.redaction import hide, redacted

if TYPE_CHECKING:
    from assay.chat.running.tracing import TurnTracing
    from assay.chat.world.preferences import Preferences


Tell = Callable[[Mapping[str, Any]], None]
"""Sends a message to the runner."""


class OpenAgent:
    """An agent that was built with a setup; `async with` opens and closes both."""

    def __init__(self, kind: AgentKind, setup: Setup, tracing: TurnTracing, *, is_function: bool = False) -> None:
        """`is_function` says that it is code of the user's own."""
        self.tracing = tracing
        self.is_function = is_function
        self._kind = kind
        self._setup = setup
        self._open = kind.open(setup)

    @property
    def preferences(self) -> Preferences:
        """What is known about each user, by the setup."""
        return self._setup.preferences

    @property
    def used_preferences(self) -> Preferences | None:
        """What is known about each user; None if the agent keeps that itself."""
        is_used = self._kind.uses_setup or "preferences" in self._setup.__dict__
        return self._setup.preferences if is_used else None

    async def __aenter__(self) -> OpenAgent:
        if self._setup.has_shop and self._setup.storage:
            SHOP.keep_in(Path(self._setup.storage) / "orders.json")
        self.agent = await self._open.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await self._open.__aexit__(*failure)
        finally:
            await self._setup.aclose()


async def _serve(lines: asyncio.StreamReader, tell: Tell) -> None:
    opened = await _opened(lines, tell)
    if opened is None:
        return
    running: dict[int, asyncio.Task[None]] = {}

    def forget(number: int, task: asyncio.Task[None]) -> None:
        running.pop(number, None)

    try:
        while line := await lines.readline():
            message = json.loads(line)
            if "cancel" in message:
                if message["cancel"] in running:
                    running[message["cancel"]].cancel()
                continue
            first = message["first"]
            running[first] = asyncio.create_task(_play_row(opened, first, message["jobs"], tell))
            running[first].add_done_callback(partial(forget, first))
    finally:
        for task in list(running.values()):
            task.cancel()
        await opened.__aexit__(None, None, None)


async def _opened(lines: asyncio.StreamReader, tell: Tell) -> OpenAgent | None:
    """Read what the agent is and what it is built with, and build it. On failure, tell the runner and return None."""
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.tracing import Tracing, TracingIfImported

    # Imports create very many objects and no garbage: collecting takes a sixth of the time that a framework needs to
    # start. Turns are played with the collector on, as anywhere else.
    gc.disable()
    try:
        spec = AgentSpec.from_json(json.loads(await lines.readline())["agent"])
        # Before any framework is imported, here or in the user's own module: most use the provider that is set by then.
        tracing: TurnTracing = Tracing() if spec.function is None else TracingIfImported()
        kind = spec.loaded()
        if uses_model(kind) and not isinstance(tracing, Tracing):
            tracing = Tracing()
        # The services behind the setup are started only if an agent uses them.
        tell({"uses_setup": kind.uses_setup, "uses_model": uses_model(kind)})
        setup = Setup.from_json(json.loads(await lines.readline())["setup"])
        hide(setup.model_key, setup.weather_key)
        opened = OpenAgent(kind, setup, tracing, is_function=spec.function is not None)
        await opened.__aenter__()
    except Exception as error:
        tell(refusal_of(error))
        return None
    finally:
        gc.enable()
    tell({"ready": True})
    return opened


async def _play_row(opened: OpenAgent, first: int, jobs: Sequence[Mapping[str, Any]], tell: Tell) -> None:
    """Play conversations that were sent together, one after the other; `first` is the number of the first."""
    for number, job in enumerate(jobs, first):
        await _play(opened, number, Job.from_json(job), tell)


async def _play(opened: OpenAgent, number: int, job: Job, tell: Tell) -> None:
    def hear(piece: str) -> None:
        tell({"job": number, "piece": piece})

    is_last = False
    try:
        turns = play(
            opened.agent,
            job,
            tracing=opened.tracing,
            preferences=opened.used_preferences,
            hear=hear,
            names_place=opened.is_function,
        )
        async for played in turns:
            is_last = played.turn + 1 == job.first + len(job.messages)
            # One message for both: each wakes the runner up.
            end = {"done": True} if is_last else {}
            tell({"job": number, "played": played.to_json(), **end})
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        tell({"job": number, "broke": describe_error(error)})
    else:
        if not is_last:
            tell({"job": number, "done": True})


def uses_model(kind: AgentKind) -> bool:
    """Whether an agent uses the model of its setup."""
    return kind.uses_setup if kind.uses_model is None else kind.uses_model


def refusal_of(error: Exception) -> dict[str, Any]:
    """The message that an agent cannot be built."""
    words = redacted(str(error)) if isinstance(error, AssayError) else describe_error(error)
    return {
        "refused": words,
        "missing": isinstance(error, MissingExtraError),
        "unknown": isinstance(error, UnknownFunctionError),
        "unfit": isinstance(error, UnfitObjectError),
    }


async def _play_until_told() -> None:
    await _serve(*await connect())


def load_for_copies() -> None:
    """Import and build what every agent needs, so that copies of this process share it."""
    import assay.chat.agents.spec
    import assay.chat.running.tracing  # noqa: F401

    Record.model_rebuild()


def play_conversations() -> None:
    """Play until the input ends."""
    end_with_parent()
    # Python would otherwise search all objects for cycles at the end, which takes a sixth of the time of a short run.
    atexit.register(gc.freeze)
    asyncio.run(_play_until_told())


if __name__ == "__main__":
    play_conversations()
