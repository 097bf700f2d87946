"""A user's own agent object, by import path: `mine=adk:my_pkg.agent:root_agent`.

Its model is redirected to the endpoint of the run by the framework's own means; its instructions, tools and sub-agents
stay as they are. If a part of an agent would still call another service, the agent is refused, and the error names the
part.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from assay.chat.agents import AGENTS, Agent, AgentKind, Setup
from assay.chat.agents.function import load_attribute
from assay.errors import UsageError, missing_extra


@dataclass(frozen=True, slots=True)
class OwnFramework:
    """A framework whose agent objects can be run."""

    agent: str
    """The bundled assistant in the same framework: its name in the registry."""
    takes: str
    """What the object is."""
    redirects: str
    """How its model is redirected; completes 'its model is redirected …'."""


FRAMEWORKS = {
    "adk": OwnFramework(
        "google-adk", "an agent or App of Google ADK", "by setting `model` of every LlmAgent in its tree"
    ),
    "maf": OwnFramework(
        "agent-framework", "an Agent of Microsoft Agent Framework", "by setting its `client`, without its middleware"
    ),
    "openai-agents": OwnFramework(
        "openai-agents", "an Agent of the OpenAI Agents SDK", "by the `model` of RunConfig, for all agents of a run"
    ),
    "langgraph": OwnFramework(
        "langgraph", "a compiled graph", "by replacing the client of every ChatOpenAI model of the process"
    ),
    "pydantic-ai": OwnFramework("pydantic-ai", "an Agent of Pydantic AI", "by the `model` of each run"),
}
"""Frameworks by the word that stands before the import path."""


def own_agent_kind(framework: str, pointer: str, name: str) -> AgentKind:
    """The agent object at `module:attribute` as an `AgentKind`; the module is imported when it is opened."""
    bundled = AGENTS.get(FRAMEWORKS[framework].agent)

    def opened(setup: Setup) -> AbstractAsyncContextManager[Agent]:
        return _opened(framework, pointer, setup)

    return AgentKind(
        name,
        name,
        opened,
        extra=bundled.extra,
        distributions=bundled.distributions,
        modules=(*bundled.modules, pointer.partition(":")[0]),
        uses_setup=False,
        uses_model=True,
    )


def own_agent_note(framework: str, name: str) -> str:
    """What readers of the results need to know."""
    return (
        f"{name} is your own agent object: its model is redirected {FRAMEWORKS[framework].redirects}; its tools are "
        "its own, so faults of the weather service and known preferences do not reach it, and what they return "
        "is not compared with the embedded weather."
    )


@asynccontextmanager
async def _opened(framework: str, pointer: str, setup: Setup) -> AsyncIterator[Agent]:
    # Clients that the user's module creates must neither fail because a key is missing nor reach the real service.
    os.environ["OPENAI_BASE_URL"] = setup.model_url
    os.environ["OPENAI_API_KEY"] = setup.model_key
    bundled = AGENTS.get(FRAMEWORKS[framework].agent)
    folder = str(bundled.open.__module__)
    try:
        own: Any = importlib.import_module(f"{folder}.own")
    except ModuleNotFoundError as error:
        raise missing_extra(bundled.distributions[0], bundled.extra, f"run an agent of {bundled.title}") from error
    found = load_attribute(pointer)
    if not isinstance(found, own.TYPES):
        raise UsageError(
            f"'{pointer}' is of type {type(found).__name__}, not {FRAMEWORKS[framework].takes}",
            hint=f"Write NAME={framework}:module:attribute, where attribute is {FRAMEWORKS[framework].takes}",
        )
    async with own.open_own(setup, found) as agent:
        yield agent


def cannot_redirect(what: str) -> UsageError:
    """The error if a part of an agent would call a service that is not the run's."""
    return UsageError(
        f"the model of {what} cannot be redirected to the endpoint of this run",
        hint="Replace it for the evaluation, or name the agent as module:function and run it with its own model",
    )
