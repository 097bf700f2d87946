"""`owa@1`: prediction i against truth i, teacher-forced.

The states of an episode are: which kind was predicted for which, the error of each time, the four deltas of each
compared movement, and how often keys, buttons and scrolls were right. Every figure is computed from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.events.align import Pair
from assay.events.codecs import Codec
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.stream import CATEGORIES, Kind
from assay.events.tally import Tally
from assay.stats import (
    ANGLES,
    AT_LEAST_0,
    EVERYWHERE,
    IndexedValues,
    Resampling,
    UnitRows,
    ratio_interval,
    share_interval,
    value_intervals,
)
from assay.types import Distribution, Estimate, Floats, InOrder, Ints, Joint, Moments, Ratio, State

PRECISIONS = (1000, 100, 10, 1)
"""Pixels that a movement is rounded down to, on both axes, for its accuracy."""
PERCENTILES = ("p0", "p25", "p50", "p75", "p95", "p100")
PREDICTED = (*CATEGORIES, "invalid", "missing")
"""What was predicted for a truth: an event of some category, one that does not decode, or none at all."""

POSITIONS = np.array([0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 2**62])
"""Edges of the buckets of positions in an episode that errors are followed over."""

_KIND_OF_CATEGORY = np.array([Kind.KEYBOARD, Kind.MOUSE, Kind.MOUSE, Kind.SCREEN, Kind.UNKNOWN, Kind.UNKNOWN])


# --- measuring: one pair to states ---------------------------------------------------------------------------------


def score(pair: Pair, *, in_order: bool = False) -> dict[str, State]:
    """The states of one aligned slice. A truth that is missing or does not decode is counted and not scored."""
    from assay.events.counting import count_moves, count_rows, list_few
    from assay.events.protocols._position_counts import count_positions

    if len(pair.truth) > _AT_ONCE:
        return _in_parts(pair, in_order=in_order)
    columns = [getattr(side, name) for side in (pair.truth, pair.predicted) for name in _COLUMNS]
    counts, kinds, limbs, agree, times, moves, rows, n_moves = count_positions(*columns, pair.start, POSITIONS, _SIZES)
    spoiled, extra, *actions = counts.tolist()
    n = len(pair.truth)
    seen = [(true, answer, n) for true, row in enumerate(kinds.tolist()) for answer, n in enumerate(row) if n]
    by_category = dict(zip(CATEGORIES, map(_moments, limbs.tolist()), strict=True))
    states: dict[str, State] = {
        "spoiled_truths": Ratio(spoiled, n),
        "extra_predictions": Ratio(extra, n),
        "kinds": list_few(seen, 2),
        "times": count_rows(times, rows),
        "truth_times": sum(by_category.values(), Moments()),
        **{f"{name}_truth_times": moments for name, moments in by_category.items()},
        "moves": count_moves(pair, moves, n_moves),
        **{f"moves_{size}": Ratio(hits, n_moves) for size, hits in zip(PRECISIONS, agree.tolist(), strict=True)},
    }
    for at, name in enumerate(("keyboard", "buttons", "scrolls")):
        right, comparable, true = actions[3 * at : 3 * at + 3]
        states |= {name: Ratio(right, comparable), f"{name}_all": Ratio(right, true)}
    if in_order:
        states |= _values_in_order(times[0, :rows], times[2, :rows], moves[:, :n_moves])
    return states


_COLUMNS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")
_SIZES = np.array(PRECISIONS)
# Sums of products of limbs stay within 63 bits.
_AT_ONCE = 2**20


def _in_parts(pair: Pair, *, in_order: bool) -> dict[str, State]:
    """The states of a very long slice."""
    whole: dict[str, State] = {}
    for start in range(0, len(pair.truth), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        part = Pair(pair.episode, pair.predicted[some], pair.truth[some], pair.start + start)
        for name, state in score(part, in_order=in_order).items():
            whole[name] = whole[name] + state if name in whole else state  # type: ignore[operator]
    return whole


def _moments(limbs: Sequence[int]) -> Moments:
    """The moments of integers from how many there are, Σ and Σ of products of their three limbs of 21 bits."""
    n, a, b, c, aa, ab, ac, bb, bc, cc = limbs
    squares = aa + (2 * ab << 21) + (2 * ac + bb << 42) + (2 * bc << 63) + (cc << 84)
    return Moments(n, a + (b << 21) + (c << 42), squares)


def _values_in_order(category: Ints, error_ns: Ints, moves: Ints) -> dict[str, State]:
    """The values whose interquartile means are reported, one by one: what the `reference` interval resamples."""
    late = error_ns / 1e6
    values = {"timestamp": late}
    values |= {f"{name}_timestamp": late[category == code] for code, name in enumerate(CATEGORIES)}
    for axis, truth, predicted in (("x", moves[0], moves[2]), ("y", moves[1], moves[3])):
        values[axis] = _signed_pe(truth, predicted)[truth != 0]
    return {f"in_order/{name}": InOrder(array) for name, array in values.items()}


# --- reducing: a tally to estimates --------------------------------------------------------------------------------


def finish(tally: Tally, plan: Resampling) -> dict[str, Estimate]:
    """Every figure of the protocol."""
    figures = _Figures(tally, plan)
    return {**figures.comparability(), **figures.timing(), **figures.movement(), **figures.accuracy()}


# Resampling says nothing about the extremes.
_EXTREMES = ("p0", "p100")
# Rows of episodes that are looked at together: temporary arrays stay in cache.
_ROWS_AT_ONCE = 30_000


@dataclass(frozen=True)
class _Figures:
    """A tally, and how to compute intervals from it: over whole episodes, or over all values together."""

    tally: Tally
    plan: Resampling

    def rows(self, name: str) -> UnitRows:
        """The rows of a state, of each episode or of all together."""
        if self.plan.unit == "episode":
            return UnitRows.joined(*self.tally.rows(name))
        return UnitRows.of([self.tally.total(name, Joint)])

    @property
    def strata(self) -> list[str]:
        return [episode.stratum for episode in self.tally.episodes] if self.plan.unit == "episode" else [""]

    def ratio(self, parts: Sequence[Ratio]) -> Estimate:
        return ratio_interval(parts, self.plan, strata=self.strata)

    def values(
        self,
        values: IndexedValues,
        statistics: Sequence[str],
        *,
        in_order: str | None = None,
        within: tuple[float, float] = EVERYWHERE,
    ) -> dict[str, Estimate]:
        """Each statistic of these values, which lie `within` bounds, with its interval.

        Only values that were kept in order can have a `reference` interval.
        """
        plan, kept = self.plan, None
        if plan.unit == "reference":
            if in_order is None:
                plan = replace(plan, unit="event")
            else:
                kept = self.tally.total(f"in_order/{in_order}", InOrder).values
        resampled = [name for name in statistics if name not in _EXTREMES or plan.keep]
        found = value_intervals(values, resampled, plan, strata=self.strata, in_order=kept, within=within)
        blank = replace(next(iter(found.values())), low=None, high=None)
        ends = dict(
            zip(_EXTREMES, values.distinct[[0, -1]].tolist() if len(values.distinct) else (None, None), strict=True)
        )
        found |= {
            extreme: replace(found.get(extreme, blank), value=end, low=None, high=None) for extreme, end in ends.items()
        }
        return {statistic: found[statistic] for statistic in statistics}

    def comparability(self) -> dict[str, Estimate]:
        kinds = self._kinds()
        of_category = kinds.sum(axis=2)
        same = (kinds * (_KIND_OF_CATEGORY[: len(CATEGORIES), None] == _KIND_OF_CATEGORY)).sum(axis=2)
        events, n = of_category.sum(axis=1), int(kinds.sum())

        def ratio(hits: Ints, totals: Ints) -> Estimate:
            return share_interval(hits, totals, self.plan, strata=self.strata)

        out = {"events": Estimate(float(n), n=n), "comparable": ratio(same.sum(axis=1), events)}
        for code, name in enumerate(CATEGORIES):
            out[f"{name}_comparable"] = ratio(same[:, code], of_category[:, code])
            out[f"{name}_ratio"] = ratio(of_category[:, code], events)
        return out

    def _kinds(self) -> Ints:
        """How often each true category was answered with each predicted one, shape (units, categories, answers)."""
        out = np.zeros((len(self.strata), len(CATEGORIES), len(PREDICTED)), np.int64)
        rows = self.rows("kinds")
        if len(rows.units):
            out[rows.units, rows.columns[0], rows.columns[1]] = rows.counts
        return out

    def timing(self) -> dict[str, Estimate]:
        rows = self.rows("times")
        absolute, signed, exact = (rows.values(error, [2], label=0) for error in (_absolute_ms, _signed_ms, _in_ns))
        out: dict[str, Estimate] = {}
        for prefix, code in [("", None), *((f"{name}_", code) for code, name in enumerate(CATEGORIES))]:
            sizes, errors, in_ns = (
                values if code is None else values.where(code) for values in (absolute, signed, exact)
            )
            for name, estimate in self.values(sizes, PERCENTILES, within=AT_LEAST_0).items():
                out[f"{prefix}timestamp_abs_error_{name}_ms"] = estimate
            found = self.values(errors, ["iqm"], in_order=f"{prefix}timestamp")
            out[f"{prefix}timestamp_signed_error_iqm_ms"] = found["iqm"]
            out[f"{prefix}timestamp_r2"] = self._timestamp_r2(prefix, in_ns.whole)
        return out

    def _timestamp_r2(self, prefix: str, errors_ns: Distribution) -> Estimate:
        truths = self.tally.total(f"{prefix}truth_times", Moments)
        # Over distinct errors: a sum of floats depends on its order.
        residual = float((errors_ns.values**2 * errors_ns.counts).sum())
        return _r2(residual, truths.sum_of_squared_deviations, truths.n)

    def movement(self) -> dict[str, Estimate]:
        rows = self.rows("moves")
        out = {}
        lengths = rows.values(euclidean_pe, range(4))
        for name, estimate in self.values(lengths, PERCENTILES, within=AT_LEAST_0).items():
            out[f"mouse_move_pe_euclidean_{name}"] = estimate
        del lengths  # a few numbers for each of very many rows
        angles = rows.values(direction_error, range(4))
        for name, estimate in self.values(angles, ["p50", "p95"], within=ANGLES).items():
            out[f"mouse_move_direction_error_{name}"] = estimate
        del angles
        for axis, columns in (("x", (0, 2)), ("y", (1, 3))):
            errors = rows.values(_signed_pe, columns)
            out[f"mouse_move_signed_pe_{axis}_iqm"] = self.values(errors, ["iqm"], in_order=axis)["iqm"]
        for size in PRECISIONS:
            out[f"mouse_move_accuracy_{size}"] = self.ratio(self.tally.parts(f"moves_{size}", Ratio))
        return out | {"mouse_move_r2": _move_r2(rows)}

    def accuracy(self) -> dict[str, Estimate]:
        names = {
            "keyboard": "keyboard_accuracy",
            "buttons": "mouse_action_accuracy",
            "scrolls": "mouse_scroll_accuracy",
        }
        names |= {f"{name}_all": f"{key}_all" for name, key in names.items()}
        return {key: self.ratio(self.tally.parts(name, Ratio)) for name, key in names.items()}


def _in_ns(error_ns: Ints) -> Floats:
    return error_ns.astype(np.float64)


def _signed_ms(error_ns: Ints) -> Floats:
    return error_ns / 1e6


def _absolute_ms(error_ns: Ints) -> Floats:
    return np.abs(_signed_ms(error_ns))


def euclidean_pe(dx: Ints, dy: Ints, px: Ints, py: Ints) -> Floats:
    """‖predicted − truth‖ ÷ ‖truth‖ · 100; NaN if the truth is (0, 0)."""
    length = np.hypot(dx, dy)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(length > 0, np.hypot(px - dx, py - dy) / length * 100, np.nan)


def signed_angle(dx: Ints, dy: Ints, px: Ints, py: Ints) -> Floats:
    """Angle from the true to the predicted movement in degrees, −180 … 180; NaN if the truth is (0, 0)."""
    turn = np.degrees(np.arctan2(py, px) - np.arctan2(dy, dx))
    turn = np.where(turn > 180, turn - 360, np.where(turn < -180, turn + 360, turn))
    return np.where((dx != 0) | (dy != 0), turn, np.nan)


def direction_error(dx: Ints, dy: Ints, px: Ints, py: Ints) -> Floats:
    """Smaller angle between both movements in degrees; a predicted (0, 0) counts as angle 0, as in the original."""
    turn = np.abs(np.arctan2(py, px) - np.arctan2(dy, dx))
    return np.where((dx != 0) | (dy != 0), np.degrees(np.minimum(turn, 2 * np.pi - turn)), np.nan)


def _signed_pe(truth: Ints, predicted: Ints) -> Floats:
    """(predicted − truth) ÷ truth · 100; NaN if the truth is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(truth != 0, (predicted - truth) / truth * 100, np.nan)


def _move_r2(rows: UnitRows) -> Estimate:
    """1 − SS_res ÷ SS_tot summed over both axes, each around its own mean; from exact sums, the same in any order."""
    n = 0
    sums, squares, residual = [0, 0], [0, 0], 0
    for start in range(0, len(rows.counts), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        counts = rows.counts[some].astype(np.int64)
        n += int(counts.sum())
        for axis in (0, 1):
            truth, predicted = (rows.columns[at][some].astype(np.int64) for at in (axis, axis + 2))
            sums[axis] += int(truth @ counts)
            squares[axis] += _sum_of_squares(truth, counts)
            residual += _sum_of_squares(predicted - truth, counts)
    total = sum(n * square - whole**2 for square, whole in zip(squares, sums, strict=True))
    return _r2(float(residual), total / n if n else 0.0, n)


def _sum_of_squares(values: Ints, counts: Ints) -> int:
    """Σ count · value², exactly, of differences of 32-bit integers: in two halves, whose products fit into 64 bits."""
    high, low = np.divmod(np.abs(values), 1 << 17)
    return (int((high * high) @ counts) << 34) + (int((high * low) @ counts) << 18) + int((low * low) @ counts)


def _r2(residual: float, total: float, n: int) -> Estimate:
    return Estimate(1 - residual / total if total > 0 else None, n=n)


# --- what the numbers are ------------------------------------------------------------------------------------------


def _metrics() -> tuple[ProtocolMetric, ...]:
    no_events, no_comparable = "no true event of this category", "no comparable event of this category"
    metrics = [
        ProtocolMetric("events", "True events", "Data", better="none"),
        ProtocolMetric("comparable", "Comparable", "Comparability", undefined="no true events", headline=True),
    ]
    metrics += [
        ProtocolMetric(f"{name}_comparable", f"Comparable, {name}", "Comparability", undefined=no_events)
        for name in CATEGORIES
    ]
    metrics += [
        ProtocolMetric(f"{name}_ratio", f"Share of {name}", "Data", better="none", undefined="no true events")
        for name in CATEGORIES
    ]
    flat = "fewer than two distinct true values among comparable events"
    for prefix, of in [("", ""), *((f"{name}_", f", {name}") for name in CATEGORIES)]:
        for p in PERCENTILES:
            key = f"{prefix}timestamp_abs_error_{p}_ms"
            title = f"Time error {p.upper()}{of}"
            metrics.append(ProtocolMetric(key, title, "Timing", "ms", "lower", no_comparable, headline=p == "p95"))
        ends = (f"{prefix}timestamp_signed_error_ci_lower_ms", f"{prefix}timestamp_signed_error_ci_upper_ms")
        key = f"{prefix}timestamp_signed_error_iqm_ms"
        metrics.append(
            ProtocolMetric(key, f"Time bias (+ late){of}", "Timing", "ms", "zero", no_comparable, ends, headline=True)
        )
        # Times grow by far more than errors, so this is close to 1 for every predictor.
        metrics.append(ProtocolMetric(f"{prefix}timestamp_r2", f"Time R²{of}", "Timing", undefined=flat, listed=False))
    still = "no comparable mouse event whose truth moves"
    for p in PERCENTILES:
        key = f"mouse_move_pe_euclidean_{p}"
        metrics.append(
            ProtocolMetric(key, f"Distance error {p.upper()}", "Movement", "%", "lower", still, headline=p == "p95")
        )
    for axis in "xy":
        ends = (f"mouse_move_signed_pe_{axis}_ci_lower", f"mouse_move_signed_pe_{axis}_ci_upper")
        key = f"mouse_move_signed_pe_{axis}_iqm"
        title = f"Distance bias {axis} (+ too far)"
        metrics.append(ProtocolMetric(key, title, "Movement", "%", "zero", still, ends, headline=True))
    for p in ("p50", "p95"):
        key = f"mouse_move_direction_error_{p}"
        metrics.append(
            ProtocolMetric(key, f"Direction error {p.upper()}", "Movement", "°", "lower", still, headline=True)
        )
    metrics.append(ProtocolMetric("mouse_move_r2", "Movement R²", "Movement", undefined=flat))
    for size in PRECISIONS:
        title = "Both deltas right" if size == 1 else f"Both deltas right, rounded down to {size} px"
        metrics.append(
            ProtocolMetric(f"mouse_move_accuracy_{size}", title, "Movement", undefined="no comparable mouse event")
        )
    for key, title, kind in (
        ("keyboard_accuracy", "Keys right", "keyboard"),
        ("mouse_action_accuracy", "Buttons right", "button"),
        ("mouse_scroll_accuracy", "Scrolls right", "scroll"),
    ):
        none, absent = f"no comparable {kind} event", f"no true {kind} event"
        metrics += [
            ProtocolMetric(key, f"{title}, of comparable", "Actions", undefined=none, headline=True),
            ProtocolMetric(f"{key}_all", f"{title}, of all true", "Actions", undefined=absent, headline=True),
        ]
    return tuple(metrics)


@dataclass(frozen=True)
class Owa:
    """The protocol as registered."""

    name: str = "owa"
    version: int = 1
    pairing: Pairing = "position"
    metrics: tuple[ProtocolMetric, ...] = _metrics()

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        return score(pair, in_order=in_order)

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        return finish(tally, plan)

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> Owa:
        return self

    def settings(self) -> Mapping[str, Any]:
        return {}

    def bounded(self, states: Mapping[str, State]) -> Mapping[str, State]:
        """The states with rounded errors of time."""
        from assay.events.bounded import rounded

        times = states["times"]
        assert isinstance(times, Joint)
        if not len(times):
            return states
        return {**states, "times": Joint.of(*times.columns[:2], rounded(times.columns[2]), counts=times.counts)}


PROTOCOL = Owa()
