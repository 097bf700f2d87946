"""JUnit and Markdown of agents in a suite: one test for each scenario and agent, and failed checks with their words."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as Xml

from tests.report.agent_scores import answer, scored

from assay.chat.scoring.answers import Answer, FailedCheck
from assay.chat.scoring.scores import Scores
from assay.compare.skill import skill_over
from assay.report.export.junit import trials_junit
from assay.report.export.markdown import trials_markdown
from assay.report.failures import failure_words, failures_of

WRONG = FailedCheck("accuracy >= 0.9", "accuracy is 0.70: a figure is wrong", "€98.90 <b>|")


def failing(agent: str, scenario: str, repetition: int = 0) -> Answer:
    return replace(answer(agent, scenario, False, repetition=repetition), failures=(WRONG,))


def scores() -> Scores:
    return scored(
        answer("a", "one"),
        failing("a", "two"),
        failing("a", "two", 1),
        answer("a", "three", False, status="failed", reason="ValueError: boom\x00"),
        answer("a", "four", False, status="skipped", reason="not installed"),
        answer("b", "one"),
    )


def test_a_check_that_fails_alike_in_every_repetition_is_one_line() -> None:
    two, three = failures_of(scores())
    assert failure_words(two) == (
        "a · two · accuracy >= 0.9: accuracy is 0.70: a figure is wrong (“€98.90 <b>|”) (2 times)"
    )
    assert failure_words(three, agent=False) == "three · the turn ends without an error: ValueError: boom\x00"


def test_junit_has_a_test_for_each_scenario_and_agent() -> None:
    root = Xml.fromstring(trials_junit(scores(), suite="fares@1"))
    suites = root.findall("testsuite")
    assert [(one.get("name"), one.get("tests"), one.get("failures"), one.get("skipped")) for one in suites] == [
        ("a: fares@1", "4", "2", "1"),
        ("b: fares@1", "1", "0", "0"),
    ]
    cases = {case.get("name"): case for case in suites[0]}
    failure = cases["two"].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("0 of 2 trials pass; two · accuracy >= 0.9: accuracy is 0.70")
    assert "€98.90 <b>|" in (failure.text or "")
    crash = cases["three"].find("failure")
    assert crash is not None
    assert "ValueError: boom\ufffd" in (crash.get("message") or "")
    skipped = cases["four"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not installed"
    assert len(cases["one"]) == 0


def test_markdown_shows_shares_skill_and_failed_checks() -> None:
    baselines = scored(*(answer("stock", name, False) for name in ("one", "two", "three")))
    text = trials_markdown(scores(), skill=skill_over(scores(), baselines), suite="fares@1")
    assert "| a | 1 of 4 | 0.33" in text  # one of three scenarios, and stock passes none
    assert "| stock (baseline) | 0 % | |" in text
    assert "- a · two · accuracy >= 0.9" in text
    assert "€98.90 \\<b>\\|" in text
    assert "| b | 1 of 1 | 1.00 |" in text
