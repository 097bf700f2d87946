"""The weather assistant in LangGraph, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws


class TestLangGraph(AssistantLaws):
    name = "langgraph"
    limit_error = "Model call limits exceeded: run limit"
