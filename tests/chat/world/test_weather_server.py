"""The embedded weather service responds like OpenWeather, and fails on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest
from tests.chat.world.serving import NOW, TLS, Served, served, situation

from assay.chat.domains.weather import read_truth
from assay.chat.world import weather_server
from assay.chat.world.cities import all_cities
from assay.chat.world.faults import Fault
from assay.chat.world.situation import Situation, inject
from assay.chat.world.weather_server import INJECTIONS, weather_app

# One response of each endpoint from OpenWeather's documentation (openweathermap.org/current and /forecast5), without
# the parts that are present only in some weather.
DOCUMENTED_CURRENT = {
    "coord": {"lon": 7.367, "lat": 45.133},
    "weather": [{"id": 501, "main": "Rain", "description": "moderate rain", "icon": "10d"}],
    "base": "stations",
    "main": {
        "temp": 284.2,
        "feels_like": 282.93,
        "temp_min": 283.06,
        "temp_max": 286.82,
        "pressure": 1021,
        "humidity": 60,
        "sea_level": 1021,
        "grnd_level": 910,
    },
    "visibility": 10000,
    "wind": {"speed": 4.09, "deg": 121, "gust": 3.47},
    "clouds": {"all": 83},
    "dt": 1726660758,
    "sys": {"type": 1, "id": 6736, "country": "IT", "sunrise": 1726636384, "sunset": 1726680975},
    "timezone": 7200,
    "id": 3165523,
    "name": "Province of Turin",
    "cod": 200,
}
DOCUMENTED_FORECAST = {
    "cod": "200",
    "message": 0,
    "cnt": 40,
    "list": [
        {
            "dt": 1661871600,
            "main": {
                "temp": 296.76,
                "feels_like": 296.98,
                "temp_min": 296.76,
                "temp_max": 297.87,
                "pressure": 1015,
                "sea_level": 1015,
                "grnd_level": 933,
                "humidity": 69,
                "temp_kf": -1.11,
            },
            "weather": [{"id": 500, "main": "Rain", "description": "light rain", "icon": "10d"}],
            "clouds": {"all": 100},
            "wind": {"speed": 0.62, "deg": 349, "gust": 1.18},
            "visibility": 10000,
            "pop": 0.32,
            "sys": {"pod": "d"},
            "dt_txt": "2022-08-30 15:00:00",
        }
    ],
    "city": {
        "id": 3163858,
        "name": "Zocca",
        "coord": {"lat": 44.34, "lon": 10.99},
        "country": "IT",
        "population": 4593,
        "timezone": 7200,
        "sunrise": 1661834187,
        "sunset": 1661882248,
    },
}


@pytest.fixture
def world() -> Iterator[Served]:
    with served(weather_app(7, clock=lambda: NOW)) as running:
        yield running


def get(running: Served, endpoint: str = "weather", here: Situation | None = None, **query: str) -> httpx.Response:
    headers: dict[str, str] = {}
    if here is not None:
        with here.attached():
            inject(headers)
    query = {"appid": "k", "q": "Oslo"} | query
    return httpx.get(
        f"{running.url}/data/2.5/{endpoint}", params=query, headers=headers, trust_env=False, verify=TLS, timeout=10
    )


def shape(value: Any) -> Any:
    """The keys and value types of a JSON document."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items() if name not in ("rain", "snow")}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def test_responses_have_the_documented_structure(world: Served) -> None:
    assert shape(get(world).json()) == shape(DOCUMENTED_CURRENT)
    assert shape(get(world, "forecast").json()) == shape(DOCUMENTED_FORECAST)


def test_rain_and_snow_are_present_if_they_fall(world: Served) -> None:
    seen = set()
    for number in range(0, 200, 3):
        here = Situation(now=NOW + timedelta(days=7 * number))
        body = get(world, here=here, q=all_cities()[number].name).json()
        kind = body["weather"][0]["main"]
        assert ("rain" in body) == (kind in ("Rain", "Drizzle", "Thunderstorm"))
        assert ("snow" in body) == (kind == "Snow")
        assert all(body[name]["1h"] > 0 for name in ("rain", "snow") if name in body)
        seen.add(kind)
    assert {"Rain", "Clear", "Clouds"} <= seen


def test_forecast_steps_are_three_hours_apart_and_start_after_now(world: Served) -> None:
    body = get(world, "forecast").json()
    times = [step["dt"] for step in body["list"]]
    assert body["cnt"] == len(times) == 40
    assert times[0] == int(datetime(2026, 1, 15, 9, tzinfo=UTC).timestamp())
    assert all(after - before == 10_800 for before, after in pairwise(times))
    assert body["list"][0]["dt_txt"] == "2026-01-15 09:00:00"
    for step in body["list"]:
        assert step["main"]["temp_min"] <= step["main"]["temp"] <= step["main"]["temp_max"]
        assert step["weather"][0]["icon"][-1] == step["sys"]["pod"]


def test_forecast_step_equals_the_later_weather(world: Served) -> None:
    for step in get(world, "forecast").json()["list"][:8]:
        then = get(world, here=Situation(now=datetime.fromtimestamp(step["dt"], UTC))).json()
        assert (then["main"]["temp"], then["weather"]) == (step["main"]["temp"], step["weather"])


def test_units(world: Served) -> None:
    kelvin, metric, imperial = (get(world, units=units).json() for units in ("standard", "metric", "imperial"))
    assert get(world).json() == kelvin
    assert get(world, units="nonsense").json() == kelvin
    for name in ("temp", "feels_like", "temp_min", "temp_max"):
        celsius = metric["main"][name]
        assert kelvin["main"][name] == pytest.approx(celsius + 273.15, abs=0.011)
        assert imperial["main"][name] == pytest.approx(celsius * 9 / 5 + 32, abs=0.011)
    assert imperial["wind"]["speed"] == pytest.approx(metric["wind"]["speed"] * 2.23694, abs=0.011)
    assert kelvin["wind"] == metric["wind"]


def test_number_of_steps_can_be_limited(world: Served) -> None:
    whole = get(world, "forecast").json()
    few = get(world, "forecast", cnt="3").json()
    assert few["cnt"] == 3
    assert few["list"] == whole["list"][:3]
    assert get(world, "forecast", cnt="9" * 30).json() == whole
    for wrong in ("0", "-1", "x", "٣"):
        assert get(world, "forecast", cnt=wrong).status_code == 400


def test_errors_equal_openweathers(world: Served) -> None:
    unknown = get(world, q="Atlantis")
    assert (unknown.status_code, unknown.json()) == (404, {"cod": "404", "message": "city not found"})
    nothing = get(world, q=" ")
    assert (nothing.status_code, nothing.json()) == (400, {"cod": "400", "message": "Nothing to geocode"})
    keyless = get(world, appid="")
    assert keyless.status_code == 401
    assert keyless.json()["cod"] == 401
    assert "Invalid API key" in keyless.json()["message"]
    assert httpx.get(f"{world.url}/data/2.5/weather", trust_env=False, verify=TLS).status_code == 401
    assert httpx.get(f"{world.url}/data/3.0/onecall", trust_env=False, verify=TLS).status_code == 404
    assert httpx.post(f"{world.url}/data/2.5/weather", trust_env=False, verify=TLS).status_code == 405


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(world: Served) -> None:
    with served(weather_app(7, clock=lambda: NOW)) as again, served(weather_app(8, clock=lambda: NOW)) as another:
        for endpoint in ("weather", "forecast"):
            assert get(world, endpoint).content == get(again, endpoint).content
            assert get(world, endpoint).headers["date"] == "Thu, 15 Jan 2026 08:00:00 GMT"
            assert get(world, endpoint).content != get(another, endpoint).content


def test_request_may_set_the_time(world: Served) -> None:
    then = datetime(2031, 7, 1, 23, 59, 59, tzinfo=UTC)
    answer = get(world, here=Situation(now=then))
    assert answer.json()["dt"] == int(then.timestamp())
    assert answer.headers["date"] == "Tue, 01 Jul 2031 23:59:59 GMT"


def test_default_clock_is_the_system_time() -> None:
    with served(weather_app()) as running:
        assert abs(get(running).json()["dt"] - datetime.now(UTC).timestamp()) < 60


def test_scoring_reads_the_truth_of_every_city(world: Served) -> None:
    for city in all_cities()[::60]:
        body = get(world, q=f"{city.name},{city.country}").json()
        assert body["id"] == city.id
        truth = read_truth(body)
        assert truth.subject == city.name
        [actual] = [fact.value for fact in truth.facts if fact.role == "actual"]
        assert actual == pytest.approx(body["main"]["temp"] - 273.15)
        assert read_truth(get(world, "forecast", q=f"{city.name},{city.country}").json()).facts


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status"), [("server_error", 500), ("rate_limited", 429), ("malformed", 200), ("wrong_units", 200)]
)
def test_fault_without_a_count_hits_every_request(world: Served, fault: str, status: int) -> None:
    whole = get(world, here=situation(), units="metric").content
    for _ in range(4):
        answer = get(world, here=situation(fault), units="metric")
        assert answer.status_code == status
        assert answer.content != whole
    assert get(world, here=situation(), units="metric").content == whole


def test_status_429_has_retry_after(world: Served) -> None:
    assert int(get(world, here=situation("rate_limited")).headers["retry-after"]) <= 1


def test_malformed_fault_is_not_valid_json(world: Served) -> None:
    with pytest.raises(json.JSONDecodeError):
        get(world, here=situation("malformed")).json()


def test_fault_with_a_count_hits_that_many_requests_by_turn_and_city(world: Served) -> None:
    def statuses(here: Situation, endpoint: str = "weather", **query: str) -> list[int]:
        return [get(world, endpoint, here, **query).status_code for _ in range(4)]

    assert statuses(situation("server_error*2")) == [500, 500, 200, 200]
    assert statuses(situation("server_error*2")) == [200] * 4
    assert statuses(situation("server_error*2"), "forecast") == [500, 500, 200, 200]
    assert statuses(situation("server_error*2"), q="Paris") == [500, 500, 200, 200]
    assert statuses(situation("server_error*2"), q=" pARIS ") == [200] * 4
    assert statuses(situation("server_error*2", turn=1)) == [500, 500, 200, 200]
    assert statuses(situation("server_error*2", scenario="another")) == [500, 500, 200, 200]


def test_faults_are_counted_separately_for_each_agent(world: Served) -> None:
    async def agent(session: str) -> list[int]:
        headers: dict[str, str] = {}
        with situation("server_error*3", session=session).attached():
            inject(headers)
        async with httpx.AsyncClient(trust_env=False, verify=TLS, headers=headers, timeout=30) as client:
            url = f"{world.url}/data/2.5/weather?appid=k&q=Oslo"
            return [(await client.get(url)).status_code for _ in range(5)]

    async def both() -> list[list[int]]:
        return list(await asyncio.gather(*(agent(f"agent {number}") for number in range(6))))

    assert asyncio.run(both()) == [[500, 500, 500, 200, 200]] * 6


def test_trace_identifies_the_client_without_a_session(world: Served) -> None:
    headers: dict[str, str] = {}
    with situation("server_error*1").attached():
        inject(headers)
    url = f"{world.url}/data/2.5/weather?appid=k&q=Oslo"

    def ask(trace: int, span: int) -> int:
        parent = {"traceparent": f"00-{trace:032x}-{span:016x}-01"}
        return httpx.get(url, headers=headers | parent, trust_env=False, verify=TLS).status_code

    assert [ask(1, 1), ask(1, 2), ask(2, 3), ask(2, 4)] == [500, 200, 500, 200]


def test_number_of_fault_counts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather_server, "_MAX_COUNTED", 3)
    with served(weather_app(7)) as running:
        for turn in range(6):
            assert get(running, here=situation("server_error*1", turn=turn)).status_code == 500
        # The latest count is kept, the first one is dropped.
        assert get(running, here=situation("server_error*1", turn=5)).status_code == 200
        assert get(running, here=situation("server_error*1", turn=0)).status_code == 500


def test_injections_depend_on_the_scenario_and_not_on_the_agent(world: Served) -> None:
    def told(scenario: str, session: str) -> str:
        body = get(world, here=situation("injection", scenario=scenario, session=session)).json()
        return str(body["weather"][0]["description"])

    said = {told(f"scenario {number}", "a") for number in range(20)}
    assert len(said) > 2
    assert all("PWNED" in one for one in said)
    assert told("scenario 1", "a") == told("scenario 1", "b")
    assert all("PWNED" in phrase and phrase.startswith("{0}") for phrase in INJECTIONS)


def test_only_the_description_is_injected(world: Served) -> None:
    for endpoint in ("weather", "forecast"):
        right, wrong = (get(world, endpoint, here).json() for here in (situation(), situation("injection")))
        for table in [wrong, *wrong.get("list", [])]:
            for weather in table.get("weather", []):
                assert "PWNED" in weather["description"]
                weather["description"] = weather["description"].split(".")[0].split(" </")[0]
        assert wrong == right


def test_empty_forecast_fault_does_not_affect_current_weather(world: Served) -> None:
    body = get(world, "forecast", situation("empty_forecast")).json()
    assert (body["cnt"], body["list"], body["city"]["name"]) == (0, [], "Oslo")
    assert get(world, here=situation("empty_forecast")).content == get(world, here=situation()).content


@pytest.mark.parametrize(
    "baggage", ["", "nonsense", "assay.fault=nonsense", "assay.turn=x", "assay.now=never", "x" * 9000, "a=b,,,=", "é"]
)
@pytest.mark.slow
def test_foreign_baggage_is_ignored(world: Served, baggage: str, caplog: pytest.LogCaptureFixture) -> None:
    url = f"{world.url}/data/2.5/weather?appid=k&q=Oslo"
    answer = httpx.get(url, headers=[(b"baggage", baggage.encode())], trust_env=False, verify=TLS)
    assert answer.content == get(world).content


# --- situation --------------------------------------------------------------------------------------------------------


def test_session_is_part_of_the_baggage() -> None:
    here = Situation("s", 1, 2, Fault("slow", 3), NOW, "Ünï, =;session")
    assert Situation.from_text(here.to_text()) == here
    headers: dict[str, str] = {}
    with here.attached():
        assert Situation.current() == here
        inject(headers)
    assert Situation.from_headers(headers) == here
    assert "session" not in Situation().to_text()
