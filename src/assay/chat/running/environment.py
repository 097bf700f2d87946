"""Where a run takes place: the embedded world on loopback, or a real model and a real weather service by address.

What is chosen here is part of a run's settings and can be repeated from them; keys are taken from the environment when
the venue opens, and are neither kept nor shown.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from assay.chat.agents import Limits
from assay.chat.running.runner import Truth
from assay.chat.running.worker import Surroundings
from assay.chat.suites import Scenario
from assay.chat.world.scripted import Skill
from assay.errors import UsageError

SCRIPTED = "assay-scripted"
OPENAI_URL = "https://api.openai.com/v1"
OPENWEATHER_URL = "https://api.openweathermap.org"
MODEL_KEY, MODEL_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
WEATHER_KEY, WEATHER_URL = "OPENWEATHER_API_KEY", "OPENWEATHER_BASE_URL"

# On loopback an answer takes a millisecond, but a busy machine must not make a timeout that nobody asked for: the same
# seed has to give the same transcript. Injected timeouts are waited for more briefly by the client itself.
_EMBEDDED_TIMEOUT, _EMBEDDED_RETRIES, _EMBEDDED_BACKOFF = 20.0, 1, 0.02


@dataclass(frozen=True, slots=True)
class Venue:
    """What the agents of a run are surrounded by."""

    seed: int = 42
    skill: Skill = field(default_factory=Skill)
    """How often the scripted model errs."""
    model: str | None = None
    """The name of a real model; None for the scripted one."""
    model_url: str = OPENAI_URL
    weather: str = "embedded"
    """'embedded' or 'openweather'."""
    weather_url: str = OPENWEATHER_URL
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def chosen(
        cls,
        *,
        seed: int,
        skill: str = "1",
        model: str | None = None,
        model_url: str | None = None,
        weather: str = "embedded",
    ) -> Venue:
        """The venue that options and environment ask for."""
        if weather not in ("embedded", "openweather"):
            raise UsageError(f"there is no weather service called '{weather}'", hint="Use embedded or openweather")
        if model is not None and skill != "1":
            raise UsageError(
                "--skill is of the scripted model, and --model names another", hint="Leave one of them out"
            )
        if model is None and model_url is not None:
            raise UsageError("the address of a model needs the model's name", hint="Give --model too")
        venue = cls(
            seed=seed,
            skill=Skill.parse(skill),
            model=model,
            model_url=_address(model_url or os.environ.get(MODEL_URL) or OPENAI_URL),
            weather=weather,
            weather_url=_address(os.environ.get(WEATHER_URL) or OPENWEATHER_URL),
        )
        # Now, and not when everything else has been begun.
        venue._keys()
        return venue

    def _keys(self) -> tuple[str, str]:
        """The keys of model and weather, from the environment; embedded ones need none."""
        return (
            "none" if self.model is None else _key(MODEL_KEY, self.model_url),
            "none" if self.is_made_up else _key(WEATHER_KEY, self.weather_url),
        )

    @property
    def notes(self) -> list[str]:
        """What a reader has to know before the numbers."""
        notes = []
        if self.model is None:
            notes.append(
                "The model is assay's scripted stand-in, the same for every agent that has none of its own: these "
                f"results tell frameworks apart, not models. {self.skill.describe()}"
            )
        else:
            notes.append(f"The model is {self.model}, at {self.model_url}.")
        if self.is_made_up:
            notes.append(f"The weather is made up, by seed {self.seed}, and so are its faults.")
        return notes

    @property
    def is_made_up(self) -> bool:
        """Whether the weather is."""
        return self.weather == "embedded"

    def unplayable(self, uses_setup: bool, scenario: Scenario) -> str | None:
        """Why a scenario cannot be played here, on an agent with our model and tools or its own; None where it can."""
        if scenario.preferences and not uses_setup:
            return "what is known of the user cannot be given to an agent that has its own memory"
        faults = [fault for at in range(len(scenario.turns)) if (fault := scenario.fault_of(at)) is not None]
        for fault in faults:
            if not uses_setup:
                return f"the fault {fault} cannot reach an agent that has its own model and tools"
            of_model = fault.kind.startswith("model_")
            if of_model and self.model is not None:
                return f"the fault {fault} needs the scripted model"
            if not of_model and self.weather != "embedded":
                return f"the fault {fault} needs the embedded weather service"
        return None

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Venue:
        """The venue that `to_json` gave."""
        return cls(**{**data, "skill": Skill(**data["skill"]), "limits": Limits(**data["limits"])})

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[Surroundings, Truth]]:
        """The addresses for the agents, and where the truth is looked up, while it is open."""
        from assay.chat.world.embedded import World
        from assay.chat.world.weather import WeatherClient

        async with AsyncExitStack() as stack:
            world = None
            if self.model is None or self.weather == "embedded":
                world = stack.enter_context(World(seed=self.seed, skill=self.skill))
            embedded_weather = world is not None and self.is_made_up
            model_key, weather_key = self._keys()
            surroundings = Surroundings(
                model=self.model or SCRIPTED,
                model_url=self.model_url if self.model is not None or world is None else world.model_url,
                model_key=model_key,
                embedded_model=self.model is None,
                weather_url=world.weather_url if world is not None and embedded_weather else self.weather_url,
                weather_key=weather_key,
                embedded_weather=embedded_weather,
                limits=self.limits,
                **_PATIENCE[embedded_weather],
            )

            async def look_up(city: str, days: int, now: datetime | None) -> Any:
                if world is not None and embedded_weather:
                    return world.truth(city, days, now)
                found: dict[str, Any] = {"current": await client.current(city)}
                if days:
                    found["forecast"] = (await client.forecast(city, days))["forecast"]
                return found

            if not embedded_weather:
                client = WeatherClient(self.weather_url, surroundings.weather_key)
                stack.push_async_callback(client.aclose)
            yield surroundings, look_up


_PATIENCE: Mapping[bool, Mapping[str, Any]] = {
    True: {
        "weather_timeout": _EMBEDDED_TIMEOUT,
        "weather_retries": _EMBEDDED_RETRIES,
        "weather_backoff": _EMBEDDED_BACKOFF,
    },
    False: {},
}


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{url}' is no address of a service", hint="Give one that begins with http:// or https://")
    return url.rstrip("/")


def _key(variable: str, url: str) -> str:
    """The key of a service; a service on this machine may need none."""
    key = os.environ.get(variable, "")
    if not key and not _is_loopback(url):
        raise UsageError(f"{url} needs a key", hint=f"Set the environment variable {variable}")
    return key or "none"


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
