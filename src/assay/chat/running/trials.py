"""Trials, the order in which they are played (randomised blocks, drawn by seed), and the pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.chat.scoring.answers import AnswerKey
from assay.chat.suites import Scenario, Suite
from assay.chat.world.situation import chance


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt of one agent at one scenario."""

    agent: str
    scenario: Scenario
    repetition: int

    @property
    def key(self) -> AnswerKey:
        return self.agent, self.scenario.id, self.repetition


@dataclass(frozen=True, slots=True)
class Pace:
    """Concurrency, timeouts and retries of a run. Nothing here changes what is asked."""

    jobs: int = 1
    """Conversations at a time in all. More than one makes every agent's times longer."""
    concurrency: int = 1
    """Conversations at a time for each agent."""
    turn_timeout: float = 60.0
    """Seconds that a turn may take."""
    retries: int = 2
    """How often a conversation is started again after an infrastructure failure."""
    warm_up: bool = True


def plan(agents: Sequence[str], suite: Suite, *, repeat: int, seed: int) -> list[Trial]:
    """Every trial, in the order in which they are played."""
    blocks = [(scenario, repetition) for repetition in range(repeat) for scenario in suite.scenarios]
    chance(seed, "order of scenarios").shuffle(blocks)
    trials = []
    for scenario, repetition in blocks:
        order = list(agents)
        if len(order) > 1:  # each order is drawn by its own key, so that no other one depends on it
            chance(seed, "order of agents", scenario.id, repetition).shuffle(order)
        trials += [Trial(agent, scenario, repetition) for agent in order]
    return trials
