"""The weather assistant in LangGraph: what the registry knows of it. Nothing heavy is imported here."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.opening import opened


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return opened(__name__, setup, package="langgraph", framework="LangGraph")


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
