"""Client of the OpenWeather API: current weather and forecasts, with timeouts, retries and a cache.

It sends the same requests to the real and to the embedded service; only the embedded one is told which turn a request
belongs to. `openweather.py` parses the responses.
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from assay.chat.reading.places import fold
from assay.chat.tls import tls_context
from assay.chat.world.openweather import (
    MAX_FORECAST_DAYS,
    WeatherError,
    WeatherErrorKind,
    malformed_response,
    read_current,
    read_forecast,
)
from assay.chat.world.situation import Situation, inject
from assay.errors import UsageError, missing_extra
from assay.loopback import is_loopback

try:
    import httpx
except ImportError as error:
    raise missing_extra("httpx", "agents", "request the weather") from error

__all__ = ["REAL_URL", "WeatherClient", "WeatherError"]

MANY_CONNECTIONS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
"""Connections of a client: as many as OpenAI's own client opens, so that they do not limit a load test."""
REAL_URL = "https://api.openweathermap.org"

# The longest pause between two attempts, even if the service asks for more: the agent's user is waiting.
_MAX_PAUSE = 5.0
_INJECTED_TIMEOUT = 0.7
# A forecast is about 16 kB; a much larger response is not a forecast.
_MAX_RESPONSE_BYTES = 1_000_000
_CACHE_SIZE = 1024
_MAX_NAME_LENGTH = 80


class WeatherClient:
    """Requests weather with timeouts, retries and a cache.

    Each attempt may take `timeout` seconds. An attempt that gets no response, status 429 or 5xx is repeated up to
    `retries` times, after a pause of `backoff` seconds that doubles each time. Responses are cached for
    `cache_seconds`, and identical concurrent requests share one. For use in one event loop.
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
            raise UsageError("timeout must be above 0, and retries, backoff and cache_seconds at least 0")
        self._base_url = _checked_base_url(base_url, embedded)
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._cache_seconds = cache_seconds
        self._embedded = embedded
        self._cache: dict[Hashable, tuple[float, _Response]] = {}
        self._pending: dict[Hashable, _PendingRequest] = {}
        self._http = httpx.AsyncClient(
            # Requests to loopback must not go through a proxy.
            transport=_KeyTransport(key, None if embedded else _proxy_for(self._base_url)),
            timeout=timeout,
            trust_env=not embedded,
        )

    async def current(self, city: str) -> dict[str, Any]:
        """The current weather in a city."""
        return await self._get("weather", city, lambda response: read_current(response.body))

    async def forecast(self, city: str, days: int = MAX_FORECAST_DAYS) -> dict[str, Any]:
        """The weather in a city on up to `days` days after today."""
        return await self._get("forecast", city, lambda response: read_forecast(response.body, response.sent_at, days))

    async def aclose(self) -> None:
        """Close all connections and cancel pending requests."""
        tasks = [pending.task for pending in self._pending.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    # --- caching and sharing requests -------------------------------------------------------------------------------

    async def _get(self, endpoint: str, city: str, read: Callable[[_Response], dict[str, Any]]) -> dict[str, Any]:
        city = " ".join(city.split())
        if not city:
            raise WeatherError("unknown_city", "no city was named", hint="Name one")
        if len(city) > _MAX_NAME_LENGTH or not city.isprintable():
            raise _unknown_city(city)
        scope, is_cacheable = self._cache_scope()
        key = (endpoint, fold(city), *scope)
        until, response = self._cache.get(key, (0.0, None))
        if response is not None and time.monotonic() < until:
            return read(response)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _PendingRequest(
                asyncio.create_task(self._request_with_retries(endpoint, city))
            )
        pending.waiting += 1
        try:
            response = await asyncio.shield(pending.task)
        finally:
            pending.waiting -= 1
            if pending.task.done() or not pending.waiting:
                if self._pending.get(key) is pending:
                    del self._pending[key]
                # Everyone who waited for this request was cancelled.
                pending.task.cancel()
        table = read(response)
        # Only a response that could be parsed is cached.
        if is_cacheable:
            self._store(key, response)
        return table

    def _cache_scope(self) -> tuple[tuple[Hashable, ...], bool]:
        """What a response of the embedded service depends on besides the request, and whether it may be cached."""
        if not self._embedded:
            return (), self._cache_seconds > 0
        situation = Situation.current()
        scope = (situation.session, situation.scenario, situation.repetition, situation.now, situation.fault)
        if situation.fault is not None:
            # A fault hits single requests: a cached response would hide it, or bring it back in a later turn.
            return (*scope, situation.turn), False
        return scope, self._cache_seconds > 0

    def _store(self, key: Hashable, response: _Response) -> None:
        self._cache.pop(key, None)
        self._cache[key] = (time.monotonic() + self._cache_seconds, response)
        if len(self._cache) > _CACHE_SIZE:
            del self._cache[next(iter(self._cache))]

    # --- sending requests -------------------------------------------------------------------------------------------

    async def _request_with_retries(self, endpoint: str, city: str) -> _Response:
        retries_made = 0
        while True:
            try:
                return await self._request(endpoint, city)
            except _TransientError as transient:
                if retries_made == self._retries:
                    # No cause is attached: its request would contain the key.
                    raise WeatherError(transient.kind, transient.what) from None
                pause = max(self._backoff * 2**retries_made, transient.wait)
            await asyncio.sleep(min(pause, _MAX_PAUSE))
            retries_made += 1

    def _attempt_timeout(self) -> float:
        """Seconds for one attempt. An injected timeout never gets a response, so there is no point in waiting long for
        it; every other response of the embedded service does arrive, if late on a busy machine.
        """
        fault = Situation.current().fault if self._embedded else None
        is_injected = fault is not None and fault.kind == "timeout"
        return min(self._timeout, _INJECTED_TIMEOUT) if is_injected else self._timeout

    async def _request(self, endpoint: str, city: str) -> _Response:
        headers: dict[str, str] = {}
        if self._embedded:
            inject(headers)
        parameters = {"q": city, "units": "metric"}
        url = f"{self._base_url}/data/2.5/{endpoint}"
        try:
            async with (
                asyncio.timeout(self._attempt_timeout()),
                self._http.stream("GET", url, params=parameters, headers=headers) as response,
            ):
                if response.status_code != 200:
                    raise _error_for(response, city)
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_RESPONSE_BYTES:
                        raise WeatherError("malformed", "the weather service answered with far more than a forecast")
                return _Response(bytes(body), _response_date(response) or datetime.now(UTC))
        except (TimeoutError, httpx.TimeoutException):
            raise _TransientError("timeout", "the weather service did not answer in time") from None
        except httpx.DecodingError:
            raise malformed_response() from None
        except httpx.TransportError:
            raise _TransientError("unavailable", "the weather service cannot be reached") from None


@dataclass(frozen=True, slots=True)
class _Response:
    body: bytes
    sent_at: datetime
    """When the response was sent, by the service's clock."""


@dataclass(slots=True)
class _PendingRequest:
    task: asyncio.Task[_Response]
    waiting: int = 0


class _TransientError(Exception):
    """An attempt failed in a way that a retry may overcome."""

    def __init__(self, kind: WeatherErrorKind, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.wait = wait


class _KeyTransport(httpx.AsyncBaseTransport):
    """Adds the key to a request just before it is sent, so that httpx logs a URL without the key."""

    def __init__(self, key: str, proxy: str | None) -> None:
        self._key = key
        self._inner = httpx.AsyncHTTPTransport(verify=tls_context(), proxy=proxy, limits=MANY_CONNECTIONS)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_set_param("appid", self._key)
        return await self._inner.handle_async_request(
            httpx.Request(
                request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _checked_base_url(url: str, embedded: bool) -> str:
    """The service's base URL without a trailing slash; raises `UsageError` if it is not usable."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UsageError("the weather service's address is not an HTTP URL", hint=f"Write it like {REAL_URL}")
    if embedded and not is_loopback(parsed.host):
        raise UsageError(
            f"'{parsed.host}' is not a loopback address, but the embedded weather service runs on loopback only",
            hint="Use 127.0.0.1",
        )
    return url.rstrip("/")


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for a URL."""
    parsed = httpx.URL(url)
    if urllib.request.proxy_bypass(parsed.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parsed.scheme) or proxies.get("all")


def _error_for(response: httpx.Response, city: str) -> Exception:
    """The error for a response whose status is not 200."""
    status = response.status_code
    if status == 429:
        return _TransientError("rate_limited", "the weather service has been asked too often", _retry_after(response))
    if status >= 500:
        return _TransientError("unavailable", f"the weather service failed with status {status}")
    if status == 404:
        return _unknown_city(city)
    if status in (401, 403):
        return WeatherError(
            "refused", "the weather service does not accept the key", hint="Without another key there is no weather"
        )
    return WeatherError("refused", f"the weather service refused the question with status {status}")


def _unknown_city(city: str) -> WeatherError:
    name = city.encode("utf-8", "replace").decode()[:_MAX_NAME_LENGTH]
    return WeatherError(
        "unknown_city",
        f"there is no city called '{name}' in the weather service",
        hint="Check how it is written, or ask for a larger city nearby",
    )


def _retry_after(response: httpx.Response) -> float:
    """Seconds to wait, from the Retry-After header; 0 if there is none."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    until = _parse_http_date(text)
    return 0.0 if until is None else max(0.0, (until - (_response_date(response) or datetime.now(UTC))).total_seconds())


def _response_date(response: httpx.Response) -> datetime | None:
    return _parse_http_date(response.headers.get("date", ""))


def _parse_http_date(text: str) -> datetime | None:
    """The time in an HTTP date header; None if it is not a valid date."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
