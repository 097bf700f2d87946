"""Tests of the weather assistant that run for every framework.

They use the embedded world; what its model never does is in misbehaving_model.py.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.chat.agents.laws import NOW, Answer, Talk, check_laws, talk
from tests.chat.agents.misbehaving_model import MisbehavingModel

from assay.chat.agents import AGENTS, Limits, Setup
from assay.chat.agents.own import own_agent_kind
from assay.chat.running.tracing import Tracing
from assay.chat.transcript import ToolCall
from assay.chat.world.embedded import World
from assay.errors import MissingExtraError

HELSINKI = "What is the weather like in Helsinki right now?"


@pytest.mark.frameworks
@pytest.mark.slow(seconds=0.3)
class AssistantTests(MisbehavingModel):
    """The tests; each framework's test class sets `name`."""

    quickstart = ""
    """An agent object as in the framework's quick start: `framework:module:attribute`."""

    # --- an agent object of a user's own ---

    def test_an_agent_of_the_quick_start_is_run_without_a_change(
        self, world: World, tracing: Tracing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.setenv(variable, "replaced")  # and restored after the test
        monkeypatch.syspath_prepend(str(Path(__file__).parent / "quickstarts"))
        framework, _, pointer = self.quickstart.partition(":")
        setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)
        kind = own_agent_kind(framework, pointer, "mine")
        assert (kind.uses_setup, kind.uses_model) == (False, True)

        async def play() -> None:
            async with kind.open(setup) as agent:
                mine = Talk("mine", agent, setup, tracing)
                greeting = await mine.say("Hello!")
                assert greeting.text
                assert greeting.trace.model_calls == 1
                # Its own tool is called, with the words of the user, and the spans agree with the reply.
                asked = await mine.say("What's the weather in New York?")
                assert {call.name for call in asked.trace.tool_calls} == {"get_weather"}
                assert asked.trace.tool_calls[0].arguments in ({"city": "New York"}, {"location": "New York"})
                assert asked.reply is not None
                assert asked.reply.tool_calls is not None
                assert len(asked.reply.tool_calls) == len(asked.trace.tool_calls)
                # A fault of the model reaches it: one failure is retried.
                again = await mine.say("Thank you!", fault="model_error*1")
                assert again.text
                await agent.end_session(session="one", user="ada")  # type: ignore[attr-defined]

        asyncio.run(play())

    # --- in the embedded world ---

    def test_answer_uses_the_tools(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say(HELSINKI)
            truth = world.truth("Helsinki", 1, NOW)["current"]
            (call,) = weather_calls(answer)
            assert (call.name, call.arguments) == ("get_current_weather", {"city": "Helsinki"})
            assert call.result["temperature"] == truth["temperature"]
            assert re.search(rf"{truth['temperature']:g}|{truth['temperature']:.0f}", answer.text)
            assert answer.trace.model_calls == 2
            check_laws(answer)

        asyncio.run(play())

    def test_answer_is_streamed(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say(HELSINKI)
            assert len(answer.pieces) > 1
            assert "".join(answer.pieces) == answer.text

        asyncio.run(play())

    def test_conversation_is_remembered(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                await to.say(HELSINKI)
                answer = await to.say("And how about tomorrow?")
                stranger = await to.say("And how about tomorrow?", session="two")
            (call,) = weather_calls(answer)
            assert (call.name, call.arguments["city"]) == ("get_weather_forecast", "Helsinki")
            assert weather_calls(stranger) == []
            check_laws(answer, stranger)

        asyncio.run(play())

    def test_sessions_are_separate(self, world: World, tracing: Tracing) -> None:
        cities = ("Helsinki", "Madrid", "Cairo", "Oslo")

        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                for _ in range(2):
                    answers = await asyncio.gather(
                        *(to.say(f"What is the weather in {city}?", session=city, user=city) for city in cities)
                    )
                    for city, answer in zip(cities, answers, strict=True):
                        assert city in answer.text
                        assert not any(other in answer.text for other in cities if other != city)
                        assert [call.arguments["city"] for call in weather_calls(answer)] == [city]
                        assert answer.trace.model_calls == 2
                    check_laws(*answers)

        asyncio.run(play())

    def test_preferences_belong_to_the_user(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                told = await to.say("I really hate the cold.", user="ada")
                asked = await to.say("What do you know about my preferences?", user="ada", session="two")
                other = await to.say("What do you know about my preferences?", user="bob", session="three")
                assert to.setup.preferences.read("ada")["dislikes_cold"] is True
                assert to.setup.preferences.read("bob") == {}
            assert told.calls == ["update_user_preferences_from_insight"]
            assert asked.calls == other.calls == ["get_user_preferences"]
            assert asked.trace.tool_calls[0].result["dislikes_cold"] is True
            assert other.trace.tool_calls[0].result == {}
            assert "ada" not in json.dumps([call.arguments for call in told.trace.tool_calls])
            check_laws(told, asked, other)

        asyncio.run(play())

    @pytest.mark.parametrize("fault", ["server_error", "timeout", "malformed", "rate_limited"])
    def test_failing_tool_does_not_end_the_turn(self, world: World, tracing: Tracing, fault: str) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say(HELSINKI, fault=fault)
                after = await to.say(HELSINKI)
            assert answer.text
            assert answer.reply is not None
            told = [call for call in answer.reply.tool_calls or () if "weather" in call.name]
            assert told
            for call in (*weather_calls(answer), *told):
                assert call.error
                assert "the weather service" in call.error, "the answer gives the reason, not the name of an error"
            assert weather_calls(after)[-1].error is None
            check_laws(answer, after)

        asyncio.run(play())

    def test_unknown_city_is_reported(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say("What is the weather in Xyzzyville?")
            assert "Xyzzyville" in answer.text
            check_laws(answer)

        asyncio.run(play())

    def test_too_many_model_calls_end_the_turn(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(model_calls=1)) as to:
                answer = await to.say(HELSINKI)
            assert answer.trace.model_calls == 1
            assert self.limit_error in str(answer.error)

        asyncio.run(play())

    @pytest.mark.parametrize("fault", ["model_error", "model_rate_limited"])
    def test_failing_model_ends_the_turn(self, world: World, tracing: Tracing, fault: str) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(retries=0)) as to:
                await to.say(HELSINKI)
                answer = await to.say("And tomorrow?", fault=fault)
                after = await to.say("And the day after tomorrow?")
            assert answer.error is not None
            assert answer.trace.model_calls == 1
            assert any(span.failed for span in answer.trace.spans)
            assert weather_calls(after)[0].arguments["city"] == "Helsinki"
            check_laws(after)

        asyncio.run(play())

    def test_single_model_failure_is_retried(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(retries=1)) as to:
                answer = await to.say(HELSINKI, fault="model_error*1")
            assert "Helsinki" in answer.text
            check_laws(answer)

        asyncio.run(play())

    def test_same_turn_gives_the_same_answer(self, world: World, tracing: Tracing) -> None:
        async def play() -> list[str]:
            async with talk(self.name, world, tracing) as to:
                return [(await to.say(text)).text for text in (HELSINKI, "And tomorrow?", "What should I wear?")]

        assert asyncio.run(play()) == asyncio.run(play())

    # --- connections, resources, installation ---

    def test_agent_makes_no_other_connections(
        self, world: World, tracing: Tracing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, "true")
        monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:3128")
        reached: set[str] = set()
        connect = socket.socket.connect
        look_up = socket.getaddrinfo

        def guarded(self: socket.socket, address: Any) -> None:
            reached.add(str(address[0]))
            connect(self, address)

        def watched(host: Any, *rest: Any, **options: Any) -> Any:
            reached.add(str(host))
            return look_up(host, *rest, **options)

        monkeypatch.setattr(socket.socket, "connect", guarded)
        monkeypatch.setattr(socket, "getaddrinfo", watched)

        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                assert "Helsinki" in (await to.say(HELSINKI)).text

        with caplog.at_level(logging.WARNING):
            asyncio.run(play())
        assert reached == {"127.0.0.1"}
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []

    def test_closing_the_agent_closes_all_resources(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            for _ in range(2):
                async with talk(self.name, world, tracing) as to:
                    await to.say(HELSINKI)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.sleep(0)
            assert not [task for task in others if not task.done()]

        asyncio.run(play())
        gc.collect()  # unclosed resources warn now, and warnings are errors

    def test_missing_framework_error_names_the_extra(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        kind = AGENTS.get(self.name)
        for module in [*sys.modules]:
            if module.startswith(f"assay.chat.agents.{self.name.replace('-', '_')}.") or any(
                module == name or module.startswith(f"{name}.") for name in kind.modules
            ):
                monkeypatch.delitem(sys.modules, module)
        for name in kind.modules:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf'pip install "assay-agents\[{kind.extra}\]"'):
            kind.open(Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url))


def weather_calls(answer: Answer) -> list[ToolCall]:
    """The weather calls in the spans; the model may also look up preferences."""
    return [call for call in answer.trace.tool_calls if "weather" in call.name]
