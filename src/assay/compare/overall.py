"""The overall of agents: a weighted mean of criteria, with the ranges of the weights and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.chat.scoring.scores import Scores
from assay.compare.scenario_table import ScenarioTable, Uncertainty
from assay.compare.standing import CriterionMeans, Standing, WeightRange, group_ranges, ranges, standing
from assay.compare.weights import DEFAULT_WEIGHTS, Weights

if TYPE_CHECKING:
    from assay.chat.load.results import AgentLoad


@dataclass(frozen=True, slots=True)
class Overall:
    """Everything about the overall at some weights."""

    means: CriterionMeans
    weights: Weights
    standing: Standing
    ranges: Mapping[str, WeightRange]
    """By criterion; empty if every weight is 0."""
    group_ranges: Mapping[str, WeightRange]
    uncertainty: Uncertainty
    level: float = 0.95
    reps: int = 1000
    seed: int = 42

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON; `high` of a range without an upper end is None."""
        lead, by_scenarios = self.uncertainty.lead, self.uncertainty.by_scenarios
        return {
            "order": list(self.standing.order),
            "winners": list(self.standing.winners),
            "values": {agent: estimate.ends_json() for agent, estimate in self.uncertainty.values.items()},
            "lead": None if lead is None else lead.ends_json(),
            "lead_by_scenarios": None if by_scenarios is None else by_scenarios.ends_json(),
            "lead_measured_once": self.uncertainty.once,
            "first_in": dict(self.uncertainty.first),
            "weights": {criterion.name: self.weights.of(criterion) for criterion in self.means.criteria},
            "means": {
                agent: dict(zip((one.name for one in self.means.criteria), means, strict=True))
                for agent, means in self.means.values.items()
            },
            "left_out": dict(self.means.left_out),
            "agents_left_out": dict(self.means.without),
            "ranges": {name: _range_json(kept) for name, kept in self.ranges.items()},
            "group_ranges": {name: _range_json(kept) for name, kept in self.group_ranges.items()},
            "settings": {"level": self.level, "reps": self.reps, "seed": self.seed, "unit": "scenario"},
        }


def _range_json(kept: WeightRange) -> dict[str, Any]:
    high = None if math.isinf(kept.high) else kept.high
    return {"low": kept.low, "high": high, "below": kept.below, "above": kept.above}


def overall(
    scores: Scores,
    weights: Weights = DEFAULT_WEIGHTS,
    *,
    level: float = 0.95,
    reps: int = 1000,
    loads: Sequence[AgentLoad] = (),
) -> Overall:
    """The overall of every agent that has a scored turn, with the ranges of the weights and the intervals.

    `loads` are load tests of the same agents, which count as a criterion.
    """
    return overall_of(ScenarioTable.of(scores, loads), weights, level=level, reps=reps, seed=scores.seed)


def overall_of(
    table: ScenarioTable, weights: Weights = DEFAULT_WEIGHTS, *, level: float = 0.95, reps: int = 1000, seed: int = 42
) -> Overall:
    """The overall of the agents of a table."""
    means = table.means
    now = standing(means, weights)
    return Overall(
        means,
        weights,
        now,
        ranges(means, weights),
        group_ranges(means, weights),
        table.uncertainty(now, weights, level=level, reps=reps, seed=seed),
        level,
        reps,
        seed,
    )
