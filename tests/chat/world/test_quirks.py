"""What a model, an endpoint and tools with a quirk send, byte by byte if it matters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.chat.world.serving import TLS
from tests.chat.world.weather_dialog import NOW, TOOLS, called, user

from assay.chat.world.calls import CallLog
from assay.chat.world.model_server import model_app
from assay.chat.world.quirks import ANSWER_QUIRKS, TOOL_QUIRKS, WIRE_QUIRKS, Quirk
from assay.chat.world.scripted import Skill
from assay.chat.world.serving import LoopbackServer
from assay.chat.world.situation import Situation, inject
from assay.chat.world.tool_quirks import QuirkyWeatherClient
from assay.chat.world.wanted_calls import WantedCall
from assay.chat.world.weather import WeatherClient

QUESTION = [user("What's the weather in Porto Alegre?")]
ANSWERED = [
    *QUESTION,
    *called(("get_current_weather", {"city": "Porto Alegre"}, NOW), ("get_user_preferences", {}, {})),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with LoopbackServer(model_app(42, Skill())) as running:
        yield f"{running.url}/v1/chat/completions"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, verify=TLS, timeout=5) as client:
        yield client


def headers(quirk: str, session: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    with Situation("s", 0, 0, session=session or quirk, quirk=Quirk.parse(quirk)).attached():
        inject(found)
    return found


def posted(url: str, http: httpx.Client, quirk: str, messages: object = QUESTION, **more: Any) -> httpx.Response:
    body = {"model": "m", "messages": messages, "tools": TOOLS, **more}
    return http.post(url, json=body, headers=headers(quirk))


def call(url: str, http: httpx.Client, quirk: str) -> dict[str, Any]:
    """The first call of a completion as a whole."""
    found: dict[str, Any] = posted(url, http, quirk).json()["choices"][0]["message"]["tool_calls"][0]
    return found


# --- what the model says --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quirk", "arguments"),
    [
        ("arguments_not_json", "city is Porto Alegre"),
        ("arguments_cut_off", '{"city": "Porto'),
        ("arguments_wrong_type", '{"city": 42}'),
        ("arguments_missing", "{}"),
        ("arguments_extra", '{"city": "Porto Alegre", "units": "metric"}'),
        ("arguments_object", {"city": "Porto Alegre"}),
        ("arguments_list", '["Porto Alegre"]'),
        ("arguments_empty", ""),
    ],
)
def test_arguments(url: str, http: httpx.Client, quirk: str, arguments: object) -> None:
    assert call(url, http, quirk)["function"]["arguments"] == arguments


def test_names_and_ids_of_calls(url: str, http: httpx.Client) -> None:
    assert call(url, http, "unknown_tool")["function"]["name"] == "search_the_web"
    assert call(url, http, "similar_tool")["function"]["name"] == "getCurrentWeather"
    assert call(url, http, "empty_call_id")["id"] == ""
    assert "id" not in call(url, http, "missing_call_id")
    twenty = posted(url, http, "twenty_calls").json()["choices"][0]["message"]["tool_calls"]
    assert len({one["id"] for one in twenty}) == len({one["function"]["arguments"] for one in twenty}) == 20
    same = posted(url, http, "duplicate_call_ids").json()["choices"][0]["message"]["tool_calls"]
    assert len(same) == 2
    assert len({one["id"] for one in same}) == 1


def test_answers_and_how_they_end(url: str, http: httpx.Client) -> None:
    def choice(quirk: str) -> tuple[str | None, str | None]:
        found = posted(url, http, quirk, ANSWERED).json()["choices"][0]
        return found["message"]["content"], found["finish_reason"]

    whole, _ = choice("no_finish_reason")
    assert whole is not None
    assert "°C" in whole
    assert choice("no_finish_reason")[1] is None
    assert choice("empty_answer") == ("", "stop")
    assert choice("null_answer") == (None, "stop")
    cut, reason = choice("length")
    assert cut
    assert whole.startswith(cut)
    assert len(cut) < len(whole)
    assert reason == "length"
    assert not any(character.isdigit() for character in cut)  # what is left tells no figure
    message = posted(url, http, "refusal", ANSWERED).json()["choices"][0]["message"]
    assert (message["content"], message["refusal"][:9]) == (None, "I'm sorry")
    usage = posted(url, http, "usage_absurd", ANSWERED).json()["usage"]
    assert usage["prompt_tokens"] < 0
    assert usage["completion_tokens"] > 1e9
    assert "usage" not in posted(url, http, "usage_missing", ANSWERED).json()


def test_quirk_of_answers_leaves_calls_alone_and_the_other_way_round(url: str, http: httpx.Client) -> None:
    assert call(url, http, "empty_answer")["function"]["arguments"] == '{"city": "Porto Alegre"}'
    answer = posted(url, http, "arguments_not_json", ANSWERED).json()["choices"][0]["message"]
    assert "°C" in answer["content"]


def test_quirk_hits_as_many_responses_as_it_says(url: str, http: httpx.Client) -> None:
    statuses = [posted(url, http, "status_503*2").status_code for _ in range(3)]
    assert statuses == [503, 503, 200]


def test_model_makes_a_refused_call_again_and_believes_one_that_ran(url: str, http: httpx.Client) -> None:
    refused = [*QUESTION, *called(("get_current_weather", {"city": "Porto Alegre"}, "Error: arguments are no JSON"))]
    again = posted(url, http, "arguments_not_json*1", refused).json()["choices"][0]["message"]
    assert again["tool_calls"][0]["function"]["name"] == "get_current_weather"
    ran = [*QUESTION, *called(("get_current_weather", {"city": "Porto"}, NOW), ("get_user_preferences", {}, {}))]
    believed = posted(url, http, "arguments_cut_off*1", ran).json()["choices"][0]["message"]
    assert "°C" in believed["content"]


# --- how it is sent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quirk", "status", "code"),
    [
        ("context_too_long", 400, "context_length_exceeded"),
        ("status_401", 401, "invalid_api_key"),
        ("status_413", 413, "request_too_large"),
        ("status_429", 429, "rate_limit_exceeded"),
        ("status_500", 500, None),
        ("status_503", 503, None),
        ("error_with_status_200", 200, None),
    ],
)
def test_errors_of_the_endpoint(url: str, http: httpx.Client, quirk: str, status: int, code: str | None) -> None:
    found = posted(url, http, quirk)
    assert (found.status_code, found.json()["error"]["code"]) == (status, code)
    assert "retry-after" not in found.headers


def test_retry_after_html_and_reset(url: str, http: httpx.Client) -> None:
    assert posted(url, http, "status_429_retry_after").headers["retry-after"] == "0.05"
    page = posted(url, http, "html")
    assert page.headers["content-type"].startswith("text/html")
    assert page.text.startswith("<!doctype html>")
    with pytest.raises(httpx.ReadError):
        posted(url, http, "connection_reset")


def test_streams(url: str, http: httpx.Client) -> None:
    def lines(quirk: str, messages: object = ANSWERED) -> list[str]:
        found = posted(url, http, quirk, messages, stream=True)
        return [line for line in found.text.split("\n") if line]

    counts = [json.loads(line.removeprefix("data: "))["usage"] for line in lines("usage_in_every_chunk")[:-1]]
    assert [one["completion_tokens"] for one in counts] == sorted(one["completion_tokens"] for one in counts)
    assert all(one["prompt_tokens"] == counts[-1]["prompt_tokens"] > 0 for one in counts)
    plain = lines("usage_missing")
    assert plain[-1] == "data: [DONE]"
    assert [line for line in lines("keep_alive") if line != ": keep-alive"] == plain
    assert lines("one_byte_chunks") == plain
    assert lines("stream_ends_in_text")[-1] != "data: [DONE]"
    assert "error" in json.loads(lines("stream_error")[-2].removeprefix("data: "))
    with pytest.raises(json.JSONDecodeError):
        json.loads(lines("stream_not_json")[-2].removeprefix("data: "))
    assert posted(url, http, "ignores_stream", ANSWERED, stream=True).json()["object"] == "chat.completion"
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        lines("stream_cut_in_text")
    cut = lines("stream_ends_in_arguments", QUESTION)
    written = [json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("tool_calls") for line in cut]
    arguments = "".join(one[0]["function"]["arguments"] for one in written if one)
    assert arguments == '{"city": "Porto'


# --- tools ----------------------------------------------------------------------------------------------------------


class Sunny(QuirkyWeatherClient):
    """Answers without a service."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", embedded=True)


def looked_up(quirk: str, client: QuirkyWeatherClient, monkeypatch: pytest.MonkeyPatch) -> Any:
    async def current(self: WeatherClient, city: str) -> dict[str, Any]:
        return {"city": city, "temperature": 21.0}

    monkeypatch.setattr(WeatherClient, "current", current)
    with Situation("s", 0, 0, session=quirk, quirk=Quirk.parse(quirk)).attached():
        return asyncio.run(client.current("Rome"))


def test_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Sunny()
    table = {"city": "Rome", "temperature": 21.0}
    assert looked_up("length", client, monkeypatch) == table  # a quirk of the model leaves tools alone
    assert looked_up("tool_text", client, monkeypatch) == "city: Rome, temperature: 21.0"
    assert looked_up("tool_list", client, monkeypatch) == [table]
    assert looked_up("tool_nothing", client, monkeypatch) is None
    assert len(looked_up("tool_large_result", client, monkeypatch)["raw"]) == 1_000_000
    with pytest.raises(UnicodeEncodeError):
        looked_up("tool_not_utf8", client, monkeypatch)["note"].encode()
    assert "PWNED" in looked_up("tool_injection", client, monkeypatch)["note"]
    with pytest.raises(KeyError):
        looked_up("tool_exception*1", client, monkeypatch)
    assert looked_up("tool_exception*1", client, monkeypatch) == table
    with pytest.raises(TimeoutError):
        looked_up("tool_timeout", client, monkeypatch)


def test_quirks_are_named_once() -> None:
    assert len({*ANSWER_QUIRKS, *WIRE_QUIRKS, *TOOL_QUIRKS}) == sum(map(len, (ANSWER_QUIRKS, WIRE_QUIRKS, TOOL_QUIRKS)))


# --- whether a quirk took effect ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quirk", "messages", "occurred"),
    [
        ("unknown_tool", QUESTION, True),
        ("unknown_tool", [user("Hello!")], False),  # the model makes no call
        ("empty_answer", QUESTION, False),
        ("empty_answer", ANSWERED, True),
        ("keep_alive", QUESTION, False),  # nothing is streamed
        ("status_500", QUESTION, True),
    ],
)
def test_the_server_knows_whether_a_quirk_took_effect(
    http: httpx.Client, quirk: str, messages: object, occurred: bool
) -> None:
    log = CallLog()
    log.watch("s")
    with LoopbackServer(model_app(42, Skill(), calls=log)) as running:
        body = {"model": "m", "messages": messages, "tools": TOOLS}
        http.post(f"{running.url}/v1/chat/completions", json=body, headers=headers(quirk, "s"))
    assert [one.misbehaved for one in log.of_turn("s", 0)] == [occurred]


def test_quirks_act_on_calls_of_any_tool(url: str, http: httpx.Client) -> None:
    def changed(quirk: str, name: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
        tools = [{"type": "function", "function": {"name": name}}]
        found: dict[str, str] = {}
        wanted = (WantedCall(name, arguments),)
        with Situation("s", 0, 0, quirk=Quirk.parse(quirk), calls=wanted).attached():
            inject(found)
        body = {"model": "m", "messages": [user("Do it.")], "tools": tools}
        sent = http.post(url, json=body, headers=found).json()["choices"][0]["message"]["tool_calls"]
        return [(one["function"]["name"], one["function"]["arguments"]) for one in sent]

    assert changed("similar_tool", "menu", {}) == [("menuTool", "{}")]
    assert changed("arguments_wrong_type", "price", {"legs": 2}) == [("price", '{"legs": "as you like"}')]
    assert changed("arguments_wrong_type", "price", {}) == [("price", "{}")]  # there is nothing to change
    assert len(set(changed("twenty_calls", "find_recipe", {"dish": "soup", "n": 1}))) == 20
    assert changed("twenty_calls", "price", {"legs": 2})[-1] == ("price", '{"legs": 2}')


# --- answers that are given to a tool -------------------------------------------------------------------------------

OUTPUT = {
    "type": "function",
    "function": {
        "name": "final_result",
        "parameters": {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    },
}


def choice_with_output_tool(url: str, http: httpx.Client, quirk: str) -> dict[str, Any]:
    """The answer to a request of an agent with a structured output, which has all its results."""
    more = {"tools": [*TOOLS, OUTPUT], "tool_choice": "required"}
    found: dict[str, Any] = posted(url, http, quirk, ANSWERED, **more).json()["choices"][0]
    return found


def test_a_call_that_is_the_answer_has_the_quirks_of_answers(url: str, http: httpx.Client) -> None:
    def arguments(quirk: str) -> str:
        (given,) = choice_with_output_tool(url, http, quirk)["message"]["tool_calls"]
        assert given["function"]["name"] == "final_result"
        return str(given["function"]["arguments"])

    whole = arguments("no_finish_reason")
    assert "°C" in json.loads(whole)["summary"]
    for quirk in ("length", "content_filter"):
        assert whole.startswith(arguments(quirk))
        assert len(arguments(quirk)) < len(whole)
        assert choice_with_output_tool(url, http, quirk)["finish_reason"] == quirk
    for quirk, text, reason in (
        ("empty_answer", "", "stop"),
        ("null_answer", None, "stop"),
        ("refusal", None, "stop"),
        ("content_filter_empty", "", "content_filter"),
    ):
        empty = choice_with_output_tool(url, http, quirk)
        assert "tool_calls" not in empty["message"]
        assert (empty["message"]["content"], empty["finish_reason"]) == (text, reason)
    assert "<think>" in choice_with_output_tool(url, http, "think_tags")["message"]["content"]
    assert arguments("think_tags") == whole


@pytest.mark.parametrize("quirk", ["arguments_not_json", "unknown_tool", "twenty_calls", "calls_end_with_length"])
def test_a_call_that_is_the_answer_has_no_quirk_of_calls(url: str, http: httpx.Client, quirk: str) -> None:
    found = choice_with_output_tool(url, http, quirk)
    assert [one["function"]["name"] for one in found["message"]["tool_calls"]] == ["final_result"]
    assert json.loads(found["message"]["tool_calls"][0]["function"]["arguments"])
    assert found["finish_reason"] == "tool_calls"


def test_a_stream_breaks_off_in_a_call_that_is_the_answer(url: str, http: httpx.Client) -> None:
    more = {"tools": [*TOOLS, OUTPUT], "tool_choice": "required", "stream": True}
    text = posted(url, http, "stream_ends_in_text", ANSWERED, **more).text
    assert "final_result" in text
    assert "[DONE]" not in text
    assert "[DONE]" in posted(url, http, "stream_ends_in_arguments", ANSWERED, **more).text


# --- what the model meant -------------------------------------------------------------------------------------------


def test_the_calls_that_a_quirk_alters_are_kept_as_they_were_meant() -> None:
    log = CallLog()
    weather = {"type": "string", "description": "A city."}
    unit = {"type": "string", "default": "C"}
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": weather, "unit": unit}, "required": ["city"]},
        },
    }
    wanted = (WantedCall("get_weather", {"city": "Porto Alegre", "unit": "C"}),)
    with LoopbackServer(model_app(42, Skill(), calls=log)) as running, httpx.Client(trust_env=False) as http:
        for quirk in ("arguments_cut_off", "arguments_empty", "similar_tool"):
            log.watch(quirk)
            sent: dict[str, str] = {}
            with Situation("s", 0, 0, session=quirk, quirk=Quirk(quirk), calls=wanted).attached():
                inject(sent)
            body = {"model": "m", "messages": QUESTION, "tools": [tool]}
            http.post(f"{running.url}/v1/chat/completions", json=body, headers=sent)
    # The value that the tool has by default may be left out.
    meant = (WantedCall("get_weather", {"city": "Porto Alegre"}),)
    assert [one.meant for one in log.of_turn("arguments_cut_off", 0)] == [meant]
    assert [one.meant for one in log.of_turn("arguments_empty", 0)] == [meant]
    assert [one.meant for one in log.of_turn("similar_tool", 0)] == [()]
    assert log.of_turn("arguments_cut_off", 0)[0].meant[0].arguments == {"city": "Porto Alegre"}


def test_an_argument_that_a_tool_does_not_have_is_not_meant() -> None:
    """A handoff takes none: if it comes without what the model added, nothing is lost."""
    log = CallLog()
    handoff = {"type": "function", "function": {"name": "transfer_to_weather", "parameters": {"properties": {}}}}
    with LoopbackServer(model_app(42, Skill(), calls=log)) as running, httpx.Client(trust_env=False) as http:
        log.watch("arguments_extra")
        body = {"model": "m", "messages": QUESTION, "tools": [handoff]}
        sent = http.post(f"{running.url}/v1/chat/completions", json=body, headers=headers("arguments_extra")).json()
    (call,) = sent["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"units": "metric"}
    assert log.of_turn("arguments_extra", 0)[0].meant == (WantedCall("transfer_to_weather", {}),)
    assert log.of_turn("arguments_extra", 0)[0].meant[0].arguments == {}
