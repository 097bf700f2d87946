"""Tokens in the spans of ADK as OpenAI counts them: its reasoning tokens are part of its output tokens already.

ADK's spans add the two, as they are apart in Gemini's count (a comment in its `_openai_llm` says so).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.integrations.openai import OpenAILlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse


class CountedOnce(OpenAILlm):
    """A model behind an OpenAI-compatible endpoint whose reasoning is not counted twice."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """What the model says."""
        async for response in super().generate_content_async(llm_request, stream):
            if response.usage_metadata:
                response.usage_metadata.thoughts_token_count = None
            yield response
