"""The contract of an agent, for built-in and third-party agents alike: an object with one method that answers a turn.

The runner does everything else: sessions, clocks, faults, timing and retries.
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
    """The end of a turn: the whole answer, with the tool calls and token counts that the framework reports.

    These are checked against the spans; an agent that does not know them leaves them `None`.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Agent(Protocol):
    """Answers the messages of a conversation."""

    def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        """Answer one message: yield chunks of text as they arrive, then one `Reply`.

        `session` identifies the conversation, whose earlier turns the agent must remember; `user` identifies the user
        whose preferences apply. If it raises an exception, the turn has failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that apply to every agent in the same way, whatever its framework's defaults are."""

    model_calls: int = 8
    """Most model calls in one turn."""
    max_tokens: int = 800
    """Most output tokens of one model call."""
    retries: int = 1
    """How often the model's client retries a failed call."""
    model_timeout: float = 30.0
    """Timeout of one model call, in seconds."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an agent is built with; the same for every framework."""

    model: str
    """The name of the model."""
    model_url: str
    """Base URL of an OpenAI-compatible endpoint, including the version: `http://127.0.0.1:4000/v1`."""
    weather: WeatherClient
    preferences: Preferences
    limits: Limits = field(default_factory=Limits)
    model_key: str = field(default="none", repr=False)
    embedded: bool = True
    """Whether the model is assay's scripted model; only then do requests carry the turn's trace context."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that can be opened: what the registry holds, and what an entry point of `assay.agents` refers to."""

    name: str
    title: str
    open: Callable[[Setup], AbstractAsyncContextManager[Agent]]
    """Builds the agent, and closes it again. Import heavy packages inside it."""
    extra: str = ""
    """The extra of assay that installs its dependencies."""
    distributions: tuple[str, ...] = ()
    """The packages that it is built on, by their names on the package index."""
    modules: tuple[str, ...] = ()
    """The modules of the framework that it imports."""
    source: Path | None = None
    """The folder of its source code, from which developer experience is measured."""
    uses_setup: bool = True
    """Whether it uses the model and tools of its `Setup`; faults cannot reach one that has its own."""
    memory: str | None = None
    """Full name of the framework's class that stores the conversation; None if the assistant stores it itself."""


AGENTS: Registry[AgentKind] = Registry(
    "agent", package="assay.chat.agents", attribute="AGENT", group="assay.agents", folders=True
)
