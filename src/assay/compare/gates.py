"""Conditions for a comparison to pass: calls that must not occur, and numbers that must be reached."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from assay.compare.comparison import Comparison, ComparisonLine
from assay.compare.regressions import ScenarioTrials, scenario_trials
from assay.errors import UsageError
from assay.types import Estimate

FAIL_ON: Final = ("worse", "inconclusive", "unmeasured", "regressions")

_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
)
_REQUIREMENT = re.compile(r"\s*([^\s<>=]+?)\s*(>=|<=|==|>|<)\s*([-+]?[0-9.eE+-]+)\s*")
_ENDS = ("low", "high")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A number that the candidate must reach: its value, or with `.low` and `.high` an end of its interval."""

    metric: str
    end: str
    """'value', 'low' or 'high'."""
    relation: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """'accuracy>=0.9', 'accuracy.low>=0.85', 'owa:timestamp_abs_error_p95_ms<40'."""
        match = _REQUIREMENT.fullmatch(text)
        try:
            if match is None:
                raise ValueError
            metric, relation, bound = match[1], match[2], float(match[3])
        except ValueError:
            raise UsageError(
                f"'{text}' is not a requirement", hint='Write "metric>=number"; also <=, <, > and ==, and metric.low'
            ) from None
        stem, _, end = metric.rpartition(".")
        if stem and end in _ENDS:
            return cls(stem, end, relation, bound)
        return cls(metric, "value", relation, bound)

    def __str__(self) -> str:
        end = "" if self.end == "value" else f".{self.end}"
        return f"{self.metric}{end}{self.relation}{self.bound:g}"

    def holds(self, value: float) -> bool:
        """Whether a number meets it."""
        return _HOLDS[self.relation](value, self.bound)

    def failure(self, comparison: Comparison) -> str:
        """Why the candidate does not meet it; empty if it does. An undefined number meets no requirement."""
        line = comparison.line(self.metric)
        return self.failure_of(line.candidate, line.verdict.reason or line.measure.undefined)

    def failure_of(self, estimate: Estimate, undefined: str = "nothing was measured") -> str:
        """Why an estimate does not meet it; empty if it does. `undefined` says why an estimate has no value."""
        found = getattr(estimate, self.end)
        what = "value" if self.end == "value" else f"{self.end} end of its interval"
        if found is None:
            return f"{self} is not met: {self.metric} has no {what} ({undefined})"
        if self.holds(found):
            return ""
        return f"{self} is not met: the {what} is {found:.4g} (n = {estimate.n:,})"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check with its result."""

    comparison: Comparison
    name: str
    """The metric, the requirement as it was written, or the scenario."""
    failure: str
    """Why it failed; empty if it passed."""
    line: ComparisonLine | None = None
    """The line that was checked, for a call."""
    scenario: str = ""
    """The scenario that was checked, for a regression."""
    details: str = ""
    """For a regression: what was asked, answered before and answered now; empty if the answers are not known."""
    not_checked: str = ""
    """Why a scenario that passed in the baseline was not checked, if that is no failure."""
    is_lost: bool = False
    """Whether the failure is that a scenario has no trials any more."""


@dataclass(frozen=True, slots=True)
class Gates:
    """All conditions of a gate."""

    fail_on: Sequence[str] = ()
    """Calls that no metric may have. 'unmeasured' means undefined in the candidate and defined in the baseline.
    'regressions' is about scenarios: none may fail that passed in the baseline beyond its own noise, and none of them
    may be missing, unless the candidate was told to play a smaller part of the suite.
    """
    requirements: Sequence[Requirement] = ()
    allow_missing: Sequence[str] = ()
    """Scenarios that may be missing, as patterns: 'old-*'."""

    def __post_init__(self) -> None:
        for call in self.fail_on:
            if call not in FAIL_ON:
                raise UsageError(f"cannot fail on '{call}'", hint=f"Use: {', '.join(FAIL_ON)}")

    def check(self, comparisons: Sequence[Comparison]) -> list[Outcome]:
        """Every check of every comparison, in order: metrics first, then requirements, then scenarios."""
        outcomes: list[Outcome] = []
        for comparison in comparisons:
            outcomes += [Outcome(comparison, ln.measure.key, self._failure(ln), ln) for ln in comparison.lines]
            outcomes += [Outcome(comparison, str(must), must.failure(comparison)) for must in self.requirements]
            if "regressions" in self.fail_on:
                outcomes += [self._of_scenario(comparison, one) for one in scenario_trials(comparison)]
        return outcomes

    def _of_scenario(self, comparison: Comparison, one: ScenarioTrials) -> Outcome:
        name = one.scenario
        if not one.absence or not one.before.hits:
            return Outcome(comparison, name, str(one) if one.has_regressed else "", scenario=name)
        if one.is_lost and not any(fnmatchcase(name, pattern) for pattern in self.allow_missing):
            return Outcome(comparison, name, str(one), scenario=name, is_lost=True)
        return Outcome(comparison, name, "", scenario=name, not_checked=one.absence)

    def _failure(self, line: ComparisonLine) -> str:
        verdict = line.verdict
        if verdict.call not in self.fail_on:
            return ""
        if verdict.call == "unmeasured":
            lost = line.baseline.value is not None and line.candidate.value is None
            return f"{verdict.metric} is unmeasured: {verdict.reason}" if lost else ""
        if verdict.difference is None or verdict.low is None or verdict.high is None:
            return f"{verdict.metric} is {verdict.call}: {verdict.reason}"
        unit = f" {line.measure.unit}" if line.measure.unit else ""
        text = (
            f"{verdict.metric} is {verdict.call}: {line.baseline.value:.4g} → {line.candidate.value:.4g}{unit}, "
            f"difference {verdict.difference:+.4g} [{verdict.low:+.4g}, {verdict.high:+.4g}]"
        )
        if verdict.p_adjusted is not None and verdict.call == "worse":
            text += f", adjusted p {verdict.p_adjusted:.2g}"
        if verdict.n_needed is not None:
            text += f"; about {verdict.needed} cases would decide"
        return text
