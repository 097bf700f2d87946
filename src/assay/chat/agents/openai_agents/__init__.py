"""The weather assistant in the OpenAI Agents SDK: its entry in the registry. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.lazy_open import open_bundled_assistant


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return open_bundled_assistant(__name__, setup, package="openai-agents", framework="the OpenAI Agents SDK")


AGENT = AgentKind(
    name="openai-agents",
    title="OpenAI Agents SDK",
    open=_open,
    extra="openai-agents",
    distributions=("openai-agents",),
    modules=("agents",),
    source=Path(__file__).parent,
    memory="agents.SQLiteSession",
)
