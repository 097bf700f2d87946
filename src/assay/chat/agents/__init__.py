"""The contract of an agent, for built-in and third-party agents alike: an object with one method that answers a turn.

The runner does everything else: sessions, clocks, faults, timing and retries.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
    broke_off: bool = False
    """Whether the stream of the answer ended without an end mark."""
    approvals: tuple[ToolCall, ...] = ()
    """Calls that wait for the user's approval: the turn goes on when they have decided."""


class Agent(Protocol):
    """Answers the messages of a conversation."""

    def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        """Answer one message: yield chunks of text as they arrive, then one `Reply`.

        `session` identifies the conversation, whose earlier turns the agent must remember; `user` identifies the user
        whose preferences apply. If it raises an exception, the turn has failed.

        An agent may also have `async def end_session(self, *, session, user)`, which deletes what it keeps of a
        conversation. A load test calls it, and then looks for what stays in memory.

        If a `Reply` has `approvals`, the agent has `def decide(self, *, session, user, approved)`, which goes on with
        the turn as `answer` does.
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
    tool_timeout: float = 30.0
    """Timeout of one tool call, in seconds; reported to the model like any other failure of a tool."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What an agent is built with, the same for every framework: its model, its weather service, and its limits.

    It crosses the pipe to the agent's process as JSON. The clients behind `weather` and `preferences` are made when
    they are first used, once for each setup.
    """

    model: str
    """The name of the model."""
    model_url: str
    """Base URL of an OpenAI-compatible endpoint, including the version: `http://127.0.0.1:4000/v1`."""
    weather_url: str
    """Address of an OpenWeather-compatible endpoint."""
    model_key: str = field(default="none", repr=False)
    weather_key: str = field(default="none", repr=False)
    embedded_model: bool = True
    """Whether the model is assay's scripted model; only then do requests carry the turn's trace context."""
    embedded_weather: bool = True
    weather_timeout: float = 5.0
    weather_retries: int = 2
    weather_backoff: float = 0.2
    limits: Limits = field(default_factory=Limits)
    storage: str = ""
    """A folder for conversations that outlive the process, in the framework's own format; empty to use memory."""
    has_deletion: bool = False
    """Whether the assistant has a tool that deletes what is known about the user, after their approval."""
    has_shop: bool = False
    """Whether it is the assistant of the embedded shop, with the shop's tools in place of those for the weather."""

    @cached_property
    def weather(self) -> WeatherClient:
        """The client of the weather service."""
        from assay.chat.world.tool_quirks import QuirkyWeatherClient
        from assay.chat.world.weather import WeatherClient

        return (QuirkyWeatherClient if self.embedded_weather else WeatherClient)(
            self.weather_url,
            self.weather_key,
            timeout=self.weather_timeout,
            retries=self.weather_retries,
            backoff=self.weather_backoff,
            embedded=self.embedded_weather,
        )

    @cached_property
    def preferences(self) -> Preferences:
        """What is known about each user."""
        from assay.chat.world.preferences import Preferences

        return Preferences(Path(self.storage) / "preferences.json" if self.storage else None)

    def with_clients(self, *, weather: WeatherClient, preferences: Preferences | None = None) -> Setup:
        """The same setup with other clients, such as one that records its requests."""
        made = replace(self)
        made.__dict__["weather"] = weather
        if preferences is not None:
            made.__dict__["preferences"] = preferences
        return made

    async def aclose(self) -> None:
        """Close the connections that were opened."""
        if "weather" in self.__dict__:
            await self.weather.aclose()

    def to_json(self) -> dict[str, Any]:
        """Every field, keys included: for the pipe between two processes, never for a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Setup:
        """The setup that `to_json` wrote."""
        return cls(**{**data, "limits": Limits(**data["limits"])})


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
    uses_model: bool | None = None
    """Whether it uses the model of its `Setup`; None if the answer is that of `uses_setup`. An agent object of a user's
    own has its model redirected and keeps its tools."""
    memory: str | None = None
    """Full name of the framework's class that stores the conversation; None if the assistant stores it itself."""


AGENTS: Registry[AgentKind] = Registry(
    "agent", package="assay.chat.agents", attribute="AGENT", group="assay.agents", folders=True
)
