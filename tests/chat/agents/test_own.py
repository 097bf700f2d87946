"""Agent objects of a user's own, written as in the documentation of each framework: they run without a change."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from tests.chat.agents.laws import Answer, Talk

from assay import chat
from assay.chat.agents import Setup
from assay.chat.agents.own import FRAMEWORKS, own_agent_kind, own_agents_note
from assay.chat.agents.spec import load_agents
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World
from assay.errors import SourceError, UsageError
from assay.report.failures import not_applicable_words

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(seconds=0.5)]
_FOLDER = Path(__file__).parent / "quickstarts"


@pytest.fixture(autouse=True)
def quickstarts(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "replaced")  # and restored after the test
    monkeypatch.delenv("OPENAI_MODEL")
    monkeypatch.syspath_prepend(str(_FOLDER))
    for name in [name for name in sys.modules if (_FOLDER / f"{name}.py").exists()]:
        monkeypatch.delitem(sys.modules, name)


def said(agent: str, *messages: str, world: World, tracing: Tracing, deps: str = "", fault: str = "") -> list[Answer]:
    """The answers of an agent, `framework:module:attribute`, to messages; a fault hits the last turn."""
    framework, _, pointer = agent.partition(":")
    setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)

    async def play() -> list[Answer]:
        async with own_agent_kind(framework, pointer, "mine", deps or None).open(setup) as opened:
            mine = Talk("mine", opened, setup, tracing)
            faults = [None] * (len(messages) - 1) + [fault or None]
            return [await mine.say(text, fault=one) for text, one in zip(messages, faults, strict=True)]

    return asyncio.run(play())


ASKED = "What's the weather in New York?"


def test_a_workflow_of_adk_runs_both_agents(world: World, tracing: Tracing) -> None:
    (hello,) = said("adk:adk_workflow:root_agent", "Hello!", world=world, tracing=tracing)
    assert hello.text
    assert hello.trace.model_calls == 2
    assert hello.trace.tools_offered == ()


def test_a_graph_of_functions_is_measured_and_reached_by_faults(world: World, tracing: Tracing) -> None:
    agent = "langgraph:langgraph_sync:agent"
    asked, after = said(agent, ASKED, "Thank you!", world=world, tracing=tracing, fault="model_error*1")
    assert asked.text == "It is sunny in New York at 20 °C."
    assert asked.trace.tools_offered == ("get_weather",)
    assert asked.trace.wire_tokens == (asked.trace.input_tokens, asked.trace.output_tokens)
    assert 0 < asked.trace.model_seconds < asked.trace.seconds
    assert after.text  # one failure is retried
    assert sum(span.failed == "500" for span in after.trace.spans) == 1
    (broken,) = said(agent, "Hello!", world=world, tracing=tracing, fault="model_error")
    assert "500" in str(broken.error)


@pytest.mark.parametrize("module", ["langgraph_context", "openai_context", "pydantic_support"])
def test_what_tools_are_given_comes_from_the_users_own_code(module: str, world: World, tracing: Tracing) -> None:
    frameworks = {"langgraph": "langgraph", "openai": "openai-agents", "pydantic": "pydantic-ai"}
    makers = {"langgraph_context": "context", "openai_context": "ADA", "pydantic_support": "support"}
    agent = f"{frameworks[module.partition('_')[0]]}:{module}:agent"
    (asked,) = said(agent, ASKED, world=world, tracing=tracing, deps=f"{module}:{makers[module]}")
    assert "sunny" in asked.text
    assert "Ada" in asked.text  # a structured answer has the text of its tool too
    assert asked.calls == ["get_weather"]


@pytest.mark.parametrize(
    ("agent", "needed"),
    [
        ("langgraph:langgraph_context:agent", "a context of type Context"),
        ("pydantic-ai:pydantic_support:agent", "Support"),
    ],
)
def test_dependencies_that_cannot_be_created_are_asked_for(
    agent: str, needed: str, world: World, tracing: Tracing
) -> None:
    with pytest.raises(UsageError, match=f"{needed}.*without arguments.*deps: module:function"):
        said(agent, "Hello!", world=world, tracing=tracing)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_report_says_what_is_redirected_and_what_is_not(framework: str) -> None:
    said = own_agents_note({"mine": framework})
    assert f"the model is redirected {FRAMEWORKS[framework].redirects}" in said
    assert "no agent or client that a tool creates later with an address of its own" in said


def test_several_agent_objects_are_explained_once() -> None:
    said = own_agents_note({"one": "adk", "two": "pydantic-ai", "three": "adk"})
    ways = [FRAMEWORKS[name].redirects for name in ("adk", "pydantic-ai")]
    assert said.startswith("one, two, three are your own agent objects: ")
    assert f"the model is redirected {ways[0]} (one, three); {ways[1]} (two). This reaches" in said
    assert own_agents_note({}) == ""


def test_dependencies_are_only_for_frameworks_that_have_them(tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text("agents:\n- {name: a, object: 'my:agent', framework: adk, deps: 'my:deps'}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"'deps' can be used only with object. In openai-agents, langgraph"):
        load_agents(path)


def test_agents_of_quick_starts_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.chdir(_FOLDER)
    agents = {
        "graph": "langgraph:langgraph_sync:agent",
        "hello": "openai-agents:openai_hello:agent",
        "calling": "maf:maf_hello:agent",
    }
    chosen = ["current-helsinki", "small-talk-hello"]
    result = chat.run("weather", agents, scenarios=chosen, baselines=False)
    by_key = {(answer.agent, answer.scenario): answer for answer in result.answers}
    # Expected calls of tools that the agent does not have, and figures that it cannot know, do not fail it.
    asked = by_key["graph", "current-helsinki"]
    assert asked.passed, asked.failures
    assert asked.record is not None
    assert [text.partition(": ")[0] for text in asked.record.not_applicable] == [
        "calls get_current_weather",
        "accuracy >= 0.9",
        "action_planning >= 0.5",
    ]
    (words,) = [text for text in not_applicable_words(result.scores) if text.startswith("graph")]
    assert words.startswith("graph: in 1 turn some expectations are not checked: ")
    assert "calls get_current_weather: the agent has no such tool (1)" in words
    # A module may run its agent when it is imported; if that call fails, it is said where to put it.
    assert by_key["hello", "small-talk-hello"].passed
    reason = by_key["calling", "small-talk-hello"].record.reason  # type: ignore[union-attr]
    assert "/v1/responses" in reason
    assert "put the call under if __name__ == '__main__'" in reason
