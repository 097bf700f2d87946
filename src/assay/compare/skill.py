"""Skill of agents over the baselines: 0 is no better than a constant text or an echo, 1 is perfect.

Skill is (agent − baseline) ÷ (1 − baseline), with the better of the baselines, on the scenarios that both had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.chat.scoring.metric import Metric
from assay.chat.scoring.scores import Scores
from assay.stats import SHARE, SKILL, Resampling, sum_interval
from assay.types import Estimate, Floats


@dataclass(frozen=True, slots=True)
class MetricSkill:
    """One metric: the best baseline, the best agent, and the skill of each agent."""

    metric: str
    baseline: str
    """The better baseline."""
    value: float
    """Its mean, as 1 − mean if lower is better."""
    best_agent: str
    best: float
    """The mean of the best agent, in the same way."""
    skill: Mapping[str, float | None]
    """By agent; None if the agent was not measured, or if the baseline is perfect."""

    @property
    def tells_apart(self) -> bool:
        """Whether the best agent is above the baseline, in the two decimals that are shown."""
        return round(self.best, 2) > round(self.value, 2)


@dataclass(frozen=True, slots=True)
class SkillOverBaselines:
    """How far agents are above the baselines."""

    agents: tuple[str, ...]
    baselines: tuple[str, ...]
    passed: Mapping[str, float | None]
    """Share of trials that pass, of each agent and each baseline, over its own scenarios."""
    over: Mapping[str, str]
    """For each agent, the baseline that is better on the agent's scenarios."""
    skill: Mapping[str, Estimate]
    """By agent, on the share of trials that pass; its value is None if the baseline passes everything."""
    metrics: tuple[MetricSkill, ...]
    """Those that were measured for an agent and for a baseline."""

    @property
    def useless(self) -> tuple[MetricSkill, ...]:
        """Metrics that do not tell agents from baselines here."""
        return tuple(one for one in self.metrics if not one.tells_apart)

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "names": list(self.baselines),
            "passed": dict(self.passed),
            "skill": {
                agent: {"value": one.value, "low": one.low, "high": one.high, "over": self.over.get(agent)}
                for agent, one in self.skill.items()
            },
            "metrics": {
                one.metric: {
                    "baseline": one.baseline,
                    "value": one.value,
                    "best_agent": one.best_agent,
                    "best": one.best,
                    "tells_apart": one.tells_apart,
                    "skill": dict(one.skill),
                }
                for one in self.metrics
            },
        }


def skill_over(agents: Scores, baselines: Scores) -> SkillOverBaselines:
    """The skill of each agent over the baselines that had the same scenarios."""
    shares = {name: _shares(scores, name) for scores in (agents, baselines) for name in scores.agents}
    over: dict[str, str] = {}
    skill: dict[str, Estimate] = {}
    for agent in agents.agents:
        best = _best(shares[agent], {name: shares[name] for name in baselines.agents})
        if best is not None:
            over[agent] = best
        skill[agent] = _estimate(shares[agent], shares[best]) if best is not None else Estimate(None)
    return SkillOverBaselines(
        tuple(agents.agents),
        tuple(baselines.agents),
        {name: _mean(list(of_name.values())) for name, of_name in shares.items()},
        over,
        skill,
        tuple(found for metric in agents.metrics if (found := _metric(metric, agents, baselines)) is not None),
    )


def _shares(scores: Scores, agent: str) -> dict[str, float]:
    """The share of trials that pass, by scenario."""
    return {scenario: sum(trials.values()) / len(trials) for scenario, trials in scores.trials(agent).items()}


def _best(of_agent: Mapping[str, float], baselines: Mapping[str, Mapping[str, float]]) -> str | None:
    """The baseline that passes most on the agent's scenarios; the first of equals, None if they share none."""
    means = {
        name: _mean([share for scenario, share in shares.items() if scenario in of_agent])
        for name, shares in baselines.items()
    }
    known = {name: mean for name, mean in means.items() if mean is not None}
    return max(known, key=lambda name: known[name]) if known else None


def _estimate(of_agent: Mapping[str, float], of_baseline: Mapping[str, float]) -> Estimate:
    """Skill on common scenarios, with its interval."""
    common = [scenario for scenario in of_agent if scenario in of_baseline]
    rows = [np.array([of_agent[scenario], of_baseline[scenario], 1.0]) for scenario in common]
    plan, n = Resampling("episode"), len(common)
    found = sum_interval(rows, _skill_of_sums, plan, n=n, scale=SKILL, unit="scenario")
    baseline = sum_interval([row[1:] for row in rows], _share_of_sums, plan, n=n, scale=SHARE, unit="scenario")
    if found.low is None or baseline.high is None or baseline.high >= 1:
        return found
    # No agent passes fewer trials than none, and the baseline hardly more than its interval says.
    return replace(found, low=max(found.low, -baseline.high / (1 - baseline.high)))


def _share_of_sums(sums: Floats) -> Floats:
    """A share from its sum and the number of scenarios, shape (…, 2)."""
    total, n = np.moveaxis(sums, -1, 0)
    return np.asarray(total / n)


def _skill_of_sums(sums: Floats) -> Floats:
    """Skill from sums of the agent's and the baseline's shares and the number of scenarios, shape (…, 3)."""
    agent, baseline, n = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n - baseline > 1e-9 * n, (agent - baseline) / (n - baseline), np.nan)


def _metric(metric: Metric, agents: Scores, baselines: Scores) -> MetricSkill | None:
    of_agents = _metric_means(agents, metric)
    of_baselines = _metric_means(baselines, metric) if of_agents else {}
    if not of_baselines:
        return None
    baseline, best = (max(some, key=lambda name: some[name]) for some in (of_baselines, of_agents))
    value = of_baselines[baseline]
    skills = {name: _skill(of_agents[name], value) if name in of_agents else None for name in agents.agents}
    return MetricSkill(metric.name, baseline, value, best, of_agents[best], skills)


def _metric_means(scores: Scores, metric: Metric) -> dict[str, float]:
    """The mean of a metric by agent, of those that it measured."""
    means = {name: _metric_mean(scores, name, metric) for name in scores.agents}
    return {name: mean for name, mean in means.items() if mean is not None}


def _metric_mean(scores: Scores, agent: str, metric: Metric) -> float | None:
    name = metric.name
    entries = [answer.entries.get(name) for answer in scores.by_agent.get(agent, ())]
    mean = _mean([entry["score"] for entry in entries if entry is not None and entry["measured"]])
    return mean if mean is None or metric.direction == "higher" else 1 - mean


def _skill(value: float, baseline: float) -> float | None:
    """None if the baseline is perfect: nothing can be above it."""
    return None if baseline >= 1 else (value - baseline) / (1 - baseline)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
