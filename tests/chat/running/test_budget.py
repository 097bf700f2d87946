"""A budget is never exceeded, however many conversations run at a time; what is not played counts nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.chat.running.test_runner import NOWHERE, RIGHT, suite, truth

import assay.chat
from assay.chat.agents import Limits
from assay.chat.agents.function import FunctionAgent
from assay.chat.prices import ModelPrice, listed_price, prices_of
from assay.chat.running.budget import Budget
from assay.chat.running.hosts.host import LocalHost
from assay.chat.running.runner import Runner
from assay.chat.running.sinks import MemorySink, Progress
from assay.chat.running.trials import Pace
from assay.errors import RunInterruptedError, UsageError
from assay.runs.planning import plan_experiment
from assay.runs.results import Incomplete
from assay.runs.starting import start_run
from assay.store import open_store

PRICE = ModelPrice(input=1.0, output=2.0)
TURN = (1000 * 1.0 + 500 * 2.0) / 1e6
"""What a turn of the agents below costs."""
LIMITS = Limits(model_calls=1, max_tokens=500)


def talker(output_tokens: int = 500) -> Callable[[str], Any]:
    async def answer(message: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"text": RIGHT, "input_tokens": 1000, "output_tokens": output_tokens}

    return answer


def played(
    turns: tuple[int, ...], limit: float, *, agents: dict[str, Callable[[str], Any]], **pace: Any
) -> tuple[MemorySink, Progress, Budget]:
    sink = MemorySink()
    prices = dict.fromkeys(agents, PRICE)
    budget = Budget(limit, price_of=prices.get, limits=LIMITS)

    async def main() -> Progress:
        hosts = {name: LocalHost(FunctionAgent(name, function).kind(), NOWHERE) for name, function in agents.items()}
        runner = Runner(suite(*turns), hosts, truth, pace=Pace(**pace), prices=prices, budget=budget)
        state = await runner.run(sink)
        for host in hosts.values():
            await host.close()
        return state

    return sink, asyncio.run(main()), budget


@pytest.mark.parametrize("at_once", [1, 7])
def test_a_budget_holds_whatever_runs_at_a_time_and_all_agents_play_the_same(at_once: int) -> None:
    agents = {name: talker() for name in ("a", "b")}
    sink, state, budget = played((2,) * 12, 40 * TURN, agents=agents, jobs=at_once, concurrency=at_once)
    assert state.stopped is not None
    assert 0 < state.done < state.total == 24
    warm_up = 2 * 2 * TURN
    assert budget.spent == pytest.approx(len(sink.answers) * TURN + warm_up)
    assert budget.spent <= 40 * TURN
    # Nothing is left that could have been played: a scenario of two turns and two agents is reserved at twice its cost.
    assert budget.spent + 2 * 2 * 2 * TURN > 40 * TURN
    by_agent = [{answer.scenario for answer in sink.answers if answer.agent == name} for name in agents]
    assert by_agent[0] == by_agent[1]
    assert all(answer.passed and answer.record and answer.record.cost == TURN for answer in sink.answers)


def test_a_budget_plays_as_far_with_many_at_a_time_as_with_one() -> None:
    def answers(at_once: int) -> dict[tuple[str, str], int]:
        agents = {name: talker() for name in ("a", "b")}
        pace: dict[str, Any] = {"jobs": at_once, "concurrency": at_once, "warm_up": False}
        sink, state, budget = played((1, 3, 2) * 8, 70 * TURN, agents=agents, **pace)
        assert state.stopped is not None
        # The sentence adds up: what comes next does not fit beside what was spent.
        assert state.stopped.spent == budget.spent
        assert state.stopped.spent + state.stopped.needed > 70 * TURN
        return {(one.agent, one.scenario): one.turn for one in sink.answers}

    assert answers(1) == answers(4) == answers(16)


def test_a_conversation_that_others_leave_no_money_for_is_played_after_them() -> None:
    """The first turn of b costs five times as much from the second scenario on: its reserve is too small by then."""
    calls = 0

    async def dearer(message: str) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        return {"text": RIGHT, "input_tokens": 1000 if calls <= 3 else 5000, "output_tokens": 500}

    agents = {"a": talker(), "b": dearer}
    sink, state, budget = played((3,) * 6, 0.22, agents=agents, jobs=8, concurrency=4, warm_up=False)
    assert budget.spent <= 0.22
    by_agent = {name: {one.scenario for one in sink.answers if one.agent == name} for name in agents}
    assert by_agent["a"] == by_agent["b"]
    assert state.stopped is None or state.stopped.spent + state.stopped.needed > 0.22


def test_enough_money_plays_everything() -> None:
    _, state, budget = played((2, 1), 40 * TURN, agents={"a": talker()})
    assert state.stopped is None
    assert state.done == state.total == 2
    assert budget.committed == budget.spent


def test_less_than_the_first_turns_may_cost_plays_nothing() -> None:
    sink, state, budget = played((1,), TURN, agents={"a": talker()})
    assert state.stopped is not None
    assert (sink.answers, budget.spent) == ([], 0.0)
    assert "USD 0.002 stopped the run: USD 0.0000 was spent" in state.stopped.words()


def test_a_conversation_that_costs_more_than_was_reserved_ends_and_is_no_trial() -> None:
    calls = 0

    async def growing(message: str) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return {"text": RIGHT, "input_tokens": 1000 * 3**calls, "output_tokens": 0}

    limit = 1.0
    sink, state, budget = played((20,), limit, agents={"a": growing}, warm_up=False)
    assert state.stopped is not None
    assert sink.answers == []
    assert budget.spent < limit


def test_turns_of_unknown_cost_count_as_what_was_reserved() -> None:
    budget = Budget(1.0, price_of=lambda agent: PRICE, limits=LIMITS)
    declared = (4000 * 1.0 + 500 * 2.0) / 1e6
    key = ("a", "s", 0)
    assert budget.reserve([(key, 1)]) is None
    budget.charge(key, 0, None)
    assert budget.spent == declared
    budget.charge(key, 0, 0.01)
    assert budget.turns_cost("a", 0, 1) == 0.02  # twice the costliest
    assert budget.turns_cost("a", 0, 4) == pytest.approx(0.02 * (1 + 2 + 3 + 4))  # and history grows


def test_a_cost_is_the_sum_of_its_tokens_and_none_if_they_are_unknown() -> None:
    price = ModelPrice(input=2.0, output=10.0, cached=0.5)
    assert price.cost(1_000_000, 0) == 2.0
    assert price.cost(1_000_000, 100_000, 400_000) == 0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 10
    assert ModelPrice(input=2.0, output=10.0).cost(1_000_000, 0, 400_000) == 2.0  # no price of its own for cached ones
    assert price.cost(None, 5) is None
    assert price.cost(5, None) is None
    assert ModelPrice(input=1, output=1, holds_up_to=10).cost(11, 0) is None
    assert ModelPrice(input=0, output=0).cost(5, 5) == 0.0  # free is not unknown


def test_prices_are_those_of_the_list_unless_they_are_stated() -> None:
    listed = listed_price("gpt-4o-mini")
    assert listed is not None
    assert (listed.input, listed.output) == (0.15, 0.6)
    assert listed_price("openai/gpt-4o-mini") == listed == listed_price("gpt-4o-mini", url="http://127.0.0.1:1/v1")
    assert listed_price("gpt-4o-mini", url="https://api.deepseek.com") is None  # that provider has no such model
    assert prices_of(["gpt-4o-mini", "assay-scripted"], {"gpt-4o-mini": PRICE}) == {"gpt-4o-mini": PRICE}
    long = listed_price("gemini-2.5-pro")
    assert long is not None
    assert long.holds_up_to == 200_000


AGENT = """def answer(message):
    return {"text": "It is sunny.", "input_tokens": 1000, "output_tokens": 500}
"""
AGENTS = """agents:
  - {name: mine, function: "counting_agent:answer", model: tiny}
prices:
  tiny: {input: 1.0, output: 2.0}
"""


@pytest.mark.slow
def test_a_budget_leaves_a_run_incomplete_that_a_larger_one_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counting_agent.py").write_text(AGENT, encoding="utf-8")
    agents, store = tmp_path / "agents.yaml", str(tmp_path / "runs.db")
    agents.write_text(AGENTS, encoding="utf-8")
    # Before its first turn, the most that eight calls may take is reserved for each of the two turns that warm it up.
    first = assay.chat.run(
        "weather",
        str(agents),
        limit=6,
        kinds=["current"],
        repeat=10,
        budget=0.10,
        store=store,
        name="money",
        pace=Pace(),
    )
    assert first.incomplete is not None
    assert first.incomplete.done < first.incomplete.planned == 60
    assert first.incomplete.spent <= 0.10
    assert first.notes[0].startswith("Incomplete: the budget of USD 0.1 stopped the run")
    assert first.to_json()["incomplete"]["planned"] == 60
    assert first.run is not None
    assert first.baselines is None  # they are played with the rest
    whole = assay.chat.run(resume=first.run.id, store=store, budget=1.0)
    assert whole.incomplete is None
    assert len(whole.answers) == 60
    assert whole.run is not None
    # Each start warms the agent up with two turns, which cost money too.
    assert whole.run.settings["spent"] == pytest.approx((60 + 2 * 2) * TURN)
    assert whole.run.settings["budget"] == 1.0


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_it_has_spent_and_what_turns_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counting_agent.py").write_text(AGENT, encoding="utf-8")
    agents, store = tmp_path / "agents.yaml", str(tmp_path / "runs.db")
    agents.write_text(AGENTS, encoding="utf-8")
    # By its limits, what warms an agent up may cost nearly all of the budget, and the whole run costs less than half.
    chosen = {"limit": 6, "kinds": ["current"], "repeat": 3, "pace": Pace()}
    experiment = plan_experiment("weather", str(agents), budget=0.1, **chosen)  # type: ignore[arg-type]
    limits = experiment.environment.limits
    warm_up = 2 * limits.model_calls * (4000 * 1.0 + limits.max_tokens * 2.0) / 1e6

    async def interrupted() -> None:
        def stop(state: Progress) -> None:
            if state.done == 9:
                work.cancel()

        work = asyncio.create_task(start_run(experiment, store=store, name="money", progress=stop))
        with pytest.raises(RunInterruptedError):
            await work

    asyncio.run(interrupted())
    with open_store(store) as opened:
        [left] = opened.list()
        answers = opened.answers(left.run.id)
    spent = left.run.settings["spent"]
    assert len(answers) >= 9
    assert spent >= (len(answers) + 2) * TURN - 1e-9
    assert spent + warm_up > 0.1
    whole = assay.chat.run(resume=left.run.id, store=store)
    assert whole.incomplete is None
    assert len(whole.answers) == 18
    assert whole.run is not None
    assert whole.run.settings["spent"] == pytest.approx(spent + (18 - len(answers) + 2) * TURN)


def test_a_budget_that_goes_on_reserves_by_what_turns_have_cost() -> None:
    budget = Budget(1.0, price_of={"a": PRICE}.get, limits=LIMITS)
    assert budget.turns_cost("a", 0, 2) == pytest.approx(2 * (4000 * 1.0 + 500 * 2.0) / 1e6)
    budget.learn("a", 0, TURN)
    budget.learn("a", 0, TURN / 2)
    assert budget.turns_cost("a", 0, 1) == pytest.approx(2 * TURN)
    assert budget.spent == 0.0


@pytest.mark.parametrize(
    ("budget", "spent", "needed", "suggested"),
    [(0.02, 0.0, 0.2304, "0.25"), (0.1, 0.09, 0.02, "0.2"), (2.5, 2.4, 0.3, "5")],
)
def test_the_suggested_budget_is_enough_to_go_on(budget: float, spent: float, needed: float, suggested: str) -> None:
    stopped = Incomplete("", 0, 6, budget, spent, needed)
    assert stopped.suggested_budget == suggested
    assert float(stopped.suggested_budget) >= spent + needed


def test_a_budget_needs_prices() -> None:
    with pytest.raises(UsageError, match=r"scripted model costs nothing.*--model, state a price for assay-scripted"):
        plan_experiment("weather", ["google-adk"], limit=1, budget=1.0)
    with pytest.raises(UsageError, match="cost of 'mine' is not known: it does not name its model"):
        plan_experiment("weather", {"mine": talker()}, limit=1, budget=1.0)
    with pytest.raises(UsageError, match="a budget must be above 0"):
        plan_experiment("weather", ["google-adk"], prices={"assay-scripted": PRICE}, limit=1, budget=0.0)
    with pytest.raises(UsageError, match="the price of the model 'a' is wrong: output"):
        plan_experiment("weather", ["google-adk"], prices={"a": {"input": 1.0}}, limit=1)
