"""Model and weather services used by a run: the embedded ones on loopback, or real ones by address.

What is chosen here is part of a run's settings, from which the run can be repeated. Keys are read from environment
variables when the environment opens; they are neither stored nor shown.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from assay.chat.agents import AgentKind, Limits, Setup
from assay.chat.suites import Scenario
from assay.chat.world.scripted import Skill
from assay.chat.world.shop import ORDERS
from assay.errors import UsageError
from assay.loopback import leads_here
from assay.redaction import hide, redacted

if TYPE_CHECKING:
    from assay.chat.world.calls import CallLog
    from assay.chat.world.embedded import World
    from assay.chat.world.model_server import Watch
    from assay.chat.world.weather import WeatherClient

SCRIPTED = "assay-scripted"
OPENAI_URL = "https://api.openai.com/v1"
OPENWEATHER_URL = "https://api.openweathermap.org"
MODEL_KEY, MODEL_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
WEATHER_KEY, WEATHER_URL = "OPENWEATHER_API_KEY", "OPENWEATHER_BASE_URL"

# On loopback an answer takes a millisecond, but a busy machine must not cause a timeout of its own: the same seed has
# to give the same transcript. The client itself waits less for injected timeouts.
_EMBEDDED_TIMEOUT, _EMBEDDED_RETRIES, _EMBEDDED_BACKOFF = 20.0, 1, 0.02
_SECONDS_TO_REACH = 10.0


@dataclass(frozen=True, slots=True)
class Reach:
    """From where the embedded services can be reached: other machines too, which need a token."""

    host: str
    """The address of this machine that they listen on."""
    token: str
    """The key of both services, without which they answer nothing; made for each run."""

    @classmethod
    def to(cls, host: str | None) -> Reach | None:
        """With a new token, on an address of this machine; None for loopback."""
        if host is None:
            return None
        token = secrets.token_urlsafe(32)
        hide(token)
        return cls(host, token)


class UsesServices(Protocol):
    """What is known about the services that an agent uses."""

    @property
    def uses_setup(self) -> bool: ...

    @property
    def uses_model(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Used:
    """The services that a kind of agent uses."""

    uses_setup: bool
    uses_model: bool

    @classmethod
    def by(cls, kind: AgentKind) -> Used:
        """Those of an agent that is not built."""
        return cls(kind.uses_setup, kind.uses_setup if kind.uses_model is None else kind.uses_model)


def _own_parts(agent: UsesServices) -> str:
    return "its own tools" if agent.uses_model else "its own model and tools"


@dataclass(frozen=True, slots=True)
class Environment:
    """Model and weather services used by a run."""

    seed: int = 42
    skill: Skill = field(default_factory=Skill)
    """How often the scripted model errs."""
    model_speed: float = 0.0
    """Tokens a second of the scripted model's streams; 0 to send them at once."""
    measures_first_text: bool = False
    """Whether the time to the first text is measured apart, with the scripted model at the rate of a real one."""
    model: str | None = None
    """The name of a real model; None for the scripted one."""
    model_url: str = OPENAI_URL
    weather: str = "embedded"
    """'embedded' or 'openweather'."""
    weather_url: str = OPENWEATHER_URL
    limits: Limits = field(default_factory=Limits)
    user_model: str | None = None
    """The name of a model that plays simulated users; None for users by rules."""
    user_model_url: str = OPENAI_URL

    @classmethod
    def chosen(
        cls,
        *,
        seed: int,
        skill: str = "1",
        model_speed: float | None = None,
        model: str | None = None,
        model_url: str | None = None,
        weather: str = "embedded",
        user_model: str | None = None,
        user_model_url: str | None = None,
    ) -> Environment:
        """The environment that options and environment variables ask for."""
        if weather not in ("embedded", "openweather"):
            raise UsageError(f"unknown weather service '{weather}'", hint="Use embedded or openweather")
        if model is not None and skill != "1":
            raise UsageError(
                "--skill applies to the scripted model, but --model names another one", hint="Leave one of them out"
            )
        if model_speed is not None and not 0 <= model_speed <= 100_000:
            raise UsageError(
                f"a model's speed is tokens a second, got {model_speed:g}", hint="Give 60, or 0 for at once"
            )
        if model is not None and model_speed:
            raise UsageError(
                "--model-speed applies to the scripted model, but --model names another one",
                hint="Leave one of them out",
            )
        if model is None and model_url is not None:
            raise UsageError("--model-url needs the name of a model", hint="Give --model too")
        if user_model is not None and (not user_model.strip() or "," in user_model):
            what = "takes one model" if user_model.strip() else "needs the name of a model"
            raise UsageError(f"--user-model {what}", hint="Write --user-model NAME, or leave it out")
        if user_model is None and user_model_url is not None:
            raise UsageError("--user-model-url needs the name of a model", hint="Give --user-model too")
        chosen = cls(
            user_model=user_model,
            user_model_url=_address(user_model_url or os.environ.get(MODEL_URL) or OPENAI_URL),
            seed=seed,
            skill=Skill.parse(skill),
            model_speed=model_speed or 0.0,
            measures_first_text=model is None and model_speed is None,
            model=model,
            model_url=_address(model_url or os.environ.get(MODEL_URL) or OPENAI_URL),
            weather=weather,
            weather_url=_address(os.environ.get(WEATHER_URL) or OPENWEATHER_URL),
        )
        # A missing key is reported now, not after everything else has started.
        chosen._keys()
        return chosen

    def _keys(self) -> tuple[str, str]:
        """The keys of model and weather service, from environment variables; embedded services need none."""
        return (
            "none" if self.model is None else _key(MODEL_KEY, self.model_url),
            "none" if self.is_made_up else _key(WEATHER_KEY, self.weather_url),
        )

    def check_model(self) -> None:
        """Raise UsageError if the endpoint of a real model cannot be reached or refuses the key; it costs no tokens.

        It is asked for its list of models. Not every endpoint has one, and not every key may read it, so that other
        statuses than 401 say nothing.
        """
        if self.model is not None:
            self._check(self.model, self.model_url, self._keys()[0])
        if self.user_model is not None:
            from assay.chat.running.users.model_user import USER_KEY

            key = os.environ.get(USER_KEY) or os.environ.get(MODEL_KEY) or "none"
            self._check(self.user_model, self.user_model_url, key)

    def _check(self, model: str, url: str, key: str) -> None:
        import httpx

        from assay.chat.running.failures import unusable_endpoint
        from assay.chat.tls import tls_context

        try:
            answered = httpx.get(
                f"{url.removesuffix('/chat/completions')}/models",
                headers={"authorization": f"Bearer {key}"},
                timeout=_SECONDS_TO_REACH,
                verify=tls_context(),
            )
        except httpx.ConnectError as error:
            raise unusable_endpoint(model, f"{_shown(url)}: cannot be reached: {error}") from error
        except httpx.HTTPError:
            return  # a slow one is for the first turn to judge
        if answered.status_code == httpx.codes.UNAUTHORIZED:
            raise unusable_endpoint(model, f"{_shown(url)} answered with status {answered.status_code}")

    @property
    def model_of_user(self) -> dict[str, str] | None:
        """Name and address of the model that plays simulated users; None for users by rules."""
        return None if self.user_model is None else {"name": self.user_model, "url": self.user_model_url}

    @property
    def notes(self) -> list[str]:
        """What readers need to know before the numbers."""
        notes = []
        if self.model is None:
            notes.append(
                "The model is assay's scripted stand-in, the same for every agent without its own model: these "
                f"results compare frameworks, not models. {self.skill.describe()} {self._pace_words}"
            )
        else:
            notes.append(f"The model is {self.model}, at {self.model_url}.")
        if self.user_model is not None:
            notes.append(
                f"Simulated users are played by {self.user_model}, at {self.user_model_url}: what they say differs "
                "between agents, and costs tokens that are counted apart."
            )
        if self.is_made_up:
            notes.append(self.weather_note)
        return notes

    @property
    def weather_note(self) -> str:
        """The note on the embedded weather."""
        return f"The weather is made up, by seed {self.seed}, and so are its faults."

    @property
    def _pace_words(self) -> str:
        if not self.model_speed:
            return (
                "It streams at once, so that the time to the first text is hardly less than the whole; "
                "--model-speed 60 streams as a real one might."
            )
        return f"It streams {self.model_speed:g} tokens a second, as a real one might."

    @property
    def is_made_up(self) -> bool:
        """Whether the weather is made up: then its truth is known exactly."""
        return self.weather == "embedded"

    def unplayable(self, agent: UsesServices, scenario: Scenario) -> str | None:
        """Why an agent, with the setup's model and tools or with its own, cannot play a scenario; None if it can."""
        if scenario.is_plain:
            return None
        if scenario.preferences and not agent.uses_setup:
            return "known preferences of the user cannot be given to an agent that has its own memory"
        if scenario.has_restarts and not agent.uses_setup:
            return "an agent of your own keeps its conversations itself, so its process is not killed"
        if scenario.has_hang_ups and not (agent.uses_setup and self.model is None and self.is_made_up):
            return "whether model and tools stop is seen by the scripted model and the embedded weather service only"
        if scenario.has_consent and not agent.uses_setup:
            return "an agent of your own has no tool that deletes what is known about the user"
        # What is on order is seen of any agent that uses the tools of the shop.
        if any((turn.state or {}).keys() - {ORDERS} for turn in scenario.turns) and not agent.uses_setup:
            return "what an agent with its own memory has stored at the end is unknown"
        quirks = [quirk for at in range(len(scenario.turns)) if (quirk := scenario.quirk_of(at)) is not None]
        for quirk in quirks:
            if not (agent.uses_setup if quirk.is_of_tools else agent.uses_model):
                return f"the quirk {quirk} cannot reach an agent that has {_own_parts(agent)}"
            if not quirk.is_of_tools and self.model is not None:
                return f"the quirk {quirk} needs the scripted model"
            if quirk.is_of_tools and self.weather != "embedded":
                return f"the quirk {quirk} needs the embedded weather service"
        faults = [fault for at in range(len(scenario.turns)) if (fault := scenario.fault_of(at)) is not None]
        for fault in faults:
            of_model = fault.kind.startswith("model_")
            if not (agent.uses_model if of_model else agent.uses_setup):
                return f"the fault {fault} cannot reach an agent that has {_own_parts(agent)}"
            if of_model and self.model is not None:
                return f"the fault {fault} needs the scripted model"
            if not of_model and self.weather != "embedded":
                return f"the fault {fault} needs the embedded weather service"
        return None

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Environment:
        """The environment that `to_json` wrote."""
        return cls(**{**data, "skill": Skill(**data["skill"]), "limits": Limits(**data["limits"])})

    @asynccontextmanager
    async def opened(self, watch: Watch | None = None, reach: Reach | None = None) -> AsyncIterator[Services]:
        """The services, for as long as they are needed; each is started when it is first used.

        `watch` sees every request to the scripted model. `reach` says from where they can be reached; None for this
        machine only.
        """
        services = Services(self, watch, reach)
        try:
            yield services
        finally:
            await services.aclose()


class Services:
    """The services of an environment. Nothing is imported or started for agents that have services of their own."""

    def __init__(self, environment: Environment, watch: Watch | None = None, reach: Reach | None = None) -> None:
        self._environment = environment
        self._reach = reach
        self._watch = watch
        self._open = AsyncExitStack()
        self._setup: Setup | None = None
        self._world: World | None = None
        self._client: WeatherClient | None = None

    async def aclose(self) -> None:
        await self._open.aclose()

    def setup(self, is_used: bool = True) -> Setup:
        """What agents are built with. An agent that does not use it gets one whose addresses lead nowhere."""
        if not is_used:
            return Setup(model="none", model_url="", weather_url="", limits=self._environment.limits)
        if self._setup is None:
            self._setup = self._started()
        return self._setup

    def _started(self) -> Setup:
        environment = self._environment
        model_url, weather_url = environment.model_url, environment.weather_url
        if environment.model is None or environment.is_made_up:
            world = self._open.enter_context(self._made_up_world())
            model_url = world.model_url if environment.model is None else model_url
            weather_url = world.weather_url if environment.is_made_up else weather_url
        model_key, weather_key = environment._keys()
        if self._reach is not None:
            model_key = self._reach.token if environment.model is None else model_key
            weather_key = self._reach.token if environment.is_made_up else weather_key
        return Setup(
            model=environment.model or SCRIPTED,
            model_url=model_url,
            model_key=model_key,
            embedded_model=environment.model is None,
            weather_url=weather_url,
            weather_key=weather_key,
            embedded_weather=environment.is_made_up,
            limits=environment.limits,
            **_PATIENCE[environment.is_made_up],
        )

    def calls(self) -> CallLog | None:
        """What the embedded servers were asked; None if they do not run."""
        return None if self._world is None else self._world.calls

    async def look_up_truth(self, city: str, days: int, now: datetime | None) -> Any:
        """The true weather of a city; made-up weather is known without a server."""
        if self._environment.is_made_up:
            return self._made_up_world().truth(city, days, now)
        client = self._weather_client()
        found: dict[str, Any] = {"current": await client.current(city)}
        if days:
            found["forecast"] = (await client.forecast(city, days))["forecast"]
        return found

    def _made_up_world(self) -> World:
        if self._world is None:
            from assay.chat.world.embedded import World

            self._world = World(
                seed=self._environment.seed,
                skill=self._environment.skill,
                speed=self._environment.model_speed,
                watch=self._watch,
                host=None if self._reach is None else self._reach.host,
                token=None if self._reach is None else self._reach.token,
            )
        return self._world

    def _weather_client(self) -> WeatherClient:
        if self._client is None:
            from assay.chat.world.weather import WeatherClient

            self._client = WeatherClient(self._environment.weather_url, self._environment._keys()[1])
            self._open.push_async_callback(self._client.aclose)
        return self._client


_PATIENCE: Mapping[bool, Mapping[str, Any]] = {
    True: {
        "weather_timeout": _EMBEDDED_TIMEOUT,
        "weather_retries": _EMBEDDED_RETRIES,
        "weather_backoff": _EMBEDDED_BACKOFF,
    },
    False: {},
}


def _shown(url: str) -> str:
    """An address for messages, without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"'{redacted(url)}' is not the address of a service", hint="Give one that begins with http:// or https://"
        )
    return url.rstrip("/")


def _key(variable: str, url: str) -> str:
    """The key of a service; a service on this machine may do without."""
    key = os.environ.get(variable, "")
    if not key and not leads_here(url):
        raise UsageError(f"{url} needs a key", hint=f"Set the environment variable {variable}")
    return key or "none"
