"""Agents for load tests: they keep sessions apart, mix them up, fail now and then, or fail always."""

from __future__ import annotations

import asyncio
import re

_NAME = re.compile(r"My name is (\w+), and I love (\w+) tea")
_told: dict[str, tuple[str, ...]] = {}
_last: list[tuple[str, ...]] = []


async def careful(message: str, session: str) -> str:
    """Remembers what each session told."""
    await asyncio.sleep(0)
    if found := _NAME.search(message):
        _told[session] = found.groups()
    return f"I know: {', '.join(_told.get(session, ()))}"


async def mixed_up(message: str) -> str:
    """Remembers what was told last, by whomever: fine with one user, a breach with two."""
    if found := _NAME.search(message):
        _last.append(found.groups())
    await asyncio.sleep(0.01)
    return f"I know: {', '.join(_last[-1])}"


async def failing(message: str) -> str:
    """Cannot answer questions about the weather."""
    if "weather" in message:
        raise KeyError("no weather")
    return "Hello!"


async def hopeless(message: str) -> str:
    """Cannot answer anything."""
    raise RuntimeError("nobody is here")
