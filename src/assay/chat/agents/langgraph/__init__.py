"""The weather assistant in LangGraph: what the registry knows of it. Nothing heavy is imported here."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agent import Agent, AgentKind, Setup
from assay.errors import missing_extra


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    try:
        from assay.chat.agents.langgraph.assistant import open_assistant
    except ModuleNotFoundError as error:
        raise missing_extra("langgraph", "langgraph", "run the assistant in LangGraph") from error
    return open_assistant(setup)


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
