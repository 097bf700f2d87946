"""The weather assistant in Pydantic AI: what the registry knows of it. Nothing heavy is imported here."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agent import Agent, AgentKind, Setup
from assay.errors import missing_extra


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    try:
        from assay.chat.agents.pydantic_ai.assistant import open_assistant
    except ModuleNotFoundError as error:
        raise missing_extra("pydantic-ai-slim", "pydantic-ai", "run the assistant in Pydantic AI") from error
    return open_assistant(setup)


AGENT = AgentKind(
    name="pydantic-ai",
    title="Pydantic AI",
    open=_open,
    extra="pydantic-ai",
    distributions=("pydantic-ai-slim",),
    modules=("pydantic_ai",),
    source=Path(__file__).parent,
    memory=None,
)
