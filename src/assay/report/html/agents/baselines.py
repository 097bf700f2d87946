"""The section on baselines: what a constant text and an echo reach, and how far each agent is above them."""

from __future__ import annotations

from assay.compare.skill import MetricSkill, SkillOverBaselines
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.html.page import table
from assay.report.numbers import whole_percent
from assay.types import Estimate

MARK = "≈"
"""Marks a metric on which agents are not above the baselines."""


def baselines_section(found: SkillOverBaselines | None) -> Markup:
    """The section; empty if no baseline was played."""
    if found is None:
        return EMPTY
    explained = element(
        "p",
        *("Two agents without any skill had the same scenarios: ", element("b", "stock"), " always gives one text, "),
        *("written to satisfy the rules, and ", element("b", "echo"), " repeats the question. Skill is how much "),
        "of the way from the better of them to perfection an agent covers: 0 is no better, 1 passes every trial.",
    )
    rows: list[list[str]] = [
        [isolated(agent), whole_percent(found.passed[agent]), _skill(found.skill[agent])] for agent in found.agents
    ]
    rows += [
        [join([isolated(name), element("small", "baseline")]), whole_percent(found.passed[name]), "–"]
        for name in found.baselines
    ]
    return explained + table(["agent", "trials passed", "skill"], rows, label="Skill over baselines") + _useless(found)


def _skill(estimate: Estimate) -> Markup:
    if estimate.value is None:
        return join(["–"])
    shown = join([f"{estimate.value:.2f}"])
    if estimate.low is None or estimate.high is None:
        return shown
    return shown + element("small", f"[{estimate.low:.2f}, {estimate.high:.2f}]")


def _useless(found: SkillOverBaselines) -> Markup:
    if not found.useless:
        return element("p", "On every metric that was measured for both, the best agent is above the baselines.")
    items = (element("li", _metric(one)) for one in found.useless)
    text = "These metrics do not tell agents from baselines here; they are marked with "
    return element("p", text, element("b", MARK), " below:") + element("ul", *items)


def _metric(one: MetricSkill) -> Markup:
    return element("code", one.metric) + join(
        [f": {one.value:.2f} for ", isolated(one.baseline), f", {one.best:.2f} for ", isolated(one.best_agent)]
    )
