"""Token counts in ADK's spans as OpenAI defines them: reasoning tokens are already part of the output tokens.

ADK's spans add the two, because Gemini counts them separately (see the comment in its `_openai_llm`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.integrations.openai import OpenAILlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse


class CountedOnce(OpenAILlm):
    """A model behind an OpenAI-compatible endpoint whose reasoning tokens are not counted twice."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The model's responses, without a separate count of reasoning tokens."""
        async for response in super().generate_content_async(llm_request, stream):
            if response.usage_metadata:
                response.usage_metadata.thoughts_token_count = None
            yield response
