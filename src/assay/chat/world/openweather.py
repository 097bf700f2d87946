"""OpenWeather's JSON responses, parsed into small tables for a model to read: °C, %, m/s and local dates.

Does no I/O. Every response that does not fit the schema raises `WeatherError`.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.errors import AssayError

WeatherErrorKind = Literal["unknown_city", "timeout", "unavailable", "rate_limited", "malformed", "refused"]

MAX_FORECAST_DAYS = 5

# strftime would follow the machine's locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TRY_LATER = "Try again later, or look at another weather service"


class WeatherError(AssayError):
    """A weather request failed. The message is written for a model to read as a tool's result."""

    def __init__(self, kind: WeatherErrorKind, what: str, *, hint: str = _TRY_LATER) -> None:
        super().__init__(what, hint=hint)
        self.kind: WeatherErrorKind = kind
        """The category of the failure."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_error, (self.kind, self.what, self.hint)


def _rebuild_error(kind: WeatherErrorKind, what: str, hint: str) -> WeatherError:
    return WeatherError(kind, what, hint=hint)


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, allow_inf_nan=False)


# Timestamps from 1970 to 2096: any of them, shifted by any offset, is a valid datetime.
_Seconds = Annotated[int, Field(ge=0, le=4_000_000_000)]
_Offset = Annotated[int, Field(gt=-86_400, lt=86_400)]


class _Condition(_Model):
    description: str


class _Main(_Model):
    temp: float
    feels_like: float
    temp_min: float
    temp_max: float
    humidity: float


class _Wind(_Model):
    speed: float


class _Country(_Model):
    country: str = ""


class _CurrentResponse(_Model):
    name: str
    sys: _Country = Field(default_factory=_Country)
    dt: _Seconds
    timezone: _Offset
    weather: Annotated[list[_Condition], Field(min_length=1)]
    main: _Main
    wind: _Wind


class _ForecastStep(_Model):
    dt: _Seconds
    weather: Annotated[list[_Condition], Field(min_length=1)]
    main: _Main
    pop: float


class _City(_Model):
    name: str
    country: str = ""
    timezone: _Offset


class _ForecastResponse(_Model):
    list: list[_ForecastStep]
    city: _City


def read_current(body: bytes) -> dict[str, Any]:
    """Parse a response of `/data/2.5/weather`; figures in °C, % and m/s."""
    try:
        now = _CurrentResponse.model_validate_json(body)
    except ValidationError:
        raise malformed_response() from None
    local = _local_time(now.dt, now.timezone)
    return {
        "city": now.name,
        "country": now.sys.country,
        "date": local.date().isoformat(),
        "weekday": _WEEKDAYS[local.weekday()],
        "time": f"{local:%H:%M}",
        "temperature": _round_to_tenth(now.main.temp),
        "feels_like": _round_to_tenth(now.main.feels_like),
        "condition": now.weather[0].description,
        "humidity": round(now.main.humidity),
        "wind_speed": _round_to_tenth(now.wind.speed),
        "units": "metric",
    }


def read_forecast(body: bytes, at: datetime, days: int = MAX_FORECAST_DAYS) -> dict[str, Any]:
    """Parse a response of `/data/2.5/forecast` sent at time `at`, and group its three-hour steps by local day.

    Today is left out. A day's high and low are the extremes of its steps, its condition is the most frequent one, and
    its chance of rain is the highest.
    """
    try:
        answer = _ForecastResponse.model_validate_json(body)
    except ValidationError:
        raise malformed_response() from None
    today = at.astimezone(timezone(timedelta(seconds=answer.city.timezone))).date()
    by_day: dict[str, tuple[str, list[_ForecastStep]]] = {}
    for step in sorted(answer.list, key=lambda step: step.dt):
        local = _local_time(step.dt, answer.city.timezone)
        if local.date() > today:
            by_day.setdefault(local.date().isoformat(), (_WEEKDAYS[local.weekday()], []))[1].append(step)
    return {
        "city": answer.city.name,
        "country": answer.city.country,
        "today": today.isoformat(),
        "units": "metric",
        "forecast": [
            {
                "date": day,
                "weekday": weekday,
                "high": _round_to_tenth(max(step.main.temp_max for step in steps)),
                "low": _round_to_tenth(min(step.main.temp_min for step in steps)),
                "condition": Counter(step.weather[0].description for step in steps).most_common(1)[0][0],
                "rain_chance": round(100 * max(step.pop for step in steps)),
            }
            for day, (weekday, steps) in list(by_day.items())[: max(0, min(days, MAX_FORECAST_DAYS))]
        ],
    }


def malformed_response() -> WeatherError:
    """The error for a response that cannot be parsed."""
    return WeatherError("malformed", "the weather service's answer cannot be read")


def _local_time(seconds: int, offset: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone(timedelta(seconds=offset)))


def _round_to_tenth(value: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return round(value, 1) + 0.0
