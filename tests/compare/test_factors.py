"""Frameworks and models as factors: effects that can be computed by hand; and what passing costs."""

from __future__ import annotations

import pytest
from tests.report.agent_scores import answer, scored

from assay.chat.agents.spec import parse_agents
from assay.chat.running.models import Cell, cells_of, chosen_models, crossed, is_grid
from assay.chat.scoring.tallies import tallies_of
from assay.compare.costs import costs_of
from assay.compare.factors import effects
from assay.errors import UsageError
from assay.types import Run

CELLS = {f"{framework} @ {model}": Cell(framework, model) for framework in ("adk", "graph") for model in ("a", "b")}


def run_of(shares: dict[str, float], scenarios: int = 20) -> Run:
    """A run in which each cell has this score in every scenario, and passes that share of them."""
    answers = [
        answer(agent, f"s{at:02}", at < share * scenarios, score=share, cost=0.001 * (1 + share))
        for agent, share in shares.items()
        for at in range(scenarios)
    ]
    return Run.unstored("experiment", settings={}, seed=1, versions={"accuracy": 1}, tallies=tallies_of(answers))


def test_effects_are_means_of_cells_and_differences_of_differences() -> None:
    run = run_of({"adk @ a": 0.4, "adk @ b": 0.6, "graph @ a": 0.5, "graph @ b": 1.0})
    of_framework, of_model, together = effects(run, CELLS)
    assert [one.candidate.label for one in (of_framework, of_model, together)] == [
        "graph, any model",
        "b, any framework",
        "(b − a) in graph",
    ]
    for metric in ("accuracy", "trials_passed"):
        assert of_framework.line(metric).verdict.difference == pytest.approx((0.5 + 1.0) / 2 - (0.4 + 0.6) / 2)
        assert of_model.line(metric).verdict.difference == pytest.approx((0.6 + 1.0) / 2 - (0.4 + 0.5) / 2)
        assert together.line(metric).verdict.difference == pytest.approx((1.0 - 0.5) - (0.6 - 0.4))
    passed = of_model.line("trials_passed").verdict
    assert passed.low is not None
    assert passed.high is not None
    assert passed.low < 0.35 < passed.high
    assert of_model.line("cost_musd").verdict.difference == pytest.approx(0.35)
    assert of_model.n_common == 20


def test_without_interaction_the_difference_of_differences_is_0() -> None:
    run = run_of({"adk @ a": 0.2, "adk @ b": 0.5, "graph @ a": 0.4, "graph @ b": 0.7})
    assert effects(run, CELLS)[2].line("accuracy").verdict.difference == pytest.approx(0.0)


def test_only_a_whole_grid_has_effects_and_scenarios_that_one_cell_lacks_do_not_count() -> None:
    run = run_of({"adk @ a": 0.2, "adk @ b": 0.5, "graph @ a": 0.4})
    assert effects(run, CELLS) == []
    whole = run_of(dict.fromkeys(CELLS, 0.5))
    lost = next(iter(whole.tallies["graph @ b"]))
    del whole.tallies["graph @ b"][lost]  # type: ignore[attr-defined]
    assert effects(whole, CELLS)[0].n_common == 19


def test_agents_are_crossed_with_models_and_those_with_their_own_are_played_once() -> None:
    agents = parse_agents("google-adk,mine=http://127.0.0.1:1/v1,langgraph")
    cells = crossed(agents, chosen_models("gpt-5-mini, org/big:8b"))
    assert [agent.name for agent in cells] == [
        "google-adk @ gpt-5-mini",
        "google-adk @ org-big-8b",
        "mine",
        "langgraph @ gpt-5-mini",
        "langgraph @ org-big-8b",
    ]
    assert cells_of(cells)["langgraph @ org-big-8b"] == Cell("langgraph", "org/big:8b")
    assert is_grid(cells_of(cells))
    assert crossed(agents, chosen_models("one")) == tuple(agents)
    assert chosen_models(["a", "b"]) == chosen_models("a,b") == ("a", "b")
    for wrong in ("a,,b", "a,a", ""):
        with pytest.raises(UsageError):
            chosen_models(wrong)


def test_what_passing_costs_is_all_that_was_spent_over_what_passed() -> None:
    scores = scored(
        answer("a", "one", True, cost=0.02, wall=2.0),
        answer("a", "two", False, cost=0.03, wall=4.0),
        answer("a", "three", False, status="failed", wall=6.0),
        answer("b", "one", False, cost=0.02, wall=1.0),
        answer("c", "one", True, wall=1.0),
    )
    a, b, c = costs_of(scores)
    assert (a.cost, a.cost_to_pass.value, a.seconds_to_pass.value) == (0.05, 0.05, 12.0)
    assert (a.unpriced, a.passed, a.trials) == (1, 1, 3)
    assert a.cost_of_turn == 0.025
    assert b.cost_to_pass.value is None  # nothing passed
    assert (c.cost, c.cost_of_turn, c.cost_to_pass.value) == (None, None, None)  # unknown is not 0
    assert c.to_json()["cost_usd"] is None
