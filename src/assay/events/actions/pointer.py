"""The pointer's path: cumulative movement, linear between mouse events, read at the edges of bins of 50 ms.

Read like this, the rate at which a mouse or a model reports does not matter. Positions are kept in whole 1/32 of a
pixel, so that sums of them are whole numbers and add up exactly in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.events.actions.clock import ClockSide
from assay.events.compiled import inner, njit
from assay.types import Floats, Ints

SCALE = 32
"""Steps to a pixel."""
BIN_NS = 50_000_000
_MOUSE = 1  # stream.Kind; a test checks that they agree

SUMS = (
    "n", "t_x", "t_y", "p_x", "p_y", "tt_x", "tt_y", "pp_x", "pp_y", "tp_x", "tp_y", "length_t", "length_p",
    "distance", "edges", "final", "episodes", "t_moves", "t_still", "missed", "idle", "last_x", "last_y",
)  # fmt: skip
"""What is summed over bins, in steps of 1/SCALE pixels: `n` bins in which either side moves, first and second moments
of both sides' displacements and their products; lengths of both paths; distances between them at all edges and at the
last; bins in which the truth moves and stands still, and those of each in which the prediction does the opposite; and
in `last_x` and `last_y` the squared differences of the truth's displacement from its own in the bin before."""

# Fewer bins in which nothing moves are walked through one by one.
_FEW = 64
_PATH_POINTS = 40
"""Points of both paths that are kept of an episode, for drawing."""


@dataclass(frozen=True, slots=True)
class PointerSums:
    """What one episode adds to the figures of the pointer."""

    sums: Floats
    """Whole numbers by the names of SUMS."""
    directions: Ints
    """Angle between both displacements in hundredths of a degree, for each bin in which both sides move."""
    path: Ints
    """Points of both paths for drawing, shape (points, 5): bin, true x and y, predicted x and y in pixels."""


def compare_paths(truth: ClockSide, predicted: ClockSide) -> PointerSums:
    """Sums over the bins of one episode; all 0 if neither side has a mouse event."""
    sides = [_path(side) for side in (truth, predicted)]
    known = [times for times, _, _ in sides if len(times)]
    if not known:
        return PointerSums(np.zeros(len(SUMS)), np.empty(0, np.int64), np.empty((0, 5), np.int64))
    origin = int(known[0][0])  # bins are laid from the truth's first mouse event, whatever the prediction does
    low = min(int(times[0]) for times in known)
    high = max(int(times[-1]) for times in known)
    first = (low - origin - 1) // BIN_NS  # the edge before the first event, where both sides are at 0
    n = -(-(high - origin) // BIN_NS) - first
    return PointerSums(*_walk(*sides[0], *sides[1], origin + first * BIN_NS, n, max(1, -(-n // _PATH_POINTS))))


def knots_of(side: ClockSide) -> tuple[Ints, Floats, Floats]:
    """Times and positions in pixels after each distinct time of a mouse event, stray ones left out."""
    times, x, y = _path(side)
    return times, x / SCALE, y / SCALE


def _path(side: ClockSide) -> tuple[Ints, Ints, Ints]:
    """Times and cumulative positions (in 1/SCALE pixels) after each distinct time of a mouse event, stray ones out."""
    if side.first_ns is None or side.last_ns is None:
        return (np.empty(0, np.int64),) * 3
    stream = side.stream
    times, x, y = _knots(side.at, side.time_ns, stream.kind, stream.dx, stream.dy, side.first_ns, side.last_ns)
    return times, x, y


@njit(nogil=True, cache=True)
def _knots(at, time_ns, kind, dx, dy, first, last):  # type: ignore[no-untyped-def]
    n = len(at)
    times, xs, ys = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    x = y = np.int64(0)
    found = 0
    for i in range(n):
        if kind[at[i]] != _MOUSE or time_ns[i] < first or time_ns[i] > last:
            continue
        x += dx[at[i]]
        y += dy[at[i]]
        if found == 0 or times[found - 1] != time_ns[i]:
            found += 1
        times[found - 1] = time_ns[i]
        xs[found - 1] = x * SCALE
        ys[found - 1] = y * SCALE
    return times[:found], xs[:found], ys[:found]


@inner(nogil=True, cache=True)
def _at(edge, times, position, k):  # type: ignore[no-untyped-def]
    """Position at time `edge`; k is the number of knots at or before it."""
    if k == 0:
        return np.int64(0)
    if k == len(times):
        return position[k - 1]
    share = (edge - times[k - 1]) / (times[k] - times[k - 1])
    return np.int64(np.rint(position[k - 1] + (position[k] - position[k - 1]) * share))


@inner(nogil=True, cache=True)
def _still(edge, until, start, t_time, t_x, t_y, a, p_time, p_x, p_y, b):  # type: ignore[no-untyped-def]
    """How many of the edges after this one, up to `until`, both sides pass without moving, or fewer if they are few.

    Between two knots a position changes in one direction only: if it is the same at two edges, so it is between them.
    """
    time = start + edge * BIN_NS
    if a < len(t_time):
        until = min(until, edge + (t_time[a] - time - 1) // BIN_NS)
    if b < len(p_time):
        until = min(until, edge + (p_time[b] - time - 1) // BIN_NS)
    skipped, step = np.int64(0), np.int64(_FEW)
    while step >= _FEW and edge + skipped + _FEW <= until:
        other = start + (edge + min(skipped + step, until - edge)) * BIN_NS
        if (
            _at(time, t_time, t_x, a) == _at(other, t_time, t_x, a)
            and _at(time, t_time, t_y, a) == _at(other, t_time, t_y, a)
            and _at(time, p_time, p_x, b) == _at(other, p_time, p_x, b)
            and _at(time, p_time, p_y, b) == _at(other, p_time, p_y, b)
        ):
            skipped = min(skipped + step, until - edge)
            step *= 2
        else:
            step //= 4
    return skipped


@njit(nogil=True, cache=True)
def _walk(t_time, t_x, t_y, p_time, p_x, p_y, start, n, keep_every):  # type: ignore[no-untyped-def]
    out = np.zeros(23, np.float64)
    directions = np.empty(min(n, 16), np.int64)
    found = 0
    path = np.empty((n // keep_every + 2, 5), np.int64)
    kept = 0
    a = b = 0
    tx = ty = px = py = np.int64(0)
    distance = 0.0
    before_x = before_y = 0.0
    still = (SCALE / 2) ** 2  # below half a pixel a bin counts as standing still
    edge = np.int64(-1)
    while edge < n:
        edge += 1
        time = start + edge * BIN_NS
        while a < len(t_time) and t_time[a] <= time:
            a += 1
        while b < len(p_time) and p_time[b] <= time:
            b += 1
        new_tx, new_ty = _at(time, t_time, t_x, a), _at(time, t_time, t_y, a)
        new_px, new_py = _at(time, p_time, p_x, b), _at(time, p_time, p_y, b)
        distance = np.rint(np.hypot(np.float64(new_tx - new_px), np.float64(new_ty - new_py)))
        if edge % keep_every == 0 or edge == n:
            path[kept, 0] = edge
            path[kept, 1], path[kept, 2] = new_tx // SCALE, new_ty // SCALE
            path[kept, 3], path[kept, 4] = new_px // SCALE, new_py // SCALE
            kept += 1
        out[13] += distance
        out[14] += 1
        if edge > 0:
            dtx, dty = np.float64(new_tx - tx), np.float64(new_ty - ty)
            dpx, dpy = np.float64(new_px - px), np.float64(new_py - py)
            t_square, p_square = dtx * dtx + dty * dty, dpx * dpx + dpy * dpy
            if t_square > 0 or p_square > 0:
                out[0] += 1
                out[1] += dtx
                out[2] += dty
                out[3] += dpx
                out[4] += dpy
                out[5] += dtx * dtx
                out[6] += dty * dty
                out[7] += dpx * dpx
                out[8] += dpy * dpy
                out[9] += dtx * dpx
                out[10] += dty * dpy
                out[11] += np.rint(np.sqrt(t_square))
                out[12] += np.rint(np.sqrt(p_square))
            out[21] += (dtx - before_x) ** 2
            out[22] += (dty - before_y) ** 2
            before_x, before_y = dtx, dty
            if t_square >= still:
                out[17] += 1
                if p_square < still:
                    out[19] += 1
                else:
                    if found == len(directions):
                        larger = np.empty(2 * found, np.int64)
                        for k in range(found):  # assigning a slice takes seconds to compile
                            larger[k] = directions[k]
                        directions = larger
                    angle = np.arctan2(dtx * dpy - dty * dpx, dtx * dpx + dty * dpy)
                    directions[found] = np.int64(np.rint(abs(np.degrees(angle)) * 100))
                    found += 1
            else:
                out[18] += 1
                if p_square >= still:
                    out[20] += 1
            if t_square == 0 and p_square == 0:
                # Nothing moves until the end of the stretch: an absurd time must not take a step for each bin up to it.
                until = min(n - 1, edge + keep_every - 1 - edge % keep_every)
                skipped = _still(edge, until, start, t_time, t_x, t_y, a, p_time, p_x, p_y, b)
                edge += skipped
                out[13] += distance * skipped
                out[14] += skipped
                out[18] += skipped
        tx, ty, px, py = new_tx, new_ty, new_px, new_py
    out[15] = distance
    out[16] = 1
    return out, directions[:found], path[:kept]


def pearson(sums: Floats, axis: str) -> Floats:
    """Correlation of both sides' displacements along an axis; NaN if a side does not vary."""
    n, t, p, tt, pp, tp = (
        _column(sums, name) for name in ("n", *(f"{k}_{axis}" for k in ("t", "p", "tt", "pp", "tp")))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * tt - t * t) * (n * pp - p * p)
        return np.where(spread > 0, (n * tp - t * p) / np.sqrt(np.maximum(spread, 0)), np.nan)


def r2(sums: Floats) -> Floats:
    """1 − SS_res ÷ SS_tot of the displacements, both axes together, each about its own mean; NaN if undefined."""
    residual = sum(_column(sums, f"tt_{k}") - 2 * _column(sums, f"tp_{k}") + _column(sums, f"pp_{k}") for k in "xy")
    return _one_minus(np.asarray(residual), _total(sums))


def idle_r2(sums: Floats) -> Floats:
    """The R² of a prediction that never moves."""
    return _one_minus(_column(sums, "tt_x") + _column(sums, "tt_y"), _total(sums))


def repeat_last_r2(sums: Floats) -> Floats:
    """The R² of predicting in each bin the true displacement of the bin before."""
    return _one_minus(_column(sums, "last_x") + _column(sums, "last_y"), _total(sums))


def cosine(sums: Floats) -> Floats:
    """Cosine of the angle between both sides' displacements, taken as long vectors; NaN if a side stands still."""
    product, t, p = (sum(_column(sums, f"{k}_{axis}") for axis in "xy") for k in ("tp", "tt", "pp"))
    with np.errstate(invalid="ignore", divide="ignore"):
        norm = np.sqrt(np.asarray(t * p, np.float64))
        return np.where(norm > 0, product / norm, np.nan)


def log2_scale(sums: Floats) -> Floats:
    """log₂ of predicted ÷ true path length; NaN if a side stands still."""
    truth, predicted = _column(sums, "length_t"), _column(sums, "length_p")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((truth > 0) & (predicted > 0), np.log2(predicted / truth), np.nan)


def path_error_px(sums: Floats) -> Floats:
    """Mean distance between both paths over all edges of bins."""
    return _mean(_column(sums, "distance"), _column(sums, "edges"))


def final_error_px(sums: Floats) -> Floats:
    """Mean distance between both paths' ends over episodes."""
    return _mean(_column(sums, "final"), _column(sums, "episodes"))


def _column(sums: Floats, name: str) -> Floats:
    return np.asarray(sums[..., SUMS.index(name)])


def _total(sums: Floats) -> Floats:
    """Squared deviations of the true displacements from their mean."""
    n = np.maximum(_column(sums, "n"), 1)
    return np.asarray(sum(_column(sums, f"tt_{k}") - _column(sums, f"t_{k}") ** 2 / n for k in "xy"))


def _one_minus(residual: Floats, total: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, 1 - residual / total, np.nan)


def _mean(total: Floats, n: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n > 0, total / n / SCALE, np.nan)
