"""How the weather client sends requests: pauses between retries, the cache, keys, proxies and URLs."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.chat.world.serving import KEY, NOW, Served, answering, failure, oslo, play, served, situation

from assay.chat.world import weather
from assay.chat.world.weather import WeatherClient, WeatherError
from assay.chat.world.weather_server import weather_app
from assay.errors import AssayError, UsageError


@pytest.fixture
def world() -> Iterator[Served]:
    with served(weather_app(7, clock=lambda: NOW)) as running:
        yield running


# --- pauses between retries -------------------------------------------------------------------------------------------


def test_pauses_double() -> None:
    with served(answering(Response("", 500))) as running:
        start = time.monotonic()
        failure(running.client(backoff=0.1, retries=2), lambda client: client.current("Oslo"))
        assert time.monotonic() - start >= 0.3


@pytest.mark.slow
def test_retry_after_extends_the_pause() -> None:
    good = Response(oslo())
    with served(answering(Response("", 429, {"Retry-After": "1"}), good)) as running:
        start = time.monotonic()
        assert play(running.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"
        assert time.monotonic() - start >= 1
    soon = {"Retry-After": "Thu, 15 Jan 2026 08:00:01 GMT", "Date": "Thu, 15 Jan 2026 08:00:00 GMT"}
    with served(answering(Response("", 429, soon), good)) as running:
        start = time.monotonic()
        play(running.client(), lambda client: client.current("Oslo"))
        assert time.monotonic() - start >= 1


@pytest.mark.parametrize("wait", ["3600", "9" * 400, "Thu, 15 Jan 2099 08:00:01 GMT"])
def test_pause_is_limited(wait: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather, "_MAX_PAUSE", 0.05)
    with served(answering(Response("", 429, {"Retry-After": wait}), Response(oslo()))) as running:
        play(running.client(), lambda client: client.current("Oslo"))  # would take an hour or an age


@pytest.mark.parametrize("wait", ["", "soon", "-5", "1.5.1", "٣"])
def test_invalid_retry_after_is_ignored(wait: str) -> None:
    with served(
        answering(lambda: Response("", 429, {"Retry-After": wait.encode().decode("latin-1")}), Response(oslo()))
    ) as running:
        assert play(running.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"


# --- cache ------------------------------------------------------------------------------------------------------------


def test_response_is_cached_for_a_while(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(weather, "time", SimpleNamespace(monotonic=lambda: now))

    async def ask(client: WeatherClient) -> None:
        nonlocal now
        with situation().attached():
            first = await client.current("Malmö")
            assert await client.current("  malmo ") == first
            assert world.count == 1
            await client.forecast("Malmö", 2)
            assert len((await client.forecast("Malmö", 4))["forecast"]) == 4
            assert world.count == 2
            first["city"] = "spoiled"
            assert (await client.current("Malmö"))["city"] == "Malmö"

        now += 29
        with situation().attached():
            await client.current("Malmö")
        assert world.count == 2
        now += 1
        with situation().attached():
            await client.current("Malmö")
        assert world.count == 3

    play(world.client(cache_seconds=30), ask)


def test_cache_can_be_disabled(world: Served) -> None:
    async def ask(client: WeatherClient) -> None:
        await client.current("Oslo")
        await client.current("Oslo")

    play(world.client(cache_seconds=0), ask)
    assert world.count == 2


def test_conversations_do_not_share_the_cache(world: Served) -> None:
    async def ask(client: WeatherClient) -> None:
        for here in (situation(), situation(scenario="another"), situation(session="b")):
            with here.attached():
                await client.current("Oslo")
                await client.current("Oslo")
        assert world.count == 3
        # A later turn of the same conversation at the same simulated time has the same weather.
        with situation(turn=1).attached():
            await client.current("Oslo")
        assert world.count == 3

    play(world.client(), ask)


def test_cache_neither_hides_nor_repeats_a_fault(world: Served) -> None:
    async def ask(client: WeatherClient) -> None:
        with situation().attached():
            await client.current("Oslo")
        with situation("wrong_units*1").attached():
            assert (await client.current("Oslo"))["temperature"] > 200
            assert (await client.current("Oslo"))["temperature"] < 100
        with situation("malformed*1", turn=1).attached():
            with pytest.raises(WeatherError):
                await client.current("Oslo")
            await client.current("Oslo")
        with situation(turn=2).attached():
            assert (await client.current("Oslo"))["temperature"] < 100

    play(world.client(), ask)
    assert world.count == 5


def test_errors_are_not_cached(world: Served) -> None:
    async def ask(client: WeatherClient) -> None:
        for _ in range(2):
            with pytest.raises(WeatherError):
                await client.current("Atlantis")

    play(world.client(), ask)
    assert world.count == 2


def test_malformed_responses_are_not_cached() -> None:
    async def ask(client: WeatherClient) -> dict[str, Any]:
        with pytest.raises(WeatherError, match="cannot be read"):
            await client.current("Oslo")
        return await client.current("Oslo")

    with served(answering(Response("{}"), Response(oslo()))) as running:
        assert play(running.client(), ask)["city"] == "Oslo"


def test_identical_concurrent_requests_share_one_response(world: Served) -> None:
    async def ask(client: WeatherClient) -> list[dict[str, Any]]:
        with situation("slow").attached():
            return await asyncio.gather(*(client.current("Oslo") for _ in range(20)))

    answers = play(world.client(), ask)
    assert world.count == 1
    assert all(answer == answers[0] for answer in answers)
    assert answers[0] is not answers[1]


def test_cancelled_caller_does_not_affect_the_other(world: Served) -> None:
    async def ask(client: WeatherClient) -> dict[str, Any]:
        with situation("slow").attached():
            first, second = (asyncio.create_task(client.current("Oslo")) for _ in range(2))
            await asyncio.sleep(0.05)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            return await second

    assert play(world.client(), ask)["city"] == "Oslo"
    assert world.count == 1


def test_request_is_cancelled_with_its_last_caller_and_can_be_repeated(world: Served) -> None:
    async def ask(client: WeatherClient) -> dict[str, Any]:
        with situation("timeout").attached():
            task = asyncio.create_task(client.current("Oslo"))
            while world.count == 0:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while asyncio.all_tasks() != {asyncio.current_task()}:
                await asyncio.sleep(0.01)
        with situation().attached():
            return await client.current("Oslo")

    assert play(world.client(), ask)["city"] == "Oslo"
    assert world.count == 2


def test_many_cities_can_be_requested_concurrently(world: Served) -> None:
    names = ["Oslo", "Paris", "Lima", "Tokyo", "Cairo", "Atlantis"] * 5

    async def ask(client: WeatherClient) -> list[dict[str, Any] | BaseException]:
        with situation().attached():
            return list(await asyncio.gather(*map(client.current, names), return_exceptions=True))

    result = play(world.client(timeout=10), ask)
    assert [one["city"] for one in result if isinstance(one, dict)] == [name for name in names if name != "Atlantis"]


# --- secrets, proxies and addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [None, "timeout", "server_error", "rate_limited", "malformed"])
@pytest.mark.slow
def test_key_is_sent_to_the_service_only(
    world: Served, fault: str | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    said = repr(world.client())
    patience = 0.3 if fault == "timeout" else 10.0
    with situation(fault).attached():
        for city in ("Oslo", "Atlantis"):
            try:
                said += str(play(world.client(timeout=patience), partial(WeatherClient.current, city=city)))
            except WeatherError:
                said += traceback.format_exc()
    assert f"appid={KEY}".encode() in world.requests[0]["query_string"]
    assert any("HTTP Request" in record.getMessage() for record in caplog.records) or fault == "timeout"
    assert KEY not in said
    assert KEY not in caplog.text
    out, err = capfd.readouterr()
    assert KEY not in out + err


def test_error_does_not_contain_the_request(world: Served) -> None:
    with situation("server_error").attached():
        error = failure(world.client(), lambda client: client.current("Oslo"))
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert KEY not in repr(vars(error))


def test_error_can_be_pickled() -> None:
    error = WeatherError("timeout", "too late", hint="Wait")
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, str(again)) == ("timeout", "too late. Wait")
    assert isinstance(again, AssayError)


def test_only_the_embedded_service_receives_the_situation(world: Served) -> None:
    with situation("slow", session="adk").attached():
        play(world.client(), lambda client: client.current("Oslo"))
        play(world.client(embedded=False), lambda client: client.current("Oslo"))
    sent = world.header("baggage", 0)
    assert sent is not None
    assert "assay.scenario=scenario" in sent
    assert "assay.session=adk" in sent
    assert world.header("baggage", 1) is None


@contextmanager
def _proxy() -> Iterator[Served]:
    """A server that answers every request with 404, whatever its host; the embedded servers answer to loopback only."""
    found: list[Any] = []

    class NotFound(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), NotFound) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield Served(f"http://127.0.0.1:{server.server_port}", found)
        server.shutdown()
        thread.join()


def test_proxy_is_used_for_remote_hosts_only(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with _proxy() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert play(world.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"
        assert proxy.count == 0
        outside = WeatherClient("http://weather.invalid", KEY)
        assert failure(outside, lambda client: client.current("Oslo")).kind == "unknown_city"
        assert proxy.count == 1
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert play(world.client(embedded=False), lambda client: client.current("Oslo"))["city"] == "Oslo"
        assert proxy.count == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "ftp://127.0.0.1",
        "http://",
        "file:///etc/passwd",
        "https://api.openweathermap.org",
        "http://localhost.example",
        "http://10.0.0.1",
    ],
)
def test_embedded_service_must_be_on_loopback(url: str) -> None:
    with pytest.raises(UsageError):
        WeatherClient(url, KEY, embedded=True)


def test_base_url_may_have_a_path() -> None:
    async def answer(_: Request) -> Response:
        return JSONResponse(json.loads(oslo()))

    with served(Starlette(routes=[Route("/proxied/data/2.5/weather", answer)])) as running:
        client = WeatherClient(f"{running.url}/proxied/", KEY)
        assert play(client, lambda client: client.current("Oslo"))["city"] == "Oslo"


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"retries": -1}, {"backoff": -1}, {"cache_seconds": -1}])
def test_invalid_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        WeatherClient("http://127.0.0.1:1", KEY, **wrong)
