"""The shop's assistant in LangGraph; only for suites about the shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import langsmith
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, ToolErrorMiddleware
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import http_client
from assay.chat.agents._shared.shop import INSTRUCTIONS, NAME
from assay.chat.agents.langgraph._spans import RefusedCalls
from assay.chat.agents.langgraph.assistant import Assistant, Context, ToolTimeout, tell_failure
from assay.chat.world.shop import TOOLS


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    langsmith.configure(enabled=False)
    async with http_client(setup) as client:
        model = ChatOpenAI(
            model=setup.model,
            base_url=setup.model_url,
            api_key=SecretStr(setup.model_key),
            max_retries=setup.limits.retries,
            timeout=setup.limits.model_timeout,
            max_completion_tokens=setup.limits.max_tokens,
            stream_usage=True,
            http_async_client=client,
            http_socket_options=(),
        )
        middleware: list[AgentMiddleware[Any, Context, Any]] = [
            ModelCallLimitMiddleware(run_limit=setup.limits.model_calls, exit_behavior="error"),
            ToolErrorMiddleware(tell_failure),
            ToolTimeout(setup.limits.tool_timeout),
            RefusedCalls(),
        ]
        graph = create_agent(
            model,
            [tool(function) for function in TOOLS],
            name=NAME,
            system_prompt=INSTRUCTIONS,
            context_schema=Context,
            checkpointer=InMemorySaver(),
            middleware=middleware,
        )
        yield Assistant(graph)
