"""The shop's assistant in Agent Framework; only for suites about the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_framework import Agent, tool

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents._shared.shop import DESCRIPTION, INSTRUCTIONS, NAME
from assay.chat.agents.agent_framework.assistant import (
    Assistant,
    ToolTimeout,
    chat_client,
    history_provider,
    instrument,
)
from assay.chat.world.shop import TOOLS


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    instrument()
    async with openai_client(setup) as client:
        agent = Agent(
            client=chat_client(setup, client),
            name=NAME,
            description=DESCRIPTION,
            instructions=INSTRUCTIONS,
            tools=[tool(function) for function in TOOLS],
            middleware=[ToolTimeout(setup.limits.tool_timeout)],
            context_providers=[history_provider(setup)],
            default_options={"max_tokens": setup.limits.max_tokens},
        )
        async with agent:
            yield Assistant(agent, setup.limits)
