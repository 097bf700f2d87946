"""Tests of what an assistant does with a model that misbehaves, which run for every framework.

What the model of the embedded world never does (write text before a tool call, call tools for ever, call unknown tools,
write malformed arguments) comes from a scripted HTTP server.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.chat.agents.http_server import Server, send, serving
from tests.chat.agents.laws import Answer, check_laws, talk
from tests.chat.agents.scripted_model import calling, model, saying

from assay.chat.agents import Limits
from assay.chat.agents._shared.assistant import INSTRUCTIONS, TOOL_DESCRIPTIONS, City, Days, Insight
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World

FEW = Limits(model_calls=3, retries=0)
SOME = Limits(model_calls=7, retries=0)
"""More than any framework's own patience: Agent Framework's ends after 3 failures, Pydantic AI's after 1."""
MALFORMED = ("{broken", "[1]", '{"town": "Oslo"}', '{"city": ["Oslo"]}')


class MisbehavingModel:
    """The tests; `AssistantTests` takes them over."""

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
