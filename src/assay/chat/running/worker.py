"""An agent in a process of its own: `python -m assay.chat.running.worker`, which reads and writes JSON lines.

A crash, an exit or an endless loop of one agent then affects that agent only, its imports slow nobody else down, and
every span of the process is its own. The first line says what to build; each further line is a conversation. When its
input ends, the worker ends: it never outlives the runner.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from assay.chat.agents import AgentKind, Setup
from assay.chat.running.conversation import Job, describe_error, play
from assay.chat.running.pipe import connect, end_with_parent
from assay.errors import AssayError, MissingExtraError
from assay.redaction import hide, redacted


class OpenAgent:
    """An agent that was built with a setup; `async with` opens and closes both."""

    def __init__(self, kind: AgentKind, setup: Setup) -> None:
        from assay.chat.running.tracing import Tracing

        self.tracing = Tracing()
        self.preferences = setup.preferences
        self._setup = setup
        self._open = kind.open(setup)

    async def __aenter__(self) -> OpenAgent:
        self.agent = await self._open.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await self._open.__aexit__(*failure)
        finally:
            await self._setup.aclose()


async def _serve(lines: asyncio.StreamReader, tell: Callable[[Mapping[str, Any]], None]) -> None:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.tracing import Tracing

    # Before any framework is imported, here or in the user's own module: most use the provider that is set by then.
    Tracing()

    first = json.loads(await lines.readline())
    try:
        kind = AgentSpec.from_json(first["agent"]).loaded()
        setup = Setup.from_json(first["setup"])
        hide(setup.model_key, setup.weather_key)
        opened = OpenAgent(kind, setup)
        await opened.__aenter__()
    except Exception as error:
        tell(refusal_of(error))
        return
    tell({"ready": True, "uses_setup": kind.uses_setup, "uses_model": uses_model(kind)})

    async def run(number: int, job: Job) -> None:
        try:
            async for played in play(opened.agent, job, tracing=opened.tracing, preferences=opened.preferences):
                tell({"job": number, "played": played.to_json()})
        except Exception as error:
            tell({"job": number, "broke": describe_error(error)})
        else:
            tell({"job": number, "done": True})

    running: set[asyncio.Task[None]] = set()
    try:
        while line := await lines.readline():
            message = json.loads(line)
            task = asyncio.create_task(run(message["job"], Job.from_json(message["of"])))
            running.add(task)
            task.add_done_callback(running.discard)
    finally:
        for task in running:
            task.cancel()
        await opened.__aexit__(None, None, None)


def uses_model(kind: AgentKind) -> bool:
    """Whether an agent uses the model of its setup."""
    return kind.uses_setup if kind.uses_model is None else kind.uses_model


def refusal_of(error: Exception) -> dict[str, Any]:
    """The message that an agent cannot be built."""
    words = redacted(str(error)) if isinstance(error, AssayError) else describe_error(error)
    return {"refused": words, "missing": isinstance(error, MissingExtraError)}


async def _main() -> None:
    await _serve(*await connect())


if __name__ == "__main__":
    end_with_parent()
    asyncio.run(_main())
