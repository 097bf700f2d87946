"""A tool that needs the user's approval, with ADK's tool confirmation; only for scenarios about consent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from assay.chat.agents import Reply
from assay.chat.agents.google_adk.assistant import Assistant
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from google.adk.events import Event

    from assay.chat.world.preferences import Preferences

# The call by which ADK asks for a confirmation.
_ASKS = "adk_request_confirmation"


def deletion_tool(preferences: Preferences) -> FunctionTool:
    """The tool that deletes what is known about the user."""

    async def delete_user_preferences(tool_context: ToolContext) -> dict[str, Any]:
        """Delete everything that is known about the user."""
        preferences.forget(tool_context.user_id)
        return {"status": "deleted"}

    return FunctionTool(delete_user_preferences, require_confirmation=True)


class ConsentingAssistant(Assistant):
    """The assistant, which asks before it deletes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: dict[str, list[types.FunctionCall]] = {}

    def _reply(self, session: str, events: list[Event]) -> Reply:
        calls = [call for event in events for call in event.get_function_calls() if call.name == _ASKS]
        self._waiting[session] = calls
        reply = super()._reply(session, events)
        originals = [(call.args or {}).get("originalFunctionCall", {}) for call in calls]
        return replace(
            reply,
            tool_calls=tuple(call for call in reply.tool_calls or () if call.name != _ASKS),
            approvals=tuple(ToolCall(name=one.get("name", ""), arguments=one.get("args") or {}) for one in originals),
        )

    async def decide(self, *, session: str, user: str, approved: bool) -> AsyncIterator[str | Reply]:
        answers = [
            types.Part(
                function_response=types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": approved})
            )
            for call in self._waiting.pop(session, ())
        ]
        async for part in self._run(session, user, types.Content(role="user", parts=answers)):
            yield part
