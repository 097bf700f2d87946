"""The weather client, tested over HTTP with the embedded service and with misbehaving ones."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from tests.chat.world.serving import KEY, NOW, Served, answering, failure, oslo, play, served, situation

from assay.chat.world.cities import find_city
from assay.chat.world.climate import Climate
from assay.chat.world.openweather import read_current, read_forecast
from assay.chat.world.weather import WeatherClient, WeatherError
from assay.chat.world.weather_server import current_response, forecast_response, weather_app


@pytest.fixture
def world() -> Iterator[Served]:
    with served(weather_app(7, clock=lambda: NOW)) as running:
        yield running


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
@pytest.mark.slow
def test_persistent_fault_is_an_error_after_all_retries(world: Served, fault: str, kind: str, requests: int) -> None:
    with situation(fault).attached():
        for ask in (lambda client: client.current("Oslo"), lambda client: client.forecast("Oslo")):
            before = world.count
            error = failure(world.client(timeout=0.5 if fault == "timeout" else 10.0), ask)
            assert error.kind == kind
            assert world.count - before == requests
            assert str(error)


@pytest.mark.parametrize("fault", ["timeout*1", "server_error*1", "server_error*2", "rate_limited*2"])
@pytest.mark.slow
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
        error = failure(running.client(timeout=0.2, retries=0), lambda client: client.current("Oslo"))
    assert error.kind == "timeout"


def test_endless_response_is_malformed() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536
            await asyncio.sleep(0)

    with served(answering(lambda: StreamingResponse(endless()))) as running:
        assert failure(running.client(timeout=5), lambda client: client.current("Oslo")).kind == "malformed"


@pytest.mark.slow
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
