"""A killed process's conversation continues in another one, and what was lost or doubled is a failed check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.chat import run
from assay.chat.suites import load_suite, read_suite
from assay.chat.yamlfile import parse_yaml
from assay.runs import ExperimentResult

HERE = Path(__file__).parents[1]
SUITE = """
name: killed
version: 1
scenarios:
- id: between
  kind: between
  turns: [{user: Hello!, state: {}}, {user: Thank you!, restart: before, state: {}}]
- id: during
  kind: during
  turns: [{user: Hello!, restart: during, state: {}}, {user: Thank you!, state: {}}]
"""


@pytest.fixture(scope="module")
def played() -> Iterator[ExperimentResult]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), before or ""])
    agents = {"after": "persisting:AFTER", "at once": "persisting:AT_ONCE", "never": "persisting:NEVER"}
    try:
        yield run(read_suite(parse_yaml(SUITE, "killed.yaml")), agents, baselines=False)
    finally:
        os.environ["PYTHONPATH"] = before or ""


def checks(result: ExperimentResult, agent: str, scenario: str) -> list[list[str]]:
    """The failed checks of each turn."""
    found = [answer for answer in result.answers if (answer.agent, answer.scenario) == (agent, scenario)]
    assert [answer.status for answer in found] == ["scored", "scored"], [answer.record for answer in found]
    return [[failure.check for failure in answer.failures] for answer in found]


@pytest.mark.slow(seconds=12)
def test_storing_a_turn_when_it_is_over_loses_and_doubles_nothing(played: ExperimentResult) -> None:
    assert checks(played, "after", "between") == [[], []]
    assert checks(played, "after", "during") == [[], []]


@pytest.mark.slow(seconds=6)
def test_storing_a_message_at_once_has_it_twice_after_a_kill_in_mid_turn(played: ExperimentResult) -> None:
    assert checks(played, "at once", "between") == [[], []]
    assert checks(played, "at once", "during") == [["no message is doubled"], ["no message is doubled"]]


@pytest.mark.slow
def test_storing_nothing_loses_what_was_said(played: ExperimentResult) -> None:
    assert checks(played, "never", "between") == [[], ["no message is lost"]]
    # The interrupted turn is asked again, so that nothing is missing from it.
    assert checks(played, "never", "during") == [[], []]


def test_the_suite_kills_between_and_in_the_middle_of_turns() -> None:
    suite = load_suite("restart")
    assert suite.has_restarts
    assert {turn.restart for scenario in suite.scenarios for turn in scenario.turns} == {None, "before", "during"}
    assert not load_suite("weather").has_restarts


def test_an_agent_of_ones_own_is_not_killed() -> None:
    plain = "- {id: plain, kind: plain, turns: [{user: Hello!}]}\n"
    suite = read_suite(parse_yaml(SUITE + plain, "killed.yaml"))
    result = run(suite, {"mine": lambda message: "Hi!"}, baselines=False)
    assert {(answer.scenario == "plain", answer.status) for answer in result.answers} == {
        (False, "skipped"),
        (True, "scored"),
    }
