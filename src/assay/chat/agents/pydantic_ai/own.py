"""A user's own agent of Pydantic AI: every agent of the process gets the model of the endpoint.

That includes agents that tools of others call. Dependencies are created as the user says, else without arguments.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.capabilities import Instrumentation

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.own import Dependencies, instances_of, without_arguments
from assay.chat.agents.pydantic_ai._spans import RefusedCalls
from assay.chat.agents.pydantic_ai.assistant import Assistant, chat_model

TYPES = (Agent,)


@asynccontextmanager
async def open_own(
    setup: Setup, found: Agent[Any, Any], deps: Dependencies | None = None
) -> AsyncIterator[OwnAssistant]:
    """The user's agent, ready to answer."""
    if deps is None:
        has_none = found.deps_type in (object, type(None))
        deps = Dependencies(None) if has_none else without_arguments(found.deps_type, "dependencies")
    async with openai_client(setup, has_own_tools=True) as client:
        model = chat_model(setup, client)
        for agent in instances_of(Agent):
            agent.model = model
        refused = RefusedCalls()
        options = {"model": model, "capabilities": [Instrumentation(), refused]}
        yield OwnAssistant(setup, found, deps, options, refused)


class OwnAssistant(Assistant):
    """The user's agent, with dependencies of its own, whose answer may be structured."""

    def __init__(
        self,
        setup: Setup,
        agent: Agent[Any, Any],
        deps: Dependencies,
        options: dict[str, Any],
        refused: RefusedCalls,
    ) -> None:
        super().__init__(setup, agent, has_deps=False, options=options)
        self._deps = deps
        self._refused = refused

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        with self._agent.override(deps=await self._deps.of(user)):
            async for part in super().answer(session=session, user=user, message=message):
                yield part

    def _reply(self, session: str, result: AgentRunResult[Any]) -> Reply:
        reply = super()._reply(session, result)
        calls = tuple(call for call in reply.tool_calls or () if call.name not in self._refused.output_tools)
        return replace(reply, tool_calls=calls)
