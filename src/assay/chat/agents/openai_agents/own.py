"""A user's own agent of the OpenAI Agents SDK: the model of the run replaces that of all agents of the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    RunState,
    SQLiteSession,
    set_default_openai_api,
    set_trace_processors,
)
from openai.types.responses import ResponseTextDeltaEvent

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import openai_client
from assay.chat.agents.openai_agents._spans import RefusedCalls, SpanBridge
from assay.chat.agents.openai_agents.assistant import Assistant, Context, model_settings_of
from assay.chat.agents.own import Dependencies, instances_of

TYPES = (Agent,)


def before_import() -> None:
    """Set what applies to a module that runs its agent when it is imported: no traces leave this machine, and the
    endpoint speaks chat completions.
    """
    set_trace_processors([SpanBridge()])
    set_default_openai_api("chat_completions")


@asynccontextmanager
async def open_own(setup: Setup, found: Agent[Any], deps: Dependencies | None = None) -> AsyncIterator[OwnAssistant]:
    """The user's agent, ready to answer."""
    async with openai_client(setup, has_own_tools=True) as client:
        model = OpenAIChatCompletionsModel(setup.model, openai_client=client)
        # An agent that is a tool of another has a run of its own.
        for agent in instances_of(Agent):
            agent.model = model
        settings = model_settings_of(setup)
        assistant = OwnAssistant(setup, found, model=model, model_settings=settings)
        assistant.deps = deps
        try:
            yield assistant
        finally:
            assistant.close()


class OwnAssistant(Assistant):
    """The user's agent, which may have a context of its own."""

    deps: Dependencies | None = None

    async def _run(self, session: str, context: Context, given: str | RunState[Any, Any]) -> AsyncIterator[str | Reply]:
        if self.deps is None:
            async for part in super()._run(session, context, given):
                yield part
            return
        self._sessions.setdefault(session, SQLiteSession(session))
        result = Runner.run_streamed(
            self._agent,
            given,
            context=await self.deps.of(context.user),
            session=self._sessions[session],
            max_turns=self._setup.limits.model_calls,
            hooks=RefusedCalls(),
            # Errors of tools are noted in the bundled assistant's context, which this one does not have.
            run_config=replace(self._run_config, tool_error_formatter=None),
        )
        async for event in result.stream_events():
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                yield event.data.delta
        yield self._reply(session, result, context)
