"""OpenTelemetry spans from the OpenAI Agents SDK's traces, through its processor and hook interfaces."""

from __future__ import annotations

from typing import Any

from agents import Agent, Handoff, ModelResponse, RunContextWrapper, RunHooks
from agents.tracing import (
    FunctionSpanData,
    GenerationSpanData,
    Span,
    SpanError,
    Trace,
    TracingProcessor,
    get_current_span,
)
from openai.types.responses import ResponseFunctionToolCall

from assay.chat.agents._shared.spans import GenAISpans


class SpanBridge(TracingProcessor):
    """Records model calls and tool calls as spans; agents, turns and tasks are left out."""

    def __init__(self) -> None:
        self._spans = GenAISpans("openai")

    def on_trace_start(self, trace: Trace) -> None:
        pass

    def on_trace_end(self, trace: Trace) -> None:
        pass

    def on_span_start(self, span: Span[Any]) -> None:
        data = span.span_data
        if isinstance(data, GenerationSpanData):
            self._spans.start_model(span.span_id, data.model or "")
        elif isinstance(data, FunctionSpanData):
            self._spans.start_tool(span.span_id, data.name)

    def on_span_end(self, span: Span[Any]) -> None:
        data = span.span_data
        if isinstance(data, GenerationSpanData):
            usage = data.usage or {}
            self._spans.end_model(
                span.span_id,
                # The SDK reports 0 if the endpoint gave no count.
                input_tokens=usage.get("input_tokens") or None,
                output_tokens=usage.get("output_tokens") or None,
                cached_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens") or None,
                error=_kind(span.error),
            )
        elif isinstance(data, FunctionSpanData):
            self._spans.end_tool(
                span.span_id,
                arguments=data.input,
                result=None if span.error else data.output,
                error=_kind(span.error),
                message=_words(span.error),
            )

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


def note_failure(error: Exception) -> None:
    """Mark the span of the tool at work as failed; the SDK does not do so if a tool takes too long."""
    span = get_current_span()
    if span is not None and span.error is None:
        span.set_error({"message": type(error).__name__, "data": {"error": str(error)}})


class RefusedCalls(RunHooks[Any]):
    """Records spans of calls that the SDK does not trace as tools: handoffs, and calls for tools that do not exist."""

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        known = {tool.name for tool in agent.tools}
        calls = [call for call in response.output if isinstance(call, ResponseFunctionToolCall)]
        others = [call for call in calls if call.name not in known]
        if not others:
            return
        if agent.mcp_servers:
            known = {tool.name for tool in await agent.get_all_tools(context)}
        handoffs = dict(_named(one) for one in agent.handoffs)
        spans = GenAISpans("openai")
        for call in others:
            if call.name in handoffs:
                spans.start_tool(call.name, call.name, arguments=call.arguments)
                # What the SDK tells the model.
                spans.end_tool(call.name, result={"assistant": handoffs[call.name]})
            elif call.name not in known:
                spans.refused(call.name, arguments=call.arguments, reason="there is no such tool")


def _named(one: Agent[Any] | Handoff[Any, Any]) -> tuple[str, str]:
    """The tool that hands the conversation over, and the name of the agent that gets it."""
    if isinstance(one, Handoff):
        return one.tool_name, one.agent_name
    return Handoff.default_tool_name(one), one.name


def _kind(error: SpanError | None) -> str | None:
    return None if error is None else error["message"]


def _words(error: SpanError | None) -> str | None:
    return None if error is None else str((error["data"] or {}).get("error", error["message"]))
