"""What agents cost, in words and figures that every medium shares; and the effects of frameworks and models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.compare.costs import AgentCosts, known_costs
from assay.report.verdicts import signed
from assay.types import Estimate

if TYPE_CHECKING:
    from assay.compare import Comparison, ComparisonLine

_HEADER = ("agent", "trials passed", "cost", "1,000 turns", "per passed trial", "seconds per passed trial")
_WITHOUT_MONEY = (0, 1, 5)
COSTS_EXPLAINED = (
    "Every turn that was played counts, also those of trials that did not pass: the cost of a passed trial "
    "is everything that was spent, divided by the number of trials that passed."
)


def has_costs(costs: Sequence[AgentCosts]) -> bool:
    """Whether there is anything to show: agents whose turns were timed, or whose tokens have a price."""
    return any(one.seconds is not None for one in costs) or known_costs(costs)


def cost_table(costs: Sequence[AgentCosts]) -> tuple[list[str], list[list[str]]]:
    """Header and rows, one for each agent; without money if no price is known."""
    chosen = range(len(_HEADER)) if known_costs(costs) else _WITHOUT_MONEY
    return [_HEADER[at] for at in chosen], [[row[at] for at in chosen] for row in _rows(costs)]


def _rows(costs: Sequence[AgentCosts]) -> list[list[str]]:
    return [
        [
            one.agent,
            f"{one.passed:,} of {one.trials:,}",
            _at_least(one, money(one.cost)),
            money(None if one.cost_of_turn is None else 1000 * one.cost_of_turn),
            _at_least(one, _with_ends(one.cost_to_pass, money)),
            _with_ends(one.seconds_to_pass, _seconds),
        ]
        for one in costs
    ]


def cost_note(costs: Sequence[AgentCosts]) -> str:
    """Why costs are missing or too low, and what simulated users took; empty if there is nothing to say."""
    notes = []
    if not known_costs(costs):
        notes.append("No price is known for the model, so money is not shown.")
    elif any(one.cost is not None and one.unpriced for one in costs):
        notes.append("≥: the tokens of some turns are not known, so it is a lower bound.")
    of_users = sum(one.user_tokens for one in costs)
    if of_users:
        priced = [one.user_cost for one in costs if one.user_cost is not None]
        spent = f", {money(sum(priced))}" if priced else ", whose price is not known"
        notes.append(f"The model that plays the users took {of_users:,} tokens{spent}; they are not included above.")
    return " ".join(notes)


def money(dollars: float | None) -> str:
    """An amount in US dollars, with as many digits as are needed to see it."""
    if dollars is None:
        return "–"
    digits = 2 if dollars >= 1 or not dollars else 4 if dollars >= 0.001 else 6
    return f"${dollars:,.{digits}f}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _with_ends(estimate: Estimate, write: Callable[[float | None], str]) -> str:
    shown = write(estimate.value)
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{write(estimate.low)}, {write(estimate.high)}]"


def _at_least(one: AgentCosts, text: str) -> str:
    return f"≥ {text}" if one.unpriced and one.cost is not None and text != "–" else text


EFFECT_HEADER = ("effect", "trials passed", "cost of 1,000 turns", "what else differs")
EFFECTS_EXPLAINED = (
    "A main effect compares two frameworks over all models, or two models over all frameworks. An interaction compares "
    "what a model changes in one framework with what it changes in another. All are paired by scenario."
)


def effect_rows(effects: Sequence[Comparison]) -> list[list[str]]:
    """A row for each effect: its difference in trials passed and in cost, and the other metrics that differ."""
    rows = []
    for one in effects:
        lines = {line.measure.key: line for line in one.lines}
        others = [
            f"{line.measure.title} {signed(line.verdict.difference, line.measure.unit)}"
            for key, line in lines.items()
            if line.verdict.call in ("better", "worse")
            and line.verdict.difference is not None
            and key not in ("trials_passed", "cost_musd")
        ]
        shown = [_effect(lines.get(key)) for key in ("trials_passed", "cost_musd")]
        rows.append([f"{one.candidate.label} − {one.baseline.label}", *shown, ", ".join(others) or "nothing"])
    return rows


def _effect(line: ComparisonLine | None) -> str:
    if line is None or line.verdict.difference is None:
        return "–"
    verdict, unit = line.verdict, line.measure.unit
    ends = ""
    if verdict.low is not None and verdict.high is not None:
        ends = f" [{signed(verdict.low, unit)}, {signed(verdict.high, unit)}]"
    return f"{signed(line.verdict.difference, unit)}{ends} {verdict.call}"
