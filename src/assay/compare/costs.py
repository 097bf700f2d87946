"""What agents cost beside what they achieve: money and seconds, and both for each trial that passed.

Every turn that was played counts, also one that failed. What a trial cost that did not pass is part of the price of
those that did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.chat.scoring.scores import Scores
from assay.stats import POSITIVE, Resampling, sum_interval
from assay.types import Estimate, Floats


@dataclass(frozen=True, slots=True)
class AgentCosts:
    """Money and time of one agent."""

    agent: str
    trials: int
    passed: int
    turns: int
    """Turns that were played."""
    unpriced: int
    """Of these, turns whose cost is not known; if some are, all costs are lower bounds."""
    cost: float | None
    """US dollars of all turns; None if no turn's cost is known."""
    cost_to_pass: Estimate
    """US dollars for each trial that passed; undefined if none did."""
    seconds: float | None
    """Wall time of all turns."""
    seconds_to_pass: Estimate
    user_tokens: int = 0
    """Tokens of a model that played the users, in and out."""
    user_cost: float | None = None
    """US dollars for them; None if no model played the users, or if it is not known. Not part of `cost`."""

    @property
    def cost_of_turn(self) -> float | None:
        """US dollars of a turn, the mean of those whose cost is known."""
        priced = self.turns - self.unpriced
        return None if self.cost is None or not priced else self.cost / priced

    def to_json(self) -> dict[str, Any]:
        """Every figure, ready for JSON."""
        return {
            "trials": self.trials,
            "passed": self.passed,
            "turns": self.turns,
            "turns_of_unknown_cost": self.unpriced,
            "cost_usd": self.cost,
            "cost_of_turn_usd": self.cost_of_turn,
            "cost_to_pass_usd": self.cost_to_pass.ends_json(),
            "seconds": self.seconds,
            "seconds_to_pass": self.seconds_to_pass.ends_json(),
            "user_tokens": self.user_tokens,
            "user_cost_usd": self.user_cost,
        }


def costs_of(scores: Scores) -> list[AgentCosts]:
    """The costs of every agent; those of answers that were read from a file are not known."""
    return [_costs(scores, agent) for agent in scores.agents]


def _costs(scores: Scores, agent: str) -> AgentCosts:
    played = [one for one in scores.answers if one.agent == agent and one.record and one.record.status != "skipped"]
    trials = scores.trials(agent)
    passed = {scenario: sum(of_scenario.values()) for scenario, of_scenario in trials.items()}
    priced = [(one.scenario, one.record.cost) for one in played if one.record and one.record.cost is not None]
    timed = [(one.scenario, one.record.wall) for one in played if one.record and one.record.wall is not None]
    return AgentCosts(
        agent,
        sum(map(len, trials.values())),
        sum(passed.values()),
        len(played),
        len(played) - len(priced),
        _total(priced),
        _for_each_passed(priced, passed),
        _total(timed),
        _for_each_passed(timed, passed),
        sum((one.record.user_input_tokens or 0) + (one.record.user_output_tokens or 0) for one in played if one.record),
        _total(
            [(one.scenario, one.record.user_cost) for one in played if one.record and one.record.user_cost is not None]
        ),
    )


def _total(parts: Sequence[tuple[str, float]]) -> float | None:
    return sum(value for _, value in parts) if parts else None


def _for_each_passed(parts: Sequence[tuple[str, float]], passed: dict[str, int]) -> Estimate:
    """A total divided by the number of trials that passed, with its interval by scenario."""
    if not parts or not any(passed.values()):
        return Estimate(None)
    sums: dict[str, float] = {}
    for scenario, value in parts:
        sums[scenario] = sums.get(scenario, 0.0) + value
    rows = [np.array([sums.get(name, 0.0), float(passed.get(name, 0))]) for name in dict.fromkeys([*sums, *passed])]
    return sum_interval(rows, _ratio, Resampling("episode"), n=len(rows), scale=POSITIVE, unit="scenario")


def _ratio(sums: Floats) -> Floats:
    """Total over trials that passed, of shape (…, 2)."""
    total, passed = np.moveaxis(sums, -1, 0)
    return np.asarray(np.where(passed > 0, total / np.where(passed > 0, passed, 1.0), np.nan))


def known_costs(costs: Iterable[AgentCosts]) -> bool:
    """Whether what anything cost is known."""
    return any(one.cost is not None for one in costs)
