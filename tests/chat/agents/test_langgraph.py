"""The weather assistant in LangGraph, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws
from tests.chat.agents.many import ManyConversations


class TestLangGraph(AssistantLaws, ManyConversations):
    name = "langgraph"
    limit_error = "Model call limits exceeded: run limit"
    # Arguments that are a list make no call, and an answer without calls ends the turn, empty as it is.
    unbearable = ("[1]",)
