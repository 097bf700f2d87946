"""An agent in a process of its own: `python -m assay.chat.running.worker`, which reads and writes JSON lines.

A crash, an exit or an endless loop of one agent is then that agent's alone, its imports slow nobody else down, and the
spans of the process are all its own. The first line says what to build; each further line is a conversation. When the
input ends, so does the worker: it never outlives the runner.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from assay.chat.agents import AgentKind, Limits, Setup
from assay.chat.running.conversation import Job, describe, play
from assay.errors import AssayError, MissingExtraError
from assay.redaction import hide, redacted

_LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an agent finds its model and its weather, and what it is held to: the same for every agent of a run."""

    model: str
    model_url: str
    weather_url: str
    model_key: str = field(default="none", repr=False)
    weather_key: str = field(default="none", repr=False)
    embedded_model: bool = True
    embedded_weather: bool = True
    weather_timeout: float = 5.0
    weather_retries: int = 2
    weather_backoff: float = 0.2
    limits: Limits = field(default_factory=Limits)

    def to_json(self) -> dict[str, Any]:
        """All of it, keys too: for a pipe between two processes, never for a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Surroundings:
        """The surroundings that `to_json` gave."""
        return cls(**{**data, "limits": Limits(**data["limits"])})


class OpenAgent:
    """An agent that is open in its surroundings; `async with` opens and closes it."""

    def __init__(self, kind: AgentKind, surroundings: Surroundings) -> None:
        from assay.chat.running.tracing import Tracing
        from assay.chat.world.preferences import Preferences
        from assay.chat.world.weather import WeatherClient

        self.tracing = Tracing()
        self.preferences = Preferences()
        self._weather = WeatherClient(
            surroundings.weather_url,
            surroundings.weather_key,
            timeout=surroundings.weather_timeout,
            retries=surroundings.weather_retries,
            backoff=surroundings.weather_backoff,
            embedded=surroundings.embedded_weather,
        )
        self._open = kind.open(
            Setup(
                model=surroundings.model,
                model_url=surroundings.model_url,
                model_key=surroundings.model_key,
                weather=self._weather,
                preferences=self.preferences,
                limits=surroundings.limits,
                embedded=surroundings.embedded_model,
            )
        )

    async def __aenter__(self) -> OpenAgent:
        self.agent = await self._open.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await self._open.__aexit__(*failure)
        finally:
            await self._weather.aclose()


async def _serve(lines: asyncio.StreamReader, out: IO[str]) -> None:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.tracing import Tracing

    # Before any framework is imported, here or in the user's own module: most take the provider that they find then.
    Tracing()

    def tell(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    first = json.loads(await lines.readline())
    try:
        kind = AgentSpec.from_json(first["agent"]).loaded()
        surroundings = Surroundings.from_json(first["surroundings"])
        hide(surroundings.model_key, surroundings.weather_key)
        opened = OpenAgent(kind, surroundings)
        await opened.__aenter__()
    except Exception as error:
        tell({"refused": _words(error), "missing": isinstance(error, MissingExtraError)})
        return
    tell({"ready": True, "uses_setup": kind.uses_setup})

    async def hold(number: int, job: Job) -> None:
        try:
            async for played in play(opened.agent, job, tracing=opened.tracing, preferences=opened.preferences):
                tell({"job": number, "played": played.to_json()})
        except Exception as error:
            tell({"job": number, "broke": describe(error)})
        else:
            tell({"job": number, "done": True})

    held: set[asyncio.Task[None]] = set()
    try:
        while line := await lines.readline():
            message = json.loads(line)
            task = asyncio.create_task(hold(message["job"], Job.from_json(message["of"])))
            held.add(task)
            task.add_done_callback(held.discard)
    finally:
        for task in held:
            task.cancel()
        await opened.__aexit__(None, None, None)


def _words(error: Exception) -> str:
    return redacted(str(error)) if isinstance(error, AssayError) else describe(error)


def _end_with(parent: int) -> None:
    """End this process when the runner is gone, even while an agent holds up the event loop."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)


async def _main() -> None:
    # What frameworks print must not come between our lines: our lines go to the pipe, prints go to standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=64 * 2**20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))
    await _serve(reader, out)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    asyncio.run(_main())
