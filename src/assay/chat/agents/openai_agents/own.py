"""A user's own agent of the OpenAI Agents SDK: the model of a run's configuration replaces that of all agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, set_trace_processors

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.openai_agents._spans import SpanBridge
from assay.chat.agents.openai_agents.assistant import Assistant, model_settings_of

TYPES = (Agent,)


@asynccontextmanager
async def open_own(setup: Setup, found: Agent[Any]) -> AsyncIterator[Assistant]:
    """The user's agent, ready to answer."""
    set_trace_processors([SpanBridge()])
    async with openai_client(setup) as client:
        model = OpenAIChatCompletionsModel(setup.model, openai_client=client)
        assistant = Assistant(setup, found, model=model, model_settings=model_settings_of(setup))
        try:
            yield assistant
        finally:
            assistant.close()
