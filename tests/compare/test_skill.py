"""Skill over baselines: computed by hand, and what it says of metrics that do not tell agents apart."""

from __future__ import annotations

import pytest
from tests.report.agent_scores import answer, scored

from assay.compare.skill import skill_over


def agents_of(agent: str, passed: list[bool], *, score: float | None = 1.0, first: int = 0) -> list:  # type: ignore[type-arg]
    return [answer(agent, f"s{at}", ok, score=score) for at, ok in enumerate(passed, first)]


def test_skill_is_what_an_agent_has_beyond_the_better_baseline() -> None:
    # The agent passes 8 of 10, stock 2 of 10, echo 0: (0.8 − 0.2) ÷ (1 − 0.2) = 0.75.
    agents = scored(*agents_of("mine", [True] * 8 + [False] * 2))
    baselines = scored(*agents_of("stock", [False] * 8 + [True] * 2), *agents_of("echo", [False] * 10))
    found = skill_over(agents, baselines)
    assert found.over == {"mine": "stock"}
    assert found.skill["mine"].value == pytest.approx(0.75)
    assert found.skill["mine"].n_units == 10
    low, high = found.skill["mine"].low, found.skill["mine"].high
    assert low is not None
    assert high is not None
    assert -0.5 < low < 0.75 < high <= 1
    assert found.passed == {"mine": 0.8, "stock": 0.2, "echo": 0.0}


def test_a_baseline_has_no_skill_over_itself_and_perfection_has_all() -> None:
    text = [True, False, False, False]
    found = skill_over(
        scored(*agents_of("copy", text), *agents_of("perfect", [True] * 4)), scored(*agents_of("stock", text))
    )
    assert found.skill["copy"].value == 0.0
    assert found.skill["perfect"].value == 1.0
    # It differs in no scenario. That is not certainty: four can have missed 1 − 0.025^(1/4) of all.
    assert (found.skill["copy"].low, found.skill["copy"].high) == pytest.approx((-0.6024, 0.6024), abs=1e-4)


def test_only_scenarios_that_both_had_count() -> None:
    # The agent has s0 and s1 alone; stock passes only scenarios that the agent did not have.
    agents = scored(*agents_of("mine", [True, False]))
    baselines = scored(*agents_of("stock", [False, False, True, True]))
    found = skill_over(agents, baselines)
    assert found.skill["mine"].value == 0.5
    assert found.passed["stock"] == 0.5


def test_nothing_is_above_a_perfect_baseline() -> None:
    found = skill_over(scored(*agents_of("mine", [True, True])), scored(*agents_of("stock", [True, True])))
    assert found.skill["mine"].value is None


def test_a_metric_on_which_a_baseline_matches_the_best_agent_is_marked() -> None:
    agents = scored(*agents_of("a", [True] * 2, score=0.8), *agents_of("b", [True] * 2, score=0.5))
    [below] = skill_over(agents, scored(*agents_of("stock", [False] * 2, score=0.6))).metrics
    assert (below.best_agent, below.best, below.baseline, below.value) == ("a", 0.8, "stock", 0.6)
    assert below.tells_apart
    assert below.skill["a"] == pytest.approx(0.5)  # (0.8 − 0.6) ÷ (1 − 0.6)
    assert below.skill["b"] == pytest.approx(-0.25)
    [equal] = skill_over(agents, scored(*agents_of("stock", [False] * 2, score=0.798))).useless
    assert not equal.tells_apart  # 0.80 both, as they are shown


def test_a_metric_that_no_baseline_has_is_left_out() -> None:
    agents = scored(*agents_of("a", [True] * 2))
    assert skill_over(agents, scored(*agents_of("stock", [False] * 2, score=None))).metrics == ()


def test_scenarios_in_common_may_be_none() -> None:
    found = skill_over(scored(*agents_of("a", [True])), scored(*agents_of("stock", [True], first=5)))
    assert found.skill["a"].value is None
    assert found.to_json()["skill"]["a"] == {"value": None, "low": None, "high": None, "over": None}


@pytest.mark.parametrize("passed", [[True, True, False], [True, False], [True, True, False, True, True]])
def test_an_agent_cannot_be_worse_than_one_that_passes_nothing(passed: list[bool]) -> None:
    """Over a baseline that passes none of n, whose share may be up to b = 1 − 0.025^(1/n), that is −b ÷ (1 − b)."""
    nothing = [False] * len(passed)
    found = skill_over(scored(*agents_of("a", passed)), scored(*agents_of("stock", nothing))).skill["a"]
    b = 1 - 0.025 ** (1 / len(passed))
    assert found.low is not None
    assert -b / (1 - b) - 1e-9 <= found.low < (found.value or 0.0)
