"""The embedded world: a weather service and a scripted model on loopback, and the true weather to compare with.

The only module that knows both servers.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from assay.chat.world import weather_server
from assay.chat.world.calls import CallLog
from assay.chat.world.cities import CityClimate, all_cities, find_city
from assay.chat.world.climate import climate_of
from assay.chat.world.openweather import MAX_FORECAST_DAYS, read_current, read_forecast
from assay.chat.world.serving import LOOPBACK, LoopbackServer
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.world.model_server import Watch
    from assay.chat.world.scripted import Skill

_KEPT_TRUTHS = 256


class World:
    """Runs both servers while a `with` block runs. The same seed gives the same weather and model behaviour."""

    def __init__(
        self,
        seed: int = 42,
        skill: Skill | None = None,
        speed: float = 0.0,
        clock: Callable[[], datetime] | None = None,
        watch: Watch | None = None,
        host: str | None = None,
        token: str | None = None,
    ) -> None:
        """On an address other than loopback, `host`, both servers demand the `token` as their key."""
        self._watch = watch
        self._host, self._token = host or LOOPBACK, token
        self.calls = CallLog()
        """The requests of watched conversations."""
        self._seed = seed
        self._skill = skill
        self._speed = speed
        self._clock = clock or _now
        self._running: ExitStack | None = None
        self._weather_url = self._model_url = ""

    @property
    def weather_url(self) -> str:
        """The weather service's base URL."""
        return self._running_url(self._weather_url)

    @property
    def model_url(self) -> str:
        """The model's base URL, with the API version."""
        return self._running_url(self._model_url)

    def _running_url(self, url: str) -> str:
        if self._running is None:
            raise UsageError("the embedded world is not running", hint="Use it in a with block")
        return url

    def __enter__(self) -> Self:
        if self._running is not None:
            raise UsageError("the embedded world is already running", hint="Start another one")
        from assay.chat.world.model_server import model_app
        from assay.chat.world.scripted import Skill

        with ExitStack() as starting:
            weather = starting.enter_context(
                LoopbackServer(weather_server.weather_app(self._seed, self._clock, self.calls), self._host, self._token)
            )
            model = starting.enter_context(
                LoopbackServer(
                    model_app(self._seed, self._skill or Skill(), self._watch, self._speed, self.calls),
                    self._host,
                    self._token,
                )
            )
            self._weather_url, self._model_url = weather.url, f"{model.url}/v1"
            self._running = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def truth(self, city: str, days: int = MAX_FORECAST_DAYS, now: datetime | None = None) -> dict[str, Any]:
        """The weather of a city now and on the following `days`, as the client returns it if there is no fault."""
        found = find_city(city)
        if found is None:
            near = difflib.get_close_matches(city, [known.name for known in all_cities()], n=1)
            raise UsageError(
                f"the embedded world has no city called '{city}'",
                hint=f"Did you mean '{near[0]}'?" if near else "Its cities are in assay/chat/world/cities.csv",
            )
        at = (now or self._clock()).astimezone(UTC)
        current, forecast = _truth_of(self._seed, found, at)
        # Copies: callers may change what they are given.
        return {"current": dict(current), "forecast": [dict(day) for day in forecast[: max(0, days)]]}


@lru_cache(maxsize=_KEPT_TRUTHS)
def _truth_of(seed: int, city: CityClimate, at: datetime) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Built by the service and parsed by the client's code, so that the truth equals what an assistant receives.

    Several agents, and the worlds of several runs, are asked the same scenario at the same simulated time, so the same
    truth is needed again soon.
    """
    climate = climate_of(seed)
    current = weather_server.current_response(climate, city, at, "metric")
    forecast = weather_server.forecast_response(climate, city, at, "metric")
    return (
        read_current(json.dumps(current).encode()),
        read_forecast(json.dumps(forecast).encode(), at)["forecast"],
    )


def _now() -> datetime:
    return datetime.now(UTC)
