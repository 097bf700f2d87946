"""A user's own agent of Microsoft Agent Framework: the client of every agent becomes one of the run's endpoint.

That includes agents that are tools of others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import Agent, AgentResponse

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.agent_framework.assistant import Assistant, chat_client, instrument
from assay.chat.agents.own import instances_of

TYPES = (Agent,)


@asynccontextmanager
async def open_own(setup: Setup, found: Agent[Any]) -> AsyncIterator[Assistant]:
    """The user's agent, ready to answer."""
    instrument()
    async with openai_client(setup, has_own_tools=True) as client:
        for agent in instances_of(Agent):
            agent.client = chat_client(setup, client)
            # The model is an option of a run, and one that the agent was built with would override the client's.
            agent.default_options.pop("model", None)
        async with found:
            yield OwnAssistant(found, setup.limits)


class OwnAssistant(Assistant):
    """The user's agent, whose answer may be structured: if it does not fit its format, reading it fails."""

    def _reply(self, session: str, response: AgentResponse[Any]) -> Reply:
        _ = response.value  # read once, as a user does
        return super()._reply(session, response)
