"""Agents written with LangGraph's functional API: played if it is clear what they take, else refused with a reason."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from tests.chat.agents.laws import Answer, Talk

from assay.chat.agents import Setup
from assay.chat.agents.own import own_agent_kind
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World
from assay.errors import UsageError

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(seconds=1)]
_FOLDER = Path(__file__).parent / "quickstarts"
ASKED = "What's the weather in New York?"


@pytest.fixture(autouse=True)
def quickstarts(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "replaced")  # and restored after the test
    monkeypatch.delenv("OPENAI_MODEL")
    monkeypatch.syspath_prepend(str(_FOLDER))
    monkeypatch.delitem(sys.modules, "langgraph_functional", raising=False)


def said(attribute: str, *messages: str, world: World, tracing: Tracing) -> list[Answer]:
    setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)

    async def play() -> list[Answer]:
        async with own_agent_kind("langgraph", f"langgraph_functional:{attribute}", "mine").open(setup) as opened:
            mine = Talk(attribute, opened, setup, tracing)
            return [await mine.say(text) for text in messages]

    return asyncio.run(play())


@pytest.mark.parametrize("attribute", ["agent", "remembering", "from_text", "from_message", "from_class"])
def test_an_entrypoint_gets_the_message_in_the_form_that_it_takes(
    attribute: str, world: World, tracing: Tracing
) -> None:
    asked, again = said(attribute, ASKED, "And in Oslo?", world=world, tracing=tracing)
    assert asked.error is None
    assert "sunny in New York" in asked.text
    assert asked.calls == again.calls == ["get_weather"]
    assert "sunny in Oslo" in again.text
    # The question before was about New York: an agent that is given the conversation, or keeps it, sends it again.
    knows = attribute in ("agent", "remembering", "from_class")
    assert asked.trace.input_tokens
    assert again.trace.input_tokens
    assert (again.trace.input_tokens > asked.trace.input_tokens * 1.2) is knows


def test_an_entrypoint_that_takes_a_state_gets_the_messages_in_it(world: World, tracing: Tracing) -> None:
    hello, _ = said("from_state", "Hello!", "Thank you!", world=world, tracing=tracing)
    assert (hello.error, hello.trace.model_calls) == (None, 1)
    assert hello.text


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("from_question", r"entrypoint 'from_question' takes 'given', of type Question \(question\), so what to give"),
        ("untyped", r"takes 'something', which has no type, so what to give it is not known. Declare it as str"),
        ("numbers", r"takes 'amounts', of type list\[int\], so .*list\[BaseMessage\].*NAME=module:function"),
        ("without_messages", r"the state of the graph has no field 'messages' in its input, only question"),
    ],
)
def test_what_takes_something_else_is_refused_with_what_it_may_take(
    attribute: str, words: str, world: World, tracing: Tracing
) -> None:
    with pytest.raises(UsageError, match=words):
        said(attribute, ASKED, world=world, tracing=tracing)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        (
            "builder",
            r"of type StateGraph, not a compiled graph.*Compile it and name what that gives: graph = builder.comp",
        ),
        ("echo", r"of type function, not a compiled graph.*Write NAME=langgraph_functional:echo for a plain function"),
        (
            "tools",
            r"of type dict, not a compiled graph.*Write NAME=langgraph:module:attribute, where attribute is a com",
        ),
    ],
)
def test_what_is_no_graph_is_refused_with_what_to_write(
    attribute: str, words: str, world: World, tracing: Tracing
) -> None:
    with pytest.raises(UsageError, match=words):
        said(attribute, ASKED, world=world, tracing=tracing)


def test_a_return_value_that_is_no_answer_fails_the_turn_with_its_keys(world: World, tracing: Tracing) -> None:
    (asked,) = said("essay", ASKED, world=world, tracing=tracing)
    assert "'essay' returned a value of type dict with the keys essay, review, not an answer" in str(asked.error)
