"""The shop's assistant in LangGraph; only for suites about the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import langsmith
from langchain.agents import create_agent
from langchain.tools import tool

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import http_client
from assay.chat.agents._shared.shop import INSTRUCTIONS, NAME
from assay.chat.agents.langgraph.assistant import Assistant, Context, chat_model, middleware_of, opened_saver
from assay.chat.world.shop import TOOLS


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    langsmith.configure(enabled=False)
    async with http_client(setup) as client, opened_saver(setup) as saver:
        graph = create_agent(
            chat_model(setup, client),
            [tool(function) for function in TOOLS],
            name=NAME,
            system_prompt=INSTRUCTIONS,
            context_schema=Context,
            checkpointer=saver,
            middleware=middleware_of(setup),
        )
        yield Assistant(graph)
