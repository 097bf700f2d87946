"""Criteria that are not metrics, each from 0 to 1, to be weighed: turns answered, and those of operations (robustness,
restarts, hanging up, consent, load, cost).

A criterion that no agent has is left out: a run without quirks says nothing about robustness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.outcomes.robustness import OUTCOME_VALUES
from assay.chat.scoring.scores import Scores
from assay.compare.weights import CANCELLATION, CONSENT, COST, LOAD, RESTART, ROBUSTNESS
from assay.types import Floats

if TYPE_CHECKING:
    from assay.chat.load.results import AgentLoad


def operations(
    answers: Sequence[Answer],
    scenarios: Sequence[str],
    agents: Sequence[str],
    scores: Scores,
    loads: Sequence[AgentLoad] = (),
) -> dict[str, Floats]:
    """The criteria that were measured, each with a value by scenario and agent, NaN if it has none."""
    found = {
        ROBUSTNESS: _robustness(answers, scenarios, agents),
        RESTART: _passed_where(_is_killed, answers, scenarios, agents, scores),
        CANCELLATION: _passed_where(_has_hung_up, answers, scenarios, agents, scores),
        CONSENT: _passed_where(_has_decided, answers, scenarios, agents, scores),
        LOAD: _load(scenarios, agents, loads),
        COST: _cost(answers, scenarios, agents),
    }
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def turns_answered(answers: Sequence[Answer], scenarios: Sequence[str], agents: Sequence[str]) -> Floats | None:
    """The share of turns that were answered, by scenario and agent; None if no turn failed, and all agents are alike.

    A turn that was not asked because an earlier one of its trial failed is not answered either. A trial that was
    skipped from its first turn on says nothing.
    """
    if not any(answer.record is not None and answer.record.status == "failed" for answer in answers):
        return None
    trials: dict[tuple[str, str, int], list[bool | None]] = {}
    for answer in answers:
        is_answered = None if answer.status == "skipped" else answer.status == "scored"
        trials.setdefault(answer.key, []).append(is_answered)
    values, rows = _blank(scenarios, agents), _places(scenarios)
    shares: dict[tuple[int, int], list[float]] = {}
    for (agent, scenario, _), turns in trials.items():
        if not all(turn is None for turn in turns):
            share = sum(turn is True for turn in turns) / len(turns)
            shares.setdefault((rows[scenario], agents.index(agent)), []).append(share)
    for at, of_trials in shares.items():
        values[at] = sum(of_trials) / len(of_trials)
    return values


def _blank(scenarios: Sequence[str], agents: Sequence[str]) -> Floats:
    return np.full((len(scenarios), len(agents)), np.nan)


def _places(scenarios: Sequence[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(scenarios)}


def _robustness(answers: Sequence[Answer], scenarios: Sequence[str], agents: Sequence[str]) -> Floats:
    """What the outcomes of the turns with a quirk are worth, in the mean."""
    ended: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        if answer.record is not None and answer.record.outcome is not None:
            ended.setdefault((answer.scenario, answer.agent), []).append(OUTCOME_VALUES.get(answer.record.outcome, 0.0))
    values, rows = _blank(scenarios, agents), _places(scenarios)
    for (scenario, agent), worth in ended.items():
        values[rows[scenario], agents.index(agent)] = sum(worth) / len(worth)
    return values


def _passed_where(
    happens: Callable[[Record], bool],
    answers: Sequence[Answer],
    scenarios: Sequence[str],
    agents: Sequence[str],
    scores: Scores,
) -> Floats:
    """The share of trials that pass, in scenarios in which something happens."""
    disturbed = {one.scenario for one in answers if one.record is not None and happens(one.record)}
    values, rows = _blank(scenarios, agents), _places(scenarios)
    for column, agent in enumerate(agents if disturbed else ()):
        for scenario, passed in scores.trials(agent).items():
            if scenario in disturbed:
                values[rows[scenario], column] = sum(passed.values()) / len(passed)
    return values


def _is_killed(record: Record) -> bool:
    """Whether the agent's process is killed in the conversation."""
    return record.user_messages is not None


def _has_hung_up(record: Record) -> bool:
    return record.hang_up is not None


def _has_decided(record: Record) -> bool:
    return record.consent is not None


def _load(scenarios: Sequence[str], agents: Sequence[str], loads: Sequence[AgentLoad]) -> Floats:
    """The fastest agent's 95th percentile over the agent's own, at the most users that all had, times turns answered.

    It is one measurement, the same in every scenario; 0 if a word of one session turned up in another.
    """
    values = _blank(scenarios, agents)
    by_agent = {load.agent: load for load in loads if load.agent in agents and load.steps}
    common = set.intersection(*(set(load.users) for load in by_agent.values())) if by_agent else set()
    if not common:
        return values
    waits = {agent: load.typical(max(common), "p95_ms") for agent, load in by_agent.items()}
    known = {agent: wait for agent, wait in waits.items() if wait}
    for agent, wait in known.items():
        answered = 1 - (by_agent[agent].typical(max(common), "error_share") or 0.0)
        is_kept = not by_agent[agent].breach_count
        values[:, agents.index(agent)] = is_kept * answered * min(known.values()) / wait
    return values


def _cost(answers: Sequence[Answer], scenarios: Sequence[str], agents: Sequence[str]) -> Floats:
    """What the cheapest agent paid in a scenario over what the agent paid, for each trial.

    A scenario in which what an agent paid is not known says nothing about the others either.
    """
    values = _blank(scenarios, agents)
    if not any(answer.record is not None and answer.record.cost for answer in answers):
        return values
    rows, (sums, trials) = _places(scenarios), np.zeros((2, len(scenarios), len(agents)))
    seen: set[tuple[str, str, int]] = set()
    for answer in answers:
        if answer.record is None or answer.record.status == "skipped":
            continue
        at = rows[answer.scenario], agents.index(answer.agent)
        sums[at] += np.nan if answer.record.cost is None else answer.record.cost
        if answer.key not in seen:
            seen.add(answer.key)
            trials[at] += 1
    costs = np.where(trials > 0, sums / np.maximum(trials, 1), np.nan)
    known = ~np.isnan(costs).any(axis=1) & (costs > 0).all(axis=1)
    values[known] = costs[known].min(axis=1, keepdims=True) / costs[known]
    return values
