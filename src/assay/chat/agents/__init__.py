"""What an agent is to assay: something that answers a turn. The contract for built-in and third-party agents alike.

An agent has one method. Everything around it (sessions of scenarios, clocks, faults, times, retries) is the runner's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from assay.registry import Registry

if TYPE_CHECKING:
    from assay.chat.transcript import ToolCall
    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent gives last: its whole answer, and its framework's own account of how that came about.

    The account serves as a check of what the spans say; an agent that cannot tell leaves it out.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Agent(Protocol):
    """Anything that can hold a conversation."""

    def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        """Answer one message: pieces of text as they come, then one `Reply`.

        `session` names the conversation, whose earlier turns the agent remembers by itself; `user` whose preferences
        hold. An exception is a failed turn.
        """
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What every agent is held to alike, whatever its framework's own defaults are."""

    model_calls: int = 8
    """Calls of the model in one turn."""
    max_tokens: int = 800
    """Tokens that one call of the model may put out."""
    retries: int = 1
    """How often the client of the model tries again by itself."""
    model_timeout: float = 30.0
    """Seconds that one call of the model may take."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an agent is built with: the same for every framework."""

    model: str
    """The name of the model."""
    model_url: str
    """Address of an OpenAI-compatible endpoint, with its version: `http://127.0.0.1:4000/v1`."""
    weather: WeatherClient
    preferences: Preferences
    limits: Limits = field(default_factory=Limits)
    model_key: str = field(default="none", repr=False)
    embedded: bool = True
    """Whether the model is assay's own: only then is the turn's trace context sent along."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that can be built: what the registry holds and an entry point of `assay.agents` points at."""

    name: str
    title: str
    open: Callable[[Setup], AbstractAsyncContextManager[Agent]]
    """Builds the agent, and takes it down again. Heavy imports belong inside."""
    extra: str = ""
    """The extra of assay that installs what it needs."""
    distributions: tuple[str, ...] = ()
    """What it is built on, by the name on the package index."""
    modules: tuple[str, ...] = ()
    """The modules of the framework that it imports."""
    source: Path | None = None
    """The folder of its own source, from which developer experience is measured."""
    uses_setup: bool = True
    """Whether its model and tools are those of its `Setup`; one with its own is out of reach of faults."""
    memory: str | None = None
    """The framework's class that keeps the conversation, by its full name; None where the assistant keeps it itself."""


AGENTS: Registry[AgentKind] = Registry(
    "agent", package="assay.chat.agents", attribute="AGENT", group="assay.agents", folders=True
)
