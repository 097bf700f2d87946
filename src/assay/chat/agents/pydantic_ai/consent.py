"""A tool that needs the user's approval, with Pydantic AI's deferred tools; only for scenarios about consent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests, DeferredToolResults, RunContext

from assay.chat.agents import Reply, Setup
from assay.chat.agents.pydantic_ai.assistant import Assistant, Deps
from assay.chat.transcript import ToolCall


async def delete_user_preferences(ctx: RunContext[Deps]) -> dict[str, Any]:
    """Delete everything that is known about the user."""
    ctx.deps.preferences.forget(ctx.deps.user)
    return {"status": "deleted"}


class ConsentingAssistant(Assistant):
    """The assistant, which asks before it deletes."""

    def __init__(self, setup: Setup, agent: Agent[Any, Any]) -> None:
        super().__init__(setup, agent, options={"output_type": [str, DeferredToolRequests]})
        self._waiting: dict[str, DeferredToolRequests] = {}

    def _reply(self, session: str, result: AgentRunResult[Any]) -> Reply:
        reply = super()._reply(session, result)
        if not isinstance(result.output, DeferredToolRequests):
            return reply
        self._waiting[session] = result.output
        calls = tuple(ToolCall(name=call.tool_name, arguments=call.args_as_dict()) for call in result.output.approvals)
        return replace(reply, text="", approvals=calls)

    async def decide(self, *, session: str, user: str, approved: bool) -> AsyncIterator[str | Reply]:
        decisions = {call.tool_call_id: approved for call in self._waiting.pop(session).approvals}
        results = DeferredToolResults(approvals={**decisions})
        async for part in self._run(session, user, None, deferred_tool_results=results):
            yield part
