"""The weather assistant in Pydantic AI: its entry in the registry. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.lazy_open import open_bundled_assistant


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return open_bundled_assistant(__name__, setup, package="pydantic-ai-slim", framework="Pydantic AI")


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
