"""Running turns of an agent in tests, and the laws that hold for every agent in any framework.

`talk` opens an agent in the embedded world, and `Talk.say` runs one turn as the runner does: in its situation, inside a
span. `spans_agree` is the law that the spans agree with the reply.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.chat.agents import AGENTS, Agent, Limits, Reply, Setup
from assay.chat.formats.otel import TurnTrace
from assay.chat.running.tracing import Tracing
from assay.chat.transcript import ToolCall
from assay.chat.world.embedded import World
from assay.chat.world.faults import Fault
from assay.chat.world.preferences import Preferences
from assay.chat.world.quirks import Quirk
from assay.chat.world.situation import Situation
from assay.chat.world.wanted_calls import WantedCall
from assay.chat.world.weather import WeatherClient

NOW = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
"""The simulated time of the tests."""


@dataclass
class Answer:
    """The result of one turn: the chunks, the reply or the error, and the trace."""

    trace: TurnTrace
    pieces: list[str] = field(default_factory=list)
    reply: Reply | None = None
    error: Exception | None = None

    @property
    def text(self) -> str:
        """The reply's text; raises the error of a failed turn."""
        if self.error is not None:
            raise self.error
        assert self.reply is not None
        return self.reply.text

    @property
    def calls(self) -> list[str]:
        """Names of the tools that were called, according to the spans."""
        return [call.name for call in self.trace.tool_calls]


@dataclass
class Talk:
    """An open agent, and everything that a test needs to run turns with it."""

    name: str
    agent: Agent
    setup: Setup
    tracing: Tracing
    turns: dict[str, int] = field(default_factory=dict)

    async def say(
        self,
        message: str,
        *,
        session: str = "one",
        user: str = "ada",
        fault: str | None = None,
        scenario: str = "a test",
        quirk: str | None = None,
        calls: tuple[WantedCall, ...] = (),
    ) -> Answer:
        """Run one turn of a session; `calls` are those that it expects of tools of the agent's own."""
        turn = self.turns[session] = self.turns.get(session, -1) + 1
        situation = Situation(
            scenario,
            0,
            turn,
            Fault.parse(fault) if fault else None,
            NOW,
            f"{self.name} {session}",
            quirk=Quirk.parse(quirk) if quirk else None,
            calls=calls,
        )
        pieces: list[str] = []
        reply: Reply | None = None
        error: Exception | None = None
        with situation.attached(), self.tracing.turn(self.name, session) as watched:
            try:
                async for part in self.agent.answer(session=session, user=user, message=message):
                    assert reply is None, "there is one reply, and it comes last"
                    if isinstance(part, Reply):
                        reply = part
                    else:
                        pieces.append(part)
            except Exception as failure:
                error = failure
        assert (reply is None) == (error is not None), "a turn ends with a reply or with an error"
        return Answer(watched.read(), pieces, reply, error)


@asynccontextmanager
async def talk(
    name: str,
    world: World,
    tracing: Tracing,
    *,
    limits: Limits | None = None,
    preferences: Path | None = None,
    model_url: str | None = None,
) -> AsyncIterator[Talk]:
    """Open an agent in the embedded world; its clients are closed at the end."""
    weather = WeatherClient(world.weather_url, "none", timeout=1.0, retries=1, backoff=0.01, embedded=True)
    setup = Setup(
        model="scripted",
        model_url=model_url or world.model_url,
        weather_url=world.weather_url,
        limits=limits or Limits(),
    ).with_clients(weather=weather, preferences=Preferences(preferences))
    try:
        async with AGENTS.get(name).open(setup) as agent:
            yield Talk(name, agent, setup, tracing)
    finally:
        await weather.aclose()


def spans_agree(answer: Answer) -> None:
    """The law: the spans and the framework's reply report the same calls, failures and tokens."""
    reply, trace = answer.reply, answer.trace
    assert reply is not None, f"the turn failed: {answer.error!r}"
    assert reply.tool_calls is not None
    # Parallel calls may end in any order, so they are compared as a multiset.
    assert _comparable(trace.tool_calls) == _comparable(reply.tool_calls)
    assert (trace.input_tokens, trace.output_tokens) == (reply.input_tokens, reply.output_tokens)


def times_add_up(answer: Answer) -> None:
    """The law: the times of model, tools and overhead add up to the turn's, and none is negative."""
    trace = answer.trace
    parts = (trace.model_seconds, trace.tool_seconds, trace.overhead_seconds)
    assert min(parts) >= 0
    assert abs(sum(parts) - trace.seconds) < 1e-9
    assert trace.model_seconds > 0 or not trace.model_calls


def _comparable(calls: list[ToolCall] | tuple[ToolCall, ...]) -> list[tuple[str, str, str]]:
    # Each framework words failures differently, and some report them as a result too.
    return sorted(
        (
            call.name,
            json.dumps(call.arguments, sort_keys=True),
            "a failure" if call.error is not None else json.dumps(call.result, sort_keys=True),
        )
        for call in calls
    )


def check_laws(*answers: Answer) -> None:
    """Check that spans agree with the reply, and that times add up."""
    for answer in answers:
        spans_agree(answer)
        times_add_up(answer)
