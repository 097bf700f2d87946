"""Which agent comes first overall, at which weights, and how far each weight may move before another does.

The overall of an agent is the weighted mean of its criteria: every metric that was measured for all agents, and the
share of trials that pass. An agent without a single scored turn has nothing to be weighed: it is left out and named,
and takes no criterion from the others. All agents are divided by the same sum of weights, so who is ahead of whom is
linear in each weight, and the ends of the range in which the first stays first have a closed form.

The page computes the same again while its reader moves the weights: `report/static/overall.js` mirrors `standing` and
`kept_range` operation for operation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from assay.chat.scoring.scores import Scores
from assay.errors import UsageError
from assay.stats.paired import mean_replicates
from assay.types import Estimate, Floats

MOST: Final = 5.0
"""The largest weight; the smallest is 0."""

PASSED: Final = "trials_passed"
"""The criterion that is no metric. A failed turn has no scores, so that no metric counts it; this one does."""

# Overalls this close are a tie: their difference is that of rounding. Means of scores with two decimals that are not
# equal lie further apart in any run of fewer than a million answers.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Criterion:
    """Something that an overall weighs."""

    name: str
    group: str
    asks: str
    """What it asks, as one question."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each criterion counts: its own weight times that of its group. What is not named weighs 1."""

    criteria: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, weight in (*self.criteria.items(), *self.groups.items()):
            if not 0 <= weight <= MOST:
                raise UsageError(f"the weight of '{name}' is {weight}", hint=f"Give a number from 0 to {MOST:g}")

    def of(self, criterion: Criterion) -> float:
        """What a criterion counts."""
        return self.groups.get(criterion.group, 1.0) * self.criteria.get(criterion.name, 1.0)


ALIKE: Final = Weights()

OPENING: Final = Weights({PASSED: 5})
"""What an overall opens with: the outcome counts as much as a group of metrics does.

There are fifteen metrics in three groups, five to a group. Weighed as one metric, the outcome would hardly count a
failure, which no metric counts. To weigh the groups alike would do the same for the outcome, but make one metric of
developer experience count as much as nearly three of what users are told.
"""

PRESETS: Final[Mapping[str, Weights]] = {
    "outcome as a group": OPENING,
    "all metrics alike": ALIKE,
    # Nobody who asks about the weather sees a plan or a file; all see a wrong figure, a wait, and a failure.
    "what users feel": Weights(
        {
            PASSED: 5,
            "accuracy": 3,
            "task_completion": 3,
            "response_time": 2,
            "groundedness": 2,
            "error_recovery": 2,
            "action_planning": 0,
            "tool_call_count": 0,
        },
        {"developer experience": 0},
    ),
    # Who maintains it builds, connects and repairs it, and pays for its calls.
    "what developers feel": Weights(
        {PASSED: 5, "tool_call_count": 2, "action_planning": 2, "error_recovery": 2}, {"developer experience": 5}
    ),
    # What one would be called at night for; the rest counts a quarter.
    "nothing may go wrong": Weights(
        {PASSED: 5, "accuracy": 5, "groundedness": 5, "error_recovery": 5, "repeatability": 3},
        {"functional": 0.25, "behavioural": 0.25, "developer experience": 0},
    ),
}
"""Weights to begin with, by their name."""


@dataclass(frozen=True, slots=True)
class Means:
    """Every agent's mean in every criterion, from 0 to 1, more is better."""

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
    """Who is where, at some weights."""

    values: Mapping[str, float]
    """Each agent's overall; empty where nothing weighs anything."""
    order: tuple[str, ...]
    """The agents, best first; those that tie in the order of the run."""
    winners: tuple[str, ...]
    """The first, or all that tie for it."""

    @property
    def lead(self) -> float | None:
        """How far the first is ahead of the second; None where there is no second."""
        return self.values[self.order[0]] - self.values[self.order[1]] if len(self.order) > 1 else None


@dataclass(frozen=True, slots=True)
class Range:
    """The weights of one criterion or group, the others as they are, with which the winners stay the winners.

    At an end that is not 0 the next one ties, and beyond it is ahead.
    """

    low: float = 0.0
    high: float = math.inf
    below: str | None = None
    """Who comes first below; None where there is no below."""
    above: str | None = None
    """Who comes first above; None where the range has no end."""


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How much of a standing is chance: what it is in resamples of the scenarios, the same ones for every agent."""

    values: Mapping[str, Estimate]
    lead: Estimate | None
    """Of the first over the second; None where there is no second."""
    first: Mapping[str, float]
    """In which share of the resamples each agent comes first; ties are shared."""


@dataclass(frozen=True, slots=True)
class Overall:
    """Everything about the overall at some weights."""

    means: Means
    weights: Weights
    standing: Standing
    ranges: Mapping[str, Range]
    """By criterion; empty where nothing weighs anything."""
    group_ranges: Mapping[str, Range]
    uncertainty: Uncertainty
    level: float = 0.95
    reps: int = 1000
    seed: int = 42

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON; a range without an end has none."""
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


def _range_json(kept: Range) -> dict[str, Any]:
    high = None if math.isinf(kept.high) else kept.high
    return {"low": kept.low, "high": high, "below": kept.below, "above": kept.above}


def overall(scores: Scores, weights: Weights = OPENING, *, level: float = 0.95, reps: int = 1000) -> Overall:
    """The overall of every agent that has a scored turn, with the ranges of the weights and the intervals."""
    table = _Table.of(scores)
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


# --- exactly: who is first, and for how long -------------------------------------------------------------------------


def standing(means: Means, weights: Weights) -> Standing:
    """Who is where."""
    weighed = [weights.of(criterion) for criterion in means.criteria]
    total = _sum(weighed)
    if not total:
        return Standing({}, (), ())
    values = {
        agent: _sum([weight * value for weight, value in zip(weighed, means.values[agent], strict=True)]) / total
        for agent in means.agents
    }
    best = max(values.values())
    winners = tuple(agent for agent in means.agents if best - values[agent] <= _TIE)
    rest = sorted((agent for agent in means.agents if agent not in winners), key=lambda agent: -values[agent])
    return Standing(values, (*winners, *rest), winners)


def contributions(means: Means, weights: Weights, ahead: str, behind: str) -> list[tuple[str, float]]:
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


def ranges(means: Means, weights: Weights) -> dict[str, Range]:
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


def group_ranges(means: Means, weights: Weights) -> dict[str, Range]:
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


def kept_range(means: Means, weights: Weights, moved: Sequence[float], now: float) -> Range:
    """The range of one weight, which is `now`, in which the winners stay the winners.

    `moved` is what one unit of it adds to the weight of each criterion: 0 for those it does not touch. A winner w is
    ahead of j by still + v · slope at weight v, up to a factor that is the same for both, so that each j puts one end
    to the range: below it where w gains on j with v, above it where w loses.
    """
    winners = standing(means, weights).winners
    still = [0.0 if moves else weights.of(criterion) for criterion, moves in zip(means.criteria, moved, strict=True)]
    low, high = (0.0, 0.0, ""), (math.inf, 0.0, "")
    for winner in winners:
        for other in means.agents:
            gaps = [a - b for a, b in zip(means.values[winner], means.values[other], strict=True)]
            slope = _sum([move * gap for move, gap in zip(moved, gaps, strict=True)])
            if other in winners and abs(slope) > _TIE:
                # Any move of this weight ends the tie, and rounding must not say otherwise.
                end = now
            elif abs(slope) > _TIE:
                end = -_sum([weight * gap for weight, gap in zip(still, gaps, strict=True)]) / slope
            else:
                continue
            # Where several take over at one point, the one that is ahead after it gains fastest.
            if slope > 0 and (end > low[0] or (end == low[0] and slope > low[1] > 0)):
                low = (end, slope, other)
            elif slope < 0 and (end < high[0] or (end == high[0] and slope < high[1])):
                high = (end, slope, other)
    # What wins now wins at the weight that is set now, whatever rounding says.
    return Range(min(low[0], now), max(high[0], now), low[2] or None, high[2] or None)


def _sum(values: Sequence[float]) -> float:
    """Added one by one, as the page's script does: `sum` of newer Pythons rounds less, and differently."""
    total = 0.0
    for value in values:
        total += value
    return total


# --- by resampling: how much of it is chance -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """Sums and numbers of scores by scenario, agent and criterion, shape (scenarios, agents, criteria) each."""

    agents: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    sums: Floats
    counts: Floats
    without: Mapping[str, str]
    """Agents that have no scored turn, each with the reason."""

    @classmethod
    def of(cls, scores: Scores) -> _Table:
        without = _without(scores)
        agents = tuple(agent for agent in scores.agents if agent not in without)
        answers = [answer for answer in scores.answers if answer.agent not in without]
        criteria = (
            Criterion(PASSED, "outcome", "Which share of the trials passes its checks?"),
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
        # A scenario's share counts once, however often it was repeated, so that the mean is pass^1.
        for column, agent in enumerate(agents):
            for scenario, passed in scores.trials(agent).items():
                sums[scenarios[scenario], column, 0] = sum(passed.values()) / len(passed)
                counts[scenarios[scenario], column, 0] = 1
        return cls(agents, criteria, sums, counts, without)

    def means(self) -> Means:
        sums, counts = self.sums.sum(axis=0), self.counts.sum(axis=0)
        known = (counts > 0).all(axis=0) if len(self.agents) else np.zeros(len(self.criteria), bool)
        values = sums[:, known] / counts[:, known]
        return Means(
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
        """What `now` would be with other scenarios of the same kind."""
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
        """Each agent's overall in each resample of scenarios, shape (reps, agents); none with fewer than two.

        What few scenarios measure, a resample may not measure at all. Leaving that criterion out would make it a mean
        of other things, so the agent keeps the mean that it has in all scenarios.
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
        ahead = replicates.max(axis=1, keepdims=True) - replicates <= _TIE
        shares = (ahead / ahead.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(self.agents, shares.tolist(), strict=True))


def _without(scores: Scores) -> dict[str, str]:
    """Agents that have no scored turn, each with the reason that most of its turns give.

    What follows a failed turn is skipped, so that where something failed, that is the reason.
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
