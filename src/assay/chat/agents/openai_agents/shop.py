"""The shop's assistant in the OpenAI Agents SDK; only for suites about the shop."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, function_tool, set_trace_processors

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents._shared.shop import INSTRUCTIONS, NAME
from assay.chat.agents.openai_agents._spans import SpanBridge
from assay.chat.agents.openai_agents.assistant import (
    Assistant,
    Context,
    model_settings_of,
    tell_failure,
    tell_timeout,
)
from assay.chat.world.shop import TOOLS


def _tool(function: Callable[..., Awaitable[dict[str, Any]]]) -> FunctionTool:
    @functools.wraps(function)
    async def as_text(*given: Any, **named: Any) -> str:
        return json.dumps(await function(*given, **named))

    return function_tool(as_text, failure_error_function=tell_failure, strict_mode=False)


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    set_trace_processors([SpanBridge()])
    async with openai_client(setup) as client:
        agent = Agent[Context](
            name=NAME,
            instructions=INSTRUCTIONS,
            model=OpenAIChatCompletionsModel(setup.model, openai_client=client),
            model_settings=model_settings_of(setup),
            tools=[
                replace(_tool(one), timeout_seconds=setup.limits.tool_timeout, timeout_error_function=tell_timeout)
                for one in TOOLS
            ],
        )
        assistant = Assistant(setup, agent)
        try:
            yield assistant
        finally:
            assistant.close()
