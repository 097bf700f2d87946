"""The weather assistant in Google's Agent Development Kit: what the registry knows of it. Imports nothing heavy."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from assay.chat.agent import Agent, AgentKind, Setup
from assay.errors import missing_extra


def _open(setup: Setup) -> AbstractAsyncContextManager[Agent]:
    try:
        from assay.chat.agents.google_adk.assistant import open_assistant
    except ModuleNotFoundError as error:
        raise missing_extra("google-adk", "google-adk", "run the assistant in Google ADK") from error
    return open_assistant(setup)


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
