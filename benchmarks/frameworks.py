"""What a framework costs: a turn in each framework against the same turn without one, interleaved in one run.

The peer is the simplest streaming loop of model and tools, with the same client of the model's endpoint and the same
weather client. Both use the same embedded services, whose time is part of both.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from assay.chat import AGENTS, Agent, AgentKind, Reply, Setup, load_suite
from assay.chat.agents._shared.assistant import INSTRUCTIONS, openai_client
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.experiment import Experiment
from assay.chat.running.playing import Playing
from assay.chat.running.sinks import MemorySink
from benchmarks.measuring import Result, at_most, show

KINDS = ("current", "forecast", "context")
REPEAT = 5
PEER = "no framework"
# A framework that adds more than this to a turn of two model calls deserves a closer look.
MOST_OVERHEAD = 0.040


def _tool(name: str, **properties: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [
    _tool("get_current_weather", city="string"),
    _tool("get_weather_forecast", city="string", days="integer"),
    _tool("get_user_preferences"),
    _tool("update_user_preferences_from_insight", insight="string"),
]


class Loop:
    """The assistant without a framework."""

    def __init__(self, setup: Setup, client: Any) -> None:
        self._setup, self._client = setup, client
        self._sessions: dict[str, list[dict[str, Any]]] = {}

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        messages = self._sessions.setdefault(session, [{"role": "system", "content": INSTRUCTIONS}])
        messages.append({"role": "user", "content": message})
        while True:
            text, calls = "", dict[int, dict[str, str]]()
            stream = await self._client.chat.completions.create(
                model=self._setup.model, messages=messages, tools=TOOLS, stream=True
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    if choice.delta.content:
                        text += choice.delta.content
                        yield choice.delta.content
                    for part in choice.delta.tool_calls or ():
                        call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += part.id or ""
                        call["name"] += part.function.name or ""
                        call["arguments"] += part.function.arguments or ""
            if not calls:
                messages.append({"role": "assistant", "content": text})
                yield Reply(text)
                return
            asked = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in calls.values()
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": asked})
            results = await asyncio.gather(*(self._use(user, c["name"], c["arguments"]) for c in calls.values()))
            for call, result in zip(calls.values(), results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})

    async def end_session(self, *, session: str, user: str) -> None:
        self._sessions.pop(session, None)

    async def _use(self, user: str, name: str, arguments: str) -> Any:
        given = json.loads(arguments or "{}")
        if name == "get_current_weather":
            return await self._setup.weather.current(**given)
        if name == "get_weather_forecast":
            return await self._setup.weather.forecast(**given)
        if name == "get_user_preferences":
            return self._setup.preferences.read(user)
        return self._setup.preferences.learn(user, **given)


@asynccontextmanager
async def _open(setup: Setup) -> AsyncIterator[Agent]:
    async with openai_client(setup) as client:
        yield Loop(setup, client)


LOOP = AgentKind("loop", PEER, _open)


async def _play(experiment: Experiment, sink: MemorySink) -> None:
    async with Playing(experiment) as playing:
        await playing.play(sink)


def main() -> None:
    suite = load_suite("weather").select(kinds=KINDS)
    names = AGENTS.names()
    specs = [AgentSpec(name=PEER, function="benchmarks.frameworks:LOOP"), *(AgentSpec(name=n, agent=n) for n in names)]
    experiment = Experiment(suite=suite, agents=tuple(specs), repeat=REPEAT)
    sink, started = MemorySink(), time.perf_counter()
    asyncio.run(_play(experiment, sink))
    took = time.perf_counter() - started
    walls: dict[str, list[float]] = {}
    overheads: dict[str, list[float]] = {}
    for answer in sink.answers:
        record = answer.record
        if record is not None and record.status == "scored" and record.wall is not None and record.fault is None:
            walls.setdefault(answer.agent, []).append(record.wall)
            overheads.setdefault(answer.agent, []).append(record.overhead or 0.0)
    peer = statistics.median(walls[PEER])
    results: list[Result] = []
    for name in names:
        wall, overhead = statistics.median(walls[name]), statistics.median(overheads[name])
        results.append(
            at_most(
                f"{AGENTS.get(name).title}: a turn, median of {len(walls[name])}; {1000 * overhead:.1f} ms its own",
                f"{1000 * wall:.1f} ms",
                f"{1000 * peer:.1f} ms",
                wall / peer,
                (peer + MOST_OVERHEAD) / peer,
            )
        )
    turns = len(sink.answers)
    print(f"{turns:,} turns in {took:.0f} s, everything included: {1000 * took / turns:.0f} ms a turn")
    show("Agents", results)


if __name__ == "__main__":
    main()
