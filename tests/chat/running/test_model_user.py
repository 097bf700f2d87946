"""A simulated user that a model plays, against the scripted model on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from assay.chat import run
from assay.chat.running.users.model_user import ModelUser, UserModelError
from assay.chat.suites import load_suite
from assay.chat.world.embedded import World
from assay.chat.world.shop import place_order
from assay.compare.costs import costs_of
from assay.errors import UsageError
from assay.report.costs import cost_note
from assay.runs.planning import plan_experiment


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with World() as world:
        yield world.model_url


async def shop_assistant(message: str) -> str:
    if "order 1 " not in message:
        return "You are welcome."
    made = await place_order(message.split("order 1 ")[1].rstrip("."))
    return f"I have ordered the {made['product']}."


def test_a_model_plays_the_user_until_the_goal_is_reached_and_its_tokens_are_counted(url: str) -> None:
    suite = load_suite("shop").select(ids=["shop-one"])
    prices = {"assay-scripted": {"input": 1.0, "output": 2.0}}
    agents = {"mine": shop_assistant}
    result = run(suite, agents, baselines=False, prices=prices, user_model="assay-scripted", user_model_url=url)
    said = [answer.query for answer in result.answers]
    assert said == ["I'd like to order 1 Trail Runner.", *["Thank you!"] * 4]
    assert result.answers[-1].passed
    first = result.answers[0].record
    assert first is not None
    assert first.user_input_tokens is not None
    assert first.user_output_tokens is not None
    assert first.user_cost == pytest.approx((first.user_input_tokens + 2 * first.user_output_tokens) / 1e6)
    assert first.cost is None  # the function's own model is not known
    assert "The model that plays the users took" in cost_note(costs_of(result.scores))


def test_an_endpoint_that_is_not_there_is_named_as_the_reason() -> None:
    suite = load_suite("shop").select(ids=["shop-one"])
    nowhere = "http://127.0.0.1:9/v1"
    with pytest.raises(
        UsageError, match=f"the endpoint of 'm' cannot be used: {nowhere}: cannot be reached.*nothing was"
    ):
        run(suite, {"mine": shop_assistant}, baselines=False, user_model="m", user_model_url=nowhere)
    # One that is gone later ends the conversations that need it.
    user = ModelUser("m", nowhere, ["a hat"], "thank it", seed=1, key="a")
    with pytest.raises(UserModelError, match="the model of the simulated user, 'm', cannot be asked: "):
        asyncio.run(user.next(None))


@pytest.mark.parametrize(("named", "says"), [("a,b", "takes one model"), ("", "needs the name of a model")])
def test_one_model_plays_the_users(named: str, says: str) -> None:
    with pytest.raises(UsageError, match=f"--user-model {says}"):
        plan_experiment("personas", ["google-adk"], user_model=named)


def test_a_user_model_is_part_of_the_settings_and_needs_a_persona() -> None:
    planned = plan_experiment("personas", ["google-adk"], user_model="m", user_model_url="http://127.0.0.1:9/v1")
    assert planned.to_json()["environment"]["user_model"] == "m"
    assert any("m, at http://127.0.0.1:9/v1" in note for note in planned.notes)
    with pytest.raises(UsageError, match="no chosen scenario has one"):
        plan_experiment("weather", ["google-adk"], user_model="m")
