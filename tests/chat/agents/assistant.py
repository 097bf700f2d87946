"""What holds for the weather assistant in every framework: each framework's test file runs all of it.

Most of it plays in the embedded world. What its model never does (talk before it calls a tool, call for ever, call what
is not there, write broken arguments) comes from a server of the tests' own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.chat.agents.laws import NOW, Answer, spans_agree, talk, times_add_up
from tests.chat.agents.wire import Server, send, serving

from assay.chat.agents import AGENTS, Limits
from assay.chat.agents._shared.assistant import INSTRUCTIONS, TOOLS, City, Days, Insight
from assay.chat.running.tracing import Tracing
from assay.chat.transcript import ToolCall
from assay.chat.world.embedded import World
from assay.errors import MissingExtraError

HELSINKI = "What is the weather like in Helsinki right now?"
FEW = Limits(model_calls=3, retries=0)
SOME = Limits(model_calls=7, retries=0)
"""More than any framework's own patience: Agent Framework's ends after 3 failures, Pydantic AI's after 1."""
MALFORMED = ("{broken", "[1]", '{"town": "Oslo"}', '{"city": ["Oslo"]}')


class AssistantLaws:
    """The laws; a framework's test class says its name."""

    name: str
    limit_error: str
    """What the framework says where the model is called too often."""
    forgets_failed_turns = False
    """Whether a turn that failed leaves nothing behind."""
    added_instructions = ""
    """What the framework tells the model besides the assistant's instructions."""
    output_limit = "max_completion_tokens"
    """The field that tells the model how much it may put out."""
    unbearable: tuple[str, ...] = ()
    """Malformed arguments that end the turn at once, because the framework has no setting against it."""

    # --- in the embedded world ---

    def test_it_answers_from_its_tools(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say(HELSINKI)
            truth = world.truth("Helsinki", 1, NOW)["current"]
            (call,) = weather_calls(answer)
            assert (call.name, call.arguments) == ("get_current_weather", {"city": "Helsinki"})
            assert call.result["temperature"] == truth["temperature"]
            assert re.search(rf"{truth['temperature']:g}|{truth['temperature']:.0f}", answer.text)
            assert answer.trace.model_calls == 2
            lawful(answer)

        asyncio.run(play())

    def test_it_answers_in_pieces(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say(HELSINKI)
            assert len(answer.pieces) > 1
            assert "".join(answer.pieces) == answer.text

        asyncio.run(play())

    def test_it_remembers_the_conversation(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                await to.say(HELSINKI)
                answer = await to.say("And how about tomorrow?")
                stranger = await to.say("And how about tomorrow?", session="two")
            (call,) = weather_calls(answer)
            assert (call.name, call.arguments["city"]) == ("get_weather_forecast", "Helsinki")
            assert weather_calls(stranger) == []
            lawful(answer, stranger)

        asyncio.run(play())

    def test_sessions_do_not_mix(self, world: World, tracing: Tracing) -> None:
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
                    lawful(*answers)

        asyncio.run(play())

    def test_preferences_are_the_users(self, world: World, tracing: Tracing) -> None:
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
            lawful(told, asked, other)

        asyncio.run(play())

    @pytest.mark.parametrize("fault", ["server_error", "timeout", "malformed", "rate_limited"])
    def test_a_tool_that_fails_does_not_end_the_turn(self, world: World, tracing: Tracing, fault: str) -> None:
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
                assert "the weather service" in call.error, "the reason is told, not the name of an error"
            assert weather_calls(after)[-1].error is None
            lawful(answer, after)

        asyncio.run(play())

    def test_an_unknown_city_is_told(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing) as to:
                answer = await to.say("What is the weather in Xyzzyville?")
            assert "Xyzzyville" in answer.text
            lawful(answer)

        asyncio.run(play())

    def test_too_many_calls_of_the_model_end_the_turn(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(model_calls=1)) as to:
                answer = await to.say(HELSINKI)
            assert answer.trace.model_calls == 1
            assert self.limit_error in str(answer.error)

        asyncio.run(play())

    @pytest.mark.parametrize("fault", ["model_error", "model_rate_limited"])
    def test_a_model_that_fails_ends_the_turn(self, world: World, tracing: Tracing, fault: str) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(retries=0)) as to:
                await to.say(HELSINKI)
                answer = await to.say("And tomorrow?", fault=fault)
                after = await to.say("And the day after tomorrow?")
            assert answer.error is not None
            assert answer.trace.model_calls == 1
            assert any(span.failed for span in answer.trace.spans)
            assert weather_calls(after)[0].arguments["city"] == "Helsinki"
            lawful(after)

        asyncio.run(play())

    def test_a_model_that_fails_once_is_asked_again(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            async with talk(self.name, world, tracing, limits=Limits(retries=1)) as to:
                answer = await to.say(HELSINKI, fault="model_error*1")
            assert "Helsinki" in answer.text
            lawful(answer)

        asyncio.run(play())

    def test_the_same_turn_gives_the_same_answer(self, world: World, tracing: Tracing) -> None:
        async def play() -> list[str]:
            async with talk(self.name, world, tracing) as to:
                return [(await to.say(text)).text for text in (HELSINKI, "And tomorrow?", "What should I wear?")]

        assert asyncio.run(play()) == asyncio.run(play())

    # --- with a model that does what no good one does ---

    def test_text_before_a_call_is_heard_and_is_not_the_answer(self, world: World, tracing: Tracing) -> None:
        answer, _ = self.with_model(world, tracing, [saying("Let me look. ", calling()), saying("It snows.")])
        assert "".join(answer.pieces) == "Let me look. It snows."
        assert answer.text == "It snows."
        lawful(answer)

    def test_parallel_calls_are_all_made(self, world: World, tracing: Tracing) -> None:
        both = saying("", calling(), calling("get_weather_forecast", {"city": "Rome", "days": 2}))
        answer, asked = self.with_model(world, tracing, [both, saying("Snow here, sun there.")])
        assert sorted(answer.calls) == ["get_current_weather", "get_weather_forecast"]
        assert len([message for message in asked[-1]["messages"] if message["role"] == "tool"]) == 2
        lawful(answer)

    def test_a_result_reaches_the_model_as_json(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling()), saying("Snow.")])
        (result,) = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
        text = result if isinstance(result, str) else "".join(part["text"] for part in result)
        assert json.loads(text) == answer.trace.tool_calls[0].result

    def test_tokens_that_nobody_tells_are_not_known(self, world: World, tracing: Tracing) -> None:
        silent = re.sub(rb'data: [^\n]*"usage"[^\n]*\n\n', b"", saying("Hello."))
        answer, _ = self.with_model(world, tracing, [silent])
        assert answer.reply is not None
        assert (answer.reply.input_tokens, answer.reply.output_tokens) == (None, None)
        lawful(answer)

    def test_a_model_that_never_ends_is_stopped(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling())])
        assert len(asked) == FEW.model_calls
        assert self.limit_error in str(answer.error)

    def test_a_tool_that_always_fails_ends_the_turn_at_the_limit(self, world: World, tracing: Tracing) -> None:
        moves = [saying("", calling("get_current_weather", {"city": "Xyzzyville"}))]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        assert len(asked) == SOME.model_calls
        assert self.limit_error in str(answer.error)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_malformed_calls_end_the_turn_at_the_limit(self, world: World, tracing: Tracing, arguments: str) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling(arguments=arguments))], SOME)
        assert len(asked) == (1 if arguments in self.unbearable else SOME.model_calls)
        assert (self.limit_error in str(answer.error)) == (arguments not in self.unbearable)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_malformed_calls_are_borne(self, world: World, tracing: Tracing, arguments: str) -> None:
        moves = [saying("", calling(arguments=arguments))] * 3 + [saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        if arguments in self.unbearable:  # the framework ends the turn at once, and has no setting for it
            assert len(asked) == 1
            return
        assert answer.text == "Sorry."
        assert len(answer.calls) == 3
        lawful(answer)

    @pytest.mark.parametrize("arguments", MALFORMED)
    def test_broken_arguments_never_reach_a_tool(self, world: World, tracing: Tracing, arguments: str) -> None:
        moves = [saying("", calling("get_current_weather", arguments)), saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves)
        assert not any(call.error is None for call in answer.trace.tool_calls)
        if answer.error is None and len(asked) == 2:
            lawful(answer)

    def test_a_tool_that_is_not_there_is_not_called(self, world: World, tracing: Tracing) -> None:
        moves = [saying("", calling("send_email", {"to": "x"}), calling())] * 3 + [saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves, SOME)
        assert answer.text == "Sorry."
        assert len(asked) == 4
        assert [call.name for call in answer.trace.tool_calls if call.error is not None] == ["send_email"] * 3
        assert sorted(answer.calls) == ["get_current_weather"] * 3 + ["send_email"] * 3
        lawful(answer)

    def test_calls_of_a_tool_that_is_not_there_end_the_turn_at_the_limit(self, world: World, tracing: Tracing) -> None:
        answer, asked = self.with_model(world, tracing, [saying("", calling("send_email", {"to": "x"}))], SOME)
        assert len(asked) == SOME.model_calls
        assert self.limit_error in str(answer.error)

    def test_limits_and_tools_are_what_the_model_is_told(self, world: World, tracing: Tracing) -> None:
        _, (asked, *_) = self.with_model(world, tracing, [saying("Hello.")])
        system, user = asked["messages"]
        assert (system["role"], user["role"], user["content"]) == ("system", "user", "Hello?")
        assert system["content"] == INSTRUCTIONS + self.added_instructions
        assert {name: value for name, value in asked.items() if name not in ("messages", "tools") and value} == {
            "model": "scripted",
            self.output_limit: FEW.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            # Where tools are told and this is not, it is what the endpoint takes it for.
            **({"tool_choice": "auto"} if "tool_choice" in asked else {}),
        }

    def test_the_model_reads_the_same_of_every_tool(self, world: World, tracing: Tracing) -> None:
        city, days, insight = (TypeAdapter(kind).json_schema() for kind in (City, Days, Insight))
        _, (asked, *_) = self.with_model(world, tracing, [saying("Hello.")])
        functions = [tool["function"] for tool in asked["tools"]]
        assert {function["name"]: function["description"] for function in functions} == TOOLS
        assert [told_of_parameters(function["parameters"]) for function in functions] == [
            ({"city": city}, {"city"}),
            ({"city": city, "days": {**days, "default": 5}}, {"city"}),
            ({}, set()),
            ({"insight": insight}, {"insight"}),
        ]
        assert not any(function.get("strict") for function in functions)

    @pytest.mark.parametrize("status", [429, 500])
    def test_a_model_that_never_answers_is_asked_as_often_as_the_limit_says(
        self, world: World, tracing: Tracing, status: int
    ) -> None:
        async def play(url: str) -> Answer:
            async with talk(self.name, world, tracing, limits=Limits(retries=2), model_url=url) as to:
                return await to.say("Hello?")

        def refuse(handler: BaseHTTPRequestHandler, body: Any) -> None:
            send(handler, b'{"error": {"message": "not now"}}', status=status, retry_after_ms="1")

        with serving(refuse) as server:
            answer = asyncio.run(play(f"{server.url}/v1"))
            assert len(server.asked) == 3
        assert answer.error is not None

    def test_a_failed_turn_leaves_the_conversation_usable(self, world: World, tracing: Tracing) -> None:
        """Every call of a tool in what the next request says has its result, or an endpoint would refuse it."""

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

    def test_who_stops_listening_stops_the_turn(self, world: World, tracing: Tracing) -> None:
        async def play(server: Server) -> int:
            async with talk(self.name, world, tracing, limits=FEW, model_url=f"{server.url}/v1") as to:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await to.say("first")
                await asyncio.sleep(0.3)
                return len(server.asked)

        with model([saying("", calling())], delay=0.3) as server:
            assert asyncio.run(play(server)) <= 2

    # --- surroundings ---

    def test_nothing_connects_anywhere_else(
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

    def test_closing_leaves_nothing_open(self, world: World, tracing: Tracing) -> None:
        async def play() -> None:
            for _ in range(2):
                async with talk(self.name, world, tracing) as to:
                    await to.say(HELSINKI)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.sleep(0)
            assert not [task for task in others if not task.done()]

        asyncio.run(play())
        gc.collect()  # what was not closed warns now, and warnings are errors

    def test_a_missing_framework_says_what_installs_it(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        kind = AGENTS.get(self.name)
        for module in [*sys.modules]:
            if module.startswith(f"assay.chat.agents.{self.name.replace('-', '_')}.") or any(
                module == name or module.startswith(f"{name}.") for name in kind.modules
            ):
                monkeypatch.delitem(sys.modules, module)
        for name in kind.modules:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf'pip install "assay-agents\[{kind.extra}\]"'):
            kind.open(None)  # type: ignore[arg-type]

    def with_model(
        self, world: World, tracing: Tracing, moves: Sequence[bytes], limits: Limits = FEW
    ) -> tuple[Answer, list[dict[str, Any]]]:
        """One turn with a model that makes these moves and repeats the last; and what it was asked."""

        async def play(server: Server) -> Answer:
            async with talk(self.name, world, tracing, limits=limits, model_url=f"{server.url}/v1") as to:
                return await to.say("Hello?")

        with model(moves) as server:
            return asyncio.run(play(server)), [body for _, _, body in server.asked]


def told_of_parameters(schema: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """What a schema says to the model; titles are the frameworks' own."""
    told = {
        name: {key: value for key, value in said.items() if key != "title"}
        for name, said in schema["properties"].items()
    }
    return told, set(schema.get("required", ()))


def weather_calls(answer: Answer) -> list[ToolCall]:
    """The calls for the weather, by the spans; the model may look at preferences besides."""
    return [call for call in answer.trace.tool_calls if "weather" in call.name]


def lawful(*answers: Answer) -> None:
    """Both laws."""
    for answer in answers:
        spans_agree(answer)
        times_add_up(answer)


# --- a model on the wire ---------------------------------------------------------------------------------------------


def calling(name: str = "get_current_weather", arguments: object = None) -> dict[str, Any]:
    """A call of a tool."""
    given = {"city": "Oslo"} if arguments is None else arguments
    written = given if isinstance(given, str) else json.dumps(given)
    return {"type": "function", "function": {"name": name, "arguments": written}}


def saying(text: str, *calls: dict[str, Any]) -> bytes:
    """A move of the model, as the stream of events that it is sent as."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r"\S+\s*", text)]
    deltas += [
        {"tool_calls": [{"index": place, "id": f"call_{place}_UNIQUE", **call}]} for place, call in enumerate(calls)
    ]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_768_467_600, "model": "scripted"}
    return b"".join(f"data: {json.dumps({**base, **chunk})}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


@contextmanager
def model(moves: Sequence[bytes], *, delay: float = 0.0) -> Iterator[Server]:
    """A model that makes these moves, one a request, and repeats the last."""
    made = 0

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        nonlocal made
        move = moves[min(made, len(moves) - 1)].replace(b"UNIQUE", str(made).encode())
        made += 1
        time.sleep(delay)
        send(handler, move, content_type="text/event-stream")

    with serving(respond) as server:
        yield server
