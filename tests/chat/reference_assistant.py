"""The weather assistant in plain Python, without any framework, and a way to lead it through a suite.

It is what the frameworks can be held against: the loop of model and tools in its simplest form, with its own account of
every call. Where the model cannot be reached it says so, as an assistant should.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import INSTRUCTIONS, openai_client
from assay.chat.suites import Scenario, Suite
from assay.chat.transcript import ToolCall, Transcript, Turn
from assay.chat.world.embedded import World
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient
from assay.errors import AssayError

if TYPE_CHECKING:  # imported by those who play it: collecting tests imports this module in every worker
    from openai import AsyncOpenAI

APOLOGY = (
    "I'm sorry, I couldn't reach my language model just now. Please try again in a moment, or check a local forecast "
    "instead."
)


def _tool(name: str, says: str, **properties: dict[str, Any]) -> dict[str, Any]:
    required = [key for key, kind in properties.items() if kind["type"] == "string"]
    table = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": says, "parameters": table}}


_TEXT, _DAYS = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 5}
TOOLS = [
    _tool("get_current_weather", "Tell the weather in a city right now.", city=_TEXT),
    _tool("get_weather_forecast", "Tell the weather in a city on the coming days.", city=_TEXT, days=_DAYS),
    _tool("get_user_preferences", "Tell what the user is known to like and dislike."),
    _tool("update_user_preferences_from_insight", "Keep what the user told about themselves.", insight=_TEXT),
]


@dataclass
class ReferenceAssistant:
    """Answers turns; its memory is a list of messages for each session."""

    setup: Setup
    client: AsyncOpenAI
    sessions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        from openai import OpenAIError

        messages = self.sessions.setdefault(session, [{"role": "system", "content": INSTRUCTIONS}])
        messages.append({"role": "user", "content": message})
        calls: list[ToolCall] = []
        try:
            text = await self._converse(messages, user, calls)
        except OpenAIError:
            text = APOLOGY
        messages.append({"role": "assistant", "content": text})
        yield text
        yield Reply(text, tuple(calls))

    async def _converse(self, messages: list[dict[str, Any]], user: str, calls: list[ToolCall]) -> str:
        """Ask the model, do what it wants, and ask again, until it answers."""
        from openai.types.chat import ChatCompletion

        limits = self.setup.limits
        for _ in range(limits.model_calls):
            body = {"model": self.setup.model, "messages": messages, "tools": TOOLS, "max_tokens": limits.max_tokens}
            # The client's own method compares all of this with its types first, which takes longer than the rest.
            completion: Any = await self.client.post("/chat/completions", body=body, cast_to=ChatCompletion)
            said = completion.choices[0].message
            if not said.tool_calls:
                return str(said.content or "")
            messages.append(said.model_dump(exclude_none=True))
            made = await asyncio.gather(*(self._call(call.function, user) for call in said.tool_calls))
            calls += made
            for call, done in zip(said.tool_calls, made, strict=True):
                told = done.result if done.error is None else {"status": "error", "error_message": done.error}
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(told)})
        return APOLOGY

    async def _call(self, function: Any, user: str) -> ToolCall:
        arguments = json.loads(function.arguments or "{}")
        weather, known = self.setup.weather, self.setup.preferences
        tools: Mapping[str, Callable[..., Any]] = {
            "get_current_weather": weather.current,
            "get_weather_forecast": weather.forecast,
            "get_user_preferences": lambda: known.read(user),
            "update_user_preferences_from_insight": lambda insight: known.learn(user, insight),
        }
        started = time.perf_counter()
        call = ToolCall(name=function.name, arguments=arguments)
        try:
            result = tools[function.name](**arguments)
            call.result = await result if inspect.isawaitable(result) else result
        except AssayError as error:
            call.error = str(error)
        call.duration = time.perf_counter() - started
        return call


@asynccontextmanager
async def opened(world: World) -> AsyncIterator[ReferenceAssistant]:
    """The assistant in a world; patient enough for a busy machine."""
    weather = WeatherClient(world.weather_url, "none", timeout=2.0, retries=1, backoff=0.02, embedded=True)
    setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)
    setup = setup.with_clients(weather=weather)
    try:
        async with openai_client(setup) as client:
            yield ReferenceAssistant(setup, client)
    finally:
        await weather.aclose()


async def play(suite: Suite, world: World, *, at_once: int = 6) -> list[Transcript]:
    """Lead the assistant through all scenarios of a suite."""
    free = asyncio.Semaphore(at_once)
    async with opened(world) as assistant:

        async def one(scenario: Scenario) -> Transcript:
            async with free:
                return await _conversation(suite, scenario, world, assistant)

        return list(await asyncio.gather(*map(one, suite.scenarios)))


async def _conversation(suite: Suite, scenario: Scenario, world: World, assistant: ReferenceAssistant) -> Transcript:
    known = assistant.setup.preferences
    user = session = scenario.id
    if scenario.preferences is not None:
        known.write(user, scenario.preferences)
    turns = []
    for at, turn in enumerate(scenario.turns):
        now = suite.clock_of(scenario)
        truth = turn.truth
        if turn.weather is not None:
            truth = world.truth(turn.weather.city, turn.weather.days, now)
        with Situation(scenario.id, 0, at, scenario.fault_of(at), now, session).attached():
            started = time.perf_counter()
            parts = [part async for part in assistant.answer(session=session, user=user, message=turn.user)]
        reply = parts[-1]
        assert isinstance(reply, Reply)
        turns.append(
            Turn(
                user=turn.user,
                assistant=reply.text,
                truth=truth,
                tool_calls=list(reply.tool_calls or ()),
                expected_calls=turn.calls,
                response_time=time.perf_counter() - started,
                checks=turn.checks,
                says=turn.says,
                never_says=turn.never_says,
            )
        )
    return Transcript(
        agent="reference",
        scenario=scenario.id,
        domain=suite.domain,
        language=suite.language,
        names=suite.names,
        preferences=known.read(user) or None,
        turns=turns,
    )
