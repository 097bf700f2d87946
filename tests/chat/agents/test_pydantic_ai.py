"""The weather assistant in Pydantic AI, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws
from tests.chat.agents.many import ManyConversations


class TestPydanticAI(AssistantLaws, ManyConversations):
    name = "pydantic-ai"
    limit_error = "exceed the request_limit"
    forgets_failed_turns = True
