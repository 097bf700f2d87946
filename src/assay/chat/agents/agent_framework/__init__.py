"""The weather assistant in Microsoft's Agent Framework: what the registry knows of it. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agent import Agent, AgentKind, Setup
from assay.errors import missing_extra


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    try:
        from assay.chat.agents.agent_framework.assistant import open_assistant
    except ModuleNotFoundError as error:
        raise missing_extra(
            "agent-framework-openai", "agent-framework", "run the assistant in Agent Framework"
        ) from error
    return open_assistant(setup)


AGENT = AgentKind(
    name="agent-framework",
    title="Microsoft Agent Framework",
    open=_open,
    extra="agent-framework",
    distributions=("agent-framework-core", "agent-framework-openai"),
    modules=("agent_framework", "agent_framework.openai"),
    source=Path(__file__).parent,
    memory="agent_framework.InMemoryHistoryProvider",
)
