"""OpenTelemetry spans from LangChain's callbacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.types import Command

from assay.chat.agents._shared.spans import GenAISpans

# What LangGraph tells the model of a call of a tool that does not exist.
_UNKNOWN = " is not a valid tool, try one of "


class SpanBridge(AsyncCallbackHandler):
    """Records model calls and tool calls as spans; chains and graphs are left out."""

    # Called synchronously, so that the spans have the times of the events, and the turn's span as parent.
    run_inline = True

    def __init__(self) -> None:
        self._spans = GenAISpans("openai")
        self._running: list[UUID] = []
        self.tools: set[str] = set()
        """Names of the tools that were started."""

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        # A tool that was cancelled, for example because it took too long, is not reported; by now all are over.
        for cancelled in self._running:
            self._spans.end_tool(cancelled, error="CancelledError", message="the tool was cancelled")
        self._running.clear()
        self._spans.start_model(run_id, str((kwargs.get("metadata") or {}).get("ls_model_name", "")))

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        message = next((one.message for one in response.generations[0] if isinstance(one, ChatGeneration)), None)
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        self._spans.end_model(
            run_id,
            input_tokens=usage["input_tokens"] if usage else None,
            output_tokens=usage["output_tokens"] if usage else None,
            cached_tokens=usage.get("input_token_details", {}).get("cache_read") if usage else None,
        )

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._spans.end_model(run_id, error=type(error).__name__)

    async def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        self._running.append(run_id)
        self.tools.add(str(serialized.get("name", "")))
        self._spans.start_tool(run_id, str(serialized.get("name", "")), arguments=kwargs.get("inputs"))

    async def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._running.remove(run_id)
        self._spans.end_tool(run_id, result=output.text if isinstance(output, ToolMessage) else output)

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._running.remove(run_id)
        self._spans.end_tool(run_id, error=type(error).__name__, message=str(error))


def record_unknown(call: Mapping[str, Any], result: ToolMessage) -> None:
    """Record the span of a call in a user's own graph, if it was refused because there is no such tool."""
    if result.status == "error" and _UNKNOWN in result.text:
        GenAISpans("openai").refused(call["name"], arguments=call["args"], reason=result.text)


class RefusedCalls(AgentMiddleware[Any, Any, Any]):
    """Records spans of calls for tools that do not exist, which callbacks do not report."""

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        answer = await handler(request)
        if request.tool is None and isinstance(answer, ToolMessage):
            call = request.tool_call
            GenAISpans("openai").refused(call["name"], arguments=call["args"], reason=answer.text)
        return answer
