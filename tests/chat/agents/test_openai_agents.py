"""The weather assistant in the OpenAI Agents SDK, with the embedded world and with misbehaving models."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantTests
from tests.chat.agents.random_conversations import RandomConversations


class TestOpenAIAgents(AssistantTests, RandomConversations):
    name = "openai-agents"
    quickstart = "openai-agents:openai_quickstart:weather_agent"
    limit_error = "Max turns"
