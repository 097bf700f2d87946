"""The weather assistant in the OpenAI Agents SDK: what the registry knows of it. Nothing heavy is imported here."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agent import Agent, AgentKind, Setup
from assay.errors import missing_extra


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    try:
        from assay.chat.agents.openai_agents.assistant import open_assistant
    except ModuleNotFoundError as error:
        raise missing_extra("openai-agents", "openai-agents", "run the assistant in the OpenAI Agents SDK") from error
    return open_assistant(setup)


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
