"""Embedded services that other machines can reach answer only requests that have the key of the run."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from assay.chat.running.environment import Environment, Reach
from assay.chat.world.embedded import World
from assay.errors import UsageError
from assay.redaction import redacted


def test_only_requests_with_the_key_are_answered() -> None:
    async def ask() -> list[int]:
        reach = Reach.to("127.0.0.1")
        assert reach is not None
        found = []
        async with Environment().opened(reach=reach) as services, httpx.AsyncClient() as client:
            setup = services.setup()
            assert (setup.model_key, setup.weather_key) == (reach.token, reach.token)
            assert reach.token not in redacted(f"the key {reach.token} was wrong")
            for key in (reach.token, "none", reach.token[:-1]):
                asked = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
                headers = {"Authorization": f"Bearer {key}"}
                answer = await client.post(f"{setup.model_url}/chat/completions", json=asked, headers=headers)
                found.append(answer.status_code)
                address = f"{setup.weather_url}/data/2.5/weather"
                found.append((await client.get(address, params={"q": "Oslo", "appid": key})).status_code)
        return found

    assert asyncio.run(ask()) == [200, 200, 401, 401, 401, 401]


def test_each_run_has_a_key_of_its_own_and_loopback_needs_none() -> None:
    first, second = Reach.to("127.0.0.1"), Reach.to("127.0.0.1")
    assert first is not None
    assert second is not None
    assert first.token != second.token
    assert Reach.to(None) is None


def test_other_addresses_are_refused_without_a_key() -> None:
    with pytest.raises(UsageError, match="needs a token"), World(host="0.0.0.0"):
        pass
