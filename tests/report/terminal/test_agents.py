"""Agents side by side in the terminal: 80 columns, however many agents and whatever their names."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from tests.report.agent_scores import AGENTS, HOSTILE, experience, scores
from tests.report.terminal.printing import printed

from assay.chat.scoring.scores import Scores, score
from assay.chat.transcript import parse
from assay.compare.overall import overall
from assay.compare.skill import skill_over

NOTES = ("The model is a scripted stand-in.",)


@pytest.fixture(scope="module")
def plausible() -> Scores:
    return scores()


@pytest.mark.parametrize("number", [1, 3, 5, 7])
@pytest.mark.parametrize("nasty", [False, True])
@pytest.mark.slow
def test_any_number_of_agents_fits_80_columns(number: int, nasty: bool) -> None:
    agents = [f"{HOSTILE[at % 6] if nasty else ''}{AGENTS[at % 5]}-{at}" for at in range(number)]
    lines = printed(
        scores(agents, scenarios=8, repetitions=2, hostile=nasty),
        experience=experience(agents),
        notes=HOSTILE if nasty else NOTES,
        suite="weather@1",
    )
    assert max(map(cell_len, lines)) <= 80
    text = "\n".join(lines)
    # No number is cut: what is too long is a name.
    assert not re.search(r"(?<!alert\()(?<!markup)[\d.\[]…", text.replace("-…", ""))
    assert all(line.isprintable() for line in lines)
    for title in ("Overall", "Metrics", "Where the time goes", "Faults survived", "Repetitions"):
        assert any(line.startswith(title) for line in lines)
    for at in range(1, number + 1):
        assert re.search(rf"(?m)\b{at} ", text)


@pytest.mark.slow
def test_the_terminal_shows_which_agent_leads_and_what_would_change_it(plausible: Scores) -> None:
    text = " ".join(" ".join(printed(plausible, notes=NOTES)).split())
    assert "1,050 trials: 994 scored, 9 skipped, 47 failed" in text
    found = overall(plausible)
    lead, varied = found.uncertainty.lead, found.uncertainty.by_scenarios
    assert lead is not None
    assert varied is not None
    added, low, high = (f"{value:+.3f}".replace("-", "−") for value in (varied.value, varied.low, varied.high))
    assert (
        f"agent-framework is {lead.value:.3f} ahead of {found.standing.order[1]}: {found.uncertainty.once:+.3f} was "
        f"measured once and has no interval, and scenarios add {added} [{low}, {high}]"
    ) in text
    assert f"agent-framework 7 failed {found.standing.values['agent-framework']:.3f}" in text
    assert "Overall · weight of trials passed and of turns answered 5, of each metric 1" in text
    assert "The lead comes from implementation effort +0.0" in text
    kept = found.group_ranges["developer experience"]
    assert f"developer experience is below {kept.low:.2f} ({kept.below})" in text
    assert "The model is a scripted stand-in." in text


def test_a_metric_that_no_agent_has_is_named_below_the_table_and_one_agent_is_not_ranked() -> None:
    turn = {"user": "When does the next bus leave?", "assistant": "The next bus leaves at ten past eight."}
    some = score([parse({"agent": "only", "scenario": "one", "turns": [turn]}, "here")])
    unmeasured = {line.metric for line in some.lines() if line.estimate.value is None}
    text = "\n".join(printed(some))
    rows, empty = text.split("Metrics ·")[1].split("\n\nNot measured: ")
    assert set(re.findall(r"\w+", empty.split("\n\n")[0])) == unmeasured
    assert not any(name in rows for name in unmeasured)
    assert "first in" not in text


def test_a_wider_terminal_shows_longer_names() -> None:
    name = "a-name-longer-than-what-the-times-leave"
    long = scores([name, "other"], scenarios=8)
    narrow, wide = (
        "\n".join(printed(long, width=width)).split("Where the time goes")[1].split("\n\n")[0] for width in (80, 160)
    )
    assert name not in narrow
    assert name in wide


def test_failed_checks_are_listed_with_scenario_and_words(plausible: Scores) -> None:
    text = " ".join(" ".join(printed(plausible)).split())
    listed = text.split("Checks that failed · in ")[1].split("Metrics · means")[0]
    assert listed.startswith("114 of the scenarios and agents, the first 10")
    assert listed.count(" · nothing is wrong: a figure is wrong: off by ") + listed.count("ends without an error") >= 8
    assert "°C”)" in listed


def test_metrics_that_do_not_tell_agents_from_baselines_are_marked() -> None:
    agents = scores(["one"], scenarios=8, repetitions=1)
    found = skill_over(agents, scores(["stock"], scenarios=8, repetitions=1))
    lines = printed(agents, skill=found)
    assert any(line.startswith("Skill over baselines") for line in lines)
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("  accuracy ≈ ") for line in lines)  # stock answers just as the agent does
    assert not any("≈" in line for line in printed(agents))
