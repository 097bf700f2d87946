"""A user's own graph: every ChatOpenAI model of the process gets a client of the run's endpoint.

A compiled graph has no way to exchange its model, so the models themselves are given another client. They are found
among the objects of this process, in which nothing but the user's agent lives.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import langsmith
from langchain.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_openai.chat_models.base import BaseChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from assay.chat.agents import Limits, Reply, Setup
from assay.chat.agents._shared.assistant import openai_client, sync_openai_client
from assay.chat.agents._shared.reached import reached
from assay.chat.agents.function import UnfitObjectError
from assay.chat.agents.langgraph._forms import EntrypointForm, StateForm, form_of
from assay.chat.agents.langgraph._spans import SpanBridge, record_unknown
from assay.chat.agents.langgraph.assistant import Assistant
from assay.chat.agents.own import Dependencies, cannot_redirect, instances_of, without_arguments

TYPES = (Pregel,)
# Steps that a graph may take for each model call of the limit: a model, its tools, and nodes before and after it. A
# graph has no limit of model calls.
_STEPS_OF_A_CALL = 4


def before_import() -> None:
    """Set what applies to a module that runs its graph when it is imported: no traces leave this machine."""
    langsmith.configure(enabled=False)


@asynccontextmanager
async def open_own(
    setup: Setup, found: Pregel[Any, Any, Any, Any], deps: Dependencies | None = None
) -> AsyncIterator[OwnAssistant]:
    """The user's graph, ready to answer. One without a checkpointer gets one, or it would remember nothing."""
    form = form_of(found)
    # Only whole instances: pydantic's template of a class is an object too.
    models = [one for one in instances_of(BaseChatModel) if "cache" in one.__dict__]
    # Another graph of the same module may have any model.
    others = [one for one in models if not isinstance(one, BaseChatOpenAI)]
    if others:
        others_ids = set(map(id, others))
        for part in reached(found):
            if id(part) in others_ids:
                raise cannot_redirect(f"the graph, a {type(part).__name__},")
    models = [one for one in models if isinstance(one, BaseChatOpenAI)]
    if not models:
        raise UnfitObjectError(
            "the graph has no model that could be redirected", hint="Create its model when the module is imported"
        )
    if deps is None and found.context_schema is not None:
        deps = without_arguments(found.context_schema, "a context")
    async with openai_client(setup, has_own_tools=True) as client:
        # For nodes that are not asynchronous, as in LangGraph's quick start.
        with sync_openai_client(setup) as sync_client:
            for model in models:
                model.root_async_client = client
                model.async_client = client.chat.completions
                model.root_client = sync_client
                model.client = sync_client.chat.completions
                model.model_name = setup.model
                model.stream_usage = True
                # The Responses API is not what the run's endpoint speaks.
                model.use_responses_api = False
            graph = found if found.checkpointer else found.copy({"checkpointer": InMemorySaver()})
            yield OwnAssistant(graph, form, deps or Dependencies(None), setup.limits)


class OwnAssistant(Assistant):
    """The user's graph, with a context of its own, whose answer may be structured."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        form: StateForm | EntrypointForm,
        deps: Dependencies,
        limits: Limits,
    ) -> None:
        super().__init__(graph, has_context=False)
        self._form = form
        self._deps = deps
        self._most_steps = _STEPS_OF_A_CALL * limits.model_calls

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        value: Any = None
        bridge = SpanBridge()
        asked: dict[str | None, Mapping[str, Any]] = {}
        async for part in self._graph.astream(
            self._form.given(session, message),
            {
                "configurable": {"thread_id": session},
                "callbacks": [bridge],
                "recursion_limit": self._most_steps,
            },
            context=await self._deps.of(user),
            stream_mode=["messages", "values"],
            version="v2",
        ):
            if part["type"] == "values":
                value = part["data"]
                asked = {call["id"]: call for call in _calls_in(value)}
            elif part["type"] == "messages":
                piece, _ = part["data"]
                if isinstance(piece, AIMessageChunk) and piece.text:
                    yield piece.text
                elif isinstance(piece, ToolMessage) and piece.tool_call_id in asked:
                    record_unknown(asked[piece.tool_call_id], piece)
        reply = self._form.reply(session, message, value)
        structured = value.get("structured_response") if isinstance(value, dict) else None
        if structured is None:
            yield reply
            return
        # A tool that was called and never started has taken the answer.
        calls = tuple(call for call in reply.tool_calls or () if call.name in bridge.tools or call.error is not None)
        yield replace(reply, text=str(structured), tool_calls=calls)

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation."""
        self._form.forget(session)
        await super().end_session(session=session, user=user)


def _calls_in(value: Any) -> list[Any]:
    """The tool calls that the last message of the model in a state asks for."""
    messages = value.get("messages") if isinstance(value, Mapping) else None
    last = next((one for one in reversed(messages or ()) if isinstance(one, AIMessage)), None)
    return [] if last is None else list(last.tool_calls)
