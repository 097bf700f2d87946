"""The scripted model makes the calls that a turn expects of an agent's own tools, and says what they return."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from tests.chat.world.weather_dialog import TOOLS, called, user

from assay.chat.transcript import ToolCall
from assay.chat.world.quirks import Quirk
from assay.chat.world.scripted import ModelOutput, ScriptedModel, Skill, ToolUse
from assay.chat.world.situation import Situation, inject
from assay.chat.world.wanted_calls import WantedCall, wanted_calls

GOULASH = WantedCall("find_recipe", {"dish": "goulash"})
ASKED = user("Find a recipe for goulash.")


def own_tool(name: str, *required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


RECIPE = own_tool("find_recipe", "dish", dish={"type": "string"}, vegan={"type": "boolean"})


@pytest.fixture(scope="module")
def model() -> ScriptedModel:
    return ScriptedModel(seed=42)


def output(
    model: ScriptedModel, *messages: Any, calls: tuple[WantedCall, ...] = (GOULASH,), quirk: str = "", tools: Any = None
) -> ModelOutput:
    situation = Situation("s", 0, 0, quirk=Quirk.parse(quirk) if quirk else None, calls=calls)
    return model.respond(list(messages), [RECIPE] if tools is None else tools, situation)


def test_expected_calls_travel_with_the_turn() -> None:
    expected = [ToolCall(name="find_recipe", arguments={"dish": "crème, 50 %; “brûlée”"}), ToolCall(name="menu")]
    headers: dict[str, str] = {}
    with Situation("s", 0, 0, calls=wanted_calls(expected)).attached():
        inject(headers)
    assert Situation.from_headers(headers).calls == wanted_calls(expected)
    # What the bundled assistants call, the model decides itself.
    assert wanted_calls([ToolCall(name="get_current_weather", arguments={"city": "Oslo"})]) == ()
    assert wanted_calls(None) == ()
    assert Situation.from_headers({"baggage": "assay.calls=[1]"}) == Situation()


@pytest.mark.parametrize("size", [10, 3_000, 5_000, 200_000])
def test_calls_of_any_length_travel_and_long_ones_only_to_the_embedded_services(size: int) -> None:
    text = "ä" + random.Random(size).randbytes(size // 2).hex()
    situation = Situation("s", session="me", calls=(WantedCall("store", {"text": text}),))
    embedded: dict[str, str] = {}
    other: dict[str, str] = {}
    with situation.attached():
        inject(embedded)
        inject(other, is_embedded=False)
    assert Situation.from_headers(embedded) == situation
    assert sum(map(len, other.values())) < 5_000
    assert Situation.from_headers(other) in (situation, replace(situation, calls=()))


@pytest.mark.parametrize("header", ["no base64 ä", "AAAA", "eJw="])
def test_a_header_that_is_no_calls_is_ignored(header: str) -> None:
    assert Situation.from_headers({"x-assay-calls": header}) == Situation()


def test_a_call_is_made_and_its_result_told(model: ScriptedModel) -> None:
    assert output(model, ASKED).calls == (ToolUse("find_recipe", {"dish": "goulash"}),)
    done = called(("find_recipe", {"dish": "goulash"}, {"dish": "goulash", "minutes": 35, "steps": ["chop", "fry"]}))
    assert output(model, ASKED, *done) == ModelOutput("Dish: goulash. Minutes: 35. Steps: chop, fry.")
    # Without the suite's calls, it says that this is not its subject.
    assert output(model, ASKED, calls=()).is_beyond
    assert not output(model, ASKED, calls=(), tools=TOOLS).is_beyond


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("Take two onions and fry them.", "Take two onions and fry them."),
        ({"report": "Take two onions and fry them."}, "Take two onions and fry them."),
        (100.0, "Find recipe: 100.0."),
        (["soup", {"dish": "fish"}], "Find recipe: soup, Dish: fish."),
        ({"status": "error", "error_message": "There is none."}, "I could not do that: There is none."),
        ("Error: no such dish", "I could not do that: Error: no such dish."),
        ("2 validation errors: no dish", "I could not do that: 2 validation errors: no dish."),
    ],
)
def test_what_a_tool_returns_is_told(model: ScriptedModel, result: Any, told: str) -> None:
    assert output(model, ASKED, *called(("find_recipe", {"dish": "goulash"}, result))).text == told


def test_missing_arguments_are_filled_by_the_schema(model: ScriptedModel) -> None:
    amounts = {"type": "object", "properties": {"grams": {"type": "number", "minimum": 5}}, "required": ["grams"]}
    tool = own_tool(
        "plan", "what", "unit", "amounts", what={"type": "string"}, unit={"enum": ["cup", "g"]}, amounts=amounts
    )
    (made,) = output(model, user("Plan a cake."), calls=(WantedCall("plan", {"amounts": {}}),), tools=[tool]).calls
    assert made.arguments == {"what": "Plan a cake.", "unit": "cup", "amounts": {"grams": 5.0}}


def test_calls_of_one_tool_go_together_and_others_one_after_another(model: ScriptedModel) -> None:
    pizza = WantedCall("find_recipe", {"dish": "pizza"})
    menu = WantedCall("menu")
    offered = [RECIPE, own_tool("menu")]
    first = output(model, ASKED, calls=(GOULASH, pizza, menu), tools=offered)
    assert [call.name for call in first.calls] == ["find_recipe", "find_recipe"]
    both = called(("find_recipe", {"dish": "goulash"}, "One."), ("find_recipe", {"dish": "pizza"}, "Two."))
    assert output(model, ASKED, *both, calls=(GOULASH, pizza, menu), tools=offered).calls == (ToolUse("menu", {}),)


def test_a_failed_call_is_made_again_only_with_a_quirk(model: ScriptedModel) -> None:
    failed = called(("find_recipe", {}, {"error": "dish is missing"}))
    assert output(model, ASKED, *failed, quirk="arguments_cut_off*1").calls
    assert output(model, ASKED, *failed).text == "I could not do that: dish is missing."
    # A tool that refuses the right call twice is believed; a tool that does not exist counts for nothing.
    refused = called(("find_recipe", {"dish": "goulash"}, {"error": "there is none"}))
    assert output(model, ASKED, *refused, quirk="unknown_tool*1").calls
    assert output(model, ASKED, *refused, *refused, quirk="unknown_tool*1").text
    assert output(model, ASKED, *called(("search_the_web", {}, "Found.")), quirk="unknown_tool*1").calls


def test_a_subagent_without_tools_repeats_what_it_is_asked(model: ScriptedModel) -> None:
    assert output(model, user("Translate: Guten Tag"), tools=[]).text == "As asked: Translate: Guten Tag"


def test_what_another_agent_of_adk_did_is_part_of_the_turn(model: ScriptedModel) -> None:
    transfer = WantedCall("transfer_to_agent", {"agent_name": "cook"})
    offered = [RECIPE, own_tool("transfer_to_agent", "agent_name", agent_name={"type": "string"})]
    first = output(model, ASKED, calls=(transfer, GOULASH), tools=offered[1:])
    assert first.calls == (ToolUse("transfer_to_agent", {"agent_name": "cook"}),)
    for begin, end in (("<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n", "\n<<<END_QUOTED_AGENT_CONTENT>>>"), ("", "")):
        relayed = [
            f"For context: it did\n[root] called tool `transfer_to_agent` with parameters:\n{begin}"
            + f"{{'agent_name': 'cook'}}{end}",
            f"For context: it did\n[root] `transfer_to_agent` tool returned result:\n{begin}{{'result': None}}{end}",
        ]
        then = output(model, ASKED, *map(user, relayed), calls=(transfer, GOULASH), tools=offered)
        assert then.calls == (ToolUse("find_recipe", {"dish": "goulash"}),)


def test_a_forgotten_tool_is_claimed() -> None:
    forgetful = ScriptedModel(42, Skill(forgotten_tool=1.0))
    assert output(forgetful, ASKED).calls == ()
    assert output(forgetful, ASKED).text
