"""Frameworks and models as two factors of one run: main effects and their interaction, paired by scenario.

Each effect is a comparison like any other. A main effect compares two frameworks, each as the mean over all models, or
two models, each as the mean over all frameworks. An interaction compares what a model changes in one framework with
what it changes in another: 0 if the better model is better by the same amount everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.chat.running.models import Cell, is_grid
from assay.compare.comparing import verdict_lines
from assay.compare.comparison import Comparison, Margin, Measured, Sample, Side, pooled_strata
from assay.compare.conversations import (
    case_sums,
    interval_scale,
    is_measured_once,
    measure_of,
    metrics_of,
)
from assay.stats import Resampling, mean_interval
from assay.types import Case, Estimate, Floats, Run

_COST = "cost_musd"


@dataclass(frozen=True, slots=True)
class _Terms:
    """Two weighted means of cells: what is compared with what."""

    baseline: str
    candidate: str
    weights: tuple[Mapping[str, float], Mapping[str, float]]
    """Of the cells of each side, by agent."""


def effects(
    run: Run, cells: Mapping[str, Cell], *, margin: float | Margin = 0.05, level: float = 0.95, seed: int = 42
) -> list[Comparison]:
    """Every main effect and every interaction, each against the first framework and the first model.

    Empty unless every framework was played with every model, and there are several of both.
    """
    played = {agent: cell for agent, cell in cells.items() if agent in run.tallies}
    if not is_grid(played):
        return []
    margins = margin if isinstance(margin, Margin) else Margin(margin)
    common = _common(run, played)
    cases, notes = pooled_strata(common)
    table = _CellTable(run, list(played), common, cases, level, seed)
    found = []
    for terms in _terms(played):
        sample = Sample(cases, [table.measured(name, terms) for name in table.metrics], "scenario", table.reps, notes)
        found.append(
            Comparison(
                Side(run, "", terms.baseline),
                Side(run, "", terms.candidate),
                run.half,
                *(len(cases), 0, 0, "scenario", level, table.reps, seed),
                verdict_lines(sample, margins, level),
                [],
                notes,
            )
        )
    return found


def _common(run: Run, cells: Mapping[str, Cell]) -> list[Case]:
    """Scenarios that every cell has."""
    shared = set.intersection(*(set(run.tallies[agent]) for agent in cells))
    return sorted(shared, key=lambda case: (case.stratum, case.name))


def _terms(cells: Mapping[str, Cell]) -> list[_Terms]:
    frameworks = list(dict.fromkeys(cell.framework for cell in cells.values()))
    models = list(dict.fromkeys(cell.model for cell in cells.values()))
    agent_of = {(cell.framework, cell.model): agent for agent, cell in cells.items()}
    first, usual = frameworks[0], models[0]

    def over_models(framework: str) -> dict[str, float]:
        return {agent_of[framework, model]: 1 / len(models) for model in models}

    def over_frameworks(model: str) -> dict[str, float]:
        return {agent_of[framework, model]: 1 / len(frameworks) for framework in frameworks}

    def change(framework: str, model: str) -> dict[str, float]:
        return {agent_of[framework, model]: 1.0, agent_of[framework, usual]: -1.0}

    main = [
        _Terms(f"{first}, any model", f"{other}, any model", (over_models(first), over_models(other)))
        for other in frameworks[1:]
    ]
    main += [
        _Terms(f"{usual}, any framework", f"{model}, any framework", (over_frameworks(usual), over_frameworks(model)))
        for model in models[1:]
    ]
    interaction = [
        _Terms(
            f"({model} − {usual}) in {first}",
            f"({model} − {usual}) in {other}",
            (change(first, model), change(other, model)),
        )
        for other in frameworks[1:]
        for model in models[1:]
    ]
    return main + interaction


class _CellTable:
    """Every metric of every cell on the scenarios that all cells have."""

    def __init__(
        self, run: Run, agents: Sequence[str], common: Sequence[Case], cases: Sequence[Case], level: float, seed: int
    ) -> None:
        self._side = Side(run, agents[0])
        self._agents = agents
        sides = [run.tallies[agent] for agent in agents]
        known = metrics_of(sides, full=False)
        if all(any(_COST in states for states in side.values()) for side in sides):
            known.append(_COST)
        self.metrics = [name for name in known if not is_measured_once(self._side, name)]
        tables = [case_sums(side, common, self.metrics) for side in sides]
        sums, counts = (np.stack([table[part] for table in tables]) for part in (0, 1))
        self._strata = [case.stratum for case in cases]
        # A scenario that one cell lacks says nothing about the differences between cells.
        self._all: Floats = np.asarray((counts > 0).all(axis=0), np.float64)
        """Shape (cases, metrics)."""
        self._sums, self._counts = sums * self._all, counts * self._all
        """Shape (cells, cases, metrics)."""
        self._plan = Resampling("episode", 1000, level, seed, keep=True)

    @property
    def reps(self) -> int:
        return self._plan.reps

    def measured(self, name: str, terms: _Terms) -> Measured:
        """One metric of both sides of an effect."""
        at = self.metrics.index(name)
        sides = [self._side_of(at, weights) for weights in terms.weights]
        measure = measure_of(self._side, self._side, name)
        scores = (sides[0][1], sides[1][1])
        return Measured(measure, sides[0][0], sides[1][0], scores, int(self._all[:, at].sum()))

    def _side_of(self, at: int, weights: Mapping[str, float]) -> tuple[Estimate, Floats]:
        """The weighted mean of some cells with what each scenario contributes to it, and its value by scenario."""
        scale = interval_scale(self._side, self._side, self.metrics[at])
        chosen = self._all[:, at] > 0
        whole: Estimate | None = None
        by_case = np.where(chosen, 0.0, np.nan)
        for agent, weight in weights.items():
            cell = self._agents.index(agent)
            sums, counts = self._sums[cell, :, at], self._counts[cell, :, at]
            one = mean_interval(sums, counts, self._plan, strata=self._strata, scale=scale, unit="scenario")
            by_case = by_case + weight * np.where(chosen, sums / np.maximum(counts, 1), np.nan)
            whole = _added(whole, one, weight)
        assert whole is not None
        return replace(whole, n_units=int(chosen.sum())), by_case


def _added(whole: Estimate | None, one: Estimate, weight: float) -> Estimate:
    """A sum of estimates on the same scenarios; it has no interval of its own, only that of a difference is shown."""
    value = None if one.value is None else weight * one.value
    parts = None if one.contributions is None else weight * one.contributions
    if whole is not None:
        value = None if value is None or whole.value is None else whole.value + value
        parts = None if parts is None or whole.contributions is None else whole.contributions + parts
    return replace(one, value=value, low=None, high=None, contributions=parts, replicates=None)
