"""Shared by the tests of the embedded world: apps on loopback that record their requests."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.types import ASGIApp, Receive, Scope, Send

from assay.chat.world.serving import LoopbackServer
from assay.chat.world.situation import Fault, Situation
from assay.chat.world.weather import WeatherClient

NOW = datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
KEY = "s3cret-K3y"
# Created once: otherwise each client would load all certificates, which these tests do not need.
TLS = ssl.create_default_context()


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
