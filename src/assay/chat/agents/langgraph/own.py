"""A user's own graph: every ChatOpenAI model of the process gets a client of the run's endpoint.

A compiled graph has no way to exchange its model, so the models themselves are given another client. They are found
among the objects of this process, in which nothing but the user's agent lives.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import langsmith
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_openai.chat_models.base import BaseChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.langgraph.assistant import Assistant
from assay.chat.agents.own import cannot_redirect
from assay.errors import UsageError

TYPES = (Pregel,)


@asynccontextmanager
async def open_own(setup: Setup, found: Pregel[Any, Any, Any, Any]) -> AsyncIterator[Assistant]:
    """The user's graph, ready to answer. One without a checkpointer gets one, or it would remember nothing."""
    langsmith.configure(enabled=False)
    # By type: `isinstance` asks objects of other packages for their class, and some warn of that. Only whole instances:
    # pydantic's template of a class is an object too.
    models = [one for one in gc.get_objects() if issubclass(type(one), BaseChatModel) and "cache" in one.__dict__]
    others = [one for one in models if not isinstance(one, BaseChatOpenAI)]
    if others:
        raise cannot_redirect(f"the graph, a {type(others[0]).__name__},")
    if not models:
        raise UsageError(
            "the graph has no model that could be redirected", hint="Create its model when the module is imported"
        )
    async with openai_client(setup) as client:
        for model in models:
            assert isinstance(model, BaseChatOpenAI)
            model.root_async_client = client
            model.async_client = client.chat.completions
            model.model_name = setup.model
            model.stream_usage = True
            # The Responses API is not what the run's endpoint speaks.
            model.use_responses_api = False
        graph = found if found.checkpointer else found.copy({"checkpointer": InMemorySaver()})
        yield Assistant(graph, has_context=False)
