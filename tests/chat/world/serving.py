"""Shared by the tests of the embedded world: apps on loopback that record their requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.chat.tls import tls_context
from assay.chat.world.cities import find_city
from assay.chat.world.climate import Climate
from assay.chat.world.faults import Fault
from assay.chat.world.serving import LoopbackServer
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient, WeatherError
from assay.chat.world.weather_server import current_response

T = TypeVar("T")

NOW = datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
KEY = "s3cret-K3y"
TLS = tls_context()


@dataclass
class Served:
    """A running app and the requests it received."""

    url: str
    requests: list[Scope] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.requests)

    def header(self, name: str, request: int = -1) -> str | None:
        found = dict(self.requests[request]["headers"]).get(name.encode())
        return None if found is None else found.decode()

    def client(
        self,
        *,
        timeout: float = 10.0,
        retries: int = 2,
        backoff: float = 0.01,
        cache_seconds: float = 60.0,
        embedded: bool = True,
    ) -> WeatherClient:
        return WeatherClient(
            self.url,
            KEY,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            cache_seconds=cache_seconds,
            embedded=embedded,
        )


@contextmanager
def served(app: ASGIApp) -> Iterator[Served]:
    """Run an app and record its requests."""
    requests: list[Scope] = []

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        requests.append(scope)
        await app(scope, receive, send)

    with LoopbackServer(counting) as loopback:
        yield Served(loopback.url, requests)


def situation(fault: str | None = None, scenario: str = "scenario", session: str = "", turn: int = 0) -> Situation:
    return Situation(scenario, 0, turn, None if fault is None else Fault.parse(fault), NOW, session)


def play(client: WeatherClient, script: Callable[[WeatherClient], Awaitable[T]]) -> T:
    """Run a coroutine with a client, and close the client."""

    async def run() -> T:
        try:
            return await script(client)
        finally:
            await client.aclose()

    return asyncio.run(run())


def failure(client: WeatherClient, script: Callable[[WeatherClient], Awaitable[object]]) -> WeatherError:
    with pytest.raises(WeatherError) as caught:
        play(client, script)
    return caught.value


def answering(*answers: Response | Callable[[], Response]) -> Starlette:
    """A service that sends these responses in order, and then repeats the last one."""
    left = list(answers)

    async def answer(_: Request) -> Response:
        found = left.pop(0) if len(left) > 1 else left[0]
        return found if isinstance(found, Response) else found()

    return Starlette(routes=[Route("/data/2.5/{endpoint}", answer)])


def oslo() -> bytes:
    city = find_city("Oslo")
    assert city is not None
    return json.dumps(current_response(Climate(7), city, NOW, "metric")).encode()
