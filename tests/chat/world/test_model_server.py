"""The scripted model's server implements the chat-completions protocol; tested over HTTP with OpenAI's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chat.world.serving import TLS
from tests.chat.world.weather_dialog import NOW, TOOLS, called, user

from assay.chat.world.faults import Fault
from assay.chat.world.model_server import MODEL, OWNER, model_app
from assay.chat.world.scripted import Skill
from assay.chat.world.serving import LoopbackServer
from assay.chat.world.situation import Situation, inject
from assay.chat.world.tokens import count_tokens, tokenize

if TYPE_CHECKING:  # imported by the tests that use it: collecting imports this module in every worker
    import openai

QUESTION = [{"role": "system", "content": "Be helpful."}, user("What's the weather in Helsinki?")]
ANSWERED = [
    *QUESTION,
    *called(("get_current_weather", {"city": "Helsinki"}, NOW), ("get_user_preferences", {}, {})),
]
CLOCK = datetime(2026, 1, 15, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with LoopbackServer(model_app(42, Skill())) as running:
        yield running.url


@pytest.fixture
def client(server: str) -> Iterator[openai.OpenAI]:
    import openai

    with openai.OpenAI(
        base_url=f"{server}/v1", api_key="any key", max_retries=0, http_client=httpx.Client(trust_env=False, verify=TLS)
    ) as client:
        yield client


def post(server: str, body: object, **headers: str) -> httpx.Response:
    content = body if isinstance(body, (str, bytes)) else json.dumps(body)
    with httpx.Client(trust_env=False, verify=TLS) as http:
        return http.post(f"{server}/v1/chat/completions", content=content, headers=headers)


def complete(client: openai.OpenAI, messages: object = QUESTION, **options: Any) -> Any:
    return client.chat.completions.create(**{"model": "any", "messages": messages, "tools": TOOLS, **options})


# --- whole answers ----------------------------------------------------------------------------------------------------


def test_a_question_leads_to_parallel_calls(client: openai.OpenAI) -> None:
    completion = complete(client)
    choice = completion.choices[0]
    assert (completion.model, completion.object, choice.finish_reason) == (MODEL, "chat.completion", "tool_calls")
    assert choice.message.content is None
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    assert calls == [("get_current_weather", {"city": "Helsinki"}), ("get_user_preferences", {})]
    assert len({call.id for call in choice.message.tool_calls}) == 2


def test_results_lead_to_an_answer(client: openai.OpenAI) -> None:
    choice = complete(client, ANSWERED).choices[0]
    assert choice.finish_reason == "stop"
    assert "Helsinki" in choice.message.content
    assert choice.message.tool_calls is None


def test_usage_counts_messages_tools_and_answer(client: openai.OpenAI) -> None:
    import openai

    with_tools, without = complete(client, ANSWERED), complete(client, ANSWERED, tools=openai.omit)
    usage = with_tools.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens == count_tokens(with_tools.choices[0].message.content)
    assert usage.prompt_tokens - without.usage.prompt_tokens == count_tokens(json.dumps(TOOLS))
    longer = complete(client, [*ANSWERED[:1], user("one two three"), *ANSWERED[1:]])
    # A message has three tokens besides its text and its role.
    assert longer.usage.prompt_tokens - usage.prompt_tokens == 3 + count_tokens("one two three") + count_tokens("user")


def test_the_same_request_gets_the_same_answer_down_to_its_id(client: openai.OpenAI, server: str) -> None:
    first, again = complete(client, ANSWERED), complete(client, ANSWERED)
    assert (first.id, first.system_fingerprint, first.choices) == (again.id, again.system_fingerprint, again.choices)
    assert first.id != complete(client).id
    with LoopbackServer(model_app(42, Skill.parse("0.9"))) as other:
        body = {"model": "any", "messages": ANSWERED}
        assert post(other.url, body).json()["system_fingerprint"] != first.system_fingerprint


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("none", []),
        ("auto", ["get_current_weather", "get_user_preferences"]),
        ("required", ["get_current_weather", "get_user_preferences"]),
        (
            {"type": "function", "function": {"name": "update_user_preferences_from_insight"}},
            ["update_user_preferences_from_insight"],
        ),
    ],
)
def test_tool_choice_is_respected(client: openai.OpenAI, choice: object, names: list[str]) -> None:
    message = complete(client, tool_choice=choice).choices[0].message
    assert [call.function.name for call in message.tool_calls or ()] == names
    assert bool(message.content) is not bool(names)


def test_parallel_tool_calls_can_be_disabled(client: openai.OpenAI) -> None:
    assert len(complete(client, parallel_tool_calls=False).choices[0].message.tool_calls) == 1


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_answer_is_cut_off_at_max_tokens(client: openai.OpenAI, name: str) -> None:
    whole = complete(client, ANSWERED).choices[0].message.content
    cut = complete(client, ANSWERED, **{name: 10})
    assert cut.choices[0].finish_reason == "length"
    assert cut.usage.completion_tokens == 10
    assert whole.startswith(cut.choices[0].message.content)
    calls = complete(client, **{name: 3}).choices[0]
    assert (calls.finish_reason, calls.message.tool_calls) == ("length", None)


def test_answer_ends_before_a_stop_sequence(client: openai.OpenAI) -> None:
    assert "because" in complete(client, ANSWERED).choices[0].message.content
    stopped = complete(client, ANSWERED, stop=["because", "no such words"]).choices[0]
    assert "because" not in stopped.message.content
    assert stopped.finish_reason == "stop"


# --- streaming --------------------------------------------------------------------------------------------------------


def test_streamed_chunks_add_up_to_the_whole_answer(client: openai.OpenAI) -> None:
    chunks = list(complete(client, ANSWERED, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    texts = [delta.content for delta in deltas if delta.content]
    assert len(texts) > 3
    assert "".join(texts) == complete(client, ANSWERED).choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}


def test_arguments_of_streamed_calls_arrive_in_chunks(client: openai.OpenAI) -> None:
    names: dict[int, str] = {}
    arguments: dict[int, list[str]] = {}
    for chunk in complete(client, stream=True):
        for delta in chunk.choices[0].delta.tool_calls or ():
            if delta.function.name:
                assert delta.id
                names[delta.index] = delta.function.name
            arguments.setdefault(delta.index, []).append(delta.function.arguments)
    assert names == {0: "get_current_weather", 1: "get_user_preferences"}
    assert len(arguments[0]) > 2
    assert json.loads("".join(arguments[0])) == {"city": "Helsinki"}
    assert json.loads("".join(arguments[1])) == {}


def test_usage_is_the_last_chunk_if_requested(client: openai.OpenAI, server: str) -> None:
    chunks = list(complete(client, ANSWERED, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].choices == []
    assert chunks[-1].usage == complete(client, ANSWERED).usage
    assert all(chunk.usage is None for chunk in chunks[:-1])
    response = post(server, {"model": "any", "messages": ANSWERED, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("data: [DONE]\n\n")
    assert '"usage"' not in response.text


def test_concurrent_requests_are_answered(server: str) -> None:
    import openai

    async def all_of_them() -> list[Any]:
        http = httpx.AsyncClient(trust_env=False, verify=TLS)
        async with openai.AsyncOpenAI(base_url=f"{server}/v1", api_key="k", http_client=http) as client:
            create: Any = client.chat.completions.create
            cities = ("Oslo", "Rome", "Lima", "Cairo") * 10
            asked = [create(model="any", messages=[user(f"Weather in {city}?")], tools=TOOLS) for city in cities]
            return await asyncio.gather(*asked)

    answers = asyncio.run(all_of_them())
    cities = [json.loads(one.choices[0].message.tool_calls[0].function.arguments)["city"] for one in answers]
    assert cities == ["Oslo", "Rome", "Lima", "Cairo"] * 10


# --- models, errors ---------------------------------------------------------------------------------------------------


def test_the_list_of_models_says_that_it_is_a_stand_in(client: openai.OpenAI) -> None:
    import openai

    assert [(model.id, model.owned_by) for model in client.models.list()] == [(MODEL, OWNER)]
    assert "stand-in" in OWNER
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt")


GOOD: dict[str, Any] = {"model": "any", "messages": [user("Hello!")]}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("{", None),
        ("[]", None),
        (b"\xff", None),
        ("[" * 100_000, None),
        ({"messages": GOOD["messages"]}, "model"),
        ({"model": "any"}, "messages"),
        ({**GOOD, "messages": []}, "messages"),
        ({**GOOD, "messages": ["Hello!"]}, "messages[0]"),
        ({**GOOD, "messages": [{"role": "owner", "content": "Hello!"}]}, "messages[0].role"),
        ({**GOOD, "messages": [{"role": "user"}]}, "messages[0].content"),
        ({**GOOD, "messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({**GOOD, "messages": [{"role": "tool", "tool_call_id": "x", "content": "{}"}]}, "messages[0]"),
        ({**GOOD, "messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "messages[0].tool_calls[0]"),
        ({**GOOD, "tools": {}}, "tools"),
        ({**GOOD, "tools": [{"type": "function"}]}, "tools[0].function"),
        ({**GOOD, "tools": [{"function": {"name": "x", "parameters": []}}]}, "tools[0].function.parameters"),
        ({**GOOD, "tool_choice": "required"}, "tool_choice"),
        ({**GOOD, "tool_choice": "sometimes"}, "tool_choice"),
        ({**GOOD, "tools": TOOLS, "tool_choice": {"function": {"name": "nothing"}}}, "tool_choice"),
        ({**GOOD, "n": 2}, "n"),
        ({**GOOD, "n": True}, "n"),
        ({**GOOD, "stream": "yes"}, "stream"),
        ({**GOOD, "stream_options": {"include_usage": True}}, "stream_options"),
        ({**GOOD, "max_tokens": 0}, "max_tokens"),
        ({**GOOD, "max_completion_tokens": "many"}, "max_completion_tokens"),
        ({**GOOD, "stop": 5}, "stop"),
    ],
)
def test_error_says_what_is_wrong_with_the_request(server: str, body: object, param: str | None) -> None:
    response = post(server, body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert error["message"]


def test_too_large_request_is_refused(server: str) -> None:
    response = post(server, {**GOOD, "messages": [user("x" * 5_000_000)]})
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "request_too_large"


def test_errors_for_other_paths_and_methods_have_the_same_format(server: str) -> None:
    with httpx.Client(trust_env=False, verify=TLS) as http:
        for method, path, status in (("GET", "/v1/chat/completions", 405), ("POST", "/v1/responses", 404)):
            response = http.request(method, f"{server}{path}")
            assert response.status_code == status
            assert response.json()["error"]["type"] == "invalid_request_error"


def test_unknown_fields_are_ignored_and_no_key_is_needed(server: str) -> None:
    response = post(server, {**GOOD, "temperature": 0.1, "colour": "blue", "n": 1, "tools": None})
    assert response.status_code == 200
    assert response.json()["choices"][0]["message"]["content"]


def test_unpaired_surrogates_are_accepted(server: str) -> None:
    body = '{"model": "any", "messages": [{"role": "user", "content": "I hate \\ud800 rain."}]}'
    response = post(server, body)
    assert response.status_code == 200
    assert "you hate \ufffd rain" in response.json()["choices"][0]["message"]["content"]


# --- faults -----------------------------------------------------------------------------------------------------------


def baggage(**parts: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    with Situation(**{"scenario": "s", "now": CLOCK, **parts}).attached():
        inject(headers)
    return headers


def test_a_fault_hits_every_request_of_its_turn(server: str) -> None:
    headers = baggage(fault=Fault("model_error"))
    for _ in range(3):
        response = post(server, GOOD, **headers)
        assert response.status_code == 500
        assert response.json()["error"]["type"] == "server_error"
    assert post(server, GOOD, **baggage()).status_code == 200


def test_status_429_asks_for_a_short_pause(server: str) -> None:
    response = post(server, GOOD, **baggage(fault=Fault("model_rate_limited")))
    assert response.status_code == 429
    assert response.json()["error"]["code"] == "rate_limit_exceeded"
    assert 0 < float(response.headers["retry-after"]) < 1


def test_fault_hits_are_counted_by_turn_and_session(server: str) -> None:
    def statuses(**parts: Any) -> list[int]:
        return [post(server, GOOD, **baggage(fault=Fault("model_error", 2), **parts)).status_code for _ in range(3)]

    assert statuses(session="a", turn=0) == [500, 500, 200]
    assert statuses(session="a", turn=1) == [500, 500, 200]
    assert statuses(session="b", turn=0) == [500, 500, 200]


def test_openai_client_retries_after_a_single_fault(server: str) -> None:
    import openai

    headers = baggage(fault=Fault("model_rate_limited", 1), session="retry")
    http = httpx.Client(trust_env=False, verify=TLS)
    with openai.OpenAI(base_url=f"{server}/v1", api_key="k", max_retries=1, http_client=http) as client:
        completion = complete(client, [user("Hello!")], extra_headers=headers)
    assert completion.choices[0].message.content


def test_weather_faults_do_not_affect_the_model(server: str) -> None:
    assert post(server, GOOD, **baggage(fault=Fault("server_error"))).status_code == 200


def test_created_is_the_time_of_the_situation(server: str) -> None:
    assert post(server, GOOD, **baggage()).json()["created"] == int(CLOCK.timestamp())


# --- tokens and arbitrary requests ------------------------------------------------------------------------------------


@given(st.text())
def test_tokens_add_up_to_the_text(text: str) -> None:
    assert "".join(tokenize(text)) == text
    assert count_tokens(text) == len(tokenize(text))


def test_token_is_up_to_four_letters_or_one_other_character() -> None:
    assert tokenize("It's 4 °C, right?") == ["It", "'", "s", " 4", " °", "C", ",", " righ", "t", "?"]


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_message = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "nobody"])},
    optional={
        "content": st.none()
        | st.sampled_from(["What's the weather in Oslo?", "And tomorrow?", "I hate it", "{", '{"status": "error"}'])
        | _anything,
        "tool_calls": st.just(called(("get_current_weather", {"city": "Oslo"}, "x"))[0]["tool_calls"]) | _anything,
        "tool_call_id": st.just("call_0"),
    },
)
_tool = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["get_current_weather", "x"])}, optional={"parameters": _anything}
        )
    }
)


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries(
        {"model": st.just("any"), "messages": st.lists(_message, max_size=5)},
        optional={
            "tools": st.lists(_tool, max_size=2) | _anything,
            "tool_choice": st.sampled_from(["none", "auto", "required"]) | _anything,
            "stream": st.booleans(),
        },
    )
)
@pytest.mark.slow
def test_any_request_gets_an_answer_or_an_error(server: str, body: dict[str, Any]) -> None:
    response = post(server, body)
    assert response.status_code in (200, 400), response.text
    if response.status_code == 400:
        assert response.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_satisfies_the_schema_of_the_request(client: openai.OpenAI, stream: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["good", "bad"]}, "said": {"type": "string"}, "risk": {"type": "integer"}},
        "required": ["mood", "said", "risk"],
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "Answer", "schema": schema, "strict": True}}
    # Tools are called first.
    assert complete(client, response_format=wanted).choices[0].message.tool_calls
    found = complete(client, ANSWERED, response_format=wanted, stream=stream)
    text = (
        "".join(chunk.choices[0].delta.content or "" for chunk in found) if stream else found.choices[0].message.content
    )
    said = complete(client, ANSWERED).choices[0].message.content
    assert json.loads(text) == {"mood": "good", "said": said, "risk": 1}
    text = complete(client, ANSWERED, response_format={"type": "json_object"}).choices[0].message.content
    assert json.loads(text) == {"answer": said}
    assert complete(client, ANSWERED, response_format={"type": "text"}).choices[0].message.content == said


@pytest.mark.parametrize("wanted", ["json", {"type": "json_schema"}, {"type": "xml"}])
def test_a_response_format_that_does_not_exist_is_an_error(server: str, wanted: object) -> None:
    answer = post(server, {"model": "m", "messages": QUESTION, "response_format": wanted})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "response_format"
