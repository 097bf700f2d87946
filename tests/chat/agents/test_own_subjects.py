"""Agents of a user's own about other subjects than the weather: the scripted model does what their suite expects."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.chat.agents.laws import Answer, Talk

from assay import chat
from assay.chat.agents import Setup
from assay.chat.agents.own import own_agent_kind
from assay.chat.running.tracing import Tracing
from assay.chat.suites import read_suite
from assay.chat.world.embedded import World
from assay.chat.world.wanted_calls import WantedCall
from assay.chat.yamlfile import parse_yaml
from assay.errors import UsageError
from assay.report.failures import not_applicable_words

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(seconds=1)]
_FOLDER = Path(__file__).parent / "quickstarts"


@pytest.fixture(autouse=True)
def quickstarts(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "replaced")  # and restored after the test
    monkeypatch.delenv("OPENAI_MODEL")
    monkeypatch.syspath_prepend(str(_FOLDER))
    for name in [name for name in sys.modules if (_FOLDER / f"{name}.py").exists()]:
        monkeypatch.delitem(sys.modules, name)


Calls = dict[str, dict[str, Any]]
"""Arguments by the name of the tool."""


def said(
    agent: str, message: str, world: World, tracing: Tracing, calls: Calls | None = None, quirk: str = ""
) -> Answer:
    """The answer of an agent, `framework:module:attribute`, in a turn that expects calls of its own tools."""
    framework, _, pointer = agent.partition(":")
    setup = Setup(model="scripted", model_url=world.model_url, weather_url=world.weather_url)
    wanted = tuple(WantedCall(name, arguments) for name, arguments in (calls or {}).items())

    async def play() -> Answer:
        async with own_agent_kind(framework, pointer, "mine").open(setup) as opened:
            # Quirks are counted by session.
            mine = Talk(f"{agent} {quirk}", opened, setup, tracing)
            return await mine.say(message, quirk=quirk or None, calls=wanted)

    return asyncio.run(play())


_TRIP = {"legs": [{"origin": "Lisbon", "dest": "Porto"}]}
CASES: dict[str, tuple[str, Calls, str]] = {
    "adk": ("adk:adk_kitchen:root_agent", {"find_recipe": {"dish": "goulash"}}, "Dish: goulash. Minutes: 35."),
    "maf": ("maf:maf_parcels:agent", {"quote_parcel": {"weight_kg": 3}}, "That costs 7.00 EUR to"),
    "openai": ("openai-agents:openai_tutors:history_tutor", {"look_up_event": {"year": 64}}, "In 64 a great fire"),
    "langgraph": ("langgraph:langgraph_concierge:graph", {"menu": {"restaurant": "Luigi"}}, "Menu: soup, fish, cake."),
    "pydantic": ("pydantic-ai:pydantic_trips:agent", {"price": {"trip": _TRIP}}, "Price: 100.0."),
}


@pytest.mark.parametrize("case", CASES)
def test_the_model_makes_the_calls_of_the_suite_and_says_what_they_return(
    case: str, world: World, tracing: Tracing
) -> None:
    agent, calls, words = CASES[case]
    asked = said(agent, "Please do it.", world, tracing, calls)
    assert asked.calls == [*calls]
    assert words in asked.text
    # A quirk acts on that call, and the model makes it again when it hears of the error.
    cut = said(agent, "Please do it.", world, tracing, calls, quirk="similar_tool*1")
    if cut.error is None:  # the OpenAI Agents SDK raises an exception
        assert words in cut.text
        assert cut.trace.model_calls > asked.trace.model_calls
    else:
        assert case == "openai"


def test_handoffs_are_calls_too(world: World, tracing: Tracing) -> None:
    calls: Calls = {"transfer_to_agent": {"agent_name": "converter"}, "convert_units": {"amount": 2, "unit": "cup"}}
    asked = said("adk:adk_kitchen:root_agent", "Convert 2 cups.", world, tracing, calls)
    assert (asked.calls, asked.text) == ([*calls], "Grams: 480.")
    calls = {"transfer_to_history_tutor": {}, "look_up_event": {"year": 64, "place": "Rome"}}
    asked = said("openai-agents:openai_tutors:plain", "What happened in 64?", world, tracing, calls)
    assert asked.text == "In 64 a great fire broke out in Rome."
    # The SDK traces a handoff as such and not as a tool; it has not failed for that.
    handed, looked_up = asked.trace.tool_calls
    assert (handed.name, handed.result, handed.error) == (
        "transfer_to_history_tutor",
        {"assistant": "History Tutor"},
        None,
    )
    assert looked_up.error is None


def test_a_model_that_hears_of_wrong_arguments_makes_the_call_again(world: World, tracing: Tracing) -> None:
    agent, calls, words = CASES["pydantic"]
    for quirk in ("arguments_wrong_type*1", "arguments_missing*1"):
        asked = said(agent, "Please do it.", world, tracing, calls, quirk=quirk)
        assert asked.trace.tool_calls[0].error is not None
        assert words in asked.text


def test_tools_whose_dependencies_are_a_text_get_the_name_of_the_user(world: World, tracing: Tracing) -> None:
    calls: Calls = {"roll_dice": {}, "get_player_name": {}}
    asked = said("pydantic-ai:pydantic_dice:agent", "My guess is 4", world, tracing, calls)
    assert asked.trace.tool_calls[1].result == "ada"
    assert asked.text.endswith("Get player name: ada.")


def test_an_agent_that_must_call_a_tool_to_answer_calls_no_other_for_it(world: World, tracing: Tracing) -> None:
    asked = said("pydantic-ai:pydantic_dice:judge", "I just lost my card!", world, tracing)
    assert asked.calls == []
    assert "none of my tools" in asked.text or "beyond what my tools can do" in asked.text
    assert "weather" not in asked.text


@pytest.mark.parametrize(
    ("agent", "calls"),
    [
        ("adk:adk_kitchen:structured", []),
        ("adk:adk_kitchen:structured_with_tools", []),  # the call that gives the answer is none of a tool
        ("maf:maf_parcels:structured", []),
        ("openai-agents:openai_tutors:guardrail_agent", []),
        ("pydantic-ai:pydantic_trips:structured", []),
    ],
)
def test_a_structured_answer_satisfies_its_schema(agent: str, calls: list[str], world: World, tracing: Tracing) -> None:
    asked = said(agent, "Hello!", world, tracing)
    assert asked.error is None
    assert asked.calls == calls
    assert "the weather" in asked.text  # the words of the answer are in it


def test_a_structured_answer_follows_the_calls(world: World, tracing: Tracing) -> None:
    asked = said("langgraph:langgraph_structured:agent", "What's the weather in Oslo?", world, tracing)
    assert asked.calls == ["get_weather"]
    assert "It is always sunny in Oslo." in asked.text
    # An agent that checks the input is such an agent, too.
    calls: Calls = {"transfer_to_history_tutor": {}, "look_up_event": {"year": 64, "place": "Rome"}}
    asked = said("openai-agents:openai_tutors:triage", "What happened in 64?", world, tracing, calls)
    assert asked.text == "In 64 a great fire broke out in Rome."


@pytest.mark.parametrize("attribute", ["other", "by_closure", "by_object", "by_module", "inside"])
def test_a_graph_is_refused_for_a_model_that_it_reaches(attribute: str, world: World, tracing: Tracing) -> None:
    with pytest.raises(UsageError, match="the model of the graph, a FakeListChatModel, cannot be redirected"):
        said(f"langgraph:langgraph_structured:{attribute}", "Hello!", world, tracing)


SUITE = """
name: kitchen
version: 1
tools: [find_recipe]
scenarios:
  - id: recipe
    kind: recipe
    turns:
      - user: Find a recipe for goulash.
        calls: [find_recipe: {dish: goulash}]
  - id: cut-off
    kind: recipe
    turns:
      - user: Find a recipe for goulash.
        calls: [find_recipe: {dish: goulash}]
        quirk: arguments_cut_off*1
      - user: And a recipe for pizza?
        calls: [find_recipe: {dish: pizza}]
  - id: nothing-to-call
    kind: recipe
    turns:
      - user: How do I boil an egg?
        quirk: unknown_tool
      - user: And a recipe for pizza?
        calls: [find_recipe: {dish: pizza}]
"""


def test_a_suite_about_another_subject_runs_with_quirks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.chdir(_FOLDER)
    suite = read_suite(parse_yaml(SUITE, "kitchen.yaml"))
    result = chat.run(suite, {"kitchen": "adk:adk_kitchen:root_agent"}, baselines=False)
    by_turn = {(answer.scenario, answer.turn): answer for answer in result.answers}
    assert all(by_turn[turn].passed for turn in [("recipe", 0), ("cut-off", 0), ("cut-off", 1)]), by_turn
    cut_off, nothing = by_turn["cut-off", 0].record, by_turn["nothing-to-call", 0].record
    assert cut_off is not None
    assert (cut_off.quirk_occurred, cut_off.outcome) == (True, "recovered")
    # A quirk of calls cannot occur where the model makes none; the trial is neither passed nor failed.
    assert nothing is not None
    assert (nothing.quirk_occurred, nothing.outcome, nothing.status) == (False, None, "skipped")
    assert nothing.reason == "the quirk unknown_tool did not occur: the turn had no call of a tool"
    assert result.scores.trials("kitchen") == {"recipe": {0: True}, "cut-off": {0: True}}
    (words,) = not_applicable_words(result.scores)
    assert words.startswith("kitchen: in 1 turn the stand-in model said that it cannot help")
    assert "(`calls`)" in words
