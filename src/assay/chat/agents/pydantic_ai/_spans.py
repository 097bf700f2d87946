"""Spans of calls for tools that do not exist. Pydantic AI reports these to the model and records no span."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ModelRequest, ModelResponse, RetryPromptPart, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from assay.chat.agents._shared.spans import GenAISpans


@dataclass
class RefusedCalls(AbstractCapability[Any]):
    """Looks for refused calls in the messages to the model, and records the missing spans."""

    output_tools: set[str] = field(default_factory=set)
    """Names of the tools that take a structured answer: a call of one is the answer, and no tool call."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        offered = request_context.model_request_parameters
        self.output_tools |= {tool.name for tool in offered.output_tools}
        *_, before, last = (None, None, *request_context.messages)
        if isinstance(before, ModelResponse) and isinstance(last, ModelRequest):
            known = {tool.name for tool in offered.function_tools} | self.output_tools
            calls = {call.tool_call_id: call for call in before.tool_calls if call.tool_name not in known}
            for part in last.parts:
                if isinstance(part, RetryPromptPart) and part.tool_call_id in calls:
                    call, words = calls[part.tool_call_id], part.model_response()
                    GenAISpans("openai").refused(
                        call.tool_name, arguments=call.args_as_dict(), reason=words, result=words
                    )
        return request_context
