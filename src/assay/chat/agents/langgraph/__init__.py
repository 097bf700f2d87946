"""The weather assistant in LangGraph: its entry in the registry. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.lazy_open import open_bundled_assistant


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return open_bundled_assistant(__name__, setup, package="langgraph", framework="LangGraph")


AGENT = AgentKind(
    name="langgraph",
    title="LangGraph",
    open=_open,
    extra="langgraph",
    distributions=("langgraph", "langchain", "langchain-openai"),
    modules=("langgraph", "langchain", "langchain_core", "langchain_openai"),
    source=Path(__file__).parent,
    memory="langgraph.checkpoint.memory.InMemorySaver",
)
