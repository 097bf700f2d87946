"""Scenarios that passed in the baseline and fail in the candidate, beyond what their own noise explains.

A metric averages over all scenarios: a few that are lost among many stay within its interval. Here each scenario is
judged by its own trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

from assay.compare.comparison import Comparison, Side
from assay.errors import UsageError
from assay.types import Case, Distribution, Ratio, State

TRIALS_PASSED = "trials_passed"
# The significance level: a regression is reported by chance at most once in twenty times if nothing has changed.
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class ScenarioTrials:
    """The trials of one scenario on both sides."""

    scenario: str
    before: Ratio
    """Trials that pass in the baseline, out of all."""
    after: Ratio

    @property
    def has_regressed(self) -> bool:
        """Whether it passed before and fails now.

        A scenario of which every trial of the baseline passed has shown no noise: it has regressed if most of its
        trials fail now. One that already failed now and then has regressed if so few pass that this happens by chance
        in at most 5 % of cases (Fisher's exact test, one-sided).
        """
        if not self.before.hits or not self.after.total:
            return False
        if self.before.hits == self.before.total:
            return 2 * self.after.hits < self.after.total
        return chance_of_fewer(self.before, self.after) <= _LEVEL

    def __str__(self) -> str:
        return (
            f"{self.scenario} passed {self.before.hits} of {self.before.total} trials in the baseline "
            f"and {self.after.hits} of {self.after.total} now"
        )


def chance_of_fewer(before: Ratio, after: Ratio) -> float:
    """The chance that so few trials pass after, if passing does not depend on before and after."""
    passed, total = before.hits + after.hits, before.total + after.total
    ways = sum(
        comb(after.total, hits) * comb(before.total, passed - hits)
        for hits in range(after.hits + 1)
        if passed - hits <= before.total
    )
    return ways / comb(total, passed)


def scenario_trials(comparison: Comparison) -> list[ScenarioTrials]:
    """The scenarios that both sides have, in the baseline's order; raises UsageError if a side has no trials."""
    before, after = _trials(comparison.baseline), _trials(comparison.candidate)
    return [ScenarioTrials(name, found, after[name]) for name, found in before.items() if name in after]


def _trials(side: Side) -> dict[str, Ratio]:
    tallies: Mapping[Case, Mapping[str, State]] = side.run.tallies.get(side.agent, {})
    found = {case.name: _ratio(states.get(TRIALS_PASSED)) for case, states in tallies.items()}
    if not any(ratio.total for ratio in found.values()):
        raise UsageError(
            f"'{side.label}' has no trials that pass or fail, so there are no regressions to find",
            hint="--fail-on regressions is for runs of conversations; use worse for events",
        )
    return found


def _ratio(state: State | None) -> Ratio:
    if not isinstance(state, Distribution):
        return Ratio()
    return Ratio(int(state.counts[state.values == 1.0].sum()), int(state.counts.sum()))
