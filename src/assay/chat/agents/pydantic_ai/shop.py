"""The shop's assistant in Pydantic AI; only for suites about the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.settings import ModelSettings

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents._shared.shop import INSTRUCTIONS, NAME
from assay.chat.agents.pydantic_ai._spans import RefusedCalls
from assay.chat.agents.pydantic_ai.assistant import Assistant, Deps, FailuresTold, chat_model
from assay.chat.world.shop import TOOLS


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    async with openai_client(setup) as client:
        agent = Agent(
            chat_model(setup, client),
            name=NAME,
            deps_type=Deps,
            instructions=INSTRUCTIONS,
            tools=list(TOOLS),
            retries={"tools": setup.limits.model_calls},
            tool_timeout=setup.limits.tool_timeout,
            model_settings=ModelSettings(max_tokens=setup.limits.max_tokens),
            capabilities=[Instrumentation(), RefusedCalls(), FailuresTold()],
        )
        yield Assistant(setup, agent)
