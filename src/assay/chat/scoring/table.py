"""`ScoreTable`: the scores of many answers in a few bytes each, enough for every mean, interval, trial and tally.

It keeps no text, so that a million answers fit in memory. It does not know how answers are scored.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.chat.scoring.answers import Answer
from assay.types import Case, Distribution, State

# Scores are hundredths from 0 to 100 (`Entry.score` is rounded to two places); these two codes are none.
_ABSENT, _NOT_MEASURED = 254, 255
# Scenarios whose tallies are made at once.
_AT_ONCE = 1000


class ScoreTable:
    """Agent, scenario, repetition, outcome and scores of each answer, in the order in which they were added."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self._agents: dict[str, int] = {}
        self._scenarios: dict[str, int] = {}
        self._agent = array("I")
        self._scenario = array("I")
        self._repetition = array("q")
        self._passed = bytearray()
        self._codes = bytearray()

    def __len__(self) -> int:
        return len(self._passed)

    @property
    def agents(self) -> list[str]:
        return list(self._agents)

    @property
    def scenarios(self) -> list[str]:
        return list(self._scenarios)

    def add(self, agent: str, scenario: str, repetition: int, *, passed: bool, codes: bytes) -> None:
        """Add an answer; `codes` are its scores as `encode_scores` gives them."""
        self._agent.append(self._agents.setdefault(agent, len(self._agents)))
        self._scenario.append(self._scenarios.setdefault(scenario, len(self._scenarios)))
        self._repetition.append(repetition)
        self._passed.append(passed)
        self._codes += codes

    def sums_and_counts(self, agent: str, metric: str) -> tuple[list[float], list[int], int]:
        """For each scenario with measured scores their sum and number, and how many answers were not measured."""
        rows = self._rows(agent)
        codes = self._columns()[rows, self.metrics.index(metric)]
        measured = codes < _ABSENT
        scenarios = np.frombuffer(self._scenario, np.uint32)[rows[measured]]
        _, first, where = np.unique(scenarios, return_index=True, return_inverse=True)
        order = np.argsort(first)
        sums = np.bincount(where, weights=codes[measured] / 100.0, minlength=len(first))
        counts = np.bincount(where, minlength=len(first))
        skipped = int(np.count_nonzero(codes == _NOT_MEASURED))
        return sums[order].tolist(), counts[order].tolist(), skipped

    def trial_counts(self, agent: str) -> list[tuple[int, int]]:
        """For each scenario of an agent, how many of its trials pass, and how many there are."""
        return [(sum(trials.values()), len(trials)) for trials in self._trials(self._rows(agent)).values()]

    def trials(self, agent: str) -> dict[str, dict[int, bool]]:
        """Whether each repetition of each scenario passes: all its answers do."""
        names = self.scenarios
        return {names[number]: trials for number, trials in self._trials(self._rows(agent)).items()}

    def tallies(self) -> Iterator[dict[str, dict[Case, dict[str, State]]]]:
        """The tallies of all answers, some scenarios at a time; those of one scenario are never divided."""
        scenario, agent = np.frombuffer(self._scenario, np.uint32), np.frombuffer(self._agent, np.uint32)
        order = np.argsort(scenario, kind="stable")
        starts = np.searchsorted(scenario[order], np.arange(len(self._scenarios) + 1))
        agents, scenarios, columns = self.agents, self.scenarios, self._columns()
        for low in range(0, len(scenarios), _AT_ONCE):
            found: dict[str, dict[Case, dict[str, State]]] = {}
            for number in range(low, min(low + _AT_ONCE, len(scenarios))):
                rows = order[starts[number] : starts[number + 1]]
                for of_agent in dict.fromkeys(agent[rows].tolist()):
                    own = rows[agent[rows] == of_agent]
                    states = self._states(own, columns[own])
                    found.setdefault(agents[of_agent], {})[Case(scenarios[number])] = states
            yield found

    def _states(self, rows: NDArray[np.intp], codes: NDArray[np.uint8]) -> dict[str, State]:
        passed = [bool(one) for trials in self._trials(rows).values() for one in trials.values()]
        states: dict[str, State] = {"trials_passed": _distribution(tuple(100 * one for one in passed))}
        for metric, column in zip(self.metrics, codes.T.tolist(), strict=True):
            if any(code != _ABSENT for code in column):
                states[metric] = _distribution(tuple(code for code in column if code < _ABSENT))
        return states

    def _trials(self, rows: NDArray[np.intp]) -> dict[int, dict[int, bool]]:
        found: dict[int, dict[int, bool]] = {}
        scenario, repetition, passed = self._scenario, self._repetition, self._passed
        for row in rows.tolist():
            of_scenario = found.setdefault(scenario[row], {})
            of_scenario[repetition[row]] = of_scenario.get(repetition[row], True) and bool(passed[row])
        return found

    def _rows(self, agent: str) -> NDArray[np.intp]:
        return np.flatnonzero(np.frombuffer(self._agent, np.uint32) == self._agents.get(agent, -1))

    def _columns(self) -> NDArray[np.uint8]:
        return np.frombuffer(self._codes, np.uint8).reshape(len(self), len(self.metrics))


def encode_scores(answer: Answer, metrics: Sequence[str]) -> bytes:
    """The scores of an answer, one byte for each of `metrics`."""
    codes = bytearray()
    for name in metrics:
        entry: Any = answer.entries.get(name)
        if entry is None:
            codes.append(_ABSENT)
        else:
            codes.append(round(100 * entry["score"]) if entry["measured"] else _NOT_MEASURED)
    return bytes(codes)


@functools.lru_cache(maxsize=4096)
def _distribution(codes: tuple[int, ...]) -> Distribution:
    """The distribution of scores given in hundredths; most scenarios have one of a few."""
    return Distribution.of([code / 100.0 for code in codes])
