"""The time to the first text, measured apart with a model that streams at the rate of a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from assay.chat.agents import AGENTS, Agent, Setup
from assay.chat.running.conversation import Job, PlayedTurn, play
from assay.chat.running.streamed_times import StreamedTimes, is_measured, measure_streamed_times, streamed_note
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World
from assay.chat.world.situation import Situation
from assay.runs.planning import plan_experiment


class HostHere:
    """An agent in this process."""

    def __init__(self, agent: Agent, tracing: Tracing) -> None:
        self._agent = agent
        self._tracing = tracing

    def play(self, job: Job) -> AsyncIterator[PlayedTurn]:
        return play(self._agent, job, tracing=self._tracing, preferences=None)


@pytest.mark.frameworks
@pytest.mark.slow(seconds=6)
def test_a_model_at_a_believable_rate_takes_its_time_and_the_first_text_comes_before_the_last() -> None:
    tracing = Tracing()

    async def measured(world: World) -> StreamedTimes | None:
        setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)
        try:
            async with AGENTS.get("agent-framework").open(setup) as agent:
                host: Any = HostHere(agent, tracing)
                return await measure_streamed_times("mine", host, 60)
        finally:
            await setup.aclose()

    with World(seed=42) as world:
        found = asyncio.run(measured(world))
    assert found is not None
    assert (found.speed, found.turns) == (100.0, 3)
    # Two pauses of 0.2 s for the prompt, one for each call of the model; the answer has far more than 20 tokens.
    assert found.first_text >= 0.4
    assert found.wall >= found.first_text + 0.2


@pytest.mark.parametrize(
    ("options", "is_so"),
    [
        ({"limit": 10}, True),
        ({"limit": 9}, False),
        ({"limit": 10, "model_speed": 0.0}, False),
        ({"limit": 10, "model_speed": 60.0}, False),
        ({"suite": "robustness"}, False),
        ({"suite": "restart"}, False),
        ({"suite": "shop"}, False),
    ],
)
def test_it_is_measured_in_plain_runs_that_are_long_enough(options: dict[str, Any], is_so: bool) -> None:
    assert is_measured(plan_experiment(agents="agent-framework", **options)) is is_so


def test_the_rate_travels_with_the_turn() -> None:
    situation = Situation("s", speed=100.0)
    assert Situation.from_text(situation.to_text()) == situation
    assert "speed" not in Situation("s").to_text()


def test_the_note_states_the_rate() -> None:
    assert streamed_note({}) == []
    (note,) = streamed_note({"a": StreamedTimes(100.0, 3, 0.41, 1.2)})
    assert note.startswith("Time until the first text, and of the whole turn, ")
    assert "if the model streams 100 tokens per second" in note
    assert note.endswith("a 410 and 1,200 ms.")
