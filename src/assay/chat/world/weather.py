"""A client of the OpenWeather API: the weather now and on the days to come, as small tables for a model to read.

The real service and the embedded one are asked alike; only the embedded one is told which turn a request belongs to.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.chat.reading.places import fold
from assay.chat.world.situation import Situation, inject
from assay.errors import AssayError, UsageError, missing_extra

try:
    import httpx
except ImportError as error:
    raise missing_extra("httpx", "agents", "ask for the weather") from error

Kind = Literal["unknown_city", "timeout", "unavailable", "rate_limited", "malformed", "refused"]

REAL_URL = "https://api.openweathermap.org"
MOST_DAYS = 5

# No wait between two tries is longer, whatever the service asks for: somebody is waiting for an answer.
_LONGEST_WAIT = 5.0
_WAIT_FOR_INJECTED = 0.7
# A forecast is about 16 kB; what is much larger is something else.
_LARGEST_ANSWER = 1_000_000
_MOST_KEPT = 1024
_LONGEST_NAME = 80
# Not strftime's: those follow the machine's language.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TRY_LATER = "Try again later, or look at another weather service"


class WeatherError(AssayError):
    """The weather could not be told; the text is fit for a model to read."""

    def __init__(self, kind: Kind, what: str, *, hint: str = _TRY_LATER) -> None:
        super().__init__(what, hint=hint)
        self.kind: Kind = kind
        """What went wrong, as one word."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.kind, self.what, self.hint)


def _rebuild(kind: Kind, what: str, hint: str) -> WeatherError:
    return WeatherError(kind, what, hint=hint)


class WeatherClient:
    """Asks the weather service, patiently.

    Each try may take `timeout` seconds. After a try that got no answer, 429 or 5xx there are up to `retries` more, with
    a pause of `backoff` seconds that doubles each time. Answers are kept for `cache_seconds`, and two who ask the same
    at once are given one answer. For use in one event loop.
    """

    def __init__(
        self,
        base_url: str = REAL_URL,
        key: str = "",
        *,
        timeout: float = 5.0,
        retries: int = 2,
        backoff: float = 0.2,
        cache_seconds: float = 60.0,
        embedded: bool = False,
    ) -> None:
        if timeout <= 0 or retries < 0 or backoff < 0 or cache_seconds < 0:
            raise UsageError("a timeout must be above 0, and retries, backoff and cache_seconds not below")
        self._base = _address(base_url, embedded)
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._cache_seconds = cache_seconds
        self._embedded = embedded
        self._kept: dict[Hashable, tuple[float, _Answer]] = {}
        self._under_way: dict[Hashable, _Shared] = {}
        # Made here and not with the first question: reading certificates takes a tenth of a second.
        self._http = httpx.AsyncClient(
            # Loopback must not go through proxies; they are for the world outside.
            transport=_Keyed(key, None if embedded else _proxy(self._base)),
            timeout=timeout,
            trust_env=not embedded,
        )

    async def current(self, city: str) -> dict[str, Any]:
        """The weather in a city now."""
        return await self._get("weather", city, lambda answer: read_current(answer.body))

    async def forecast(self, city: str, days: int = MOST_DAYS) -> dict[str, Any]:
        """The weather in a city on the days after today, as many as are asked for and known."""
        return await self._get("forecast", city, lambda answer: read_forecast(answer.body, answer.at, days))

    async def aclose(self) -> None:
        """Let go of all connections; whoever still waits is cancelled."""
        tasks = [shared.task for shared in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    # --- one question, asked once -----------------------------------------------------------------------------------

    async def _get(self, endpoint: str, city: str, read: Callable[[_Answer], dict[str, Any]]) -> dict[str, Any]:
        city = " ".join(city.split())
        if not city:
            raise WeatherError("unknown_city", "no city was named", hint="Name one")
        if len(city) > _LONGEST_NAME or not city.isprintable():
            raise _unknown(city)
        circumstances, is_kept = self._circumstances()
        key = (endpoint, fold(city), *circumstances)
        until, answer = self._kept.get(key, (0.0, None))
        if answer is not None and time.monotonic() < until:
            return read(answer)
        shared = self._under_way.get(key)
        if shared is None:
            shared = self._under_way[key] = _Shared(asyncio.create_task(self._ask(endpoint, city)))
        shared.waiting += 1
        try:
            answer = await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if shared.task.done() or not shared.waiting:
                if self._under_way.get(key) is shared:
                    del self._under_way[key]
                # Whoever asked has given up: nobody is left to be answered.
                shared.task.cancel()
        told = read(answer)
        # Only what can be read is worth keeping.
        if is_kept:
            self._keep(key, answer)
        return told

    def _circumstances(self) -> tuple[tuple[Hashable, ...], bool]:
        """What an answer of the embedded world depends on besides the question, and whether it may be kept."""
        if not self._embedded:
            return (), self._cache_seconds > 0
        here = Situation.current()
        where = (here.session, here.scenario, here.repetition, here.now, here.fault)
        # A fault strikes requests: an answer kept from an earlier one would hide it, or bring it back.
        return (*where, here.turn) if here.fault else where, self._cache_seconds > 0 and here.fault is None

    def _keep(self, key: Hashable, answer: _Answer) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (time.monotonic() + self._cache_seconds, answer)
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    # --- asking, and asking again -----------------------------------------------------------------------------------

    async def _ask(self, endpoint: str, city: str) -> _Answer:
        tried = 0
        while True:
            try:
                return await self._try(endpoint, city)
            except _TransientError as transient:
                if tried == self._retries:
                    # Not from the cause: its request holds the key.
                    raise WeatherError(transient.kind, transient.what) from None
                pause = max(self._backoff * 2**tried, transient.wait)
            await asyncio.sleep(min(pause, _LONGEST_WAIT))
            tried += 1

    def _patience(self) -> float:
        """Seconds for one try. An injected timeout never ends by itself, so nothing is learned from a long wait for it;
        whatever else the embedded service is asked for does come, if late on a busy machine.
        """
        fault = Situation.current().fault if self._embedded else None
        is_injected = fault is not None and fault.kind == "timeout"
        return min(self._timeout, _WAIT_FOR_INJECTED) if is_injected else self._timeout

    async def _try(self, endpoint: str, city: str) -> _Answer:
        headers: dict[str, str] = {}
        if self._embedded:
            inject(headers)
        parameters = {"q": city, "units": "metric"}
        url = f"{self._base}/data/2.5/{endpoint}"
        try:
            async with (
                asyncio.timeout(self._patience()),
                self._http.stream("GET", url, params=parameters, headers=headers) as response,
            ):
                if response.status_code != 200:
                    raise _refusal(response, city)
                body = bytearray()
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _LARGEST_ANSWER:
                        raise WeatherError("malformed", "the weather service answered with far more than a forecast")
                return _Answer(bytes(body), _date(response) or datetime.now(UTC))
        except (TimeoutError, httpx.TimeoutException):
            raise _TransientError("timeout", "the weather service did not answer in time") from None
        except httpx.DecodingError:
            raise _malformed() from None
        except httpx.TransportError:
            raise _TransientError("unavailable", "the weather service cannot be reached") from None


@dataclass(frozen=True, slots=True)
class _Answer:
    body: bytes
    at: datetime
    """The service's own clock."""


@dataclass(slots=True)
class _Shared:
    task: asyncio.Task[_Answer]
    waiting: int = 0


class _TransientError(Exception):
    """A try failed in a way that another try may not."""

    def __init__(self, kind: Kind, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.wait = wait


class _Keyed(httpx.AsyncBaseTransport):
    """Adds the key to a request at the last moment: httpx logs the address of each request as it knows it."""

    def __init__(self, key: str, proxy: str | None) -> None:
        self._key = key
        self._inner = httpx.AsyncHTTPTransport(proxy=proxy)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_set_param("appid", self._key)
        return await self._inner.handle_async_request(
            httpx.Request(
                request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _address(url: str, embedded: bool) -> str:
    """The service's address without a slash at its end."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UsageError("the weather service's address is no web address", hint=f"Write it like {REAL_URL}")
    if embedded and not _is_loopback(parsed.host):
        raise UsageError(f"the embedded weather service is not at '{parsed.host}'", hint="It runs on 127.0.0.1")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address."""
    parsed = httpx.URL(url)
    if urllib.request.proxy_bypass(parsed.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parsed.scheme) or proxies.get("all")


def _refusal(response: httpx.Response, city: str) -> Exception:
    """What an answer other than 200 means."""
    status = response.status_code
    if status == 429:
        return _TransientError("rate_limited", "the weather service has been asked too often", _retry_after(response))
    if status >= 500:
        return _TransientError("unavailable", f"the weather service failed with status {status}")
    if status == 404:
        return _unknown(city)
    if status in (401, 403):
        return WeatherError(
            "refused", "the weather service does not accept the key", hint="Without another key there is no weather"
        )
    return WeatherError("refused", f"the weather service refused the question with status {status}")


def _unknown(city: str) -> WeatherError:
    name = city.encode("utf-8", "replace").decode()[:_LONGEST_NAME]
    return WeatherError(
        "unknown_city",
        f"there is no city called '{name}' in the weather service",
        hint="Check how it is written, or ask for a larger city nearby",
    )


def _retry_after(response: httpx.Response) -> float:
    """How many seconds the service asks to wait."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    moment = _moment(text)
    return 0.0 if moment is None else max(0.0, (moment - (_date(response) or datetime.now(UTC))).total_seconds())


def _date(response: httpx.Response) -> datetime | None:
    return _moment(response.headers.get("date", ""))


def _moment(text: str) -> datetime | None:
    """The moment that a header of HTTP tells."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# --- reading the service's answers ------------------------------------------------------------------------------------


class _Read(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


# Between year 1 and year 9999 with room for a day, so that every moment has a date.
_Seconds = Annotated[int, Field(ge=0, le=4_000_000_000)]
_Offset = Annotated[int, Field(gt=-86_400, lt=86_400)]


class _Weather(_Read):
    description: str


class _Figures(_Read):
    temp: float
    feels_like: float
    temp_min: float
    temp_max: float
    humidity: float


class _Wind(_Read):
    speed: float


class _Country(_Read):
    country: str = ""


class _Now(_Read):
    name: str
    sys: _Country = _Country()
    dt: _Seconds
    timezone: _Offset
    weather: Annotated[list[_Weather], Field(min_length=1)]
    main: _Figures
    wind: _Wind


class _Step(_Read):
    dt: _Seconds
    weather: Annotated[list[_Weather], Field(min_length=1)]
    main: _Figures
    pop: float


class _City(_Read):
    name: str
    country: str = ""
    timezone: _Offset


class _Forecast(_Read):
    list: list[_Step]
    city: _City


def read_current(body: bytes) -> dict[str, Any]:
    """What the service's answer about the present says, in °C, % and m/s."""
    try:
        now = _Now.model_validate_json(body)
    except ValidationError:
        raise _malformed() from None
    local = _local(now.dt, now.timezone)
    return {
        "city": now.name,
        "country": now.sys.country,
        "date": local.date().isoformat(),
        "weekday": _WEEKDAYS[local.weekday()],
        "time": f"{local:%H:%M}",
        "temperature": _tenths(now.main.temp),
        "feels_like": _tenths(now.main.feels_like),
        "condition": now.weather[0].description,
        "humidity": round(now.main.humidity),
        "wind_speed": _tenths(now.wind.speed),
        "units": "metric",
    }


def read_forecast(body: bytes, at: datetime, days: int = MOST_DAYS) -> dict[str, Any]:
    """What the service's answer in steps of three hours, given at the moment `at`, says of each local day after that.

    A day's high and low are those of its steps, its condition is the most frequent one, its chance of rain the highest.
    """
    try:
        answer = _Forecast.model_validate_json(body)
    except ValidationError:
        raise _malformed() from None
    today = at.astimezone(timezone(timedelta(seconds=answer.city.timezone))).date()
    by_day: dict[str, tuple[str, list[_Step]]] = {}
    for step in sorted(answer.list, key=lambda step: step.dt):
        local = _local(step.dt, answer.city.timezone)
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
                "high": _tenths(max(step.main.temp_max for step in steps)),
                "low": _tenths(min(step.main.temp_min for step in steps)),
                "condition": Counter(step.weather[0].description for step in steps).most_common(1)[0][0],
                "rain_chance": round(100 * max(step.pop for step in steps)),
            }
            for day, (weekday, steps) in list(by_day.items())[: max(0, min(days, MOST_DAYS))]
        ],
    }


def _malformed() -> WeatherError:
    return WeatherError("malformed", "the weather service's answer cannot be read")


def _local(seconds: int, offset: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone(timedelta(seconds=offset)))


def _tenths(value: float) -> float:
    # Minus zero is zero to whoever reads it.
    return round(value, 1) + 0.0
