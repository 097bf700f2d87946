"""The weather assistant in the OpenAI Agents SDK, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws
from tests.chat.agents.many import ManyConversations


class TestOpenAIAgents(AssistantLaws, ManyConversations):
    name = "openai-agents"
    limit_error = "Max turns"
