"""Spans of calls that Agent Framework refuses, for a tool that does not exist or with invalid arguments.

The framework reports the refusal to the model and records no span. Other frameworks do, since the model made the call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_framework import ChatContext, ChatMiddleware
from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

# How the framework's message to the model begins if a call did not reach its tool.
_REFUSALS = ("Error: Requested function", "Error: Argument parsing failed")


class RefusedCalls(ChatMiddleware):
    """Looks for refused calls in the messages to the model, and records the missing spans."""

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        calls = {
            content.call_id: content
            for message in context.messages
            for content in message.contents
            if content.type == "function_call"
        }
        for message in reversed(context.messages):
            # The last messages are the results of the last round; earlier ones were handled in earlier calls.
            if message.role != "tool":
                break
            for result in message.contents:
                call = calls.get(result.call_id)
                if call is not None and str(result.result).startswith(_REFUSALS):
                    _write(str(call.name), str(call.arguments), str(result.exception or result.result))
        await call_next()


def _write(name: str, arguments: str, reason: str) -> None:
    span = trace.get_tracer("assay.chat.agents").start_span(
        f"execute_tool {name}",
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": arguments,
            "error.type": "refused",
        },
    )
    span.set_status(Status(StatusCode.ERROR, reason))
    span.end()
