"""The weather assistant in Microsoft's Agent Framework: its entry in the registry. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.lazy_open import open_bundled_assistant


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return open_bundled_assistant(__name__, setup, package="agent-framework-openai", framework="Agent Framework")


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
