"""The weather assistant in Google ADK, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws


class TestGoogleAdk(AssistantLaws):
    name = "google-adk"
    limit_error = "Max number of llm calls limit"
