"""The weather assistant in Pydantic AI, with the embedded world and with misbehaving models."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantTests
from tests.chat.agents.random_conversations import RandomConversations


class TestPydanticAI(AssistantTests, RandomConversations):
    name = "pydantic-ai"
    quickstart = "pydantic-ai:pydantic_quickstart:agent"
    limit_error = "exceed the request_limit"
    forgets_failed_turns = True
