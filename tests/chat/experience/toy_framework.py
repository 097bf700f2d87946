"""A small framework and an assistant in it, to be installed in a folder by tests."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from assay.chat.agents import AgentKind

FRAMEWORK = '''\
import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass

import toybase

LIMIT = 5
logger = logging.getLogger("toyframe")


class Memory:
    """Keeps what was said."""


class Quiet(Memory):
    def forget(self):
        pass


@dataclass
class Settings:
    style: str = "plain"


class Agent:
    """Calls a tool."""

    def __init__(self, mode="fragile"):
        self.mode = mode
        self.kept = OrderedDict()

    async def run(self, tool, city):
        """Call the tool, and deal with its failure in the way that the mode says."""
        if self.mode == "gathering":
            return str(await asyncio.gather(tool(city), return_exceptions=True))
        try:
            return str(await tool(city))
        except Exception as error:
            if self.mode == "careful":
                logger.error("Tool %s failed", tool.__name__, exc_info=error)
            elif self.mode == "hinting":
                logger.debug("Tool %s failed", tool.__name__)
            elif self.mode == "printing":
                print(f"{type(error).__name__} in {tool.__name__}")
            elif self.mode == "fragile":
                raise
            return f"no answer: {error}"

    def start_session(self):
        return Memory()

    @property
    def name(self):
        """What it is called."""
        return "toy"

    @staticmethod
    def helper():
        pass


def start_memory() -> Memory:
    """Give a memory."""
    return _make()


def _make():
    return globals()["Memory"]()


def __getattr__(name):
    if name == "Lazy":
        import toylazy

        return toylazy.Lazy
    raise AttributeError(name)
'''

BOT = '''\
"""An assistant in the sample framework."""

import asyncio
from contextlib import asynccontextmanager

from toyframe import Agent

from assay.chat.agents import Reply


class Assistant:
    def __init__(self, weather, mode):
        self.weather = weather
        self.own = mode == "own"
        self.agent = Agent("fragile" if self.own else mode)

    async def get_current_weather(self, city):
        try:
            return await self.weather.current(city)
        finally:  # which handles nothing
            self.asked = city

    async def guarded(self, city):
        try:
            return await self.weather.current(city)
        except Exception as error:
            return f"sorry: {error}"

    async def answer(self, *, session, user, message):
        yield "So: "
        yield Reply(await self.agent.run(self.guarded if self.own else self.get_current_weather, "Helsinki"))


def opener(mode):
    @asynccontextmanager
    async def opened(setup):
        yield Assistant(setup.weather, mode)

    return opened


MODES = ("careful", "hinting", "printing", "silent", "gathering", "fragile", "own")


@asynccontextmanager
async def idle(setup):
    class Idle:
        async def answer(self, *, session, user, message):
            yield Reply("I would rather not.")

    yield Idle()


@asynccontextmanager
async def slow(setup):
    class Slow:
        async def answer(self, *, session, user, message):
            await asyncio.sleep(60)
            yield Reply("At last.")

    yield Slow()


@asynccontextmanager
async def unable(setup):
    raise RuntimeError("no licence")
    yield


for name in MODES:
    globals()[name] = opener(name)
    globals()[name].__qualname__ = name
'''


def install(folder: Path, name: str, requires: list[str], files: dict[str, tuple[str, int]]) -> None:
    """Install a distribution into a folder; its record states the given sizes."""
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        "Version: 1.0",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    (information / "METADATA").write_text("\n".join(metadata) + "\n")
    for path, (text, _) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (information / "RECORD").write_text("".join(f"{path},,{size}\n" for path, (_, size) in files.items()))


def kind(site: Path, mode: str = "fragile", **changes: Any) -> AgentKind:
    bot = importlib.import_module("toybot")
    given: dict[str, Any] = {
        "name": mode,
        "title": mode,
        "open": getattr(bot, mode),
        "distributions": ("toyframe",),
        "modules": ("toyframe",),
        "source": site / "toybot",
        "memory": "toyframe.Memory",
    }
    return AgentKind(**{**given, **changes})
