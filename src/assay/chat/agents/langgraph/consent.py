"""A tool that needs the user's approval, with an interrupt of LangGraph, as LangChain's middleware makes it; only for
scenarios about consent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import BaseTool, ToolRuntime, tool
from langgraph.types import Command

from assay.chat.agents import Reply
from assay.chat.agents.langgraph.assistant import Assistant, Context
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from assay.chat.world.preferences import Preferences

APPROVAL: HumanInTheLoopMiddleware[Any, Any, Any] = HumanInTheLoopMiddleware(
    {"delete_user_preferences": {"allowed_decisions": ["approve", "reject"]}}
)


def deletion_tool(preferences: Preferences) -> BaseTool:
    """The tool that deletes what is known about the user."""

    @tool
    async def delete_user_preferences(runtime: ToolRuntime[Context]) -> dict[str, Any]:
        """Delete everything that is known about the user."""
        preferences.forget(runtime.context.user)
        return {"status": "deleted"}

    return delete_user_preferences


class ConsentingAssistant(Assistant):
    """The assistant, which asks before it deletes."""

    async def _run(self, session: str, user: str, given: dict[str, Any] | Command[Any]) -> AsyncIterator[str | Reply]:
        async for part in super()._run(session, user, given):
            if isinstance(part, Reply):
                asked = await self._asked(session)
                part = replace(
                    part, approvals=tuple(ToolCall(name=one["name"], arguments=one["args"]) for one in asked)
                )
            yield part

    async def decide(self, *, session: str, user: str, approved: bool) -> AsyncIterator[str | Reply]:
        decision = {"type": "approve" if approved else "reject"}
        answers = {"decisions": [decision for _ in await self._asked(session)]}
        async for part in self._run(session, user, Command(resume=answers)):
            yield part

    async def _asked(self, session: str) -> list[dict[str, Any]]:
        """The calls that the thread waits with."""
        state = await self._graph.aget_state({"configurable": {"thread_id": session}})
        return [call for interrupt in state.interrupts for call in interrupt.value["action_requests"]]
