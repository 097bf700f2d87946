"""The embedded shop: what is on order at the end decides, and not what an agent says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay.chat import run
from assay.chat.agents import AGENTS
from assay.chat.running.users.shopper import ShopperUser
from assay.chat.suites import load_suite, read_suite
from assay.chat.world.scripted import ScriptedModel, Skill
from assay.chat.world.shop import SHOP, Shop, cancel_order, list_orders, place_order, search_products, shopping_as
from assay.chat.world.situation import Situation
from assay.chat.yamlfile import parse_yaml
from assay.errors import AssayError, SourceError
from assay.runs.planning import plan_experiment


def test_what_is_ordered_and_not_cancelled_is_on_order() -> None:
    async def buy() -> None:
        await place_order("wool hat", 2)
        jacket = await place_order("Rain Jacket")
        await place_order("Wool Hat")
        await cancel_order(jacket["order"])
        assert [row["order"] for row in (await list_orders())["orders"]] == ["A101", "A103"]

    with shopping_as("ada"):
        asyncio.run(buy())
    assert SHOP.bought("ada") == {"Wool Hat": 3}
    assert SHOP.bought("bob") == {}


@pytest.mark.parametrize(
    ("product", "quantity", "words"),
    [("Camp Stove", 1, "out of stock"), ("Day Pack", 4, "only 3 are left"), ("Wool Hut", 1, "mean 'Wool Hat'")],
)
def test_what_cannot_be_delivered_is_refused(product: str, quantity: int, words: str) -> None:
    with shopping_as("eve"), pytest.raises(AssayError, match=words):
        asyncio.run(place_order(product, quantity))
    assert SHOP.bought("eve") == {}


def test_only_notes_of_suites_about_the_weather_are_about_it(tmp_path: Path) -> None:
    library = tmp_path / "library.yaml"
    library.write_text(
        "{name: library, version: 1, tools: [lend], "
        "scenarios: [{id: a, kind: tool, turns: [{user: Lend it, says: [ok]}]}]}"
    )
    notes = {suite: " ".join(plan_experiment(suite, ["pydantic-ai"]).notes) for suite in ("shop", "weather", library)}
    assert ["weather is made up" in note for note in notes.values()] == [False, True, False]


def test_a_search_finds_whole_words_and_a_named_product_alone() -> None:
    def found(query: str) -> list[str]:
        with shopping_as("ada"):
            return [one["product"] for one in asyncio.run(search_products(query))["products"]]

    assert found("shoes") == ["Trail Runner", "City Sneaker"]
    assert found("the Day Pack") == ["Day Pack"]  # and not the sneaker "for every day"
    assert len(found("")) == 6


def test_a_customer_repeats_what_is_not_confirmed_and_cancels_what_was_ordered() -> None:
    user = ShopperUser({}, ["Wool Hat"], seed=1, key="a test")
    answers = (None, "It costs €24.90.", "Pardon?", "I have ordered the Wool Hat.", "The Wool Hat is cancelled.")
    said = [user.next(answer) for answer in answers]
    assert "Wool Hat" in said[0]
    assert len({said[1], said[2]}) == 2  # the order, in other words
    assert "cancel" in said[3]
    assert said[4] == "What have I ordered?"


def test_a_model_that_forgets_its_tool_claims_an_order() -> None:
    tools = [{"type": "function", "function": {"name": "place_order", "parameters": {}}}]
    asked = [{"role": "user", "content": "I'd like to order 2 Wool Hat."}]
    forgets = ScriptedModel(skill=Skill(forgotten_tool=1.0)).respond(asked, tools, Situation())
    assert forgets.text == "Done: I have ordered 2 × Wool Hat for you."
    (call,) = ScriptedModel().respond(asked, tools, Situation()).calls
    assert (call.name, dict(call.arguments)) == ("place_order", {"product": "Wool Hat", "quantity": 2})


SUITE = "name: x\nversion: 1\ndomain: shop\nscenarios:\n- {id: a, kind: b, persona: {goal: {orders: {Wool Hat: 1}}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Wool Hat", "Wool Hut", "Wool Hat"),
        ("Wool Hat: 1", "Wool Hat: 0", "1 or more"),
        ("{Wool Hat: 1}", "{}", "not a goal of orders"),
        ("orders: {Wool Hat: 1}", "dislikes_cold: true}, changes_mind: [Wool Hat", "cancels only orders"),
    ],
)
def test_a_wrong_order_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_suite(parse_yaml(SUITE.replace(old, new).replace("Wool Hat}}}", "Wool Hat]}}"), "x.yaml"))


def test_a_function_is_checked_by_what_it_ordered_and_not_by_what_it_says() -> None:
    async def does(message: str) -> str:
        if "order" in message or "take" in message:
            made = await place_order("Trail Runner")
            return f"I have ordered the {made['product']}."
        return "Gladly."

    suite = load_suite("shop").select(ids=["shop-one"])
    agents = {"does": does, "claims": lambda message: "I have ordered the Trail Runner."}
    answers = [one for one in run(suite, agents, baselines=False).answers if one.turn == 4]
    assert {one.agent: one.passed for one in answers} == {"does": False, "claims": False}
    # It orders again when it is asked what was ordered; of the other, nothing is known.
    assert [one.failures[0].says for one in answers] == ["it is {'Trail Runner': 2}", "what is stored is unknown"]


def test_who_never_orders_does_not_pass_because_nothing_is_on_order_in_the_end() -> None:
    async def does(message: str) -> str:
        orders = (await list_orders())["orders"]
        if "cancel" in message:
            for row in orders:
                await cancel_order(row["order"])
            return "I have cancelled the Rain Jacket."
        if "order" in message or "take" in message:
            await place_order("Rain Jacket")
            return "I have ordered the Rain Jacket."
        return "Gladly."

    async def only_looks(message: str) -> str:
        await list_orders()
        return "I have ordered the Rain Jacket and cancelled it."

    suite = load_suite("shop").select(ids=["shop-cancelled"])
    answers = run(suite, {"does": does, "looks": only_looks}, baselines=False).answers
    failed = {one.agent: [str(check) for check in one.failures] for one in answers if one.failures}
    assert failed["looks"] == ["orders Rain Jacket before it is cancelled: it was never on order"]
    # It orders once more when it is asked what was ordered.
    assert failed["does"] == ["stores orders: {}: it is {'Rain Jacket': 1}"]


@pytest.mark.frameworks
@pytest.mark.slow(seconds=5)
@pytest.mark.skipif("pydantic-ai" not in AGENTS.names(), reason="needs Pydantic AI")
def test_a_customer_of_a_framework_has_on_order_what_they_wanted() -> None:
    suite = load_suite("shop").select(ids=["shop-one-of-two"])
    result = run(suite, ["pydantic-ai"], baselines=False)
    assert all(answer.passed for answer in result.answers), [answer.failures for answer in result.answers]
    assert any("cancelled" in answer.response for answer in result.answers)


def test_orders_in_a_file_outlive_the_shop_that_took_them(tmp_path: Path) -> None:
    first, second = Shop(), Shop()
    first.keep_in(tmp_path / "orders.json")
    first.enter("ada")
    first.order("ada", "Wool Hat", 2)
    first.order("ada", "Day Pack", 1)
    first.cancel("ada", "A101")
    second.keep_in(tmp_path / "orders.json")
    assert second.knows("ada")
    assert second.orders("ada") == [{"order": "A102", "product": "Day Pack", "quantity": 1}]
    assert second.order("ada", "Wool Hat", 1)["order"] == "A103"  # no number is given twice


KILLED = """
name: shop-killed
version: 1
domain: shop
scenarios:
  - id: between
    kind: restart
    turns:
      - user: I'd like to order 2 Wool Hats, please.
        state: {orders: {Wool Hat: 2}}
      - user: What have I ordered?
        restart: before
        state: {orders: {Wool Hat: 2}}
        says: [Wool Hat]
  - id: during
    kind: restart
    turns:
      - user: I'd like to order 1 Day Pack, please.
        restart: during
        state: {orders: {Day Pack: 1}}
"""


@pytest.mark.frameworks
@pytest.mark.slow(seconds=7)
@pytest.mark.parametrize("agent", ["agent-framework", "langgraph"])
def test_the_shop_keeps_orders_when_the_process_of_its_assistant_is_killed(agent: str) -> None:
    suite = read_suite(parse_yaml(KILLED, "killed.yaml"))
    answers = {(one.scenario, one.turn): one for one in run(suite, [agent], baselines=False).answers}
    assert [str(failed) for failed in answers["between", 1].failures] == []
    # The tool had run before the process was killed, and the message is sent again, so that it is ordered a second
    # time. LangGraph stores the step of the tool meanwhile: it orders again only if it is killed before that.
    doubled = [failed.says for failed in answers["during", 0].failures if failed.check.startswith("stores")]
    assert doubled == ["it is {'Day Pack': 2}"] or (agent == "langgraph" and doubled == [])
