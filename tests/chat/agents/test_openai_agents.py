"""The weather assistant in the OpenAI Agents SDK, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws


class TestOpenAIAgents(AssistantLaws):
    name = "openai-agents"
    limit_error = "Max turns"
    refuses_unknown_tools = True
