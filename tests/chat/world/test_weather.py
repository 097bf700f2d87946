"""The weather client, tested over HTTP with the embedded service and with misbehaving ones."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import socket
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.chat.world.serving import KEY, NOW, Served, served, situation

from assay.chat.world import weather
from assay.chat.world.cities import find_city
from assay.chat.world.climate import Climate
from assay.chat.world.openweather import read_current, read_forecast
from assay.chat.world.weather import WeatherClient, WeatherError
from assay.chat.world.weather_server import current_response, forecast_response, weather_app
from assay.errors import AssayError, UsageError

T = TypeVar("T")


@pytest.fixture
def world() -> Iterator[Served]:
    with served(weather_app(7, clock=lambda: NOW)) as running:
        yield running


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


# --- results ----------------------------------------------------------------------------------------------------------


def test_current_weather(world: Served) -> None:
    result = play(world.client(), lambda client: client.current("helsinki"))
    assert {name: result[name] for name in ("city", "country", "date", "weekday", "time", "units")} == {
        "city": "Helsinki",
        "country": "FI",
        "date": "2026-01-15",
        "weekday": "Thursday",
        "time": "10:00",
        "units": "metric",
    }
    assert list(result) == [
        *("city", "country", "date", "weekday", "time", "temperature", "feels_like", "condition"),
        *("humidity", "wind_speed", "units"),
    ]
    assert -25 < result["temperature"] < 8
    assert isinstance(result["humidity"], int)


def test_forecast_days(world: Served) -> None:
    result = play(world.client(), lambda client: client.forecast("Helsinki", 3))
    assert list(result) == ["city", "country", "today", "units", "forecast"]
    assert result["today"] == "2026-01-15"
    assert [(day["date"], day["weekday"]) for day in result["forecast"]] == [
        ("2026-01-16", "Friday"),
        ("2026-01-17", "Saturday"),
        ("2026-01-18", "Sunday"),
    ]
    for day in result["forecast"]:
        assert list(day) == ["date", "weekday", "high", "low", "condition", "rain_chance"]
        assert day["low"] <= day["high"]
        assert 0 <= day["rain_chance"] <= 100


@pytest.mark.parametrize(("days", "result"), [(-1, 0), (0, 0), (1, 1), (5, 5), (99, 5)])
def test_never_more_than_five_days(world: Served, days: int, result: int) -> None:
    assert len(play(world.client(), lambda client: client.forecast("Oslo", days))["forecast"]) == result


def test_today_is_the_local_date(world: Served) -> None:
    # 08:00 UTC on the 15th is 22:00 on the 14th in Honolulu.
    assert play(world.client(), lambda client: client.forecast("Honolulu"))["today"] == "2026-01-14"
    assert play(world.client(), lambda client: client.current("Auckland"))["time"] == "21:00"


def step(hour: int, low: float, high: float, condition: str, pop: float) -> dict[str, Any]:
    start = datetime(2026, 1, 15, tzinfo=UTC) + timedelta(hours=hour)
    main = {"temp": (low + high) / 2, "feels_like": 0, "temp_min": low, "temp_max": high, "humidity": 50}
    return {"dt": int(start.timestamp()), "main": main, "weather": [{"description": condition}], "pop": pop}


def test_steps_are_grouped_by_local_day() -> None:
    # Two hours ahead of UTC: 21:00 UTC is on the 15th, 22:00 UTC on the 16th.
    given_steps = [
        step(21, -30, 40, "tornado", 1),
        step(22, -3.26, -1, "snow", 0.2),
        step(25, -2, 0.04, "mist", 0.444),
        step(28, -1, -0.04, "mist", 0),
        step(46, 1, 2, "rain", 0.5),
    ]
    body = {"list": given_steps[::-1], "city": {"name": "X", "country": "FI", "timezone": 7200}}
    assert read_forecast(json.dumps(body).encode(), NOW) == {
        "city": "X",
        "country": "FI",
        "today": "2026-01-15",
        "units": "metric",
        "forecast": [
            {
                "date": "2026-01-16",
                "weekday": "Friday",
                "high": 0.0,
                "low": -3.3,
                "condition": "mist",
                "rain_chance": 44,
            },
            {
                "date": "2026-01-17",
                "weekday": "Saturday",
                "high": 2.0,
                "low": 1.0,
                "condition": "rain",
                "rain_chance": 50,
            },
        ],
    }


def test_minus_zero_is_zero() -> None:
    body = json.loads(oslo())
    body["main"]["temp"] = -0.04
    assert str(read_current(json.dumps(body).encode())["temperature"]) == "0.0"


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        ("timeout", "timeout", 3),
        ("server_error", "unavailable", 3),
        ("rate_limited", "rate_limited", 3),
        ("malformed", "malformed", 1),
        ("server_error*3", "unavailable", 3),
    ],
)
def test_persistent_fault_is_an_error_after_all_retries(world: Served, fault: str, kind: str, requests: int) -> None:
    with situation(fault).attached():
        for ask in (lambda client: client.current("Oslo"), lambda client: client.forecast("Oslo")):
            before = world.count
            error = failure(world.client(timeout=0.5 if fault == "timeout" else 10.0), ask)
            assert error.kind == kind
            assert world.count - before == requests
            assert str(error)


@pytest.mark.parametrize("fault", ["timeout*1", "server_error*1", "server_error*2", "rate_limited*2"])
def test_retry_hides_a_transient_fault(world: Served, fault: str) -> None:
    with situation().attached():
        expected = play(world.client(), lambda client: client.current("Oslo"))
    before = world.count
    with situation(fault).attached():
        patience = 1.0 if fault == "timeout*1" else 10.0
        assert play(world.client(timeout=patience), lambda client: client.current("Oslo")) == expected
    assert world.count - before == int(fault[-1]) + 1


def test_without_retries_there_is_one_attempt(world: Served) -> None:
    with situation("server_error").attached():
        failure(world.client(retries=0), lambda client: client.current("Oslo"))
    assert world.count == 1


def test_slow_response_is_accepted(world: Served) -> None:
    with situation().attached():
        expected = play(world.client(), lambda client: client.current("Oslo"))
    start = time.monotonic()
    with situation("slow").attached():
        assert play(world.client(), lambda client: client.current("Oslo")) == expected
    assert time.monotonic() - start >= 0.3
    assert world.count == 2


def test_kelvin_is_passed_through(world: Served) -> None:
    with situation("wrong_units").attached():
        wrong = play(world.client(), lambda client: client.current("Oslo"))
        days = play(world.client(), lambda client: client.forecast("Oslo"))["forecast"]
    with situation().attached():
        right = play(world.client(), lambda client: client.current("Oslo"))
    assert wrong["temperature"] == pytest.approx(right["temperature"] + 273.15, abs=0.11)
    assert wrong["units"] == "metric"
    assert all(day["high"] > 200 for day in days)


def test_empty_forecast_is_passed_through(world: Served) -> None:
    with situation("empty_forecast").attached():
        result = play(world.client(), lambda client: client.forecast("Oslo"))
        assert result["forecast"] == []
        assert result["today"] == "2026-01-15"
        assert play(world.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"


def test_injected_instruction_is_passed_through_as_condition(world: Served) -> None:
    with situation("injection").attached():
        result = play(world.client(), lambda client: client.current("Oslo"))
        days = play(world.client(), lambda client: client.forecast("Oslo"))["forecast"]
    assert "PWNED" in result["condition"]
    assert all("PWNED" in day["condition"] for day in days)
    assert "PWNED" not in json.dumps({**result, "condition": ""})


@pytest.mark.parametrize("fault", ["model_error", "model_rate_limited"])
def test_model_faults_do_not_affect_the_weather(world: Served, fault: str) -> None:
    with situation(fault).attached():
        assert play(world.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"
    assert world.count == 1


def test_unknown_city_is_named_in_the_error(world: Served) -> None:
    error = failure(world.client(), lambda client: client.current("Atlantis"))
    assert error.kind == "unknown_city"
    assert str(error).startswith("there is no city called 'Atlantis'")
    assert world.count == 1


@pytest.mark.parametrize("city", ["", "  ", "\n", "x" * 10_000, "\ud800", "a\x00b"])
def test_impossible_city_name_is_not_requested(world: Served, city: str) -> None:
    error = failure(world.client(), lambda client: client.current(city))
    assert error.kind == "unknown_city"
    assert len(str(error)) < 250
    str(error).encode()
    assert world.count == 0


def test_any_text_gives_weather_or_an_unknown_city_error(world: Served) -> None:
    client = world.client()
    names = ["Oslo&appid=x", "?q=Paris", "../weather", "%00", "Oslo;DROP TABLE", "{0}", "東京", "🌧"]

    async def ask(client: WeatherClient) -> list[dict[str, Any] | BaseException]:
        return list(await asyncio.gather(*(client.current(name) for name in names), return_exceptions=True))

    for found in play(client, ask):
        assert isinstance(found, WeatherError)
        assert found.kind == "unknown_city"


def test_rejected_key_is_an_error() -> None:
    with served(weather_app()) as running:
        error = failure(WeatherClient(running.url, "", embedded=True), lambda client: client.current("Oslo"))
    assert error.kind == "refused"
    assert "key" in str(error)
    assert running.count == 1


@pytest.mark.parametrize(
    ("status", "kind", "requests"), [(400, "refused", 1), (302, "refused", 1), (503, "unavailable", 3)]
)
def test_error_kind_of_other_statuses(status: int, kind: str, requests: int) -> None:
    with served(answering(Response("{}", status, {"Location": "http://192.0.2.1/"}))) as running:
        assert failure(running.client(), lambda client: client.current("Oslo")).kind == kind
        assert running.count == requests


def test_unreachable_service_is_unavailable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        client = WeatherClient(url, KEY, backoff=0.01, embedded=True)
        assert failure(client, lambda client: client.current("Oslo")).kind == "unavailable"


def test_broken_connection_is_unavailable() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield oslo()[:40]
        raise RuntimeError("cut")

    async def answer(_: Request) -> Response:
        return StreamingResponse(broken(), headers={"Content-Length": "4000"})

    logging.getLogger("uvicorn.error").disabled = True
    try:
        with served(Starlette(routes=[Route("/data/2.5/weather", answer)])) as running:
            assert failure(running.client(), lambda client: client.current("Oslo")).kind == "unavailable"
            assert running.count == 3
    finally:
        logging.getLogger("uvicorn.error").disabled = False


def test_timeout_covers_the_whole_response() -> None:
    async def dripping() -> AsyncIterator[bytes]:
        for byte in oslo():
            yield bytes([byte])
            await asyncio.sleep(0.05)

    with served(answering(lambda: StreamingResponse(dripping()))) as running:
        start = time.monotonic()
        error = failure(running.client(timeout=0.2, retries=0), lambda client: client.current("Oslo"))
    assert error.kind == "timeout"
    assert time.monotonic() - start < 2


def test_endless_response_is_malformed() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536
            await asyncio.sleep(0)

    with served(answering(lambda: StreamingResponse(endless()))) as running:
        assert failure(running.client(timeout=5), lambda client: client.current("Oslo")).kind == "malformed"


@given(st.binary(max_size=60))
def test_any_bytes_are_parsed_or_malformed(body: bytes) -> None:
    for read in (read_current, lambda body: read_forecast(body, NOW)):
        with pytest.raises(WeatherError, match="cannot be read"):
            read(body)


def invalid_copies(table: Any) -> Iterator[Any]:
    """Copies of a response, each with another one of its values invalid."""
    if isinstance(table, dict):
        for name in table:
            for worse in (None, "x", [], {}, float("nan"), 10**30, *invalid_copies(table[name])):
                yield {**table, name: worse}
            yield {other: value for other, value in table.items() if other != name}
    elif isinstance(table, list) and table:
        yield from ([worse, *table[1:]] for worse in (None, "x", *invalid_copies(table[0])))


@pytest.mark.parametrize("endpoint", ["weather", "forecast"])
def test_response_with_one_invalid_value_is_malformed_or_unaffected(endpoint: str) -> None:
    city = find_city("Oslo")
    assert city is not None
    whole = (current_response if endpoint == "weather" else forecast_response)(Climate(7), city, NOW, "metric")
    if endpoint == "forecast":
        whole["list"] = whole["list"][:2]
    outcomes = set()
    for table in invalid_copies(copy.deepcopy(whole)):
        body = json.dumps(table).encode()
        try:
            result = read_current(body) if endpoint == "weather" else read_forecast(body, NOW)
            json.dumps(result, allow_nan=False)
            outcomes.add("read")
        except WeatherError as error:
            outcomes.add(error.kind)
    assert outcomes == {"read", "malformed"}


# --- pauses between retries -------------------------------------------------------------------------------------------


def test_pauses_double() -> None:
    with served(answering(Response("", 500))) as running:
        start = time.monotonic()
        failure(running.client(backoff=0.1, retries=2), lambda client: client.current("Oslo"))
        assert 0.3 <= time.monotonic() - start < 1.5


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
        assert 1 <= time.monotonic() - start < 3


@pytest.mark.parametrize("wait", ["3600", "9" * 400, "Thu, 15 Jan 2099 08:00:01 GMT"])
def test_pause_is_limited(wait: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather, "_MAX_PAUSE", 0.05)
    with served(answering(Response("", 429, {"Retry-After": wait}), Response(oslo()))) as running:
        start = time.monotonic()
        play(running.client(), lambda client: client.current("Oslo"))
        assert time.monotonic() - start < 1.5


@pytest.mark.parametrize("wait", ["", "soon", "-5", "1.5.1", "٣"])
def test_invalid_retry_after_is_ignored(wait: str) -> None:
    with served(
        answering(lambda: Response("", 429, {"Retry-After": wait.encode().decode("latin-1")}), Response(oslo()))
    ) as running:
        assert play(running.client(), lambda client: client.current("Oslo"))["city"] == "Oslo"


# --- cache ------------------------------------------------------------------------------------------------------------


def test_response_is_cached_for_a_while(world: Served) -> None:
    async def ask(client: WeatherClient) -> None:
        with situation().attached():
            first = await client.current("Malmö")
            assert await client.current("  malmo ") == first
            assert world.count == 1
            await client.forecast("Malmö", 2)
            assert len((await client.forecast("Malmö", 4))["forecast"]) == 4
            assert world.count == 2
            first["city"] = "spoiled"
            assert (await client.current("Malmö"))["city"] == "Malmö"
        await asyncio.sleep(0.3)
        with situation().attached():
            await client.current("Malmö")
        assert world.count == 3

    play(world.client(cache_seconds=0.3), ask)


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
            await asyncio.sleep(0.1)
            assert asyncio.all_tasks() == {asyncio.current_task()}
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
def test_key_is_sent_to_the_service_only(
    world: Served, fault: str | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    said = repr(world.client())
    with situation(fault).attached():
        for city in ("Oslo", "Atlantis"):
            try:
                said += str(play(world.client(timeout=0.3), partial(WeatherClient.current, city=city)))
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


def test_proxy_is_used_for_remote_hosts_only(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Starlette()) as proxy:  # answers every request with 404
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
