"""A tool that needs the user's approval, with Agent Framework's `approval_mode`; only for scenarios about consent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_framework import AgentResponse, Content, FunctionInvocationContext, FunctionTool, Message, tool

from assay.chat.agents import Reply
from assay.chat.agents.agent_framework.assistant import Assistant
from assay.chat.formats.payload import arguments_of
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from assay.chat.world.preferences import Preferences


def deletion_tool(preferences: Preferences) -> FunctionTool:
    """The tool that deletes what is known about the user."""

    @tool(approval_mode="always_require")
    async def delete_user_preferences(context: FunctionInvocationContext) -> dict[str, Any]:
        """Delete everything that is known about the user."""
        preferences.forget(context.kwargs["user"])
        return {"status": "deleted"}

    return delete_user_preferences


class ConsentingAssistant(Assistant):
    """The assistant, which asks before it deletes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: dict[str, list[Content]] = {}

    def _reply(self, session: str, response: AgentResponse[Any]) -> Reply:
        waiting = self._waiting[session] = list(response.user_input_requests)
        calls = [one.function_call for one in waiting if one.function_call is not None]
        return replace(
            super()._reply(session, response),
            approvals=tuple(ToolCall(name=one.name or "", arguments=arguments_of(one.arguments)) for one in calls),
        )

    async def decide(self, *, session: str, user: str, approved: bool) -> AsyncIterator[str | Reply]:
        answers = [one.to_function_approval_response(approved) for one in self._waiting.pop(session, ())]
        async for part in self._run(session, user, Message(role="user", contents=answers)):
            yield part
