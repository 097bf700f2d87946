"""porter: an agent that looks out of the window. The whole of a third-party agent, with no framework at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from assay.chat import Agent, AgentKind, Reply, Setup, ToolCall


class Porter:
    """Knows one city, and asks the weather service about it."""

    def __init__(self, setup: Setup) -> None:
        self._weather = setup.weather

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        seen = await self._weather.current("Helsinki")
        text = f"It is {seen['temperature']} °C in Helsinki with {seen['condition']}."
        yield text
        call = ToolCall(name="get_current_weather", arguments={"city": "Helsinki"}, result=seen)
        yield Reply(text, (call,))


@asynccontextmanager
async def _open(setup: Setup) -> AsyncIterator[Agent]:
    yield Porter(setup)


AGENT = AgentKind("porter", "Porter", _open, source=Path(__file__))
