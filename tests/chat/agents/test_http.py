"""Agents behind HTTP endpoints, tested with a server on loopback that may be hostile."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from tests.chat.agents.http_server import Respond, Server, send, serving

from assay.chat.agents import Agent, Limits, Reply, Setup
from assay.chat.agents.http import Endpoint, http_agent_kind
from assay.chat.transcript import ToolCall
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient
from assay.errors import AssayError, SourceError, UsageError

NOWHERE = Setup(model="scripted", model_url="http://127.0.0.1:1/v1", weather_url="http://127.0.0.1:1")


def giving(data: object, **options: Any) -> Respond:
    return lambda handler, body: send(handler, json.dumps(data).encode(), **options)


def raw(body: bytes, **options: Any) -> Respond:
    return lambda handler, _: send(handler, body, **options)


def completion(text: str | None) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    }


def events(*data: object, end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n".encode() for one in data) + end


def piece(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


def at(server: Server, path: str = "/ask", **settings: Any) -> Endpoint:
    return Endpoint(url=server.url + path, **{"form": "json", **settings})


def talk(endpoint: Endpoint, *messages: str, session: str = "one") -> list[list[str | Reply]]:
    """The answer to each message."""

    async def play() -> list[list[str | Reply]]:
        weather = WeatherClient("http://127.0.0.1:1", "none")
        setup = replace(NOWHERE, limits=Limits(max_tokens=77)).with_clients(weather=weather)
        try:
            async with http_agent_kind(endpoint, "theirs").open(setup) as agent:
                return [await heard(agent, message, session) for message in messages]
        finally:
            await weather.aclose()

    return asyncio.run(play())


async def heard(agent: Agent, message: str, session: str = "one") -> list[str | Reply]:
    return [part async for part in agent.answer(session=session, user="ada", message=message)]


def refusal_of(endpoint: Endpoint, message: str = "Hello") -> str:
    with pytest.raises(SourceError) as caught:
        talk(endpoint, message)
    return str(caught.value)


# --- any JSON --------------------------------------------------------------------------------------------------------


def test_the_simplest_endpoint_needs_no_settings() -> None:
    with serving(giving({"answer": "Sun"})) as server:
        assert talk(at(server), "Hello") == [[Reply("Sun")]]
        assert server.asked[0][2] == {"message": "Hello", "session": "one", "user": "ada"}


def test_request_placeholders_are_filled_once_and_as_data() -> None:
    with serving(giving({"reply": {"text": "Sun"}})) as server:
        endpoint = at(
            server,
            request={
                "query": {"text": "{message}", "by": "user {user} of {session}"},
                "past": "{history}",
                "all": ["{messages}", 7, True, None],
                "{user}": "a key stays as it is",
            },
            answer="reply.text",
        )
        talk(endpoint, 'A "quoted" {history}\n{nonsense}', "More")
        first, second = (body for _, _, body in server.asked)
    assert first["query"] == {"text": 'A "quoted" {history}\n{nonsense}', "by": "user ada of one"}
    assert first["past"] == []
    assert first["{user}"] == "a key stays as it is"
    assert first["all"][1:] == [7, True, None]
    said = [
        {"role": "user", "content": 'A "quoted" {history}\n{nonsense}'},
        {"role": "assistant", "content": "Sun"},
    ]
    assert second["past"] == said
    assert second["all"][0] == [*said, {"role": "user", "content": "More"}]


def calls_of(reply: str | Reply) -> tuple[ToolCall, ...] | None:
    assert isinstance(reply, Reply)
    return reply.tool_calls


def test_tool_calls_are_found_by_their_path() -> None:
    calls = [
        {"function": {"name": "look", "arguments": '{"at": "sky"}'}, "output": '{"sun": true}'},
        {"function": {"name": "fail", "arguments": None}, "error": {"code": 7}},
    ]
    where = {"path": "steps.calls", "name": "function.name", "arguments": "function.arguments", "result": "output"}
    with serving(giving({"answer": "Sun", "steps": {"calls": calls}})) as server:
        ((reply,),) = talk(at(server, tool_calls=where), "Hello")
    assert reply == Reply(
        "Sun",
        (
            ToolCall(name="look", arguments={"at": "sky"}, result={"sun": True}),
            ToolCall(name="fail", error='{"code": 7}'),
        ),
    )


def test_tool_calls_nested_as_openai_does_are_found_without_further_paths() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}]
    with serving(giving({"answer": "Sun", "calls": calls})) as server:
        ((reply,),) = talk(at(server, tool_calls={"path": "calls"}), "Hello")
    assert reply == Reply("Sun", (ToolCall(name="look", arguments={"at": "sky"}),))


def test_null_tool_calls_are_none_were_made_and_a_path_that_leads_nowhere_is_an_error() -> None:
    with serving(giving({"answer": "Sun", "calls": None})) as server:
        assert talk(at(server, tool_calls={"path": "calls"}), "Hello") == [[Reply("Sun", ())]]
    with serving(giving({"answer": "Sun"})) as server:
        assert talk(at(server), "Hello") == [[Reply("Sun", None)]]
        for path in ("calls", "steps.calls", "answer.calls"):
            error = refusal_of(at(server, tool_calls={"path": path}))
            assert f"""has nothing at '{path}' where tool calls should be: {{"answer": "Sun"}}""" in error
            assert "optional: true" in error
            optional = {"path": path, "optional": True}
            assert talk(at(server, tool_calls=optional), "Hello") == [[Reply("Sun", ())]]
    # Of a long response it says what stands where the path ends.
    with serving(giving({"reply": {"text": "Sun", "steps": []}, "answer": "Sun" * 100})) as server:
        for path, there in [
            ("calls", "the response has reply, answer"),
            ("answer.calls", "'answer' is a text"),
            ("reply.calls", "'reply' has text, steps"),
            ("reply.steps.0.calls", "'reply.steps' is a list of 0 items"),
        ]:
            assert f"should be: {there}" in refusal_of(at(server, tool_calls={"path": path}))


def test_tool_calls_of_a_chat_completion_are_found_in_its_message() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
    said = {"choices": [{"message": {"content": "Sun", "tool_calls": [call]}}]}
    where = {"path": "choices.0.message.tool_calls"}
    with serving(giving(said)) as server:
        ((reply,),) = talk(at(server, "/v1", form="openai", tool_calls=where), "Hello")
        assert calls_of(reply) == (ToolCall(name="look", arguments={"at": "sky"}),)
        error = refusal_of(at(server, "/v1", form="openai", tool_calls={"path": "choices.0.tool_calls"}))
        assert "has nothing at 'choices.0.tool_calls' where tool calls should be" in error
    with serving(giving({"choices": [{"message": {"content": "Sun"}}]})) as server:
        ((reply,),) = talk(at(server, "/v1", form="openai", tool_calls=where | {"optional": True}), "Hello")
        assert calls_of(reply) == ()


def test_arguments_under_another_name_are_not_lost() -> None:
    with serving(giving({"answer": "Sun", "calls": [{"name": "look", "args": {"at": "sky"}}]})) as server:
        error = refusal_of(at(server, tool_calls={"path": "calls"}))
        assert "has a tool call without 'arguments' at 'calls'" in error
        assert "tool_calls: {path: calls, arguments: args}" in error
        ((reply,),) = talk(at(server, tool_calls={"path": "calls", "arguments": "args"}), "Hello")
        assert calls_of(reply) == (ToolCall(name="look", arguments={"at": "sky"}),)
    with serving(giving({"answer": "Sun", "calls": [{"name": "look"}]})) as server:
        ((reply,),) = talk(at(server, tool_calls={"path": "calls"}), "Hello")
        assert calls_of(reply) == (ToolCall(name="look"),)


# --- chat completions ------------------------------------------------------------------------------------------------


def test_chat_completions_request_contains_the_conversation() -> None:
    with serving(giving(completion("Sun"))) as server:
        first, _ = talk(at(server, "/v1", form="openai", model="theirs-1"), "Hello", "More")
        assert first == [Reply("Sun", None, 12, 3)]
        path, _, body = server.asked[1]
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "theirs-1",
        "max_tokens": 77,
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Sun"},
            {"role": "user", "content": "More"},
        ],
    }


def test_model_defaults_to_the_runs_and_a_complete_url_is_kept() -> None:
    with serving(giving(completion("Sun"))) as server:
        talk(at(server, "/x/chat/completions?version=2", form="openai"), "Hello")
        path, _, body = server.asked[0]
    assert (path, body["model"]) == ("/x/chat/completions?version=2", "scripted")


def test_response_is_streamed_in_chunks() -> None:
    stream = events(
        piece("Good "), {"choices": [{"delta": {}}]}, piece("däy"), {"choices": [], "usage": {"prompt_tokens": 5}}
    )
    cut = stream.index("ä".encode()) + 1  # in the middle of a character

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        assert body["stream"] is True
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.end_headers()
        for part in (b": a comment\r\n\r\n", stream[:cut], stream[cut:]):
            handler.wfile.write(part)
            handler.wfile.flush()
            time.sleep(0.05)

    with serving(respond) as server:
        (parts,) = talk(at(server, "/v1", form="openai", stream=True), "Hello")
    assert parts == ["Good ", "däy", Reply("Good däy", None, 5, None)]


def test_last_event_needs_no_newline() -> None:
    body = events(piece("Sun"), end=b"")[:-2]
    with serving(raw(body, content_type="text/event-stream")) as server:
        (parts,) = talk(at(server, "/v1", form="openai", stream=True), "Hello")
    assert parts == ["Sun", Reply("Sun", broke_off=True)]


def test_server_may_answer_without_streaming() -> None:
    with serving(giving(completion("Sun"))) as server:
        assert talk(at(server, "/v1", form="openai", stream=True), "Hello") == [[Reply("Sun", None, 12, 3)]]


# --- secrets ---------------------------------------------------------------------------------------------------------


def test_secrets_come_from_the_environment_and_do_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", "s3cret-one")
    monkeypatch.setenv("THEIR_TENANT", "s3cret-two")

    def echo(handler: BaseHTTPRequestHandler, body: Any) -> None:
        send(handler, f"no {handler.headers['authorization']} {handler.headers['x-tenant']}".encode(), status=403)

    with serving(echo) as server:
        endpoint = at(server, "/ask?token=s3cret-three", key_env="THEIR_KEY", headers_env={"X-Tenant": "THEIR_TENANT"})
        error = refusal_of(endpoint)
        headers = server.asked[0][1]
    assert headers["authorization"] == "Bearer s3cret-one"
    assert headers["x-tenant"] == "s3cret-two"
    assert "answered with status 403: no Bearer *** ***" in error
    assert "s3cret-one" not in repr(endpoint) + endpoint.model_dump_json()
    assert "s3cret" not in error


def test_missing_secret_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THEIR_KEY", raising=False)
    with pytest.raises(UsageError, match="the environment variable THEIR_KEY is not set"):
        talk(Endpoint(url="http://127.0.0.1:1", key_env="THEIR_KEY"), "Hello")


def test_only_local_endpoints_receive_the_situation() -> None:
    with serving(giving({"answer": "Sun"})) as server:
        with Situation("rain", 2, 1).attached():
            talk(at(server), "Hello")
        assert "assay.scenario=rain" in server.asked[0][1]["baggage"]
    assert Endpoint(url="http://[::1]:80/").is_loopback
    assert Endpoint(url="http://localhost/").is_loopback
    assert not Endpoint(url="http://127.0.0.1.example.com/").is_loopback
    assert not Endpoint(url="http://192.0.2.1/").is_loopback


# --- hostile and broken replies --------------------------------------------------------------------------------------


def test_redirect_is_not_followed() -> None:
    with serving(giving({"answer": "stolen"})) as elsewhere:
        to = raw(b"", status=307, location=f"{elsewhere.url}/ask")
        with serving(to) as server:
            assert "answered with status 307, a redirect, which is not followed" in refusal_of(at(server))
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("respond", "words"),
    [
        (raw(b"<html>\x1b[31m\nno\x00</html>"), "sent a response that is not valid JSON: <html> [31m no </html>"),
        (raw(b""), "sent a response that is not valid JSON: an empty body"),
        (raw(b"[" * 100_000), "sent a response that is not valid JSON: [[["),
        (raw(b"\xff\xfe"), "sent a response that is not valid JSON"),
        (giving({"reply": "Sun"}), """has nothing at 'answer' where the text should be: {"reply": "Sun"}"""),
        (giving({"answer": ["Sun"]}), "has a list at 'answer'"),
        (giving(["Sun"]), "has nothing at 'answer'"),
        (giving({"answer": "Sun", "calls": {}}), "has a dict at 'calls' where a list of tool calls should be"),
        (giving({"answer": "Sun", "calls": [{"tool": "x"}]}), "has a tool call without a name at 'calls'"),
        (giving({"answer": "Sun", "calls": ["x"]}), "has a tool call without a name at 'calls'"),
        (raw(b"down\n" * 1000, status=503), "answered with status 503: down down"),
        (raw(b"", status=500), "answered with status 500: an empty body"),
    ],
)
def test_unexpected_response_gets_a_clear_error(respond: Respond, words: str) -> None:
    with serving(respond) as server:
        error = refusal_of(at(server, tool_calls={"path": "calls"}))
        assert words in error
        assert error.startswith(f"{server.url}/ask: ")
    assert len(error) < 500
    assert error.isprintable()


def test_huge_response_is_not_read_to_its_end() -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler, body: Any) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        for _ in range(4096):
            handler.wfile.write(b"x" * 2**16)
            sent += 2**16

    with serving(endless) as server:
        assert "sent more than 100000 bytes" in refusal_of(at(server, max_bytes=100_000))
    assert sent < 2**27


def test_compressed_response_counts_by_its_expanded_size() -> None:
    bomb = gzip.compress(b"0" * 2**24)
    with serving(raw(bomb, content_encoding="gzip")) as server:
        assert "sent more than 4194304 bytes" in refusal_of(at(server))


def test_endless_error_page_is_not_read_to_its_end() -> None:
    def endless(handler: BaseHTTPRequestHandler, body: Any) -> None:
        handler.send_response(500)
        handler.end_headers()
        while True:
            handler.wfile.write(b"no " * 2**16)

    with serving(endless) as server:
        assert "answered with status 500: no no no" in refusal_of(at(server))


@pytest.mark.parametrize("first", [b"", b'{"answer": '])
def test_timeout_covers_the_whole_response(first: bytes) -> None:
    def drips(handler: BaseHTTPRequestHandler, body: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(first)
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    with serving(drips) as server:
        assert "did not answer within 0.3 s" in refusal_of(at(server, timeout=0.3))


def test_silent_server_times_out() -> None:
    with serving(lambda handler, body: time.sleep(1)) as server:
        assert "did not answer" in refusal_of(at(server, timeout=0.2))


def test_consumers_time_does_not_count() -> None:
    async def play(endpoint: Endpoint) -> list[str | Reply]:
        weather = WeatherClient("http://127.0.0.1:1", "none")
        setup = NOWHERE.with_clients(weather=weather)
        async with http_agent_kind(endpoint, "theirs").open(setup) as agent:
            found: list[str | Reply] = []
            async for part in agent.answer(session="one", user="ada", message="Hello"):
                found.append(part)
                if len(found) == 2:
                    await asyncio.sleep(0.5)
        await weather.aclose()
        return found

    with serving(raw(events(piece("a"), piece("b")), content_type="text/event-stream")) as server:
        found = asyncio.run(play(at(server, "/v1", form="openai", stream=True, timeout=10)))
        assert found == ["a", "b", Reply("ab")]


def test_unreachable_endpoint_gets_a_clear_error_with_its_cause() -> None:
    with serving(giving({})) as server:
        pass
    with pytest.raises(SourceError, match="cannot be reached") as caught:
        talk(at(server), "Hello")
    assert type(caught.value.__cause__).__name__ == "ConnectError"


def test_broken_connection_gets_a_clear_error() -> None:
    def hangs_up(handler: BaseHTTPRequestHandler, body: Any) -> None:
        send(handler, b'{"answer"', content_length="1000")

    with serving(hangs_up) as server:
        assert "cannot be reached: " in refusal_of(at(server))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (events({"error": {"message": "overloaded"}}), 'sent an error: {"error": {"message": "overloaded"}}'),
        (events([1]), "sent an error: [1]"),
        (b"data: {nonsense\n\n", "sent an event that is not valid JSON: {nonsense"),
        (events({"object": "other"}, {"choices": "x"}, {"choices": [{"delta": {"content": 7}}]}), "sent no text"),
        (b"", "sent no text"),
    ],
)
def test_broken_stream_gets_a_clear_error(body: bytes, words: str) -> None:
    with serving(raw(body, content_type="text/event-stream")) as server:
        assert words in refusal_of(at(server, "/v1", form="openai", stream=True))


def test_request_for_local_tools_gets_a_clear_error() -> None:
    asks = {"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": "look"}}]}}]}
    with serving(giving(asks)) as server:
        assert "has nothing at 'choices.0.message.content'" in refusal_of(at(server, "/v1", form="openai"))


def test_failed_turn_is_not_added_to_the_history() -> None:
    answers = iter([({"error": "no"}, 500), (completion("Sun"), 200)])

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        data, status = next(answers)
        send(handler, json.dumps(data).encode(), status=status)

    async def play(endpoint: Endpoint) -> None:
        weather = WeatherClient("http://127.0.0.1:1", "none")
        setup = NOWHERE.with_clients(weather=weather)
        async with http_agent_kind(endpoint, "theirs").open(setup) as agent:
            with pytest.raises(AssayError):
                await heard(agent, "Hello")
            await heard(agent, "Again")
        await weather.aclose()

    with serving(respond) as server:
        asyncio.run(play(at(server, "/v1", form="openai")))
        assert server.asked[1][2]["messages"] == [{"role": "user", "content": "Again"}]


@pytest.mark.slow
def test_sessions_are_separate_and_concurrent() -> None:
    # Nobody is answered before all eight have asked: requests one after the other would break the barrier.
    all_asked = threading.Barrier(8, timeout=30)

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        all_asked.wait()
        send(handler, json.dumps({"answer": f"{body['s']}:{len(body['h'])}"}).encode())

    async def play(endpoint: Endpoint) -> list[list[str | Reply]]:
        weather = WeatherClient("http://127.0.0.1:1", "none")
        setup = NOWHERE.with_clients(weather=weather)
        async with http_agent_kind(endpoint, "theirs").open(setup) as agent:
            await asyncio.gather(*(heard(agent, "a", str(number)) for number in range(8)))
            found = await asyncio.gather(*(heard(agent, "b", str(number)) for number in range(8)))
        await weather.aclose()
        return found

    with serving(respond) as server:
        request = {"m": "{message}", "s": "{session}", "h": "{history}"}
        found = asyncio.run(play(at(server, request=request)))
    assert found == [[Reply(f"{number}:2")] for number in range(8)]
