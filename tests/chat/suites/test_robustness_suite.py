"""The bundled robustness suite: every quirk, each with a plain turn after it, and its own pace."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.chat.agents import Limits
from assay.chat.running.environment import Environment
from assay.chat.running.experiment import PaceOptions
from assay.chat.running.trials import Pace
from assay.chat.scoring.outcomes.robustness import OUTCOMES
from assay.chat.suites import load_suite
from assay.chat.world.quirks import QUIRKS, Quirk
from assay.errors import AssayError
from assay.runs import plan_experiment

ROBUSTNESS = load_suite("robustness")
FIVE = ("google-adk", "agent-framework", "openai-agents", "langgraph", "pydantic-ai")


def test_it_has_every_quirk() -> None:
    quirks = [quirk for scenario in ROBUSTNESS.scenarios if (quirk := scenario.quirk_of(0)) is not None]
    assert len(quirks) == len(ROBUSTNESS.scenarios) >= 45
    assert {quirk.kind for quirk in quirks} == set(QUIRKS)
    assert {"status_500*1", "status_500", "unknown_tool*1", "unknown_tool"} <= set(map(str, quirks))
    assert Counter(scenario.kind for scenario in ROBUSTNESS.scenarios)["arguments"] == 9


def test_a_plain_turn_follows_each_quirk() -> None:
    for scenario in ROBUSTNESS.scenarios:
        first, last = scenario.turns
        assert (first.quirk is not None, last.quirk, last.fault) == (True, None, None), scenario.id
        # Both have a truth: an answer is right or wrong, never a matter of taste.
        assert first.weather is not None
        assert last.weather is not None
        assert first.weather != last.weather


def test_it_is_played_fast_and_by_all_agents_at_the_same_time() -> None:
    experiment = plan_experiment("robustness", FIVE)
    assert experiment.pace == Pace(jobs=5, turn_timeout=15)
    assert experiment.environment.limits == Limits(model_timeout=5, tool_timeout=5)  # and its repetition ends too
    assert experiment.baselines is False
    assert plan_experiment("robustness", FIVE, pace=PaceOptions(jobs=2, turn_timeout=6)).pace == Pace(2, 1, 6)
    assert plan_experiment("weather", FIVE).pace == Pace()


@dataclass
class Services:
    """Which services of the run an agent uses."""

    uses_setup: bool
    uses_model: bool


@pytest.mark.parametrize(
    ("uses_setup", "environment", "quirk", "reason"),
    [
        (True, Environment(), "length", None),
        (False, Environment(), "length", "cannot reach an agent that has its own model and tools"),
        (True, Environment(model="gpt"), "length", "needs the scripted model"),
        (True, Environment(model="gpt"), "tool-text", None),
        (True, Environment(weather="openweather"), "tool-text", "needs the embedded weather service"),
    ],
)
def test_quirk_that_cannot_reach_an_agent_skips_its_scenario(
    uses_setup: bool, environment: Environment, quirk: str, reason: str | None
) -> None:
    [scenario] = ROBUSTNESS.select(ids=[quirk]).scenarios
    found = environment.unplayable(Services(uses_setup, uses_setup), scenario)
    assert (found is None) if reason is None else (found is not None and found.endswith(reason))


def test_quirk_as_text() -> None:
    assert Quirk.parse("empty_answer*2") == Quirk("empty_answer", 2)
    assert str(Quirk.parse("empty_answer")) == "empty_answer"
    assert Quirk("tool_hangs").is_of_tools
    assert not Quirk("html").is_of_tools
    with pytest.raises(AssayError, match="Did you mean 'empty_answer'"):
        Quirk.parse("empty_anwser")
    with pytest.raises(AssayError, match="positive integer"):
        Quirk.parse("empty_answer*0")


def test_outcome_needs_a_quirk(tmp_path: Path) -> None:
    text = "name: s\nversion: 1\nscenarios: [{id: a, kind: b, turns: [{user: Hi, outcome: recovered}]}]\n"
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(AssayError, match="has an outcome and no quirk"):
        load_suite(file)


def test_the_guide_lists_every_quirk_and_every_outcome() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/robustness.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", guide, re.MULTILINE)) == QUIRKS
    rows = re.findall(r"^\| ([a-z ]+) \| [A-Za-z]+ \|", guide, re.MULTILINE)
    assert [row.replace(" ", "_") for row in rows if row != "outcome"] == list(OUTCOMES)
