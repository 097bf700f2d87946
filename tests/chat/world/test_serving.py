"""Apps run on loopback only, and start and stop without delay."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.chat.world.serving import KEY, TLS, situation
from tests.chat.world.serving import served as counted

from assay.chat.world.serving import LoopbackServer
from assay.chat.world.situation import inject
from assay.chat.world.weather import WeatherClient, WeatherError
from assay.chat.world.weather_server import weather_app
from assay.errors import UsageError

# Far less than the minute that the responses below take.
QUICK = 20.0


async def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


ASLEEP = threading.Event()
"""A request for /sleepy has arrived."""


async def sleepy(_: Request) -> Response:
    ASLEEP.set()
    await asyncio.sleep(60)
    return PlainTextResponse("late")


async def dripping(_: Request) -> Response:
    async def drops() -> AsyncIterator[str]:
        while True:
            yield "drop"
            await asyncio.sleep(0.01)

    return StreamingResponse(drops())


async def promising(_: Request) -> Response:
    """Declares a length that it does not reach before it is stopped."""

    async def part() -> AsyncIterator[str]:
        yield "a part"
        await asyncio.sleep(60)

    return StreamingResponse(part(), headers={"content-length": "1000"})


APP = Starlette(
    routes=[
        Route("/", hello),
        Route("/sleepy", sleepy),
        Route("/dripping", dripping),
        Route("/promising", promising),
    ]
)


def test_server_runs_on_loopback_until_the_block_ends() -> None:
    before = threading.active_count()
    with LoopbackServer(APP) as running:
        url = running.url
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(url, trust_env=False, verify=TLS).text == "hello"
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, verify=TLS)
    assert threading.active_count() == before


def test_servers_run_concurrently_and_can_be_restarted() -> None:
    first = LoopbackServer(APP)
    with first, LoopbackServer(APP) as second:
        assert first.url != second.url
        with pytest.raises(UsageError, match="is already running"):
            first.__enter__()
    with pytest.raises(UsageError, match="is not running"):
        first.url  # noqa: B018
    with first:
        assert httpx.get(first.url, trust_env=False, verify=TLS).text == "hello"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "", "localhost", "example.org", "127.0.0.1.nip.io"])
def test_other_hosts_than_loopback_are_refused(host: str) -> None:
    with pytest.raises(UsageError, match="is not a loopback address"):
        LoopbackServer(APP, host)


def test_ipv6_loopback_is_accepted() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with LoopbackServer(APP, "::1") as running:
        assert httpx.get(running.url, trust_env=False, verify=TLS).text == "hello"


@pytest.mark.parametrize("path", ["/sleepy", "/dripping", "/promising"])
def test_stop_does_not_wait_for_open_requests_and_says_nothing(
    path: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    started = threading.Event()
    seen: list[object] = []

    def ask(url: str) -> None:
        try:
            with httpx.stream("GET", url, trust_env=False, timeout=30) as response:
                seen.append(response.status_code)
                for _ in response.iter_bytes():
                    started.set()
        except httpx.HTTPError as error:
            seen.append(error)

    with LoopbackServer(APP) as running:
        asker = threading.Thread(target=ask, args=(running.url + path,))
        asker.start()
        assert (ASLEEP if path == "/sleepy" else started).wait(30)
        start = time.monotonic()
    assert time.monotonic() - start < QUICK
    asker.join(5)
    assert not asker.is_alive()
    assert seen[0] in (503, 200)
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_stop_does_not_wait_for_timeout_faults_or_idle_connections() -> None:
    outcomes: list[str] = []

    async def ask(url: str) -> None:
        client = WeatherClient(url, KEY, timeout=30, retries=0, embedded=True)
        await client.forecast("Oslo")
        try:
            with situation("timeout").attached():
                await client.current("Oslo")
        except WeatherError as error:
            outcomes.append(error.kind)
        await client.aclose()

    with counted(weather_app()) as running:
        asker = threading.Thread(target=lambda: asyncio.run(ask(running.url)))
        asker.start()
        while running.count < 2:
            time.sleep(0.01)
        time.sleep(0.1)
        start = time.monotonic()
    assert time.monotonic() - start < QUICK
    asker.join(5)
    assert outcomes == ["unavailable"]


def test_timeout_fault_ends_if_the_client_disconnects() -> None:
    with LoopbackServer(weather_app()) as running:
        headers: dict[str, str] = {}
        with situation("timeout").attached():
            inject(headers)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(
                f"{running.url}/data/2.5/weather?appid=k&q=Oslo",
                headers=headers,
                timeout=0.3,
                trust_env=False,
                verify=TLS,
            )
        end = time.monotonic() + 20
        assert running._stoppable_app is not None
        while running._stoppable_app._running and time.monotonic() < end:
            time.sleep(0.01)
        assert not running._stoppable_app._running


def test_signal_handlers_are_not_replaced() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with LoopbackServer(APP):
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.INFO)
    with LoopbackServer(APP) as running:
        httpx.get(running.url, trust_env=False, verify=TLS)
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []
    assert capfd.readouterr() == ("", "")


def test_small_responses_are_not_delayed() -> None:
    # Without TCP_NODELAY each of these takes 40 ms.
    with LoopbackServer(APP) as running, httpx.Client(trust_env=False, verify=TLS) as client:
        client.get(running.url)
        times = []
        for _ in range(20):
            start = time.perf_counter()
            client.get(running.url)
            times.append(time.perf_counter() - start)
    assert min(times) < 0.03


def test_a_server_stops_at_once() -> None:
    def seconds() -> float:
        with LoopbackServer(Starlette(routes=[Route("/", hello)])) as server, httpx.Client() as client:
            assert client.get(server.url).text == "hello"  # the connection stays open
            begun = time.monotonic()
            server._stop()
            return time.monotonic() - begun

    # A busy machine may delay one of them, but not every one.
    assert min(seconds() for _ in range(10)) < 0.09


def test_a_client_that_goes_away_in_a_stream_leaves_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    gone, sent = threading.Event(), threading.Event()

    async def pieces() -> AsyncIterator[bytes]:
        gone.wait(3)  # the event loop does not notice it: it is busy, as with many conversations
        for _ in range(50):
            yield b"x" * 1000
        sent.set()

    async def streaming(_: Request) -> Response:
        return StreamingResponse(pieces())

    with LoopbackServer(Starlette(routes=[Route("/", streaming)])) as server:
        address = urlsplit(server.url)
        with socket.create_connection((str(address.hostname), address.port or 0)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            time.sleep(0.2)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
        gone.set()
        sent.wait(3)
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []
