"""The embedded world as a whole: its truth is what its servers return."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.chat.world.serving import NOW, TLS

from assay.chat import ChatbotEvaluator
from assay.chat.domains.weather import read_truth
from assay.chat.world.cities import all_cities
from assay.chat.world.embedded import World
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient
from assay.errors import UsageError


def from_client(url: str, city: str, days: int, now: datetime | None) -> tuple[dict[str, Any], dict[str, Any]]:
    async def ask() -> tuple[dict[str, Any], dict[str, Any]]:
        client = WeatherClient(url, "any key", timeout=10, embedded=True)
        try:
            with Situation(now=now).attached():
                return await client.current(city), await client.forecast(city, days)
        finally:
            await client.aclose()

    return asyncio.run(ask())


@pytest.mark.slow
def test_truth_equals_what_the_client_returns() -> None:
    with World(seed=7) as world:
        for number, city in enumerate(all_cities()[::45]):
            now = NOW + timedelta(days=17 * number, hours=5 * number, minutes=13 * number, seconds=number)
            name, days = f"{city.name},{city.country}", 1 + number % 5
            current, forecast = from_client(world.weather_url, name, days, now)
            assert world.truth(name, days, now) == {"current": current, "forecast": forecast["forecast"]}


def test_own_clock_is_used_if_the_request_has_no_time() -> None:
    # Half an hour before midnight in Helsinki, so that the next forecast step is on the next day.
    now = datetime(2026, 1, 15, 21, 30, tzinfo=UTC)
    with World(clock=lambda: now) as world:
        current, forecast = from_client(world.weather_url, "Helsinki", 2, None)
        assert world.truth("Helsinki", 2) == {"current": current, "forecast": forecast["forecast"]}
    assert (current["date"], current["time"]) == ("2026-01-15", "23:30")
    assert forecast["today"] == "2026-01-15"
    assert [day["date"] for day in forecast["forecast"]] == ["2026-01-16", "2026-01-17"]


def test_a_perfect_answer_is_perfectly_accurate() -> None:
    truth = World(seed=3).truth("Lisbon", 3, NOW)
    current, tomorrow = truth["current"], truth["forecast"][0]
    scored = ChatbotEvaluator().evaluate_response(
        user_query="What is the weather in Lisbon now and tomorrow?",
        response=f"In Lisbon it is {current['temperature']} °C with {current['condition']} now. Tomorrow expect a high "
        f"of {tomorrow['high']} °C and a low of {tomorrow['low']} °C with {tomorrow['condition']}.",
        framework_name="x",
        weather_data_used=truth,
    )
    assert scored["accuracy"]["measured"]
    assert scored["accuracy"]["score"] == 1.0


def test_scoring_reads_the_truth() -> None:
    truth = read_truth(World().truth("Oslo", 5, NOW))
    assert truth.subject == "Oslo"
    assert truth.today == "2026-01-15"
    assert len([fact for fact in truth.facts if fact.role == "high"]) == 5


def test_same_seed_gives_the_same_truth() -> None:
    assert World(5).truth("Oslo", 5, NOW) == World(5).truth("Oslo", 5, NOW)
    assert World(5).truth("Oslo", 5, NOW) != World(6).truth("Oslo", 5, NOW)


def test_truth_of_an_unknown_city_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no city called 'Helsinky'.*Did you mean 'Helsinki'"):
        World().truth("Helsinky", 1, NOW)


@pytest.mark.slow
def test_both_servers_run_on_loopback_and_stop() -> None:
    before = threading.active_count()
    world = World()
    with pytest.raises(UsageError, match="is not running"):
        world.weather_url  # noqa: B018
    for _ in range(2):
        with world:
            urls = (world.weather_url, world.model_url)
            assert all(url.startswith("http://127.0.0.1:") for url in urls)
            assert world.model_url.endswith("/v1")
            assert httpx.get(f"{world.model_url}/models", trust_env=False, verify=TLS).status_code in (200, 404)
            with pytest.raises(UsageError, match="is already running"):
                world.__enter__()
        for url in urls:
            with pytest.raises(httpx.ConnectError):
                httpx.get(url, trust_env=False, verify=TLS)
    assert threading.active_count() == before


def test_exception_inside_the_block_stops_the_servers() -> None:
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="inside"), World():
        raise RuntimeError("inside")
    assert threading.active_count() == before
