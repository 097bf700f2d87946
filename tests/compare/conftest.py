"""Runs whose differences are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from assay.types import Case, Distribution, Run, State

Scores = Mapping[str, Sequence[Sequence[float]]]


def run(kind: str, tallies: Mapping[str, Mapping[Case, Mapping[str, State]]], name: str = "run", **parts: Any) -> Run:
    given: dict[str, Any] = {
        "id": f"{name}-id",
        "created": "2026-01-01T00:00:00+00:00",
        "command": "",
        "settings": {},
        "seed": 42,
        "versions": {},
        "inputs": {},
        "environment": {},
    }
    return Run(kind=kind, name=name, tallies=tallies, **{**given, **parts})


def chat_run(agents: Mapping[str, Scores], name: str = "run", strata: Sequence[str] | None = None, **parts: Any) -> Run:
    """Scores by agent and metric: one list of repetitions for each scenario, empty where nothing was measured."""
    tallies: dict[str, dict[Case, dict[str, State]]] = {}
    for agent, scores in agents.items():
        n = max((len(column) for column in scores.values()), default=0)
        cases = [Case(f"scenario-{at:03d}", strata[at] if strata else "") for at in range(n)]
        tallies[agent] = {
            case: {metric: Distribution.of(column[at]) for metric, column in scores.items() if at < len(column)}
            for at, case in enumerate(cases)
        }
    return run("chat", tallies, name, **parts)


@pytest.fixture(scope="session")
def noisy() -> Callable[..., Run]:
    """An agent whose scores lie around `level` in 60 scenarios of three repetitions each."""

    def make(level: float = 0.7, *, name: str = "run", seed: int = 1, scenarios: int = 60, metrics: int = 3) -> Run:
        hard = np.random.default_rng(99).normal(0, 0.1, (scenarios, 1))
        rng = np.random.default_rng(seed)
        scores = {
            f"metric_{at}": np.clip(level + hard + rng.normal(0, 0.05, (scenarios, 3)), 0, 1).round(2).tolist()
            for at in range(metrics)
        }
        return chat_run({"agent": scores}, name, versions={"chat": 1})

    return make
