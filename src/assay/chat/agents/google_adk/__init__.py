"""The weather assistant in Google's Agent Development Kit: its entry in the registry. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agents import Agent, AgentKind, Setup
from assay.chat.agents._shared.lazy_open import open_bundled_assistant


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    return open_bundled_assistant(__name__, setup, package="google-adk", framework="Google ADK")


AGENT = AgentKind(
    name="google-adk",
    title="Google ADK",
    open=_open,
    extra="google-adk",
    distributions=("google-adk",),
    modules=("google.adk",),
    source=Path(__file__).parent,
    memory="google.adk.sessions.InMemorySessionService",
)
