"""The parts of a comparison, as plain values that reports lay out and gates read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from assay.errors import UsageError, unknown_name
from assay.result import Result
from assay.stats import Profile
from assay.stats.jackknife import pooled
from assay.types import Case, Direction, Estimate, Floats, Run, Verdict

_SHORT = 40  # the most letters of a setting in a sentence


@dataclass(frozen=True, slots=True)
class Measure:
    """What one number of a comparison is."""

    key: str
    title: str
    part: str
    """The protocol it belongs to, with its version: 'owa@1', 'chat@1'."""
    group: str = ""
    unit: str = ""
    better: Direction = "higher"
    headline: bool = True
    undefined: str = "nothing to measure"
    most: float | None = None
    """The largest difference that is possible: 1 for scores from 0 to 1; None if there is no limit."""

    @property
    def is_logged(self) -> bool:
        """Whether it is a score of another tool's log: those have no version, and their names tell what is better."""
        return "@" not in self.part


@dataclass(frozen=True, slots=True)
class Margin:
    """How large a difference may be and still not matter.

    A share or score, that is, a number without a unit between −1 and 1, may differ by `general` itself; any other
    metric by that part of the baseline's value. Both rules agree if the value is 1. `special` has margins of single
    metrics, in their own units.
    """

    general: float = 0.05
    special: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for margin in (self.general, *self.special.values()):
            if not 0 <= margin < float("inf"):
                raise UsageError(f"a margin must be 0 or more, got {margin}", hint="Give a number such as 0.05")

    def of(self, measure: Measure, baseline: float, candidate: float) -> float:
        """The margin of one metric."""
        if measure.key in self.special:
            return self.special[measure.key]
        plain = measure.unit == "" and abs(baseline) <= 1 and abs(candidate) <= 1
        return self.general if plain else self.general * abs(baseline)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run, or one agent of a run of conversations."""

    run: Run
    agent: str = ""
    """The agent whose answers are compared; empty for events."""
    label: str = ""
    """Its name in tables."""


class Comparable(Protocol):
    """A result that can be compared without being stored: a report on events, scores, or an experiment's result."""

    def as_run(self) -> Run:
        """The result as a run."""
        ...


def side_of(run: Run | Side | Comparable, agent: str | None = None) -> Side:
    """A run as one side; `agent` is needed if a run of conversations has several agents.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=1, seconds=1, seed=1)
        >>> side_of(events.evaluate(truth, truth)).run.kind
        'events'

    """
    if isinstance(run, Side):
        return run
    if not isinstance(run, Run):
        run = run.as_run()
    if run.kind == "events":
        if agent:
            raise UsageError(f"the run '{run.name or run.id}' is of events and has no agent '{agent}'")
        return Side(run, "", run.name or run.id)
    agents = list(run.tallies)
    if agent is None and len(agents) != 1:
        raise UsageError(
            f"the run '{run.name or run.id}' has {len(agents)} agents", hint=f"Name one: {', '.join(sorted(agents))}"
        )
    if agent is not None and agent not in run.tallies:
        raise UsageError(
            f"the run '{run.name or run.id}' has no agent '{agent}'", hint=f"It has: {', '.join(sorted(agents))}"
        )
    name = agents[0] if agent is None else agent
    return Side(run, name, f"{run.name or run.id}:{name}")


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """One metric of a comparison."""

    measure: Measure
    baseline: Estimate
    """On the common cases only."""
    candidate: Estimate
    margin: float
    """Differences up to this do not matter, in the metric's unit."""
    n_cases: int
    """How many cases the difference is computed from."""
    verdict: Verdict

    @property
    def gain(self) -> float | None:
        """The difference with the sign that makes more better; None if there is none or if no direction is better."""
        if self.verdict.difference is None or self.measure.better == "none":
            return None
        return self.verdict.difference if self.measure.better == "higher" else -self.verdict.difference


@dataclass(frozen=True, slots=True)
class Change:
    """A case that scored differently."""

    case: Case
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True)
class PerCase:
    """A metric case by case, on both sides."""

    measure: Measure
    changes: Sequence[Change]
    """The cases that changed most, largest first."""
    n_changed: int
    improvement: Estimate
    """The probability that a case of the candidate scores better than one of the baseline in the same stratum."""
    profiles: tuple[Profile, Profile] | None
    """Of baseline and candidate: the share of cases above each threshold; None with fewer than two cases."""


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """A candidate against a baseline."""

    subject: ClassVar[str] = "compare"

    baseline: Side
    candidate: Side
    kind: str
    n_common: int
    """Cases that both have."""
    n_baseline_only: int
    n_candidate_only: int
    unit: str
    """What the intervals vary: 'episode', 'scenario' or 'event'."""
    level: float
    reps: int
    seed: int
    lines: Sequence[ComparisonLine]
    cases: Sequence[PerCase]
    notes: Sequence[str]
    """Sentences that change how the verdicts are to be read."""

    @property
    def verdicts(self) -> list[Verdict]:
        return [line.verdict for line in self.lines]

    @property
    def calls(self) -> Counter[str]:
        """How many metrics got each call."""
        return Counter(verdict.call for verdict in self.verdicts)

    def line(self, metric: str) -> ComparisonLine:
        """The line of a metric, by its key, or by 'protocol:key' if several protocols share a key."""
        part, _, key = metric.rpartition(":")
        found = [ln for ln in self.lines if ln.measure.key == key and (not part or ln.measure.part.startswith(part))]
        if not found:
            raise unknown_name("metric", metric, (line.measure.key for line in self.lines))
        return found[0]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each metric: both sides, the difference with its interval, and the verdict."""
        return [
            {
                "protocol": line.measure.part,
                "metric": line.measure.key,
                "baseline": line.baseline.value,
                "candidate": line.candidate.value,
                "difference": line.verdict.difference,
                "low": line.verdict.low,
                "high": line.verdict.high,
                "p_adjusted": line.verdict.p_adjusted,
                "verdict": line.verdict.call,
                "n_needed": line.verdict.n_needed,
                "n_needed_low": line.verdict.n_needed_low,
            }
            for line in self.lines
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "baseline": _side_json(self.baseline),
            "candidate": _side_json(self.candidate),
            "kind": self.kind,
            "cases": {
                "common": self.n_common,
                "baseline_only": self.n_baseline_only,
                "candidate_only": self.n_candidate_only,
            },
            "settings": {"unit": self.unit, "level": self.level, "reps": self.reps, "seed": self.seed},
            "verdicts": [_line_json(line) for line in self.lines],
            "per_case": [_per_case_json(entry) for entry in self.cases],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric measured on the common cases, before any verdict."""

    measure: Measure
    baseline: Estimate
    candidate: Estimate
    """With what each case contributes, or with replicates: on the same resamples as the baseline if the unit is a
    case."""
    scores: tuple[Floats, Floats] | None = None
    """Case by case, shape (cases,) each, NaN if undefined; None if that was not computed."""
    n_cases: int = 0
    reason: str = ""
    """Why it must not be compared; empty if it may be."""
    once: bool = False
    """Whether each side was measured once, whatever the cases: then there is a difference and no interval."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The common cases of two sides, with everything measured on them."""

    cases: Sequence[Case]
    """In the order of the scores; strata with one case are pooled."""
    measured: Sequence[Measured]
    unit: str
    reps: int
    notes: Sequence[str]


def pooled_strata(cases: Sequence[Case]) -> tuple[list[Case], list[str]]:
    """The cases, with strata of one case pooled so that each has a spread, and a note if that changed any."""
    sizes = Counter(case.stratum for case in cases)
    lone = sum(size == 1 for size in sizes.values())
    if not lone or len(cases) < 2:
        return list(cases), []
    note = f"{lone} of {len(sizes)} strata have only one common case and were combined."
    strata = pooled([case.stratum for case in cases])
    return [replace(case, stratum=stratum) for case, stratum in zip(cases, strata, strict=True)], [note]


def matched(a: Mapping[Case, object], b: Mapping[Case, object]) -> list[Case]:
    """The cases both have, in one fixed order."""
    return sorted(a.keys() & b.keys(), key=lambda case: (case.stratum, case.name))


def _side_json(side: Side) -> dict[str, Any]:
    return {"run": side.run.id, "name": side.run.name, "agent": side.agent or None, "label": side.label}


def _line_json(line: ComparisonLine) -> dict[str, Any]:
    verdict = line.verdict
    return {
        "metric": verdict.metric,
        "protocol": line.measure.part,
        "unit": line.measure.unit,
        "better": line.measure.better,
        "baseline": line.baseline.value,
        "candidate": line.candidate.value,
        "difference": verdict.difference,
        "low": verdict.low,
        "high": verdict.high,
        "p_adjusted": verdict.p_adjusted,
        "margin": line.margin,
        "call": verdict.call,
        "n_cases": line.n_cases,
        "n_needed": verdict.n_needed,
        "n_needed_low": verdict.n_needed_low,
        "reason": verdict.reason,
    }


def _per_case_json(entry: PerCase) -> dict[str, Any]:
    improvement = entry.improvement
    return {
        "metric": entry.measure.key,
        "protocol": entry.measure.part,
        "changed": entry.n_changed,
        "changed_most": [
            {
                "case": change.case.name,
                "stratum": change.case.stratum,
                "baseline": change.baseline,
                "candidate": change.candidate,
            }
            for change in entry.changes
        ],
        "probability_of_improvement": {
            "value": improvement.value,
            "low": improvement.low,
            "high": improvement.high,
            "n": improvement.n,
        },
        "profiles": None if entry.profiles is None else [_profile_json(profile) for profile in entry.profiles],
    }


def _profile_json(profile: Profile) -> dict[str, list[float]]:
    columns = {"threshold": profile.thresholds, "share": profile.share, "low": profile.low, "high": profile.high}
    return {name: np.asarray(values).tolist() for name, values in columns.items()}


def differing_settings(a: Mapping[str, Any], b: Mapping[str, Any], within: str = "") -> list[str]:
    """Where two sets of settings differ, including nested ones, with both values if they are short."""
    words: list[str] = []
    for key in sorted(a.keys() | b.keys()):
        name, pair = f"{within}{key}", (a.get(key), b.get(key))
        if pair[0] == pair[1]:
            continue
        if isinstance(pair[0], Mapping) and isinstance(pair[1], Mapping):
            words += differing_settings(pair[0], pair[1], f"{name}.")
            continue
        shown = [repr(value) for value in pair]
        is_short = max(map(len, shown)) <= _SHORT
        words.append(f"{name} was {shown[0]} and {shown[1]}" if is_short else f"{name} is not the same")
    return words
