"""The weather assistant in LangGraph, with the embedded world and with misbehaving models."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantTests
from tests.chat.agents.random_conversations import RandomConversations


class TestLangGraph(AssistantTests, RandomConversations):
    name = "langgraph"
    quickstart = "langgraph:langgraph_quickstart:agent"
    limit_error = "Model call limits exceeded: run limit"
    # LangChain drops a call whose arguments are a list, and a response without calls ends the turn, even if empty.
    fatal_arguments = ("[1]",)
