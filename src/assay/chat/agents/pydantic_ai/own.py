"""A user's own agent of Pydantic AI: each run gets the model of the endpoint. Dependencies are None."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.pydantic_ai._spans import RefusedCalls
from assay.chat.agents.pydantic_ai.assistant import Assistant, chat_model

TYPES = (Agent,)


@asynccontextmanager
async def open_own(setup: Setup, found: Agent[Any, Any]) -> AsyncIterator[Assistant]:
    """The user's agent, ready to answer."""
    async with openai_client(setup) as client:
        options = {"model": chat_model(setup, client), "capabilities": [Instrumentation(), RefusedCalls()]}
        yield Assistant(setup, found, has_deps=False, options=options)
