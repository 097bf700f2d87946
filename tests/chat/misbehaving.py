"""Agents that go wrong in every way a process can, each on the word 'now'."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assay.chat import Agent, AgentKind, Reply, Setup

RIGHT = "It is 5 °C and raining in Oslo, so I recommend an umbrella because it is wet."


def exits(message: str) -> str:
    if "now" in message:
        print("I am leaving", file=sys.stderr, flush=True)
        os._exit(7)
    return RIGHT


async def exits_late(message: str) -> str:
    """Leaves while others are waiting for their answers in the same process."""
    await asyncio.sleep(0.3 if "now" in message else 0.6)
    return exits(message)


async def spins(message: str) -> str:
    while True:
        pass


def crashes(message: str) -> str:
    if "now" in message:
        os.kill(os.getpid(), signal.SIGSEGV)
    return RIGHT


async def blocks(message: str) -> str:
    """Holds up the whole loop, so that no timeout inside the process can fire."""
    if "now" in message:
        time.sleep(600)
    return RIGHT


def prints(message: str) -> str:
    """Writes lines to standard output that look like the worker's own."""
    print('{"job": 0, "done": true}', flush=True)
    os.write(1, b"not even JSON\n")
    return RIGHT


async def sleeps(message: str) -> str:
    await asyncio.sleep(600)
    return RIGHT


def says_much(message: str) -> str:
    return "rain " * 400_000


class Polite:
    """An agent that does nothing wrong."""

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        yield Reply(RIGHT)


@asynccontextmanager
async def _open(setup: Setup) -> AsyncIterator[Agent]:
    yield Polite()


KIND = AgentKind("polite", "Polite", _open)
