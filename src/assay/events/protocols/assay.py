"""`assay@1`: two free-running streams, action by action and path by path.

Keys, buttons and scrolls are matched one to one within a tolerance, holds by onset and offset, and the pointer as a
path. The protocol also scores trivial baselines and gives a verdict in words. The parts are in `assay.events.actions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from assay.errors import UsageError
from assay.events.actions import baselines, holds, lag, pointer, positions, states
from assay.events.actions.calibration import calibration_states
from assay.events.actions.clock import ClockSide
from assay.events.actions.comparing import compare_actions, matches_at, saved_ns
from assay.events.actions.drift import find_drift
from assay.events.actions.estimates import ActionFigures
from assay.events.actions.labels import HEADLINE, Actions
from assay.events.actions.metrics import metrics
from assay.events.actions.moments import draw_outline, moments_state
from assay.events.actions.sides import pair_actions
from assay.events.actions.states import StateRows
from assay.events.actions.tables import report_details
from assay.events.align import CLOCKS, Clock, Pair, fell_back, fell_back_sentence
from assay.events.codecs import Codec
from assay.events.counting import list_numbers, list_rows
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.tally import Tally
from assay.stats import Resampling
from assay.types import Estimate, Ints, Joint, Ratio, State

_MILLISECOND = 1_000_000
DISTANCE_LIMIT_NS = 50 * _MILLISECOND
"""Victor–Purpura with q = 40 per second: a shift of 50 ms costs 2, as much as deleting and inserting."""
_CURVE_NS = np.array(states.TOLERANCES_MS) * _MILLISECOND


def score(
    pair: Pair, *, tolerance_ns: int, unit_ns: int, clock: Clock, seed: int, teacher_forced: bool
) -> dict[str, State]:
    """The states of one episode. An episode without any truth is reported and not scored."""
    missing, unknown = not len(pair.predicted), not len(pair.truth)
    if unknown:
        return {states.COUNTS: list_numbers(_facts(np.zeros(states.FACTS.stop, np.int64), unknown=not missing))}
    sides = pair_actions(pair, tolerance_ns=tolerance_ns, unit_ns=unit_ns, clock=clock)
    truth, predicted, right, guess = sides.true_side, sides.predicted_side, sides.true, sides.predicted
    by_shift, end_ns = sides.by_shift, sides.end_ns
    true_holds, guessed_holds = holds.Holds.of(right, end_ns), holds.Holds.of(guess, end_ns)
    comparison = compare_actions(right, guess, tolerance_ns)
    path = pointer.compare_paths(truth, predicted)
    steps = positions.align(pair.predicted, pair.truth)
    begin_ns = truth.first_ns or 0
    drift = find_drift(right, guess, by_shift, lag.shifts(unit_ns), tolerance_ns)

    lags = states.lag_table(by_shift.shape[1])
    counts = np.zeros(lags.stop, np.int64)
    lags.within(counts)[:] = by_shift
    states.OUTCOMES.within(counts)[:] = comparison.counts
    states.CURVE.within(counts)[:] = matches_at(right, guess, _CURVE_NS)
    baselines.measure(
        right,
        tolerance_ns,
        seed,
        pair.episode.name,
        _with_headline(tolerance_ns),
        states.BASELINE_COUNTS.within(counts),
    )
    draw_outline(comparison, begin_ns, truth.last_ns or 0, states.OUTLINE.within(counts))
    n, m = len(pair.truth), len(pair.predicted)
    states.POSITIONS.within(counts)[:] = (1, n, m, steps.equal, steps.aligned, m > n, m < n, steps.offset is not None)
    _facts(
        counts,
        missing=missing,
        stray_true=truth.stray,
        stray_predicted=predicted.stray,
        silences_true=truth.silences,
        silences_predicted=predicted.silences,
        auto_repeats_true=truth.auto_repeats,
        auto_repeats_predicted=predicted.auto_repeats,
        unreleased_true=true_holds.unreleased,
        unreleased_predicted=guessed_holds.unreleased,
        frames_true=truth.frames,
        frames_predicted=predicted.frames,
        predicted_actions=len(guess),
        predicted_events=predicted.valid,
        copied=steps.copied,
        echoed=steps.echoed,
        changed=steps.changed,
        positions=n - 1 if n == m else 0,
        invalid=m - predicted.valid,
        clock_fell_back=fell_back(pair.predicted, pair.truth, clock),
        drifting=drift is not None,
        drift_gain=0 if drift is None else drift.gain,
        straight=drift is not None and drift.is_straight,
        unpaired_logprobs=pair.predicted.logprob is not None and 0 < m != n,
    )
    sums = np.zeros(states.POINTER.stop, np.int64)
    length_errors = holds.compare_holds(true_holds, guessed_holds, tolerance_ns, states.HOLDS.within(sums))
    states.POINTER.within(sums)[:] = np.minimum(np.maximum(path.sums, -states.LIMIT), states.LIMIT)
    return {
        states.COUNTS: list_numbers(counts),
        states.SUMS: states.pack(sums),
        states.VALUES: states.values_state(
            comparison, length_errors, path.directions, steps.offset, None if drift is None else drift.rate
        ),
        states.DISTANCE: _distance(right, guess),
        states.PATH: list_rows(path.path) if len(path.path) else Joint(),
        states.COVERAGE: _coverage(truth, predicted),
        states.MOMENTS: moments_state(comparison, begin_ns),
        **calibration_states(pair.predicted, pair.truth, pair.truth.logprob, pair.predicted.logprob),
    }


def _facts(counts: Ints, **facts: int) -> Ints:
    """Write facts by the names of FACT_SUMS to the tables of counts."""
    states.FACTS.within(counts)[: len(states.FACT_SUMS)] = [facts.get(name, 0) for name in states.FACT_SUMS]
    return counts


def _distance(truth: Actions, predicted: Actions) -> Ratio:
    n, m = int(truth.edges[HEADLINE]), int(predicted.edges[HEADLINE])
    return Ratio((n + m) * DISTANCE_LIMIT_NS // 2 - saved_ns(truth, predicted, DISTANCE_LIMIT_NS), n)


@lru_cache(maxsize=16)
def _with_headline(tolerance_ns: int) -> Ints:
    return np.append(tolerance_ns, _CURVE_NS)


def _coverage(truth: ClockSide, predicted: ClockSide) -> Ratio:
    if truth.first_ns is None or truth.last_ns is None:
        return Ratio()
    span = truth.last_ns - truth.first_ns
    if predicted.first_ns is None or predicted.last_ns is None:
        return Ratio(0, span)
    covered = min(truth.last_ns, predicted.last_ns) - max(truth.first_ns, predicted.first_ns)
    return Ratio(max(0, covered), span)


@dataclass(frozen=True)
class Assay:
    """The protocol with its settings, as registered."""

    tolerance_ms: float = 50.0
    """Maximum distance in time between a prediction and its truth."""
    unit_ms: float = 10.0
    """Step of the search for a lag; by default the encoding's unit of time."""
    clock: Clock = "auto"
    """As in d2e@1."""
    seed: int = 42
    """Seed of the random baseline."""
    teacher_forced: bool = False
    """Whether predictions were made one by one from the true past; the copied input is then a baseline too."""
    name: str = "assay"
    version: int = 1
    pairing: Pairing = "episode"

    def __post_init__(self) -> None:
        if not 1e-6 <= self.tolerance_ms <= 1e6:
            raise UsageError(f"invalid tolerance of {self.tolerance_ms} ms", hint="Give milliseconds, e.g. 50")
        if not 0.1 <= self.unit_ms <= 500:
            raise UsageError(f"unit_ms must be between 0.1 and 500, got {self.unit_ms}", hint="Give e.g. 10")
        if self.clock not in CLOCKS:
            raise UsageError(f"there is no clock '{self.clock}'", hint=f"Use one of: {', '.join(CLOCKS)}")

    @property
    def metrics(self) -> Sequence[ProtocolMetric]:
        return metrics(teacher_forced=self.teacher_forced)

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        return score(
            pair,
            tolerance_ns=round(self.tolerance_ms * _MILLISECOND),
            unit_ns=self._unit_ns,
            clock=self.clock,
            seed=self.seed,
            teacher_forced=self.teacher_forced,
        )

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        found = ActionFigures(tally, plan, self._unit_ns, self.teacher_forced).all()
        return {metric.key: found[metric.key] for metric in self.metrics}

    def details(self, tally: Tally, estimates: Mapping[str, Estimate], plan: Resampling) -> dict[str, Any]:
        """Verdict, tables, curves and worst moments, ready for JSON."""
        return report_details(ActionFigures(tally, plan, self._unit_ns, self.teacher_forced), estimates)

    def cautions(self, tally: Tally, *, beside: Sequence[str]) -> list[str]:
        """Warnings: the clock is not the expected one; protocols that pair by position, if used, went out of step."""
        by_position = {"owa", "sequence"} & set(beside)
        said = positions.out_of_step_sentence(tally) if by_position else None
        found = [] if said is None else [said]
        facts = states.facts(StateRows.of(tally, states.COUNTS), states.FACTS, states.FACT_SUMS)
        if facts["clock_fell_back"]:
            n = len(tally.episodes) - facts["missing"] - facts["unknown"]
            found.append(fell_back_sentence(facts["clock_fell_back"], n))
        if facts["unpaired_logprobs"]:
            found.append(
                f"{facts['unpaired_logprobs']:,} episodes have log-probabilities but not one prediction for each true "
                "event: calibration pairs by position and leaves them out."
            )
        return found

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> Assay:
        chosen = dict(settings)
        unit_ns = getattr(codec, "unit_ns", None)
        if unit_ns is not None and 10_000 <= unit_ns <= 500 * _MILLISECOND:
            chosen.setdefault("unit_ms", unit_ns / _MILLISECOND)
        known = ("tolerance_ms", "unit_ms", "clock", "seed", "teacher_forced")
        return replace(self, **{name: chosen[name] for name in known if name in chosen})

    def settings(self) -> Mapping[str, Any]:
        return {
            "tolerance_ms": self.tolerance_ms,
            "unit_ms": self.unit_ms,
            "clock": self.clock,
            "seed": self.seed,
            "teacher_forced": self.teacher_forced,
        }

    @property
    def _unit_ns(self) -> int:
        return round(self.unit_ms * _MILLISECOND)

    def bounded(self, found: Mapping[str, State]) -> Mapping[str, State]:
        """The states with rounded errors of times and lengths."""
        from assay.events.bounded import rounded

        values = found[states.VALUES]
        assert isinstance(values, Joint)
        if not len(values):
            return found
        which, value = values.column(0), values.column(1)
        is_time = (which <= max(states.TIME_ERRORS)) | (which == states.LENGTH_ERRORS)
        near = np.where(is_time, rounded(value), value)
        return {**found, states.VALUES: Joint.of(which, near, counts=values.counts)}


PROTOCOL = Assay()
