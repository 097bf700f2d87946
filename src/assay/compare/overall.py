"""The overall of agents: a weighted mean of criteria, with the ranges of the weights and intervals by resampling.

The criteria are every metric that was measured for all agents, and the share of trials that pass. An agent without a
single scored turn has nothing to weigh: it is left out and named, and removes no criterion from the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.chat.scoring.scores import Scores
from assay.compare.standing import TIE, CriterionMeans, Standing, WeightRange, group_ranges, ranges, standing
from assay.compare.weights import DEFAULT_WEIGHTS, TRIALS_PASSED, Criterion, Weights
from assay.stats.paired import mean_replicates
from assay.types import Estimate, Floats


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How much of a standing is chance: its values in resamples of the scenarios, the same for every agent."""

    values: Mapping[str, Estimate]
    lead: Estimate | None
    """Lead of the first over the second; None if there is no second."""
    first: Mapping[str, float]
    """Share of the resamples in which each agent comes first; a tie is divided."""


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
        lead = self.uncertainty.lead
        return {
            "order": list(self.standing.order),
            "winners": list(self.standing.winners),
            "values": {
                agent: {"value": estimate.value, "low": estimate.low, "high": estimate.high}
                for agent, estimate in self.uncertainty.values.items()
            },
            "lead": None if lead is None else {"value": lead.value, "low": lead.low, "high": lead.high},
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


def overall(scores: Scores, weights: Weights = DEFAULT_WEIGHTS, *, level: float = 0.95, reps: int = 1000) -> Overall:
    """The overall of every agent that has a scored turn, with the ranges of the weights and the intervals."""
    table = _ScenarioTable.of(scores)
    means = table.means()
    now = standing(means, weights)
    return Overall(
        means,
        weights,
        now,
        ranges(means, weights),
        group_ranges(means, weights),
        table.uncertainty(now, weights, level=level, reps=reps, seed=scores.seed),
        level,
        reps,
        scores.seed,
    )


@dataclass(frozen=True, slots=True)
class _ScenarioTable:
    """Sums and counts of scores by scenario, agent and criterion; each has shape (scenarios, agents, criteria)."""

    agents: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    sums: Floats
    counts: Floats
    without: Mapping[str, str]
    """Agents that have no scored turn, each with the reason."""

    @classmethod
    def of(cls, scores: Scores) -> _ScenarioTable:
        without = _without(scores)
        agents = tuple(agent for agent in scores.agents if agent not in without)
        answers = [answer for answer in scores.answers if answer.agent not in without]
        criteria = (
            Criterion(TRIALS_PASSED, "outcome", "Which share of the trials passes its checks?"),
            *(Criterion(metric.name, metric.group, metric.asks) for metric in scores.metrics),
        )
        scenarios = {name: at for at, name in enumerate(dict.fromkeys(answer.scenario for answer in answers))}
        places = {name: at for at, name in enumerate(agents)}
        turned = [metric.direction == "lower" for metric in scores.metrics]
        sums, counts = np.zeros((2, len(scenarios), len(agents), len(criteria)))
        for answer in answers:
            row, column = scenarios[answer.scenario], places[answer.agent]
            for at, metric in enumerate(scores.metrics, 1):
                entry = answer.entries.get(metric.name)
                if entry is not None and entry.measured:
                    sums[row, column, at] += 1 - entry.score if turned[at - 1] else entry.score
                    counts[row, column, at] += 1
        # Each scenario counts once, however often it was repeated, so that the mean is pass^1.
        for column, agent in enumerate(agents):
            for scenario, passed in scores.trials(agent).items():
                sums[scenarios[scenario], column, 0] = sum(passed.values()) / len(passed)
                counts[scenarios[scenario], column, 0] = 1
        return cls(agents, criteria, sums, counts, without)

    def means(self) -> CriterionMeans:
        sums, counts = self.sums.sum(axis=0), self.counts.sum(axis=0)
        known = (counts > 0).all(axis=0) if len(self.agents) else np.zeros(len(self.criteria), bool)
        values = sums[:, known] / counts[:, known]
        return CriterionMeans(
            self.agents,
            tuple(criterion for criterion, is_known in zip(self.criteria, known, strict=True) if is_known),
            {agent: tuple(values[at].tolist()) for at, agent in enumerate(self.agents)},
            {
                criterion.name: _missing(self.agents, counts[:, at].tolist())
                for at, criterion in enumerate(self.criteria)
                if not known[at]
            },
            self.without,
        )

    def uncertainty(self, now: Standing, weights: Weights, *, level: float, reps: int, seed: int) -> Uncertainty:
        """How `now` varies if the scenarios are resampled."""
        n = len(self.sums)
        method = f"percentile bootstrap, {reps} resamples, seed {seed}"

        def estimate(value: float, replicates: Floats) -> Estimate:
            low = high = None
            if len(replicates):
                tail = (1 - level) / 2 * 100
                low, high = np.percentile(replicates, [tail, 100 - tail]).tolist()
            return Estimate(value, low, high, level, method, "scenario", n, n)

        if not now.winners:
            return Uncertainty({}, None, {})
        replicates = self._replicates(weights, reps=reps, seed=seed)
        column = {agent: replicates[:, at] for at, agent in enumerate(self.agents)}
        lead = None
        if now.lead is not None:
            first, second = now.order[:2]
            lead = estimate(now.lead, column[first] - column[second])
        values = {agent: estimate(value, column[agent]) for agent, value in now.values.items()}
        return Uncertainty(values, lead, self._first(replicates))

    def _replicates(self, weights: Weights, *, reps: int, seed: int) -> Floats:
        """Each agent's overall in each resample, shape (reps, agents); empty with fewer than two scenarios.

        A resample may contain no scenario that measures some criterion. Without the criterion it would be a mean of
        different things, so the agent keeps its mean over all scenarios there.
        """
        n, agents, criteria = self.sums.shape
        if n < 2:
            return np.empty((0, agents))
        shape = (n, agents * criteria)
        flat = mean_replicates(self.sums.reshape(shape), self.counts.reshape(shape), [""] * n, reps=reps, seed=seed)
        means = flat.reshape(reps, agents, criteria)
        counts = self.counts.sum(axis=0)
        known = (counts > 0).all(axis=0)
        whole = self.sums.sum(axis=0) / np.maximum(counts, 1)
        weighed = np.array([weights.of(criterion) for criterion in self.criteria])[known]
        filled = np.where(np.isnan(means), whole, means)[:, :, known]
        return np.asarray(filled @ weighed / weighed.sum(), np.float64)

    def _first(self, replicates: Floats) -> dict[str, float]:
        if not len(replicates):
            return {}
        ahead = replicates.max(axis=1, keepdims=True) - replicates <= TIE
        shares = (ahead / ahead.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(self.agents, shares.tolist(), strict=True))


def _without(scores: Scores) -> dict[str, str]:
    """Agents that have no scored turn, each with its most frequent reason.

    Turns after a failed one are skipped, so a failure is the reason if there is one.
    """
    ended: dict[str, dict[str, Counter[str]]] = {
        agent: {"failed": Counter(), "skipped": Counter()} for agent in scores.agents
    }
    for answer in scores.answers:
        if answer.record is None or answer.record.status == "scored":
            ended.pop(answer.agent, None)
        elif answer.agent in ended:
            ended[answer.agent][answer.record.status][answer.record.reason] += 1
    found = {}
    for agent, reasons in ended.items():
        if reasons["failed"]:
            found[agent] = f"failed: {reasons['failed'].most_common(1)[0][0]}"
        else:
            found[agent] = reasons["skipped"].most_common(1)[0][0] or "skipped"
    return found


def _missing(agents: Sequence[str], counts: Sequence[float]) -> str:
    without = [agent for agent, count in zip(agents, counts, strict=True) if not count]
    return "measured for no agent" if len(without) == len(agents) else f"not measured for {', '.join(without)}"
