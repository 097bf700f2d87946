"""A scenario that passed in the baseline beyond its own noise and fails now is a regression."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest

from assay.compare import Gates, compare
from assay.compare.regressions import ScenarioTrials, chance_of_fewer
from assay.errors import UsageError
from assay.report.export.junit import junit
from assay.report.export.markdown import markdown
from assay.report.gates import allowing_words, not_checked_words
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
    assert failures[0].failure == "s0 passed 1 of 1 trial in the baseline and 0 of 1 now"


def test_runs_without_trials_are_refused() -> None:
    scored = chat_run({"x": {"accuracy": [[0.5], [0.9]]}})
    untried = compare(scored, scored)
    with pytest.raises(UsageError, match="no trials that pass or fail"):
        Gates(["regressions"]).check([untried])


def chosen(run: Run, **suite: object) -> Run:
    """The run with what it keeps of its suite."""
    return replace(run, settings={"suite": {"limit": None, "kinds": None, "chosen": None, "scenarios": [], **suite}})


BEFORE = {"a": (1, 1), "b": (2, 3), "never": (0, 1), "kept": (1, 1)}


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({}, {}, "missing now: no longer in the suite"),
        ({}, {"scenarios": ["a", "b", "never", "kept"]}, "not played now: the run is not complete"),
        # With the same options as before, it is the suite that has changed.
        ({"limit": 4}, {"limit": 4}, "missing now: no longer in the suite"),
    ],
)
def test_a_scenario_that_passed_and_is_missing_without_an_explanation_fails_the_gate(
    before: dict[str, object], now: dict[str, object], words: str
) -> None:
    comparison = compare(chosen(passed(**BEFORE), **before), chosen(passed(kept=(1, 1)), **now))
    outcomes = Gates(["regressions"]).check([comparison])
    failed = {one.scenario: one.failure for one in outcomes if one.failure}
    assert failed == {
        "a": f"a passed 1 of 1 trial in the baseline and is {words}",
        "b": f"b passed 2 of 3 trials in the baseline and is {words}",
    }
    assert "--allow-missing a,b;" in allowing_words(outcomes)


def test_a_scenario_that_is_skipped_now_is_lost_too_and_transcripts_have_no_suite() -> None:
    comparison = compare(passed(a=(1, 1), b=(1, 1), c=(1, 1)), passed(a=(0, 0), c=(1, 1)))
    failed = [one.failure for one in Gates(["regressions"]).check([comparison]) if one.failure]
    assert failed == [
        "a passed 1 of 1 trial in the baseline and is skipped now",
        "b passed 1 of 1 trial in the baseline and is missing now",
    ]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("limit", 1, "left out now by --limit"),
        ("kinds", ["current"], "left out now by --kinds"),
        ("chosen", ["kept"], "left out now by --scenarios"),
    ],
)
def test_a_scenario_that_was_not_to_be_played_is_said_and_fails_nothing(option: str, value: object, words: str) -> None:
    comparison = compare(chosen(passed(**BEFORE)), chosen(passed(kept=(1, 1)), **{option: value}))
    outcomes = Gates(["regressions"]).check([comparison])
    assert not [one for one in outcomes if one.failure]
    assert not_checked_words(outcomes) == [
        f"not checked in {comparison.candidate.label}: 2 scenarios that passed in the baseline ({words}): a, b"
    ]
    tests = {case.get("name"): case for case in Xml.fromstring(junit(outcomes)).iter("testcase")}
    skipped = tests["a"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == f"a passed in the baseline and is {words}"
    assert tests["kept"].find("skipped") is None
    assert f"2 scenarios that passed in the baseline ({words}): a, b" in markdown([comparison], outcomes)


def test_scenarios_that_may_be_missing_are_named_by_patterns() -> None:
    comparison = compare(passed(old_a=(1, 1), old_b=(1, 1), c=(1, 1), d=(1, 1)), passed(d=(0, 1)))
    outcomes = Gates(["regressions"], allow_missing=["old_*"]).check([comparison])
    assert [one.scenario for one in outcomes if one.failure] == ["c", "d"]  # one is missing, one fails
    assert [one.scenario for one in outcomes if one.not_checked] == ["old_a", "old_b"]
