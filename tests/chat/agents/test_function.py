"""Any callable can be an agent, whatever its parameters and its way to answer."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.chat.agents import AgentKind, Reply, Setup
from assay.chat.agents._shared.histories import SessionHistories
from assay.chat.agents.function import FunctionAgent, function_agent_kind
from assay.chat.transcript import ToolCall
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient
from assay.errors import UsageError

NOWHERE = Setup(model="scripted", model_url="http://127.0.0.1:1/v1", weather_url="http://127.0.0.1:1")


async def turn(agent: Any, message: str = "Hello", *, session: str = "one", user: str = "ada") -> list[str | Reply]:
    return [part async for part in agent.answer(session=session, user=user, message=message)]


def answered(function: Callable[..., Any], message: str = "Hello") -> list[str | Reply]:
    return asyncio.run(turn(FunctionAgent("mine", function), message))


# --- parameters ------------------------------------------------------------------------------------------------------


def only_text(text: str) -> str:
    return text


def text_and_past(text: str, past: list[dict[str, str]]) -> str:
    return f"{text} after {len(past)}"


def by_name(*, user: str, message: str, session: str, history: list[dict[str, str]]) -> str:
    return f"{user} in {session} says {message} after {len(history)}"


def by_some_names(session: str, message: str) -> str:
    return f"{session}: {message}"


def positional_only(text: str, past: list[dict[str, str]], /) -> str:
    return f"{text} after {len(past)}"


def with_default(text: str, temperature: float = 0.5) -> str:
    return f"{text} at {temperature}"


def anything(**given: Any) -> str:
    return ",".join(sorted(given))


def mixed(text: str, /, **given: Any) -> str:
    return f"{text}:" + ",".join(sorted(given))


def listed(*given: Any) -> str:
    return str(len(given))


class Spoken:
    def __call__(self, message: str) -> str:
        return message

    async def later(self, message: str) -> str:
        return message


class AsyncCallable:
    async def __call__(self, message: str) -> str:
        return message


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (only_text, "Hello"),
        (text_and_past, "Hello after 0"),
        (by_name, "ada in one says Hello after 0"),
        (by_some_names, "one: Hello"),
        (positional_only, "Hello after 0"),
        (with_default, "Hello at 0.5"),
        (anything, "history,message,session,user"),
        (mixed, "Hello:history,session,user"),
        (listed, "1"),
        (Spoken(), "Hello"),
        (Spoken().later, "Hello"),
        (AsyncCallable(), "Hello"),
        (functools.partial(with_default, temperature=1.0), "Hello at 1.0"),
        (lambda message: Spoken().later(message), "Hello"),
        (str.upper, "HELLO"),
    ],
)
def test_parameters_select_the_arguments(function: Callable[..., Any], text: str) -> None:
    assert answered(function) == [Reply(text)]


def wants_more(message: str, history: object, database: object) -> str:
    return ""


def wants_a_keyword(*, message: str, database: object) -> str:
    return ""


def wants_nothing() -> str:
    return ""


def wants_no_message(session: str) -> str:
    return ""


@pytest.mark.parametrize("function", [wants_more, wants_a_keyword])
def test_unknown_required_parameter_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="has an unknown parameter 'database'"):
        FunctionAgent("mine", function)


@pytest.mark.parametrize("function", [wants_nothing, wants_no_message])
def test_function_without_a_message_parameter_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="has no parameter for the message"):
        FunctionAgent("mine", function)


# --- answers ---------------------------------------------------------------------------------------------------------


async def in_async_pieces(message: str) -> AsyncIterator[str]:
    yield "Good "
    await asyncio.sleep(0)
    yield "day"


def in_pieces(message: str) -> Iterator[str]:
    yield "Good "
    yield "day"


async def pieces_then_account(message: str) -> AsyncIterator[str | dict[str, Any]]:
    yield "Let me see. "
    yield {"text": "Sun", "tool_calls": [{"name": "look", "arguments": {"at": "sky"}}], "input_tokens": 3}


@pytest.mark.parametrize("function", [in_async_pieces, in_pieces])
def test_chunks_are_streamed_and_joined(function: Callable[..., Any]) -> None:
    assert answered(function) == ["Good ", "day", Reply("Good day")]


def test_chunks_may_be_followed_by_a_reply() -> None:
    *pieces, reply = answered(pieces_then_account)
    assert pieces == ["Let me see. "]
    assert reply == Reply("Sun", (ToolCall(name="look", arguments={"at": "sky"}),), 3)


def test_reply_is_passed_on_unchanged() -> None:
    reply = Reply("Sun", (), 1, 2)
    assert answered(lambda message: reply) == [reply]


@pytest.mark.parametrize(
    "call",
    [
        {"name": "look", "arguments": {"at": "sky"}, "result": 3},
        {"name": "look", "arguments": '{"at": "sky"}', "result": 3},
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}, "result": 3},
        {"function": {"name": "look", "arguments": {"at": "sky"}, "result": 3}},
    ],
)
def test_tool_calls_may_be_nested_as_openai_nests_them(call: dict[str, Any]) -> None:
    (reply,) = answered(lambda message: {"text": "x", "tool_calls": [call]})
    assert isinstance(reply, Reply)
    assert reply.tool_calls == (ToolCall(name="look", arguments={"at": "sky"}, result=3),)


def test_results_that_are_not_json_become_text() -> None:
    (reply,) = answered(lambda message: {"text": "x", "tool_calls": [{"name": "look", "result": {"path": Path("a")}}]})
    assert isinstance(reply, Reply)
    assert reply.tool_calls is not None
    assert reply.tool_calls[0].result == {"path": "a"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "returned nothing, not an answer. Return a text, a dict with 'text', or a Reply"),
        (7, "returned int, not an answer"),
        ({}, "returned an invalid answer: text: Field required"),
        ({"text": 7}, "returned an invalid answer: text: Input should be a valid string"),
        ({"text": "x", "tool_call": []}, "tool_call: Extra inputs are not permitted. Did you mean 'tool_calls'?"),
        ({"text": "x", "tool_calls": [{"arguments": {}}]}, "returned an invalid answer: name: Field required"),
        ({"text": "x", "input_tokens": -1}, "returned an invalid answer: input_tokens"),
    ],
)
def test_invalid_answer_gets_a_clear_error(given: object, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        answered(lambda message: given)
    assert words in str(caught.value)


def goes_on(message: str) -> Iterator[Any]:
    yield {"text": "all"}
    yield "more"


def test_output_after_the_reply_is_an_error() -> None:
    with pytest.raises(UsageError, match="yielded more after its complete answer"):
        answered(goes_on)


def test_exception_of_the_function_is_the_turns_error() -> None:
    def fails(message: str) -> str:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        answered(fails)


def test_stop_iteration_does_not_hang() -> None:
    def stops(message: str) -> str:
        raise StopIteration("early")

    with pytest.raises(RuntimeError, match="raised StopIteration: early"):
        answered(stops)


# --- memory, threads, time -------------------------------------------------------------------------------------------


def test_history_belongs_to_the_session_and_is_a_copy() -> None:
    async def play() -> None:
        def told(message: str, history: list[dict[str, str]]) -> str:
            said = "|".join(f"{one['role']}:{one['content']}" for one in history)
            history.clear()
            return said

        agent = FunctionAgent("mine", told)
        assert await turn(agent, "a") == [Reply("")]
        assert await turn(agent, "b") == [Reply("user:a|assistant:")]
        assert await turn(agent, "c", session="two") == [Reply("")]
        assert await turn(agent, "d") == [Reply("user:a|assistant:|user:b|assistant:user:a|assistant:")]

    asyncio.run(play())


def test_failed_turn_is_not_added_to_the_history() -> None:
    async def play() -> None:
        def fails_once(message: str, history: list[dict[str, str]]) -> str:
            if message == "fail":
                raise LookupError
            return str(len(history))

        agent = FunctionAgent("mine", fails_once)
        with pytest.raises(LookupError):
            await turn(agent, "fail")
        assert await turn(agent, "again") == [Reply("0")]

    asyncio.run(play())


def test_histories_are_bounded() -> None:
    kept = SessionHistories(messages=4, sessions=2)
    for number in range(5):
        kept.add("one", f"q{number}", f"a{number}")
    assert [message["content"] for message in kept.read("one")] == ["q3", "a3", "q4", "a4"]
    kept.add("two", "q", "a")
    kept.add("one", "q", "a")
    kept.add("three", "q", "a")
    assert kept.read("two") == []
    assert len(kept.read("one")) == 4


def test_blocking_functions_run_concurrently() -> None:
    """Twelve functions that wait for each other: more than the loop's default pool has threads on a small machine."""
    together = threading.Barrier(12, timeout=60)

    async def play() -> None:
        def waits(message: str) -> str:
            together.wait()
            return message

        agent = FunctionAgent("mine", waits)
        await asyncio.gather(*(turn(agent, session=str(number)) for number in range(12)))

    asyncio.run(play())
    assert not together.broken


def test_function_that_never_returns_does_not_block_the_loop_from_closing() -> None:
    release, returned = threading.Event(), threading.Event()

    def waits(message: str) -> str:
        release.wait(60)
        returned.set()
        return "late"

    async def play() -> None:
        agent = FunctionAgent("mine", waits)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await turn(agent)

    asyncio.run(play())  # would wait for the threads of the loop's default pool
    assert not returned.is_set()
    release.set()


def test_function_that_yields_without_end_runs_out_of_time() -> None:
    def endless(text: str) -> Iterator[str]:
        while True:
            yield text

    async def impatient() -> None:
        async with asyncio.timeout(0.2):
            await turn(FunctionAgent("mine", endless))

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())


def test_slow_calls_between_quick_ones_do_not_delay_the_loop() -> None:
    waits = threading.Event()

    def sometimes_slow(text: str) -> str:
        if text == "slow":
            waits.wait(10)
        return text

    async def both() -> list[list[str | Reply]]:
        agent = FunctionAgent("mine", sometimes_slow)
        quick = [await turn(agent, f"{at}") for at in range(40)]
        slow = asyncio.create_task(turn(agent, "slow", session="two"))
        await asyncio.sleep(0.05)
        quick.append(await turn(agent, "after"))
        waits.set()
        return [*quick, await slow]

    said = [f"{at}" for at in range(40)]
    assert asyncio.run(both()) == [[Reply(text)] for text in (*said, "after", "slow")]


def test_situation_is_available_in_the_thread() -> None:
    async def play() -> None:
        agent = FunctionAgent("mine", lambda message: Situation.current().scenario)
        with Situation("rain").attached():
            assert await turn(agent) == [Reply("rain")]

    asyncio.run(play())


def test_closing_the_iterator_closes_the_generator() -> None:
    closed = []

    async def endless(message: str) -> AsyncIterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    async def play() -> None:
        parts: Any = FunctionAgent("mine", endless).answer(session="one", user="ada", message="Hello")
        assert await anext(parts) == "x"
        await parts.aclose()
        assert closed == [True]

    asyncio.run(play())


# --- loading ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "a_bot_of_mine.py").write_text(
        textwrap.dedent(
            """
            from contextlib import asynccontextmanager
            from assay.chat.agents import AgentKind, Reply
            from assay.chat.agents.function import FunctionAgent

            def answer(message):
                return "mine: " + message

            class Bot:
                def reply(self, message):
                    return "bot: " + message

            class Whole:
                async def answer(self, *, session, user, message):
                    yield Reply("whole: " + message)

            bot = Bot()
            whole = Whole()
            number = 7
            kind = FunctionAgent("inner", answer).kind()
            """
        )
    )
    (tmp_path / "a_broken_bot.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "a_failing_bot.py").write_text("1 / 0\n")
    yield "a_bot_of_mine"
    for name in ("a_bot_of_mine", "a_broken_bot", "a_failing_bot"):
        sys.modules.pop(name, None)


def test_function_is_found_in_the_current_folder(module: str) -> None:
    assert asyncio.run(turn(FunctionAgent.from_spec(f"{module}:answer"))) == [Reply("mine: Hello")]
    assert asyncio.run(turn(FunctionAgent.from_spec(f"{module}:bot.reply"))) == [Reply("bot: Hello")]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("a_bot_of_mine", "is not of the form module:attribute. Write module:attribute"),
        ("a_bot_of_mine:", "is not of the form module:attribute"),
        ("a_bot_of_mine:answer()", "is not of the form module:attribute"),
        ("../a_bot_of_mine:answer", "is not of the form module:attribute"),
        ("a_bot_of_yours:answer", "no module 'a_bot_of_yours'. Did you mean 'a_bot_of_mine'? It must be installed"),
        ("elsewhere:answer", "there is no module 'elsewhere'. It must be installed"),
        ("a_bot_of_mine.deep:answer", "there is no module 'a_bot_of_mine.deep'"),
        ("a_bot_of_mine:anwser", "has no 'anwser'. Did you mean 'answer'?"),
        ("a_bot_of_mine:number", "is of type int, not a function"),
        ("a_bot_of_mine:Bot", "is a class, not a function"),
        ("a_broken_bot:answer", "'a_broken_bot' needs the module 'nothing_of_that_name', which is not installed"),
        ("a_failing_bot:answer", "'a_failing_bot' cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_missing_function_gets_a_clear_error(module: str, spec: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        FunctionAgent.from_spec(spec)
    assert words in str(caught.value)


def test_a_file_with_the_name_of_another_module_is_told_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "this.py").write_text("def answer(message): return 'Hello'\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"'this' has no 'answer'. Another module of this name .*this.py. Rename"):
        FunctionAgent.from_spec("this:answer")


@pytest.mark.parametrize(
    ("attribute", "text"),
    [("answer", "mine: Hello"), ("whole", "whole: Hello"), ("kind", "mine: Hello")],
)
def test_functions_agents_and_kinds_can_be_opened(module: str, attribute: str, text: str) -> None:
    async def play() -> None:
        weather = WeatherClient("http://127.0.0.1:1", "none")
        setup = NOWHERE.with_clients(weather=weather)
        kind = function_agent_kind(f"{module}:{attribute}", "mine")
        assert isinstance(kind, AgentKind)
        assert kind.name == "mine"
        assert module not in sys.modules, "the module is not imported before the agent is opened"
        async with kind.open(setup) as agent:
            assert await turn(agent) == [Reply(text)]
        await weather.aclose()

    asyncio.run(play())


def test_reply_can_be_stored_as_json() -> None:
    (reply,) = answered(lambda message: {"text": "x", "tool_calls": [{"name": "look", "result": {1: {2}}}]})
    assert isinstance(reply, Reply)
    assert reply.tool_calls is not None
    json.dumps(reply.tool_calls[0].model_dump())
