"""From the states of all episodes to every figure of `assay@1`, each with its interval if it can have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from assay.events.actions import formulas, lag, pointer, states
from assay.events.actions.baselines import BASELINES, COPIED
from assay.events.actions.calibration import confidence_sums, likelihood_sums
from assay.events.actions.labels import ACTION_KINDS, HEADLINE, KIND_EDGES, LABELS
from assay.events.actions.skill import skill_over_best
from assay.events.actions.states import TOLERANCES_MS, ChosenRows, StateRows
from assay.events.tally import Tally
from assay.stats import (
    ANGLES,
    AT_LEAST_0,
    CORRELATION,
    EVERYWHERE,
    PLAIN,
    POSITIVE,
    RATE,
    SHARE,
    SKILL,
    Resampling,
    Scale,
    UnitValues,
    curve_intervals,
    resampled_sum_interval,
    share_interval,
    sum_interval,
    value_intervals,
)
from assay.types import Distribution, Estimate, Floats, Ints, Joint, Ratio

# The share of positions at which a model that gives its input back at other times does so.
_ECHO = 0.8
# F1 from which on most actions match.
_MOST = 0.5


@dataclass(frozen=True)
class ActionFigures:
    """A tally, and how to compute figures from it."""

    tally: Tally
    plan: Resampling
    unit_ns: int
    teacher_forced: bool = False

    def all(self) -> dict[str, Estimate]:
        """Every figure by its key."""
        return {
            **self.matching(),
            **self.curve(),
            **self.errors(),
            **self.holding(),
            **self.pointing(),
            **self.timing(),
            "coverage": self.quotient(self._ratios(states.COVERAGE)),
            **self.skill(),
            "victor_purpura": self.sums(self._ratios(states.DISTANCE), formulas.victor_purpura, scale=RATE, sizes=1),
            **self.calibration(),
        }

    # --- what is counted, an array for each episode --------------------------------------------------------------

    @cached_property
    def counts(self) -> StateRows:
        return StateRows.of(self.tally, states.COUNTS)

    @cached_property
    def summed(self) -> StateRows:
        return StateRows.of(self.tally, states.SUMS)

    @cached_property
    def single(self) -> StateRows:
        return StateRows.of(self.tally, states.VALUES)

    @cached_property
    def by_kind(self) -> Ints:
        """Matched, missed and extra actions by episode and kind, shape (episodes, kinds, 3)."""
        return self.counts.grouped(states.OUTCOMES, np.repeat(np.arange(len(ACTION_KINDS)), np.diff(KIND_EDGES)))

    @cached_property
    def by_label(self) -> Ints:
        """Matched, missed and extra actions of each label, shape (LABELS, 3)."""
        return self.counts.total(states.OUTCOMES)

    @cached_property
    def headline(self) -> Ints:
        """Matched, missed and extra keys and buttons, shape (episodes, 3)."""
        return np.asarray(self.by_kind[:, KIND_EDGES[1:] <= HEADLINE].sum(axis=1))

    @cached_property
    def baselines(self) -> Ints:
        """Matches, predictions, and matches at each tolerance of the curve; shape (episodes, baselines, 8).

        The copied input comes last of the baselines.
        """
        return self.counts.table(states.BASELINE_COUNTS)

    def baseline_f1(self, name: str, which: int = 0) -> float | None:
        """F1 of a baseline over all episodes, from the matches in column `which`."""
        counts = self.baselines[:, (*BASELINES, COPIED).index(name)].sum(axis=0)
        below = int(self.headline[:, :2].sum() + counts[1])
        return float(2 * counts[which] / below) if below else None

    @cached_property
    def pointer_sums(self) -> Floats:
        """Shape (episodes, len(pointer.SUMS))."""
        return self.summed.sums(states.POINTER)

    @cached_property
    def lag_matches(self) -> Ints:
        """Matches by shift, summed over the lag's tolerances and at the headline's, shape (episodes, 2, shifts)."""
        return self.counts.table(states.lag_table(len(lag.shifts(self.unit_ns))))

    @cached_property
    def holds(self) -> Ints:
        """Shape (episodes, len(HOLD_SUMS))."""
        return self.summed.grouped(states.HOLDS, np.zeros(states.HOLDS.shape[0], np.int64))[:, 0]

    @cached_property
    def holds_by_key(self) -> Ints:
        """Shape (HELD, len(HOLD_SUMS))."""
        return self.summed.total(states.HOLDS)

    @cached_property
    def facts(self) -> dict[str, int]:
        return states.facts(self.counts, states.FACTS, states.FACT_SUMS)

    @cached_property
    def confusion(self) -> Joint:
        """(True label, predicted label) of substitutions."""
        rows = self.single.where(self.single.columns[0] == states.CONFUSION)
        return Joint.of(*divmod(rows.columns[1], LABELS), counts=rows.counts)

    def _ratios(self, name: str) -> Floats:
        """Hits and totals, shape (episodes, 2)."""
        parts = self.tally.parts(name, Ratio)
        return np.array([(part.hits, part.total) for part in parts], np.float64).reshape(-1, 2)

    @property
    def strata(self) -> list[str]:
        return [episode.stratum for episode in self.tally.episodes]

    # --- how estimates are made ----------------------------------------------------------------------------------

    def share(self, hits: Floats | Ints, totals: Floats | Ints) -> Estimate:
        """Hits ÷ totals, one of each per episode."""
        return share_interval(hits, totals, self.plan, strata=self.strata)

    def quotient(self, table: Floats | Ints, n: int | None = None) -> Estimate:
        """A share of time, not of events, so that only episodes can vary; `table` has shape (episodes, 2)."""
        return self.sums(table, formulas.quotient, n, scale=SHARE, sizes=1)

    def f1(self, outcomes: Ints) -> Estimate:
        """F1 of matched, missed and extra ones, shape (episodes, 3)."""
        matched, missed, extra = outcomes.T
        return self.share(2 * matched, 2 * matched + missed + extra)

    def sums(
        self,
        table: Floats | Ints,
        function: Callable[[Floats], Any],
        n: int | None = None,
        *,
        scale: Scale = PLAIN,
        sizes: int | Floats | Ints,
    ) -> Estimate:
        """`function` of the sum over episodes of `table`, shape (episodes, k).

        `sizes` is the weight of each episode, shape (episodes,), or the column of the table that has it.
        """
        size = int(self.headline.sum()) if n is None else n
        weights = table[:, sizes] if isinstance(sizes, int) else sizes
        return sum_interval(table, function, self.plan, n=size, strata=self.strata, scale=scale, sizes=weights)

    def curves(self, table: Floats | Ints) -> list[tuple[float | None, float | None, float | None]]:
        """F1 with the ends of its interval at each point of a curve.

        `table` has the matches at each point and last the F1's denominator, shape (episodes, points + 1).
        """
        if not len(table):
            return [(None, None, None)] * (table.shape[1] - 1)
        found = curve_intervals(
            table,
            lambda sums: formulas.divided(2 * sums[..., :-1], sums[..., -1:]),
            self.plan,
            strata=self.strata,
            sizes=table[:, -1],
        )
        columns = [[None if np.isnan(value) else float(value) for value in column] for column in found]
        return list(zip(*columns, strict=True))

    def values(
        self,
        which: range,
        derive: Callable[[Ints], Floats],
        statistic: str,
        within: tuple[float, float] = EVERYWHERE,
    ) -> Estimate:
        """A statistic of what is derived from some of the single values, and lies `within` bounds."""
        column = self.single.columns[0]
        rows = self.single.where((column >= which.start) & (column < which.stop))
        derived = derive(rows.columns[1])
        whole = Distribution.of(derived, rows.counts)
        sizes, strata = np.bincount(rows.episode, minlength=rows.n), self.strata
        if self.plan.unit != "episode":
            sizes, strata = np.array([len(derived)]), [""]
        plan = replace(self.plan, unit="event") if self.plan.unit == "reference" else self.plan
        parts = [UnitValues.of(derived, rows.counts, sizes)]
        return value_intervals(parts, [statistic], plan, strata=strata, whole=whole, within=within)[statistic]

    # --- the figures ---------------------------------------------------------------------------------------------

    def matching(self) -> dict[str, Estimate]:
        groups = {"": self.headline} | {f"{kind}_": self.by_kind[:, at] for at, kind in enumerate(ACTION_KINDS)}
        out = {}
        for prefix, chosen in groups.items():
            matched, missed, extra = chosen.T
            out[f"{prefix}f1"] = self.f1(chosen)
            out[f"{prefix}precision"] = self.share(matched, matched + extra)
            out[f"{prefix}recall"] = self.share(matched, matched + missed)
        # Labels that never occur enter no mean; most keys are never pressed.
        occur = np.asarray(self.by_label.any(axis=1))
        occur[0] = True  # if none does, the mean is undefined
        occur[HEADLINE:] = False
        table = self.counts.grouped(states.OUTCOMES, np.where(occur, np.cumsum(occur) - 1, -1))
        table = table.reshape(len(table), -1) if len(table) else table.reshape(0, 3 * int(occur.sum()))
        return out | {"macro_f1": self.sums(table, formulas.macro_f1, scale=SHARE, sizes=self.headline.sum(axis=1))}

    def curve(self) -> dict[str, Estimate]:
        matches = self.counts.table(states.CURVE)
        totals = 2 * self.headline[:, 0] + self.headline[:, 1] + self.headline[:, 2]
        out = {
            f"f1_at_{tolerance}_ms": self.share(2 * matches[:, at], totals)
            for at, tolerance in enumerate(TOLERANCES_MS)
        }
        return out | {
            "f1_curve_area": self.sums(np.column_stack([matches, totals]), formulas.curve_area, scale=SHARE, sizes=-1)
        }

    def errors(self) -> dict[str, Estimate]:
        which, values = self.single.columns
        rows = self.single.where((which == states.CONFUSION) & (values < HEADLINE * LABELS))
        substitutions = np.zeros(rows.n, np.int64)
        np.add.at(substitutions, rows.episode, rows.counts)
        _, missed, extra = self.headline.T
        table = np.column_stack([substitutions, missed - substitutions, extra - substitutions, self.headline[:, :2]])
        n = int(self.headline.sum())
        out = {"error_rate": self.sums(table, formulas.error_rate, scale=RATE, sizes=self.headline.sum(axis=1))}
        for at, name in enumerate(("substitutions", "deletions", "insertions")):
            out[name] = Estimate(float(table[:, at].sum()) if n else None, level=self.plan.level, n=n)
        return out

    def holding(self) -> dict[str, Estimate]:
        true, predicted, onset, both, shared, either = self.holds.T
        facts = self.facts
        return {
            "hold_f1": self.share(2 * both, true + predicted),
            "hold_onset_f1": self.share(2 * onset, true + predicted),
            "hold_iou": self.quotient(np.column_stack([shared, either]), int((true + predicted).sum())),
            "hold_duration_error_p50_ms": self.values(_only(states.LENGTH_ERRORS), _absolute_ms, "p50", AT_LEAST_0),
            "auto_repeats": _plain_count(facts["auto_repeats_predicted"]),
            "unreleased_holds": _plain_count(facts["unreleased_predicted"]),
        }

    def pointing(self) -> dict[str, Estimate]:
        sums = self.pointer_sums
        n = int(sums[:, pointer.SUMS.index("n")].sum())
        figures: dict[str, tuple[Callable[[Floats], Floats], Scale]] = {
            "pointer_pearson_x": (lambda s: pointer.pearson(s, "x"), CORRELATION),
            "pointer_pearson_y": (lambda s: pointer.pearson(s, "y"), CORRELATION),
            "pointer_r2": (pointer.r2, SKILL),
            "pointer_cosine": (pointer.cosine, CORRELATION),
            "pointer_log2_scale": (pointer.log2_scale, PLAIN),
            "pointer_path_error_px": (pointer.path_error_px, POSITIVE),
            "pointer_final_error_px": (pointer.final_error_px, POSITIVE),
        }
        bins = pointer.SUMS.index("n")
        out = {key: self.sums(sums, one, n, scale=scale, sizes=bins) for key, (one, scale) in figures.items()}
        moves, still, missed, idle = (
            sums[:, pointer.SUMS.index(name)].astype(np.int64) for name in ("t_moves", "t_still", "missed", "idle")
        )
        direction = self.values(_only(states.DIRECTIONS), lambda angle: angle / 100, "p50", ANGLES)
        return out | {
            "pointer_direction_error_p50_deg": direction,
            "pointer_missed_rate": self.share(missed, moves),
            "pointer_idle_rate": self.share(idle, still),
        }

    def timing(self) -> dict[str, Estimate]:
        moments = _moments(self.single.where(self.single.columns[0] < 2))
        matches = self.lag_matches
        tried = lag.shifts(self.unit_ns) / 1e6
        n = int(moments[:, 0].sum()) if len(moments) else 0

        def best(sums: Floats) -> Floats:
            lags = tried[lag.best_shift(sums, self.unit_ns)]
            return np.where(sums.max(axis=-1) > 0, lags, np.nan)

        totals = 2 * self.headline[:, 0] + self.headline[:, 1] + self.headline[:, 2]
        lag_ms = resampled_sum_interval(
            matches[:, 0],
            best,
            self.plan,
            n=int(matches[:, 0].max(axis=-1).sum()) if len(matches) else 0,
            strata=self.strata,
            step=self.unit_ns / 1e6,
        )
        if lag_ms.value is None:
            after = self.f1(self.headline)
        else:
            at = int(np.argmin(np.abs(tried - lag_ms.value)))
            after = self.share(2 * matches[:, 1, at], totals)
            if at in (0, len(tried) - 1) and (after.value or 0.0) < _MOST:
                # If the best shift is the furthest one and most actions do not match even there, no lag was found.
                lag_ms, after = Estimate(None, level=self.plan.level, n=lag_ms.n), self.f1(self.headline)
        return {
            "time_error_p50_ms": self.values(states.TIME_ERRORS, lambda ns: ns / 1e6, "p50"),
            "time_error_spread_ms": self.sums(moments, formulas.spread, n, scale=POSITIVE, sizes=0),
            "lag_ms": lag_ms,
            "f1_without_lag": after,
        }

    def drift(self) -> Estimate:
        """By how many ms a minute predictions fall behind: the median of the episodes in which a drift was found."""
        found = self.values(_only(states.DRIFTS), lambda rate: rate * 60 / 1e6, "p50")
        return found if found.unit == "episode" else replace(found, low=None, high=None)

    def skill(self) -> dict[str, Estimate]:
        outcomes, trivial = self.headline, self.baselines
        names = (*BASELINES, COPIED)
        true = outcomes[:, 0] + outcomes[:, 1]
        out = {
            f"{name}_f1": self.share(2 * trivial[:, at, 0], true + trivial[:, at, 1]) for at, name in enumerate(names)
        }
        out["skill"] = self.f1_skill()
        total = self.pointer_sums.sum(axis=0)
        options = [pointer.idle_r2, pointer.repeat_last_r2]
        stronger = max(options, key=lambda function: np.nan_to_num(float(function(total)), nan=-np.inf))
        n = int(total[pointer.SUMS.index("n")])
        out["pointer_skill"] = self.sums(
            self.pointer_sums,
            lambda s: formulas.skill_of(pointer.r2(s), stronger(s)),
            n,
            scale=SKILL,
            sizes=pointer.SUMS.index("n"),
        )
        return out

    def f1_skill(self) -> Estimate:
        """Skill of F1 over the best baseline."""
        best, true = self.best_baseline, int(self.headline[:, :2].sum())
        if best is None:
            return Estimate(None, level=self.plan.level)
        if best == COPIED and self.copies:
            matched, predicted = self.baselines[:, -1, :2].sum(axis=0)
            if self.headline_f1 >= 2 * matched / (true + predicted):
                # The baseline leaves out one action of each episode; a copy that has kept it is a copy all the same.
                return Estimate(0.0, level=self.plan.level, n=true, n_units=len(self.baselines))
        return skill_over_best(self.headline, self.baselines[:, : self._n_baselines, :2], self.plan, strata=self.strata)

    @property
    def headline_f1(self) -> float:
        """F1 of keys and buttons over all episodes; 0 if nothing matches."""
        matched, missed, extra = self.headline.sum(axis=0)
        return float(2 * matched / max(2 * matched + missed + extra, 1))

    @cached_property
    def copies(self) -> bool:
        """Whether the predictions look like the input given back: at most positions, the event before.

        Given back at the time of the next event, it has to be so nearly everywhere: in a long movement, the last one
        again is a guess that any model may make.
        """
        facts = self.facts
        again = 2 * facts["copied"] > facts["positions"] > 0
        return again or facts["echoed"] > _ECHO * facts["changed"] > 0

    @cached_property
    def best_baseline(self) -> str | None:
        """The baseline with the largest F1 over all episodes; of equal ones the first. None without true actions."""
        true = int(self.headline[:, :2].sum())
        if not true:
            return None
        matches, predicted = self.baselines.sum(axis=0).T[:2]
        f1 = 2 * matches / (true + predicted)
        return (*BASELINES, COPIED)[int(np.argmax(f1[: self._n_baselines]))]

    @property
    def _n_baselines(self) -> int:
        """How many of the baselines count: the copied input, the last one, only if predictions may be copies."""
        return len(BASELINES) + (self.teacher_forced or self.copies)

    def calibration(self) -> dict[str, Estimate]:
        table, losses = confidence_sums(self.tally), likelihood_sums(self.tally)
        if not losses.any():  # stored before losses were kept by kind
            losses[:, 10], losses[:, 11] = table[:, :10].sum(axis=1), table[:, 20:].sum(axis=1)
            losses *= table[:, 20:].any()
        confident, likely = int(table[:, :10].sum()), int(losses[:, 10::2].sum())
        return {
            "nll": self.sums(losses, formulas.nll, likely, scale=POSITIVE, sizes=losses[:, 10::2].sum(axis=1)),
            "calibration_error": self.sums(
                table, formulas.calibration_error, confident, scale=SHARE, sizes=table[:, :10].sum(axis=1)
            ),
        }


def _plain_count(n: int) -> Estimate:
    return Estimate(float(n), n=n)


def _absolute_ms(ns: Ints) -> Floats:
    return np.abs(ns) / 1e6


def _moments(errors: ChosenRows) -> Floats:
    """n, Σ and Σ² of time errors in ms of each episode, shape (episodes, 3)."""
    ms, counts = errors.columns[1] / 1e6, errors.counts
    products = np.array([counts, ms * counts, ms * ms * counts])
    edges = np.searchsorted(errors.episode, np.arange(errors.n + 1)).tolist()
    return np.array([products[:, a:b].sum(axis=1) for a, b in pairwise(edges)]).reshape(-1, 3)


def _only(which: int) -> range:
    return range(which, which + 1)
