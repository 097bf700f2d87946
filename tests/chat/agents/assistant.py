"""Tests of the weather assistant that run for every framework.

Most of them use the embedded world. What its model never does (write text before a tool call, call tools for ever, call
unknown tools, write malformed arguments) comes from a scripted HTTP server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import socket
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.chat.agents.http_server import Server, send, serving
from tests.chat.agents.laws import NOW, Answer, Talk, spans_agree, talk, times_add_up
from tests.chat.agents.scripted_model import calling, model, saying

from assay.chat.agents import AGENTS, Limits, Setup
from assay.chat.agents._shared.assistant import INSTRUCTIONS, TOOL_DESCRIPTIONS, City, Days, Insight
from assay.chat.agents.own import own_agent_kind
from assay.chat.running.tracing import Tracing
from assay.chat.transcript import ToolCall
from assay.chat.world.embedded import World
from assay.errors import MissingExtraError

HELSINKI = "What is the weather like in Helsinki right now?"
FEW = Limits(model_calls=3, retries=0)
SOME = Limits(model_calls=7, retries=0)
"""More than any framework's own patience: Agent Framework's ends after 3 failures, Pydantic AI's after 1."""
MALFORMED = ("{broken", "[1]", '{"town": "Oslo"}', '{"city": ["Oslo"]}')


@pytest.mark.frameworks
@pytest.mark.slow(seconds=0.3)
class AssistantTests:
    """The tests; each framework's test class sets `name`."""

    name: str
    limit_error: str
    """The framework's error message if the model is called too often."""
    forgets_failed_turns = False
    """Whether a failed turn leaves nothing in the conversation."""
    added_instructions = ""
    """What the framework adds to the assistant's instructions."""
    output_limit = "max_completion_tokens"
    """The request field with the limit of output tokens."""
    fatal_arguments: tuple[str, ...] = ()
    """Malformed arguments that end the turn immediately; the framework has no setting to change that."""

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

    # --- with a misbehaving model ---

    def test_text_before_a_tool_call_is_streamed_but_not_part_of_the_answer(
        self, world: World, tracing: Tracing
    ) -> None:
        answer, _ = self.with_model(world, tracing, [saying("Let me look. ", calling()), saying("It snows.")])
        assert "".join(answer.pieces) == "Let me look. It snows."
        assert answer.text == "It snows."
        check_laws(answer)

    def test_parallel_calls_are_all_made(self, world: World, tracing: Tracing) -> None:
        both = saying("", calling(), calling("get_weather_forecast", {"city": "Rome", "days": 2}))
        answer, asked = self.with_model(world, tracing, [both, saying("Snow here, sun there.")])
        assert sorted(answer.calls) == ["get_current_weather", "get_weather_forecast"]
        assert len([message for message in asked[-1]["messages"] if message["role"] == "tool"]) == 2
        check_laws(answer)

    def test_result_reaches_the_model_as_json(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling()), saying("Snow.")])
        (result,) = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
        text = result if isinstance(result, str) else "".join(part["text"] for part in result)
        assert json.loads(text) == answer.trace.tool_calls[0].result

    def test_token_counts_are_none_if_the_endpoint_reports_none(self, world: World, tracing: Tracing) -> None:
        silent = re.sub(rb'data: [^\n]*"usage"[^\n]*\n\n', b"", saying("Hello."))
        answer, _ = self.with_model(world, tracing, [silent])
        assert answer.reply is not None
        assert (answer.reply.input_tokens, answer.reply.output_tokens) == (None, None)
        check_laws(answer)

    def test_endless_model_is_stopped(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling())])
        assert len(asked) == FEW.model_calls
        assert self.limit_error in str(answer.error)

    def test_always_failing_tool_ends_the_turn_at_the_limit(self, world: World, tracing: Tracing) -> None:
        moves = [saying("", calling("get_current_weather", {"city": "Xyzzyville"}))]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        assert len(asked) == SOME.model_calls
        assert self.limit_error in str(answer.error)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_malformed_calls_end_the_turn_at_the_limit(self, world: World, tracing: Tracing, arguments: str) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling(arguments=arguments))], SOME)
        assert len(asked) == (1 if arguments in self.fatal_arguments else SOME.model_calls)
        assert (self.limit_error in str(answer.error)) == (arguments not in self.fatal_arguments)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_malformed_calls_do_not_end_the_turn(self, world: World, tracing: Tracing, arguments: str) -> None:
        moves = [saying("", calling(arguments=arguments))] * 3 + [saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        if (
            arguments in self.fatal_arguments
        ):  # the framework ends the turn immediately and has no setting to change that
            assert len(asked) == 1
            return
        assert answer.text == "Sorry."
        assert len(answer.calls) == 3
        check_laws(answer)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_broken_arguments_never_reach_a_tool(self, world: World, tracing: Tracing, arguments: str) -> None:
        moves = [saying("", calling("get_current_weather", arguments)), saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves)
        assert not any(call.error is None for call in answer.trace.tool_calls)
        if answer.error is None and len(asked) == 2:
            check_laws(answer)

    def test_unknown_tool_is_not_called(self, world: World, tracing: Tracing) -> None:
        moves = [saying("", calling("send_email", {"to": "x"}), calling())] * 3 + [saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        assert answer.text == "Sorry."
        assert len(asked) == 4
        assert [call.name for call in answer.trace.tool_calls if call.error is not None] == ["send_email"] * 3
        assert sorted(answer.calls) == ["get_current_weather"] * 3 + ["send_email"] * 3
        check_laws(answer)

    def test_calls_of_an_unknown_tool_end_the_turn_at_the_limit(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling("send_email", {"to": "x"}))], SOME)
        assert len(asked) == SOME.model_calls
        assert self.limit_error in str(answer.error)

    def test_requests_contain_the_limits_and_tools(self, world: World, tracing: Tracing) -> None:
        _, (asked, *_) = self.with_model(world, tracing, [saying("Hello.")])
        system, user = asked["messages"]
        assert (system["role"], user["role"], user["content"]) == ("system", "user", "Hello?")
        assert system["content"] == INSTRUCTIONS + self.added_instructions
        assert {name: value for name, value in asked.items() if name not in ("messages", "tools") and value} == {
            "model": "scripted",
            self.output_limit: FEW.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            # "auto" is the endpoint's default if a request has tools and no tool_choice.
            **({"tool_choice": "auto"} if "tool_choice" in asked else {}),
        }

    def test_tool_descriptions_are_the_same_in_every_framework(self, world: World, tracing: Tracing) -> None:
        city, days, insight = (TypeAdapter(kind).json_schema() for kind in (City, Days, Insight))
        _, (asked, *_) = self.with_model(world, tracing, [saying("Hello.")])
        functions = [tool["function"] for tool in asked["tools"]]
        assert {function["name"]: function["description"] for function in functions} == TOOL_DESCRIPTIONS
        assert [told_of_parameters(function["parameters"]) for function in functions] == [
            ({"city": city}, {"city"}),
            ({"city": city, "days": {**days, "default": 5}}, {"city"}),
            ({}, set()),
            ({"insight": insight}, {"insight"}),
        ]
        assert not any(function.get("strict") for function in functions)

    @pytest.mark.parametrize("status", [429, 500])
    def test_model_timeout_is_retried_up_to_the_limit(self, world: World, tracing: Tracing, status: int) -> None:
        async def play(url: str) -> Answer:
            async with talk(self.name, world, tracing, limits=Limits(retries=2), model_url=url) as to:
                return await to.say("Hello?")

        def refuse(handler: BaseHTTPRequestHandler, body: Any) -> None:
            send(handler, b'{"error": {"message": "not now"}}', status=status, retry_after_ms="1")

        with serving(refuse) as server:
            answer = asyncio.run(play(f"{server.url}/v1"))
            assert len(server.asked) == 3
        assert answer.error is not None

    def test_conversation_continues_after_a_failed_turn(self, world: World, tracing: Tracing) -> None:
        """Every tool call in the next request has its result; an endpoint would refuse the request otherwise."""

        async def play(server: Server) -> list[dict[str, Any]]:
            async with talk(self.name, world, tracing, limits=FEW, model_url=f"{server.url}/v1") as to:
                assert (await to.say("first")).error is not None
                assert (await to.say("second")).text == "Hello."
            return list(server.asked[-1][2]["messages"])

        moves = [saying("", calling())] * FEW.model_calls + [saying("Hello.")]
        with model(moves) as server:
            messages = asyncio.run(play(server))
        asked = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert asked == answered
        said = [message["content"] for message in messages if message["role"] == "user"]
        assert said == (["second"] if self.forgets_failed_turns else ["first", "second"])

    def test_closing_the_iterator_stops_the_turn(self, world: World, tracing: Tracing) -> None:
        async def play(server: Server) -> int:
            async with talk(self.name, world, tracing, limits=FEW, model_url=f"{server.url}/v1") as to:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await to.say("first")
                await asyncio.sleep(0.3)
                return len(server.asked)

        with model([saying("", calling())], delay=0.3) as server:
            assert asyncio.run(play(server)) <= 2

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

    def with_model(
        self, world: World, tracing: Tracing, moves: Sequence[bytes], limits: Limits = FEW
    ) -> tuple[Answer, list[dict[str, Any]]]:
        """One turn with a model that sends these responses and repeats the last; also returns its requests."""

        async def play(server: Server) -> Answer:
            async with talk(self.name, world, tracing, limits=limits, model_url=f"{server.url}/v1") as to:
                return await to.say("Hello?")

        with model(moves) as server:
            return asyncio.run(play(server)), [body for _, _, body in server.asked]


def told_of_parameters(schema: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """A schema without its titles, which each framework chooses itself."""
    told = {
        name: {key: value for key, value in said.items() if key != "title"}
        for name, said in schema["properties"].items()
    }
    return told, set(schema.get("required", ()))


def weather_calls(answer: Answer) -> list[ToolCall]:
    """The weather calls in the spans; the model may also look up preferences."""
    return [call for call in answer.trace.tool_calls if "weather" in call.name]


def check_laws(*answers: Answer) -> None:
    """Check that spans agree with the reply, and that times add up."""
    for answer in answers:
        spans_agree(answer)
        times_add_up(answer)
