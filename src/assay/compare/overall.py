"""The overall of agents: a weighted mean of criteria, with the ranges of the weights and intervals.

The criteria are every metric that was measured for all agents, and the share of trials that pass. An agent without a
single scored turn has nothing to weigh: it is left out and named, and removes no criterion from the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.chat.scoring.scores import Scores
from assay.compare.standing import TIE, CriterionMeans, Standing, WeightRange, group_ranges, ranges, standing
from assay.compare.weights import DEFAULT_WEIGHTS, TRIALS_PASSED, Criterion, Weights
from assay.stats import SHARE, Changes, difference
from assay.stats.by_episode import resample_weights
from assay.stats.jackknife import Strata, ends, unit_contributions
from assay.types import Estimate, Floats

# At most this many weights are in memory at a time (32 MB).
_WEIGHTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How much of a standing is chance: how it varies with the scenarios, the same for every agent."""

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
        """How `now` varies with the scenarios."""
        if not now.winners:
            return Uncertainty({}, None, {})
        n = len(self.sums)
        blank = Estimate(
            None, level=level, unit="scenario", n=n, n_units=n, method=f"t interval, jackknife of {n} scenarios"
        )
        if n < 2:
            blank = replace(blank, method="none: one scenario only")
            lead = None if now.lead is None else replace(blank, value=now.lead)
            return Uncertainty({agent: replace(blank, value=value) for agent, value in now.values.items()}, lead, {})
        weighed = self._weighed(weights)
        within, values = Strata.of(None, n), np.array([now.values[agent] for agent in self.agents])
        parts = unit_contributions(self._table, weighed, values, within)
        error, skewness = within.spread(parts)
        low, high = ends(values, error, skewness, n - 1, level=level, scale=SHARE, n=n)
        lead = None
        if now.lead is not None:
            first, second = (self.agents.index(agent) for agent in now.order[:2])
            ahead = parts[:, first] - parts[:, second]
            by_scenario = np.round(now.lead + ahead * n, 12)
            changes = Changes.of(np.zeros(n), by_scenario, possible=1.0)
            found = difference(now.lead, contributions=ahead, freedom=n - 1, level=level, changes=changes)
            assert found is not None
            lead = replace(blank, value=found.value, low=found.low, high=found.high)
        return Uncertainty(
            {
                agent: replace(blank, value=value, low=float(low[at]), high=float(high[at]))
                for at, (agent, value) in enumerate(zip(self.agents, values.tolist(), strict=True))
            },
            lead,
            self._first(self._replicates(weighed, reps=reps, seed=seed)),
        )

    @property
    def _table(self) -> Floats:
        """Sums and counts, shape (scenarios, 2 · agents · criteria)."""
        n = len(self.sums)
        return np.concatenate([self.sums.reshape(n, -1), self.counts.reshape(n, -1)], axis=1)

    def _weighed(self, weights: Weights) -> Callable[[Floats], Floats]:
        """A function from sums and counts of all scenarios, shape (…, 2 · agents · criteria), to overalls, (…, agents).

        A part of the scenarios may not measure some criterion. Without the criterion it would be a mean of different
        things, so the agent keeps its mean over all scenarios there.
        """
        counts = self.counts.sum(axis=0)
        known = (counts > 0).all(axis=0)
        whole = self.sums.sum(axis=0) / np.maximum(counts, 1)
        weighed = np.array([weights.of(criterion) for criterion in self.criteria])[known]

        def overalls(table: Floats) -> Floats:
            sums, counts = np.moveaxis(table.reshape(*table.shape[:-1], 2, *whole.shape), -3, 0)
            means = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), whole)[..., known]
            return np.asarray(means @ weighed / weighed.sum(), np.float64)

        return overalls

    def _replicates(self, weighed: Callable[[Floats], Floats], *, reps: int, seed: int) -> Floats:
        """Each agent's overall in each resample, shape (reps, agents)."""
        n, table = len(self.sums), self._table
        rng, step = np.random.default_rng(seed), max(1, _WEIGHTS_AT_ONCE // n)
        sizes = [min(step, reps - start) for start in range(0, reps, step)]
        return np.concatenate([weighed(resample_weights(n, None, size, rng) @ table) for size in sizes])

    def _first(self, replicates: Floats) -> dict[str, float]:
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
