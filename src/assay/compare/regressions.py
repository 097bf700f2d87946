"""Scenarios that passed in the baseline and are missing or fail in the candidate, beyond what their own noise explains.

A metric averages over all scenarios: a few that are lost among many stay within its interval. Here each scenario is
judged by its own trials. One without trials in the candidate cannot be judged: it is lost, unless the candidate was
told to play a smaller part of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

from assay.compare.comparison import Comparison, Side
from assay.errors import UsageError
from assay.plural import counted
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
    absence: str = ""
    """Why it has no trials in the candidate, in a few words; empty if it has some."""
    is_chosen: bool = False
    """Whether it has none because the candidate was told to play a smaller part of the suite."""

    @property
    def is_lost(self) -> bool:
        """Whether it passed before, and nothing explains that it has no trials now."""
        return bool(self.before.hits and self.absence) and not self.is_chosen

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
        now = f"is {self.absence}" if self.absence else f"{self.after.hits} of {self.after.total} now"
        before = f"{self.before.hits} of {counted(self.before.total, 'trial')}"
        return f"{self.scenario} passed {before} in the baseline and {now}"


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
    """The scenarios of the baseline, in its order; raises UsageError if a side has no trials."""
    before, after = _trials(comparison.baseline), _trials(comparison.candidate)
    suites = [_suite(side) for side in (comparison.baseline, comparison.candidate)]
    found = []
    for name, trials in before.items():
        absence, is_chosen = ("", False) if after.get(name, Ratio()).total else _absence(name, name in after, *suites)
        found.append(ScenarioTrials(name, trials, after.get(name, Ratio()), absence, is_chosen))
    return found


def _absence(name: str, is_known: bool, before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, bool]:
    """Why a scenario has no trials in the candidate, and whether that was chosen.

    Only a choice that differs from the baseline's explains it: with the same options as before, the suite has changed.
    """
    if is_known:
        return "skipped now", False
    if name in now.get("scenarios", ()):
        return "not played now: the run is not complete", False
    options = {"limit": "--limit", "kinds": "--kinds", "chosen": "--scenarios"}
    chosen = [option for key, option in options.items() if now.get(key) is not None and now[key] != before.get(key)]
    if chosen:
        return f"left out now by {' and '.join(chosen)}", True
    return "missing now: no longer in the suite" if now else "missing now", False


def _suite(side: Side) -> Mapping[str, Any]:
    """What a run keeps of its suite and of the part that was chosen; empty if it did not play one."""
    found = side.run.settings.get("suite")
    return found if isinstance(found, Mapping) else {}


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
