"""Which agent comes first at given weights, and how far each weight may move before another agent does.

All agents are divided by the same sum of weights, so the lead of one agent over another is linear in each weight, and
the ends of the range in which the first stays first have a closed form. A page computes the same again while its reader
moves the weights: `report/static/overall.js` mirrors `standing` and `kept_range` operation for operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.compare.weights import Criterion, Weights

# Overalls this close tie: the difference is a rounding error. Unequal means of scores with two decimals are further
# apart in any run of fewer than a million answers.
TIE = 1e-12


@dataclass(frozen=True, slots=True)
class CriterionMeans:
    """Every agent's mean of every criterion, from 0 to 1; higher is better."""

    agents: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    """Those measured for every agent."""
    values: Mapping[str, tuple[float, ...]]
    """By agent, in the order of the criteria."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Criteria that were not measured for every agent, each with the reason."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Agents that have no scored turn and are not among `agents`, each with the reason."""

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(criterion.group for criterion in self.criteria))


@dataclass(frozen=True, slots=True)
class Standing:
    """The agents in order of their overall, for some weights."""

    values: Mapping[str, float]
    """Each agent's overall; empty if every weight is 0."""
    order: tuple[str, ...]
    """The agents, best first; agents that tie are in the order of the run."""
    winners: tuple[str, ...]
    """The first agent, or all agents that tie for first."""

    @property
    def lead(self) -> float | None:
        """How far the first is ahead of the second; None if there is no second."""
        return self.values[self.order[0]] - self.values[self.order[1]] if len(self.order) > 1 else None


@dataclass(frozen=True, slots=True)
class WeightRange:
    """The weights of one criterion or group with which the winners stay the winners while all other weights stay the
    same.

    At an end other than 0 another agent ties; beyond it, that agent is ahead.
    """

    low: float = 0.0
    high: float = math.inf
    below: str | None = None
    """The agent that comes first below `low`; None if `low` is 0."""
    above: str | None = None
    """The agent that comes first above `high`; None if the range has no upper end."""


def standing(means: CriterionMeans, weights: Weights) -> Standing:
    """The agents in order of their overall."""
    weighed = [weights.of(criterion) for criterion in means.criteria]
    total = _sum(weighed)
    if not total:
        return Standing({}, (), ())
    values = {
        agent: _sum([weight * value for weight, value in zip(weighed, means.values[agent], strict=True)]) / total
        for agent in means.agents
    }
    best = max(values.values())
    winners = tuple(agent for agent in means.agents if best - values[agent] <= TIE)
    rest = sorted((agent for agent in means.agents if agent not in winners), key=lambda agent: -values[agent])
    return Standing(values, (*winners, *rest), winners)


def contributions(means: CriterionMeans, weights: Weights, ahead: str, behind: str) -> list[tuple[str, float]]:
    """What each criterion adds to the lead of one agent over another, the largest first; together they are the lead."""
    weighed = [weights.of(criterion) for criterion in means.criteria]
    total = _sum(weighed)
    found = [
        (criterion.name, weight * (a - b) / total)
        for criterion, weight, a, b in zip(
            means.criteria, weighed, means.values[ahead], means.values[behind], strict=True
        )
    ]
    return sorted(found, key=lambda one: -abs(one[1]))


def ranges(means: CriterionMeans, weights: Weights) -> dict[str, WeightRange]:
    """For each criterion, the range of its own weight in which the winners stay the winners."""
    return {
        criterion.name: kept_range(
            means,
            weights,
            [weights.groups.get(criterion.group, 1.0) if other is criterion else 0.0 for other in means.criteria],
            weights.criteria.get(criterion.name, 1.0),
        )
        for criterion in (means.criteria if standing(means, weights).winners else ())
    }


def group_ranges(means: CriterionMeans, weights: Weights) -> dict[str, WeightRange]:
    """For each group, the range of its weight in which the winners stay the winners."""
    return {
        group: kept_range(
            means,
            weights,
            [weights.criteria.get(other.name, 1.0) if other.group == group else 0.0 for other in means.criteria],
            weights.groups.get(group, 1.0),
        )
        for group in (means.groups if standing(means, weights).winners else ())
    }


def kept_range(means: CriterionMeans, weights: Weights, moved: Sequence[float], now: float) -> WeightRange:
    """The range of one weight, which is `now`, in which the winners stay the winners.

    `moved` is what one unit of it adds to the weight of each criterion: 0 for those it does not touch. At weight v,
    a winner w is ahead of j by still + v · slope, up to a factor that is the same for both. So each j limits the range
    on one side: from below if w gains on j with v, from above if w loses.
    """
    winners = standing(means, weights).winners
    still = [0.0 if moves else weights.of(criterion) for criterion, moves in zip(means.criteria, moved, strict=True)]
    low, high = (0.0, 0.0, ""), (math.inf, 0.0, "")
    for winner in winners:
        for other in means.agents:
            gaps = [a - b for a, b in zip(means.values[winner], means.values[other], strict=True)]
            slope = _sum([move * gap for move, gap in zip(moved, gaps, strict=True)])
            if other in winners and abs(slope) > TIE:
                # Any change of this weight ends the tie; rounding must not hide that.
                end = now
            elif abs(slope) > TIE:
                end = -_sum([weight * gap for weight, gap in zip(still, gaps, strict=True)]) / slope
            else:
                continue
            # If several agents take over at one point, the one that gains fastest is ahead after it.
            if slope > 0 and (end > low[0] or (end == low[0] and slope > low[1] > 0)):
                low = (end, slope, other)
            elif slope < 0 and (end < high[0] or (end == high[0] and slope < high[1])):
                high = (end, slope, other)
    # The winners win at the current weight, whatever rounding gives.
    return WeightRange(min(low[0], now), max(high[0], now), low[2] or None, high[2] or None)


def _sum(values: Sequence[float]) -> float:
    """The sum, added one by one as the page's script does: `sum` of newer Pythons rounds differently."""
    total = 0.0
    for value in values:
        total += value
    return total
