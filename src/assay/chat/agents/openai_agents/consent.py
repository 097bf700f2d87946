"""A tool that needs the user's approval, with the SDK's `needs_approval`; only for scenarios about consent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from agents import RunContextWrapper, RunResultStreaming, function_tool

from assay.chat.agents import Reply
from assay.chat.agents.openai_agents.assistant import Assistant, Context, tell_failure
from assay.chat.formats.payload import arguments_of
from assay.chat.transcript import ToolCall


@function_tool(failure_error_function=tell_failure, strict_mode=False, needs_approval=True)
async def delete_user_preferences(context: RunContextWrapper[Context]) -> str:
    """Delete everything that is known about the user."""
    context.context.preferences.forget(context.context.user)
    return json.dumps({"status": "deleted"})


class ConsentingAssistant(Assistant):
    """The assistant, which asks before it deletes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: dict[str, RunResultStreaming] = {}

    def _reply(self, session: str, result: RunResultStreaming, context: Context) -> Reply:
        reply = super()._reply(session, result, context)
        if not result.interruptions:
            return reply
        self._waiting[session] = result
        calls = tuple(
            ToolCall(name=one.name or "", arguments=arguments_of(getattr(one.raw_item, "arguments", None)))
            for one in result.interruptions
        )
        return replace(reply, text="", approvals=calls)

    async def decide(self, *, session: str, user: str, approved: bool) -> AsyncIterator[str | Reply]:
        waiting = self._waiting.pop(session)
        state = waiting.to_state()
        for one in waiting.interruptions:
            if approved:
                state.approve(one)
            else:
                state.reject(one)
        async for part in self._run(session, waiting.context_wrapper.context, state):
            yield part
