"""Intervals from what each episode contributes to a figure, without resampling.

A figure is a function of sums over episodes. Leaving out one episode at a time shows how much each contributes (the
jackknife); the spread of the contributions within strata gives the standard error, and Student's t the interval, on a
scale on which the figure is nearly symmetric. Episodes of very unequal size count as fewer (Kish's effective number).
Figures other than shares are corrected for skewness: the interval is the hull of the t interval and the one that Hall's
transformation gives (Hall 1992, "On the removal of skewness by transformation"). docs/concepts/intervals.md has the
measured coverage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.stats.tails import largest_chance, t_quantile
from assay.types import Floats, Ints

# Skewness of a figure beyond this is not corrected for: estimated from a few episodes it is mostly noise, and the
# interval would be several times as wide (chosen by simulation).
_MOST_SKEWED = 0.3
# Beyond skewness × t of 1, Hall's transformation bends sharply. On a scale that is logarithmic, three cases could then
# have an interval of a factor of a million, so the product is limited to what five cases have (t = 2.78).
_MOST_BENT = 0.84
# How much more skewed the rest may be than the few cases seen (`cautious`), by simulation: enough for skewness of √2.
_UNSEEN_SKEWNESS, _MOST_UNSEEN, _ALWAYS_SEEN = 5.0, 0.7, 0.05
# A spread this small, relative to the value, is a rounding error.
_NOTHING = 1e-9
# At most this many numbers are in memory at a time (32 MB).
_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale that an interval is symmetric on."""

    words: str
    """In the description of the method."""
    range: tuple[float, float] | None
    """The smallest value and the largest, or those of a useless and a perfect result; None if there are none."""
    forward: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    """Derivative of `forward`."""
    back: Callable[[Floats], Floats]
    skewed: bool = True
    """Whether to correct for skewness."""
    is_logarithmic: bool = False
    """Whether `back` grows exponentially on a side, so that few cases have no bounds to speak of."""


PLAIN = Scale("", None, lambda x: x, np.ones_like, lambda y: y)
SHARE = Scale(
    " on the logit scale",
    (0.0, 1.0),
    lambda x: np.log(x / (1 - x)),
    lambda x: 1 / (x * (1 - x)),
    lambda y: 1 / (1 + np.exp(-y)),
    skewed=False,
)
"""For shares and other numbers from 0 to 1."""
CORRELATION = Scale(" on Fisher's z scale", (-1.0, 1.0), np.arctanh, lambda x: 1 / (1 - x * x), np.tanh)
"""For numbers from −1 to 1."""
SKILL = Scale(
    " on the scale 2x − log(1 − x)",
    (-np.inf, 1.0),
    lambda x: 2 * x - np.log1p(-x),
    lambda x: 2 + 1 / (1 - x),
    lambda y: _below_one(y),
    is_logarithmic=True,
)
"""For numbers up to 1 that have no lower end, such as R² and skill: logarithmic near 1, linear far below."""
POSITIVE = Scale(" on the logarithmic scale", None, np.log, lambda x: 1 / x, np.exp, is_logarithmic=True)
"""For numbers above 0."""
RATE = replace(POSITIVE, range=(0.0, np.inf))
"""For errors per case: 0 is perfect, and 1 is what a result without any right case has."""


def _below_one(y: Floats) -> Floats:
    """The x with 2x − log(1 − x) = y, by Newton's method on log(1 − x)."""
    log_room = np.where(y < 0, np.log(np.maximum(2 - y, 1) / 2), 2 - y)
    for _ in range(50):
        step = (2 * np.exp(log_room) + log_room - (2 - y)) / (2 * np.exp(log_room) + 1)
        log_room = log_room - step
        if not (np.abs(step) > 1e-14 * np.maximum(np.abs(log_room), 1)).any():
            break
    return np.asarray(-np.expm1(log_room))


def pooled(strata: Sequence[str]) -> list[str]:
    """The strata with those of one member combined; a single one joins the largest.

    The spread within a stratum of one cannot be known, and to take it for 0 would pretend that there is none.
    """
    sizes = Counter(strata)
    lone = {stratum for stratum, size in sizes.items() if size == 1}
    if not lone:
        return list(strata)
    home = sizes.most_common(1)[0][0] if len(lone) == 1 else "(strata of one)"
    return [home if stratum in lone else stratum for stratum in strata]


@dataclass(frozen=True, slots=True)
class Strata:
    """Which units are spread within which stratum: strata of one are pooled."""

    label: Ints
    """The stratum of each unit, shape (units,)."""
    size: Ints
    """How many units each stratum has, shape (strata,)."""

    @classmethod
    def of(cls, names: Sequence[str] | None, n: int) -> Strata:
        """The strata of `n` units; without names all are in one."""
        if names is None or len(set(names)) < 2:
            return cls(np.zeros(n, np.int64), np.array([n]))
        return _strata(tuple(names))

    def where(self, chosen: NDArray[np.bool_]) -> Strata:
        """The strata of the chosen units only, those of one pooled again."""
        return self if chosen.all() else Strata.of([str(label) for label in self.label[chosen]], int(chosen.sum()))

    def sums(self, table: Floats) -> Floats:
        """Sums within strata; `table` has shape (units, k), the result (strata, k)."""
        if len(self.size) == 1:
            return np.asarray(table.sum(axis=0, keepdims=True))
        order = np.argsort(self.label, kind="stable")
        return np.asarray(np.add.reduceat(table[order], np.cumsum(self.size) - self.size, axis=0))

    def freedom(self, sizes: Floats | None = None) -> float:
        """Degrees of freedom: in each stratum the effective number of units, less one.

        `sizes` is the weight of each unit, shape (units,). Units of equal size all count.
        """
        if sizes is None:
            return float(max(len(self.label) - len(self.size), 1))
        total, squares = self.sums(np.column_stack([sizes, sizes * sizes])).T
        return float(max((total[squares > 0] ** 2 / squares[squares > 0] - 1).sum(), 1.0))

    def freedom_seen(self, contributions: Floats, most: float) -> Floats:
        """Degrees of freedom, at most `most`, of the standard errors of figures of which the units contribute
        (units, k), shape (k,).

        If most of the spread comes from a stratum of two, the standard error is known no better than from two units
        (Satterthwaite 1946). Each square of an estimated variance is divided by n + 1, not by n − 1, and 2 is
        subtracted, because it is larger on average than the square of the true one.
        """
        if len(self.size) == 1:
            return np.full(contributions.shape[1], most)
        squares = self._squares(contributions)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = squares.sum(axis=0) ** 2 / (squares**2 / (self.size[:, None] + 1)).sum(axis=0) - 2
        return np.clip(np.where(np.isfinite(found), found, most), 1.0, max(most, 1.0))

    @property
    def show_skewness(self) -> bool:
        """Whether most units are in strata of at least three: two differ by the same to either side."""
        return bool(2 * self.size[self.size > 2].sum() >= self.size.sum())

    def spread(self, contributions: Floats) -> tuple[Floats, Floats]:
        """Standard error and skewness, shape (k,) each, of figures of which the units contribute (units, k)."""
        n = self.size[:, None].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            cubes = self.sums(self._centred(contributions) ** 3) * np.where(n > 2, n * n / ((n - 1) * (n - 2)), 0.0)
            error = np.sqrt(self._squares(contributions).sum(axis=0))
            return error, np.where(error > 0, cubes.sum(axis=0) / error**3, 0.0)

    def _squares(self, contributions: Floats) -> Floats:
        """The variance that each stratum adds to figures, shape (strata, k)."""
        n = self.size[:, None].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums(self._centred(contributions) ** 2) * np.where(n > 1, n / (n - 1), 0.0)

    def _centred(self, contributions: Floats) -> Floats:
        """The contributions less the mean of their stratum."""
        return np.asarray(contributions - (self.sums(contributions) / self.size[:, None])[self.label])


@lru_cache(maxsize=8)  # all figures of a report have the same strata
def _strata(names: tuple[str, ...]) -> Strata:
    _, label, size = np.unique(pooled(names), return_inverse=True, return_counts=True)
    return Strata(label, size)


def unit_contributions(table: Floats, function: Callable[[Floats], Floats], value: Floats, strata: Strata) -> Floats:
    """What each unit contributes to `function` of the sum of `table`, shape (units, k), by leaving it out.

    `value` is that function itself, shape (m,); the result has shape (units, m), NaN if the function is undefined
    without a unit. The rest of a unit's stratum takes its place, so that each stratum keeps its weight.
    """
    total, of_stratum = table.sum(axis=0), strata.sums(table)
    out = np.empty((len(table), len(value)))
    step = max(1, _CELLS_AT_ONCE // table.shape[1])
    for start in range(0, len(table), step):
        rows, label = table[start : start + step], strata.label[start : start + step]
        n = strata.size[label][:, None]
        rest = total - rows
        if len(strata.size) > 1:
            rest = rest + (of_stratum[label] - rows) / (n - 1)
        with np.errstate(invalid="ignore", divide="ignore"):  # without the only unit that has values, nothing is left
            without = np.asarray(function(rest), np.float64).reshape(len(rows), -1)
        out[start : start + step] = (value - without) * ((n - 1) / n)
    return out


def share_contributions(hits: Floats, totals: Floats, strata: Strata) -> Floats:
    """As `unit_contributions`, of Σ hits ÷ Σ totals; both have shape (units,), the result (units, 1)."""
    if len(strata.size) == 1:
        n, total = len(hits), totals.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = (hits - hits.sum() / total * totals) / (total - totals) * ((n - 1) / n)
        return np.asarray(parts[:, None])

    def share(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., :1] / sums[..., 1:])

    table = np.column_stack([hits, totals])
    return unit_contributions(table, share, share(table.sum(axis=0)), strata)


def ends(
    value: Floats, error: Floats, skewness: Floats, freedom: float | Floats, *, level: float, scale: Scale, n: int
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the interval of each value, all arrays of shape (m,).

    If no unit differs from another, the ends are as far away as the part that `n` units can have missed by chance;
    a figure without a range has no interval then, and its ends are NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        middle, half = scale.forward(value), error * scale.slope(value)
        skewness = skewness if scale.skewed else np.zeros_like(half)
        low, high = hull(middle, half, skewness, freedom, level, is_logarithmic=scale.is_logarithmic)
        low, high = scale.back(low), scale.back(high)
    certain = ~(error > _NOTHING * np.maximum(np.abs(value), 1e-3)) & ~np.isnan(error) & ~np.isnan(value)
    if certain.any():
        missed = largest_chance(0, n, (1 - level) / 2)
        floor, ceiling = scale.range or (np.nan, np.nan)
        low = np.where(certain, np.maximum(value - missed, floor), low)
        high = np.where(certain, np.minimum(value + missed, ceiling), high)
    return low, high


def hull(
    middle: Floats,
    error: Floats,
    skewness: Floats,
    freedom: float | Floats,
    level: float,
    *,
    most_skewed: float = _MOST_SKEWED,
    is_logarithmic: bool = False,
) -> tuple[Floats, Floats]:
    """The hull of the t interval and of the same corrected for skewness; all arrays of shape (m,)."""
    t = np.array([t_quantile(1 - (1 - level) / 2, one) for one in np.atleast_1d(freedom).tolist()])
    most = np.minimum(most_skewed, _MOST_BENT / t) if is_logarithmic else np.full_like(t, most_skewed)
    corrected = _corrected(t, np.clip(skewness, -most, most))
    return middle - error * np.fmax(corrected[0], t), middle - error * np.fmin(corrected[1], -t)


def corrected_ends(value: float, error: float, skewness: float, freedom: float, level: float) -> tuple[float, float]:
    """The t interval corrected for skewness alone: what `transformed` inverts."""
    t = t_quantile(1 - (1 - level) / 2, freedom)
    far = _corrected(t, np.clip(np.array([skewness]), -_MOST_SKEWED, _MOST_SKEWED))
    return value - error * float(far[0][0]), value - error * float(far[1][0])


def _corrected(t: float | Floats, skewness: Floats) -> tuple[Floats, Floats]:
    """What Hall's transformation turns into t and into −t; both of shape (m,)."""
    symmetric = np.abs(skewness) < 1e-6
    a = np.where(symmetric, np.nan, skewness)
    found = [(3 / a) * (np.cbrt(1 + a * (end - a / 6)) - 1) for end in (t, -t)]
    return np.where(symmetric, t, found[0]), np.where(symmetric, -t, found[1])


def cautious(value: float, error: float, skewness: float, freedom: float, level: float) -> tuple[float, float]:
    """Ends of which each is wrong in at most half of what `level` leaves, also if the cases are skewed.

    The interval of `hull` covers as often as stated in total, but a long tail that few cases lack lies on one side.
    Here each end has Johnson's correction (1978) with the largest skewness that the cases may well have: that of few
    cases is too small on average, and three have none that means anything.
    """
    t, n = t_quantile(1 - (1 - level) / 2, freedom), freedom + 1
    seen = 1.5 * max(1 - 3 / n, 0.0) * skewness
    far = [t + max(side * seen + unseen_skewness(n), 0.0) * (1 + 2 * t * t) / 6 for side in (-1, 1)]
    return value - error * far[0], value + error * far[1]


def unseen_skewness(n: float) -> float:
    """By how much the skewness of a figure may exceed that of the `n` cases seen."""
    return min(max(_UNSEEN_SKEWNESS / n - _ALWAYS_SEEN, 0.0), _MOST_UNSEEN)


def transformed(t: float, skewness: float) -> float:
    """Hall's transformation of a t value: what `hull` inverts, for the p-value that agrees with its interval."""
    a = min(max(skewness, -_MOST_SKEWED), _MOST_SKEWED)
    return t + a * t * t / 3 + a * a * t**3 / 27 + a / 6
