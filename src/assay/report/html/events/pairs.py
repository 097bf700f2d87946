"""Charts of `owa@1`, which pairs by position: what is comparable, how late, how far off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.events.evaluation import ProtocolResult
from assay.events.protocols.owa import POSITIONS, PREDICTED, signed_angle
from assay.events.stream import CATEGORIES
from assay.report.html.elements import Markup, join
from assay.report.html.figures import Figures
from assay.stats import AT_LEAST_0, Resampling, percentile, value_intervals
from assay.types import Distribution, Joint

_Row = dict[str, Any]

_TIME_BINS, _ANGLE_BINS, _MOVE_BINS = 40, 24, 41
# A chart's intervals are read by eye.
_REPS = 200


def pair_charts(results: Mapping[str, ProtocolResult], figures: Figures) -> Markup:
    """All charts, from the results by model."""
    times = {name: result.tally.total("times", Joint) for name, result in results.items()}
    moves = {name: result.tally.total("moves", Joint) for name, result in results.items()}
    displacements, limit, step = displacement_rows({name: _by_axis(joint) for name, joint in moves.items()})
    drawn = [
        figures.add("comparability", rows=_comparability(results)),
        figures.add("kinds_confusion", rows=_confusion(results)),
        figures.add("time_error_distribution", rows=_time_errors(times)),
        figures.add("signed_errors", rows=_signed_errors(results)),
        figures.add("error_over_position", rows=_over_position(results)),
        figures.add("direction_errors", rows=_directions(moves)),
        figures.add("displacement", rows=displacements, limit=limit, step=step),
    ]
    return join(drawn)


def _comparability(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        for category in CATEGORIES:
            estimate = result.estimates[f"{category}_comparable"]
            if estimate.value is not None:
                ends = {"low": estimate.low, "high": estimate.high}
                ends = {end: estimate.value if value is None else value for end, value in ends.items()}
                rows.append({"model": model, "category": category, "value": estimate.value, **ends, "n": estimate.n})
    return rows


def _confusion(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        kinds = result.tally.total("kinds", Joint)
        for truth, category in enumerate(CATEGORIES):
            chosen = kinds.where(kinds.column(0) == truth)
            for predicted, count in zip(chosen.column(1).tolist(), chosen.counts.tolist(), strict=True):
                cell = {"truth": category, "predicted": PREDICTED[predicted], "count": count}
                rows.append({"model": model, **cell, "share": count / chosen.n})
    return rows


def _time_errors(times: Mapping[str, Joint]) -> list[_Row]:
    """Shares of signed time errors in bins of equal width; what lies further out stands in the outermost bins."""
    late = {model: Distribution.of(np.abs(joint.column(2)) / 1e6, joint.counts) for model, joint in times.items()}
    widest = max((percentile(d, 98) or 0.0 for d in late.values()), default=0.0)
    width = max(_nice(2 * widest / _TIME_BINS), 1.0)
    half = max(1, math.ceil(widest / width))
    rows = []
    for model, joint in times.items():
        # Bins are centred on multiples of their width, so that an error of 0 has a bar of its own.
        bins = np.clip(np.rint(joint.column(2) / 1e6 / width), -half, half).astype(np.int64) + half
        for code, category in enumerate(CATEGORIES):
            chosen = joint.column(0) == code
            counts = np.bincount(bins[chosen], joint.counts[chosen], 2 * half + 1)
            if not counts.sum():
                continue
            rows += [
                {
                    "model": model,
                    "category": category,
                    "low_ms": (at - half - 0.5) * width,
                    "high_ms": (at - half + 0.5) * width,
                    "share": count / counts.sum(),
                }
                for at, count in enumerate(counts.tolist())
            ]
    return rows


def _nice(width: float) -> float:
    """The next larger of 1, 2, 5, 10, 20, …"""
    if width <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(width))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= width))


def _signed_errors(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        for metric in result.metrics:
            estimate = result.estimates[metric.key]
            if metric.better != "zero" or estimate.value is None:
                continue
            name = metric.key.split("_timestamp")[0] if "_timestamp" in metric.key else metric.key
            name = {"timestamp_signed_error_iqm_ms": "all events"}.get(name, name)
            name = name.replace("mouse_move_signed_pe_", "mouse, ").replace("_iqm", "")
            low, high = estimate.low, estimate.high
            rows.append(
                {
                    "model": model,
                    "name": name,
                    "value": estimate.value,
                    "low": estimate.value if low is None else low,
                    "high": estimate.value if high is None else high,
                    "unit": metric.unit,
                }
            )
    return rows


def _over_position(results: Mapping[str, ProtocolResult]) -> list[_Row]:
    """Time errors by bucket of positions; intervals by episode if there are at least two."""
    rows = []
    for model, result in results.items():
        parts, strata = result.tally.parts("times", Joint), [episode.stratum for episode in result.tally.episodes]
        total = result.tally.total("times", Joint)
        for bucket in np.unique(total.column(1)).tolist():
            errors = [_absolute_errors(part, bucket) for part in parts]
            plan = Resampling("episode", _REPS)
            whole = _absolute_errors(total, bucket)
            found = value_intervals(errors, ["p50", "p95"], plan, strata=strata, whole=whole, within=AT_LEAST_0)
            row = {"model": model, "from_position": int(POSITIONS[bucket]), "to_position": _last_position(bucket)}
            for name, estimate in found.items():
                row |= {f"{name}_ms": estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            rows.append(row | {"n": whole.n})
    return rows


def _absolute_errors(times: Joint, bucket: int) -> Distribution:
    """Absolute time errors in ms at the positions of a bucket."""
    chosen = times.where(times.column(1) == bucket)
    return Distribution.of(np.abs(chosen.column(2)) / 1e6, chosen.counts)


def _last_position(bucket: int) -> int:
    # The last bucket has no end; it is drawn to twice its beginning.
    open_ended = bucket + 2 == len(POSITIONS)
    return int(2 * POSITIONS[bucket] if open_ended else POSITIONS[bucket + 1]) - 1


def _directions(moves: Mapping[str, Joint]) -> list[_Row]:
    """Shares of the signed angle between both movements; a predicted standstill has no direction and is left out."""
    rows = []
    width = 360 / _ANGLE_BINS
    for model, joint in moves.items():
        dx, dy, px, py = (joint.column(at) for at in range(4))
        kept = ((dx != 0) | (dy != 0)) & ((px != 0) | (py != 0))
        if not kept.any():
            continue
        angle = signed_angle(dx[kept], dy[kept], px[kept], py[kept])
        # Centred on 0, so that "straight ahead" is one bar and not split in two.
        at = np.rint(angle / width).astype(np.int64) % _ANGLE_BINS
        counts = np.bincount(at, joint.counts[kept], _ANGLE_BINS)
        for index, count in enumerate(counts.tolist()):
            centre = index * width if index <= _ANGLE_BINS // 2 else index * width - 360
            ends = {"low_deg": centre - width / 2, "high_deg": centre + width / 2}
            rows.append({"model": model, **ends, "share": count / counts.sum()})
    return rows


def displacement_rows(moves: Mapping[str, Mapping[str, Joint]]) -> tuple[list[_Row], float, float]:
    """Counts of true against predicted movement on a grid; what lies further out stands at its edge.

    `moves` has by model and axis (true, predicted). Gives the rows, where the axes end, and the width of a cell.
    """
    sizes = [
        Distribution.of(np.abs(joint.column(at)), joint.counts)
        for axes in moves.values()
        for joint in axes.values()
        for at in range(2)
        if joint.n
    ]
    reach = max((percentile(size, 99) or 0.0 for size in sizes), default=0.0)
    step = max(math.ceil(2 * reach / _MOVE_BINS), 1)
    half = max(math.ceil(reach / step), 1)
    rows = []
    for model, axes in moves.items():
        for axis, joint in axes.items():
            if not joint.n:
                continue
            cells = [np.clip(np.rint(joint.column(at) / step), -half, half).astype(np.int64) for at in range(2)]
            grid = Joint.of(*cells, counts=joint.counts)
            for t, p, count in zip(grid.column(0).tolist(), grid.column(1).tolist(), grid.counts.tolist(), strict=True):
                rows.append({"model": model, "axis": axis, "truth": t * step, "predicted": p * step, "count": count})
    return rows, (half + 0.5) * step, float(step)


def _by_axis(moves: Joint) -> dict[str, Joint]:
    """(true, predicted) of each axis, from (true x, true y, predicted x, predicted y)."""
    return {
        axis: Joint.of(moves.column(true), moves.column(predicted), counts=moves.counts) if moves.n else moves
        for axis, true, predicted in (("x", 0, 2), ("y", 1, 3))
    }
