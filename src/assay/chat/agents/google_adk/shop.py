"""The shop's assistant in ADK; only for suites about the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from google.adk.agents import LlmAgent
from google.adk.runners import Runner

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents._shared.shop import DESCRIPTION, INSTRUCTIONS, NAME
from assay.chat.agents.google_adk._spans import CountedOnce
from assay.chat.agents.google_adk.assistant import Assistant, TimedTool, session_service, tell_failure
from assay.chat.world.shop import TOOLS


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    async with openai_client(setup) as client:
        agent = LlmAgent(
            name=NAME,
            description=DESCRIPTION,
            model=CountedOnce(model=setup.model, max_tokens=setup.limits.max_tokens, client=client),
            instruction=INSTRUCTIONS,
            tools=[TimedTool(tool, setup.limits.tool_timeout) for tool in TOOLS],
            on_tool_error_callback=tell_failure,
        )
        sessions = session_service(setup)
        async with Runner(app_name=NAME, agent=agent, session_service=sessions, auto_create_session=True) as runner:
            yield Assistant(runner, setup.limits)
