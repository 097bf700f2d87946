"""Scores by scenario, agent and criterion, and how much of an overall, or of a lead, is chance.

The criteria are every metric that was measured for all agents, the share of trials that pass and, if a turn failed, the
share of turns that were answered. An agent without a single scored turn has nothing to weigh: it is left out and
named, and removes no criterion from the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.chat.scoring.metric import MEASURED_ONCE
from assay.chat.scoring.scores import Scores
from assay.compare.operations import operations, turns_answered
from assay.compare.standing import TIE, CriterionMeans, Standing, standing
from assay.compare.weights import (
    LOAD,
    OPERATIONS,
    OPERATIONS_GROUP,
    OUTCOME,
    OUTCOME_GROUP,
    TRIALS_PASSED,
    TURNS_ANSWERED,
    Criterion,
    Weights,
)
from assay.stats import SHARE, Changes, Difference, difference
from assay.stats.jackknife import Strata, ends, share_contributions, unit_contributions
from assay.stats.paired import allowing_for_sign, cases_needed, fewest_of_one_sign
from assay.stats.resamples import Resamples
from assay.stats.tails import largest_chance
from assay.types import Estimate, Floats, Ints

if TYPE_CHECKING:
    from assay.chat.load.results import AgentLoad

# At most this many weights are in memory at a time (32 MB).
_WEIGHTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How much of a standing is chance: how it varies with the scenarios, the same for every agent."""

    values: Mapping[str, Estimate]
    lead: Estimate | None
    """Lead of the first over the second; None if there is no second. It has an interval only if scenarios vary all of
    it: what was measured once is as it was, whatever the scenarios are."""
    first: Mapping[str, float]
    """Share of the resamples in which each agent comes first; a tie is divided. Empty if the agents differ only in
    what was measured once."""
    by_scenarios: Estimate | None = None
    """The part of the lead that the scenarios vary, with its interval; None if there is no second."""
    once: float = 0.0
    """The part of the lead that was measured once."""
    needed: tuple[int, int] | None = None
    """How many scenarios of the same kind would decide: the ends of a range. None if it is decided, or if no number
    would."""


@dataclass(frozen=True, slots=True)
class Lead:
    """How far one agent is ahead of another, at some weights, and how much of it is chance."""

    value: float
    by_scenarios: Difference
    """The part of it that the scenarios vary."""
    once: float
    """The part that was measured once."""
    needed: tuple[int, int] | None
    """How many scenarios of the same kind would decide: the ends of a range. None if it is decided, or if no number
    would."""

    @property
    def is_open(self) -> bool:
        """Whether the choice of scenarios may explain it."""
        return self.by_scenarios.low + self.once <= 0 <= self.by_scenarios.high + self.once


@dataclass(frozen=True, slots=True)
class Shortcoming:
    """A criterion in which an agent is behind another."""

    criterion: str
    to: str
    """The agent that is best in it."""
    by: float
    low: float | None
    """The ends of the interval of `by`; None if it was measured once."""
    high: float | None


@dataclass(frozen=True)
class ScenarioTable:
    """Sums and counts of scores by scenario, agent and criterion; each has shape (scenarios, agents, criteria)."""

    agents: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    sums: Floats
    counts: Floats
    without: Mapping[str, str]
    """Agents that have no scored turn, each with the reason."""
    _resamples: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False)
    """The same resamples for all weights."""

    @classmethod
    def of(cls, scores: Scores, loads: Sequence[AgentLoad] = ()) -> ScenarioTable:
        """The table of every agent that has a scored turn."""
        without = _without(scores)
        agents = tuple(agent for agent in scores.agents if agent not in without)
        answers = [answer for answer in scores.answers if answer.agent not in without]
        criteria = (
            Criterion(TRIALS_PASSED, OUTCOME_GROUP, OUTCOME[TRIALS_PASSED]),
            *(
                Criterion(metric.name, metric.group, metric.asks, metric.group == MEASURED_ONCE)
                for metric in scores.metrics
            ),
        )
        scenarios = {name: at for at, name in enumerate(dict.fromkeys(answer.scenario for answer in answers))}
        places = {name: at for at, name in enumerate(agents)}
        turned = [metric.direction == "lower" for metric in scores.metrics]
        columns = {metric.name: at for at, metric in enumerate(scores.metrics, 1)}
        sums, counts = np.zeros((2, len(scenarios), len(agents), len(criteria)))
        for answer in answers:
            row, column = scenarios[answer.scenario], places[answer.agent]
            for name, entry in answer.entries.items():
                at = columns.get(name)
                if at is not None and entry["measured"]:
                    sums[row, column, at] += 1 - entry.score if turned[at - 1] else entry.score
                    counts[row, column, at] += 1
        # Each scenario counts once, however often it was repeated, so that the mean is pass^1.
        for column, agent in enumerate(agents):
            for scenario, passed in scores.trials(agent).items():
                sums[scenarios[scenario], column, 0] = sum(passed.values()) / len(passed)
                counts[scenarios[scenario], column, 0] = 1
        answered = turns_answered(answers, list(scenarios), agents)
        others = {} if answered is None else {TURNS_ANSWERED: answered}
        for name, values in (others | operations(answers, list(scenarios), agents, scores, loads)).items():
            if name in OUTCOME:
                criterion = Criterion(name, OUTCOME_GROUP, OUTCOME[name])
            else:
                criterion = Criterion(name, OPERATIONS_GROUP, OPERATIONS[name], name == LOAD)
            criteria = (*criteria, criterion)
            known = ~np.isnan(values)
            sums = np.concatenate([sums, np.where(known, values, 0.0)[..., None]], axis=-1)
            counts = np.concatenate([counts, known[..., None]], axis=-1)
        return cls(agents, criteria, sums, counts, without)

    @cached_property
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
        down, up = self._unseen(weights, level)
        # Without any spread, the interval is already as wide as what has not been seen.
        join = np.where(error > TIE, 1.0, 0.0)
        low = np.maximum(values - np.hypot(values - low, join * down), 0.0)
        high = np.minimum(values + np.hypot(high - values, join * up), 1.0)
        lead, by_scenarios, needed, once = None, None, None, 0.0
        if now.lead is not None:
            found = self.lead(weights, *now.order[:2], level=level)
            part, once, needed = found.by_scenarios, found.once, found.needed
            by_scenarios = replace(blank, value=part.value, low=part.low, high=part.high)
            lead = replace(by_scenarios, value=now.lead) if not once else replace(blank, value=now.lead)
        if len(self.agents) == 1:  # in every resample
            first_in = {self.agents[0]: 1.0}
        elif self._differ_once(weights, reps, seed):
            first_in = {}
        else:
            first_in = self._first(self._weighed(weights, between=True)(self._resampled(reps, seed)))
        return Uncertainty(
            {
                agent: replace(blank, value=value, low=float(low[at]), high=float(high[at]))
                for at, (agent, value) in enumerate(zip(self.agents, values.tolist(), strict=True))
            },
            lead,
            first_in,
            by_scenarios,
            once,
            needed,
        )

    def _unseen(self, weights: Weights, level: float) -> tuple[Floats, Floats]:
        """How much lower and higher each agent's overall may be, shape (agents,), by what no scenario has shown.

        A criterion that is the same in every scenario that measures it has no spread. The part of all scenarios that so
        many can have missed may be as bad or as good as is possible: the exact bound of a share of 0 or 1.
        """
        total = sum(weights.of(criterion) for criterion in self.means.criteria)
        down, up = np.zeros((2, len(self.agents)))
        for at, criterion in enumerate(self.criteria):
            share = 0.0 if criterion.once else weights.of(criterion) / total
            if not share or criterion not in self.means.criteria:
                continue
            for agent in range(len(self.agents)):
                known = self.counts[:, agent, at] > 0
                seen = self.sums[known, agent, at] / self.counts[known, agent, at]
                if np.ptp(seen) <= TIE:
                    missed = share * largest_chance(0, len(seen), (1 - level) / 2)
                    down[agent] += missed * seen[0]
                    up[agent] += missed * (1 - seen[0])
        return down, up

    def lead(self, weights: Weights, ahead: str, behind: str, *, level: float) -> Lead:
        """How far one agent is ahead of another, from two scenarios on."""
        n, (first, second) = len(self.sums), (self.agents.index(agent) for agent in (ahead, behind))
        values = standing(self.means, weights).values
        value = values[ahead] - values[behind]
        once = self._once(weights, first) - self._once(weights, second)
        once = once if abs(once) > TIE else 0.0
        varying = value - once if abs(value - once) > TIE else 0.0
        only = self._weighed(weights, varying=True, between=True)
        parts = unit_contributions(self._table, only, only(self._table.sum(axis=0)), Strata.of(None, n))
        counted = [not one.once and weights.of(one) > 0 and one in self.means.criteria for one in self.criteria]
        apart = self._apart(first, second, np.flatnonzero(counted))
        found, changes = self.lead_of(varying, parts[:, first] - parts[:, second], apart, level)
        lead = Lead(value, found, once, None)
        # What was measured once stays as it is, so the scenarios have to show the rest of the lead.
        if not lead.is_open or value <= TIE:
            return lead
        # Scenarios in which both are alike have to show that they differ by less than that.
        is_alike = not found.error and not varying
        wanted = found if is_alike else replace(found, value=value)
        margin = max(once, 0.0) if is_alike else 0.0
        needed = cases_needed(wanted, n, margin=margin, level=level, changes=changes)
        # So many that, at the same rate, enough of them tell the agents apart.
        fewest = math.ceil(fewest_of_one_sign(level) * n / apart) if apart else 0
        if needed is not None:
            needed = max(needed[0], fewest), max(needed[1], fewest)
        elif varying > 0 and not found.error and n < fewest:
            needed = fewest, fewest
        return replace(lead, needed=needed)

    def _apart(self, first: int, second: int, criteria: Ints) -> int:
        """How many scenarios tell two agents apart by one of the criteria; others say nothing of who is ahead."""
        sums, counts = (table[:, [first, second]][..., criteria] for table in (self.sums, self.counts))
        known = counts > 0
        means = np.where(known, sums, 0.0) / np.where(known, counts, 1.0)
        differ = (np.abs(means[:, 0] - means[:, 1]) > TIE) | (known[:, 0] != known[:, 1])
        return int(differ.any(axis=-1).sum())

    @staticmethod
    def lead_of(value: float, ahead: Floats, apart: int, level: float) -> tuple[Difference, Changes]:
        """A lead with its interval, from what each scenario contributes; `apart` of them tell the agents apart."""
        n = len(ahead)
        changes = Changes.of(np.zeros(n), np.round(value + ahead * n, 12), possible=1.0)
        found = difference(value, contributions=ahead, freedom=n - 1, level=level, changes=changes)
        assert found is not None
        # Overalls lie between 0 and 1, so no lead is larger than 1.
        found = replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))
        # A few scenarios may be alike by chance, and their spread then says nothing about others.
        return allowing_for_sign(found, apart, level), changes

    def _differ_once(self, weights: Weights, reps: int, seed: int) -> bool:
        """Whether agents differ in what was measured once, and are alike in every resample otherwise."""
        once = [self._once(weights, agent) for agent in range(len(self.agents))]
        if max(once) - min(once) <= TIE:
            return False
        varied = self._weighed(weights, varying=True)(self._resampled(reps, seed))
        return bool((varied.max(axis=1) - varied.min(axis=1) <= TIE).all())

    def _once(self, weights: Weights, agent: int) -> float:
        """The part of an agent's overall that was measured once."""
        weighed = [(weights.of(criterion), criterion.once) for criterion in self.means.criteria]
        values = self.means.values[self.agents[agent]]
        total = sum(weight for weight, _ in weighed)
        return sum(w * value for (w, once), value in zip(weighed, values, strict=True) if once) / total

    def behind(self, agent: str, *, level: float) -> list[Shortcoming]:
        """Criteria in which another agent is better, beyond what the scenarios explain; the largest first."""
        n, known = len(self.sums), [at for at, one in enumerate(self.criteria) if one in self.means.criteria]
        found: list[Shortcoming] = []
        for place, (at, criterion) in enumerate(zip(known, self.means.criteria, strict=True)):
            best = max(self.agents, key=lambda name: self.means.values[name][place])
            by = self.means.values[best][place] - self.means.values[agent][place]
            if by <= TIE:
                continue
            if criterion.once:
                found.append(Shortcoming(criterion.name, best, by, None, None))
            elif n > 1:
                first, second = (self.agents.index(name) for name in (best, agent))
                one = self._contributions(at, first) - self._contributions(at, second)
                ends_of = self.lead_of(by, one, self._apart(first, second, np.array([at])), level)[0]
                if ends_of.low > 0:
                    found.append(Shortcoming(criterion.name, best, by, ends_of.low, ends_of.high))
        return sorted(found, key=lambda one: -one.by)

    def _contributions(self, criterion: int, agent: int) -> Floats:
        """What each scenario contributes to an agent's mean of a criterion, shape (scenarios,)."""
        sums, counts = self.sums[:, agent, criterion], self.counts[:, agent, criterion]
        found = np.zeros(len(sums))
        known = counts > 0
        if known.sum() > 1:
            found[known] = share_contributions(sums[known], counts[known], Strata.of(None, int(known.sum())))[:, 0]
        return found

    @property
    def _table(self) -> Floats:
        """Sums and counts, shape (scenarios, 2 · agents · criteria)."""
        n = len(self.sums)
        return np.concatenate([self.sums.reshape(n, -1), self.counts.reshape(n, -1)], axis=1)

    def _weighed(self, weights: Weights, *, varying: bool = False, between: bool = False) -> Callable[[Floats], Floats]:
        """A function from sums and counts of all scenarios, shape (…, 2 · agents · criteria), to overalls, (…, agents).

        A part of the scenarios may not measure some criterion. Without the criterion it would be a mean of different
        things, so the agent keeps its mean over all scenarios there; if agents are compared (`between`), all keep the
        same, because that part shows no difference between them. With `varying`, only the part of an overall that
        scenarios vary.
        """
        counts = self.counts.sum(axis=0)
        known = (counts > 0).all(axis=0)
        whole = self.sums.sum(axis=0) / np.maximum(counts, 1)
        if between:
            whole = np.broadcast_to(whole.mean(axis=0), whole.shape)
        weighed = np.array([weights.of(criterion) for criterion in self.criteria])[known]
        total = weighed.sum()
        if varying:
            weighed = weighed * ~np.array([criterion.once for criterion in self.criteria])[known]

        def overalls(table: Floats) -> Floats:
            sums, counts = np.moveaxis(table.reshape(*table.shape[:-1], 2, *whole.shape), -3, 0)
            means = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), whole)[..., known]
            return np.asarray(means @ weighed / total, np.float64)

        return overalls

    def _resampled(self, reps: int, seed: int) -> Floats:
        """Sums and counts in each resample of the scenarios, shape (reps, 2 · agents · criteria)."""
        if (reps, seed) not in self._resamples:
            n, table = len(self.sums), self._table
            rng, step = np.random.default_rng(seed), max(1, _WEIGHTS_AT_ONCE // n)
            sizes = [min(step, reps - start) for start in range(0, reps, step)]
            parts = [Resamples.drawn(n, None, size, rng).sums(table) for size in sizes]
            self._resamples[reps, seed] = np.concatenate(parts)
        return self._resamples[reps, seed]

    def _first(self, replicates: Floats) -> dict[str, float]:
        """Share of the resamples in which each agent comes first; `replicates` has shape (reps, agents)."""
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
