"""Load tests of two agents, step by step: each figure of each number of users, over the repetitions of the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.chat.load.results import FIGURES, LoadStep, figure_of
from assay.compare.comparison import Measure, Measured, Sample, Side, matched
from assay.plural import counted
from assay.stats import POSITIVE, SHARE, Resampling, mean_interval
from assay.types import Case, Direction, Estimate

_HEADLINES = ("throughput", "p50_ms", "p95_ms", "cpu_ms", "session_kb", "error_share", "breaches")
_NO_DETAILS: Mapping[str, Any] = {"errors": {}, "examples": {}, "breaches": []}


def measure_load(a: Side, b: Side, *, level: float, seed: int, reps: int, full: bool) -> Sample:
    """Every figure of every step that both sides have; one figure has one value for each repetition of the step."""
    sides = [_steps(side) for side in (a, b)]
    cases = matched(*sides)
    plan = Resampling("episode", reps, level, seed, keep=True)
    by_users = sorted({step.users for step in (sides[0][case] for case in cases)})
    measured = [
        _measured(name, users, sides, cases, plan) for users in by_users for name in (FIGURES if full else _HEADLINES)
    ]
    notes = []
    if any(entry.n_cases == 1 for entry in measured):
        notes.append("A step that was played once has no interval; use --repeat to play each step several times.")
    return Sample(cases, measured, "repetition", reps, notes)


def _measured(
    name: str, users: int, sides: list[dict[Case, LoadStep]], cases: list[Case], plan: Resampling
) -> Measured:
    values = [np.array([_value(side[case], name) for case in cases]) for side in sides]
    of_step = np.array([sides[0][case].users == users for case in cases])
    both = of_step & ~np.isnan(values[0]) & ~np.isnan(values[1])
    title, unit, better = FIGURES[name]
    direction: Direction = "higher" if better == "higher" else "lower"
    estimates: list[Estimate] = []
    for side in values:
        found = mean_interval(
            np.where(both, side, 0.0),
            both.astype(np.float64),
            plan,
            strata=[case.stratum for case in cases],
            scale=SHARE if name == "error_share" else POSITIVE,
            unit="repetition",
        )
        estimates.append(replace(found, n_units=int(both.sum())))
    scores = [np.where(both, side, np.nan) for side in values]
    measure = Measure(
        f"{name}@{users}", f"{counted(users, 'user')}: {title}", "load@1", unit=unit, better=direction,
        undefined="no repetition of the step could be measured on both sides",
    )  # fmt: skip
    return Measured(measure, estimates[0], estimates[1], (scores[0], scores[1]), int(both.sum()))


def _steps(side: Side) -> dict[Case, LoadStep]:
    return {case: LoadStep.stored(states, _NO_DETAILS) for case, states in side.run.tallies[side.agent].items()}


def _value(step: LoadStep, name: str) -> float:
    found = figure_of(step, name)
    return np.nan if found is None else found
