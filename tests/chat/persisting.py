"""An agent without a framework that stores its conversation in a file: after a turn, when it begins, or never."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.agents._shared.assistant import http_client

When = Literal["after", "at once", "never"]


class Persisting:
    def __init__(self, setup: Setup, client: httpx.AsyncClient, when: When) -> None:
        self._setup, self._client, self._when = setup, client, when
        self._memory: dict[str, list[dict[str, str]]] = {}

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        file = Path(self._setup.storage) / f"{session}.json"
        known = self._memory.get(session) or (json.loads(file.read_text()) if file.exists() else [])
        messages = [*known, {"role": "user", "content": message}]
        if self._when == "at once":
            file.write_text(json.dumps(messages))
        body = {"model": "m", "messages": messages}
        for _ in range(2):  # as an agent that calls a tool in between
            response = await self._client.post(f"{self._setup.model_url}/chat/completions", json=body)
        text = str(response.json()["choices"][0]["message"]["content"])
        self._memory[session] = [*messages, {"role": "assistant", "content": text}]
        if self._when != "never":
            file.write_text(json.dumps(self._memory[session]))
        yield Reply(text)


def _kind(when: When) -> AgentKind:
    @asynccontextmanager
    async def opened(setup: Setup) -> AsyncIterator[Agent]:
        async with http_client(setup) as client:
            agent: Any = Persisting(setup, client, when)
            yield agent

    return AgentKind(when, when, opened)


AFTER, AT_ONCE, NEVER = _kind("after"), _kind("at once"), _kind("never")
