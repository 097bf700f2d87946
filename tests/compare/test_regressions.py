"""A scenario that passed in the baseline beyond its own noise and fails now is a regression."""

from __future__ import annotations

import pytest

from assay.compare import Gates, compare
from assay.compare.regressions import ScenarioTrials, chance_of_fewer, scenario_trials
from assay.errors import UsageError
from assay.types import Case, Distribution, Ratio, Run

from .conftest import chat_run


def passed(**scenarios: tuple[int, int]) -> Run:
    """A run of one agent: how many of how many trials of each scenario pass."""
    tallies = {
        Case(name): {"trials_passed": Distribution.of([1.0] * hits + [0.0] * (total - hits))}
        for name, (hits, total) in scenarios.items()
    }
    return Run("id", "chat", "run", "", "", {}, 42, {"chat": 1}, {}, {}, {"bot": tallies})


@pytest.mark.parametrize(
    ("before", "after", "regressed"),
    [
        ((1, 1), (0, 1), True),  # passed its only trial, and fails it now
        ((3, 3), (1, 3), True),  # most trials fail now
        ((3, 3), (2, 3), False),
        ((2, 2), (1, 2), False),  # half is not most
        ((0, 3), (0, 3), False),  # never passed
        ((3, 3), (0, 0), False),  # skipped now: nothing is known
        ((2, 3), (0, 3), False),  # by chance in 4 of 20 cases: C(3,0)·C(3,2)/C(6,2) = 3/15
        ((9, 10), (3, 10), True),
    ],
)
def test_what_counts_as_a_regression(before: tuple[int, int], after: tuple[int, int], regressed: bool) -> None:
    assert ScenarioTrials("s", Ratio(*before), Ratio(*after)).has_regressed is regressed


def test_the_chance_of_as_few_is_fishers_exact_test() -> None:
    assert chance_of_fewer(Ratio(2, 3), Ratio(0, 3)) == 3 / 15
    assert chance_of_fewer(Ratio(3, 3), Ratio(0, 3)) == 1 / 20  # one of C(6,3) ways
    assert chance_of_fewer(Ratio(1, 2), Ratio(2, 2)) == 1.0  # no fewer than before


def test_three_scenarios_lost_among_sixty_fail_the_gate_and_are_named() -> None:
    before = passed(**{f"s{at}": (1, 1) for at in range(60)})
    after = passed(**{f"s{at}": (int(at >= 3), 1) for at in range(60)})
    comparison = compare(before, after)
    assert comparison.line("trials_passed").verdict.call != "worse"  # too few to tell on average
    failures = [one for one in Gates(["worse", "regressions"]).check([comparison]) if one.failure]
    assert [one.scenario for one in failures] == ["s0", "s1", "s2"]
    assert failures[0].failure == "s0 passed 1 of 1 trials in the baseline and 0 of 1 now"


def test_only_common_scenarios_are_judged_and_runs_without_trials_are_refused() -> None:
    comparison = compare(passed(a=(1, 1), b=(1, 1)), passed(b=(0, 1), c=(0, 1)))
    assert [one.scenario for one in scenario_trials(comparison)] == ["b"]
    scored = chat_run({"x": {"accuracy": [[0.5], [0.9]]}})
    untried = compare(scored, scored)
    with pytest.raises(UsageError, match="no trials that pass or fail"):
        Gates(["regressions"]).check([untried])
