"""Two measurements of the same cases: the difference, its interval, its p-value, and how many cases would decide.

A difference is paired: what a case contributes to both sides is subtracted, or both sides use the same resamples, so
what makes a case hard for both cancels out. The interval is that of `jackknife.py` on the plain scale, or of
`resampled.py` if the figure is resampled, and the p-value inverts it. If most cases do not change at all, little is
known about those that would, and both are widened (`Changes`). All of it is measured in `benchmarks/honesty.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.stats.jackknife import Strata, cautious, hull, transformed, unseen_skewness
from assay.stats.resampled import resampled_difference, resampled_skewness
from assay.stats.tails import binomial_at_most, chi_squared_quantile, largest_chance, t_below, t_quantile
from assay.types import Floats

_SMALLEST = 1e-12
# From this many cases on, their spread is known well enough to give one number of cases needed, not a range.
_SMALL_PILOT = 40
# Chance that a comparison with the number of cases needed is decided.
_POWER = 0.8
# The interval is about this much wider than the plain t interval, because it is corrected for skewness.
_WIDER = 1.05
_MOST_NEEDED = 10**9
# Each end of the range of a spread leaves out this much of its distribution.
_UNSURE = 0.1


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two estimates on the same cases."""

    value: float
    low: float
    high: float
    p: float
    """Two-sided, not corrected for the number of tests; at most 1 − level only if the interval excludes 0."""
    error: float
    """Standard error."""
    freedom: float
    """Degrees of freedom."""
    wide: tuple[float, float]
    """The interval that contains `low` and `high`, and that 'same' rests on: it is wrong on either side in at most half
    of what the level leaves, also if few cases are known and their changes are skewed."""

    def within(self, margin: float, *, surely: bool) -> bool:
        """Whether the interval lies within the margin: the `wide` one, or the one from `low` to `high`."""
        low, high = self.wide if surely else (self.low, self.high)
        return -margin <= low and high <= margin


@dataclass(frozen=True, slots=True)
class Changes:
    """How many cases score differently on the two sides."""

    n: int
    """Cases that are measured on both sides."""
    up: int
    down: int
    largest: float
    """The largest change of a case that was seen."""
    possible: float
    """The largest change of a case that is possible: 1 for a score from 0 to 1."""

    @classmethod
    def of(cls, baseline: Floats, candidate: Floats, possible: float) -> Changes:
        """Of scores by case, shape (cases,) each, NaN if undefined."""
        change = (candidate - baseline)[~np.isnan(baseline) & ~np.isnan(candidate)]
        largest = float(np.abs(change).max(initial=0.0))
        return cls(len(change), int((change > 0).sum()), int((change < 0).sum()), largest, max(possible, largest))


def difference(
    value: float,
    *,
    level: float,
    freedom: float,
    contributions: Floats | None = None,
    strata: Sequence[str] | None = None,
    replicates: Floats | None = None,
    changes: Changes | None = None,
) -> Difference | None:
    """Interval, p-value and error of the difference `value`; None if it cannot be computed.

    Either `contributions` says what each case contributes to the difference, shape (cases,), or `replicates` has the
    difference in every resample, shape (reps,), NaN if undefined.

    Example:
        >>> changes = np.array([0.3, 0.1, 0.2, 0.4, 0.0])
        >>> found = difference(0.2, contributions=(changes - 0.2) / 5, freedom=4, level=0.95)
        >>> round(found.low, 3), round(found.high, 3), round(found.p, 3)
        (0.004, 0.396, 0.047)

    """
    found: Difference | None
    if contributions is not None:
        found = _from_contributions(value, contributions, Strata.of(strata, len(contributions)), freedom, level)
    else:
        found = None if replicates is None else _from_replicates(value, replicates, freedom, level)
    return found if found is None or changes is None else _allowing_for(changes, found, level)


def _from_contributions(value: float, parts: Floats, strata: Strata, freedom: float, level: float) -> Difference:
    errors, skews = strata.spread(parts[:, None])
    error, skewness = float(errors[0]), float(skews[0])
    freedom = float(strata.freedom_seen(parts[:, None], freedom)[0])
    low, high = (float(end[0]) for end in hull(np.array([value]), errors, skews, freedom, level))
    if error <= 1e-12 * abs(value) or not error:
        return Difference(value, value, value, _SMALLEST if value else 1.0, 0.0, freedom, (value, value))
    t = value / error
    tails = [_two_sided(score, freedom) for score in (t, transformed(t, skewness))]
    wide = _hull((low, high), cautious(value, error, skewness, freedom, level))
    return Difference(value, low, high, max(tails), error, freedom, wide)


def _from_replicates(value: float, replicates: Floats, freedom: float, level: float) -> Difference | None:
    usable = replicates[~np.isnan(replicates)]
    if not len(usable):
        return None
    error = float(usable.std())
    low, high, p = resampled_difference(value, usable, freedom, level, _SMALLEST)
    wide = _hull((low, high), cautious(value, error, resampled_skewness(usable, freedom), freedom, level))
    return Difference(value, low, high, p, error, freedom, wide)


def _hull(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return min(a[0], b[0]), max(a[1], b[1])


def _two_sided(t: float, freedom: float) -> float:
    return min(1.0, max(2 * t_below(-abs(t), freedom), _SMALLEST))


def _allowing_for(changes: Changes, found: Difference, level: float) -> Difference:
    """The difference with the interval and p-value that it has if few cases change.

    If none does, the sample may have missed a part of all cases that changes as much as is possible; if all change by
    the same amount, a part that changes by as much more or not at all. If a minority does, that minority may be larger
    by chance, as a binomial count may, and the changes may have the same sign by chance.
    """
    n, changed, tail = changes.n, changes.up + changes.down, (1 - level) / 2
    if not found.error:
        missed = largest_chance(0, n, tail) * (changes.largest or changes.possible)
        low, high = found.value - missed, found.value + missed
        return allowing_for_sign(_reaching(found, low, high), n if found.value else 0, level)
    if 2 * changed >= n:
        return found
    # Without a change in any case, the difference comes from how much each case weighs on the two sides.
    largest = changes.largest or changes.possible
    more = [(largest_chance(k, n, tail) - k / n) * largest for k in (changes.up, changes.down)]
    found = _reaching(found, found.value - more[1], found.value + more[0])
    against = changes.down if found.value > 0 else changes.up
    by_count = 2 * binomial_at_most(against, n, against / n + abs(found.value) / largest)
    return allowing_for_sign(replace(found, p=min(1.0, max(found.p, by_count))), changed, level)


def _reaching(found: Difference, low: float, high: float) -> Difference:
    """The difference with intervals that reach at least from `low` to `high`."""
    ends = _hull((found.low, found.high), (low, high))
    return replace(found, low=ends[0], high=ends[1], wide=_hull(found.wide, (low, high)))


def allowing_for_sign(found: Difference, changed: int, level: float) -> Difference:
    """The difference with a p-value no smaller than the chance that all changes have the same sign.

    Example:
        >>> three_alike = Difference(0.2, 0.199, 0.201, 1e-6, 0.0001, 2.0, (0.199, 0.201))
        >>> found = allowing_for_sign(three_alike, 3, 0.95)
        >>> found.low, found.high, found.p
        (0.0, 0.201, 0.25)

    """
    chance = min(1.0, 2.0 ** (1 - changed))
    if chance <= 1 - level:
        return replace(found, p=max(found.p, chance))
    return replace(_reaching(found, 0.0, 0.0), p=max(found.p, chance))


def fewest_of_one_sign(level: float) -> int:
    """How many changes of the same sign are more than chance; fewer decide nothing, however alike they are.

    Example:
        >>> fewest_of_one_sign(0.95)
        6

    """
    return 1 + math.ceil(round(-math.log2(1 - level), 9))


# --- how many cases would decide -----------------------------------------------------------------------------------


def cases_needed(
    found: Difference,
    n: int,
    *,
    margin: float,
    tests: float = 1.0,
    level: float = 0.95,
    changes: Changes | None = None,
) -> tuple[int, int] | None:
    """How many cases of the same kind would decide with a chance of 80 % if the difference seen is the true one.

    If it is smaller than the margin, the number that would show that both sides are the same; otherwise the number that
    would show a difference, after a correction that multiplies the p-value by `tests`. Both ends of a range, which
    are equal unless there are so few cases that their spread is not well known. None if no number would be enough.
    """
    tail = (1 - level) / 2
    same = abs(found.value) < margin
    least = n + 1
    if same and changes is not None and (not found.error or 2 * (changes.up + changes.down) < n):
        # The part that can have been missed has to fit within the margin too.
        largest = changes.largest or changes.possible
        room = (margin - abs(found.value)) / largest if largest else 1.0
        least = max(least, math.ceil(math.log(tail) / math.log1p(-room)) if room < 1 else 0)
    if not found.error:
        return (least, least) if same and least <= _MOST_NEEDED else None
    ends = []
    for share in (1 - _UNSURE, _UNSURE) if n < _SMALL_PILOT else (None,):
        freedom = max(found.freedom, 1.0)
        scale = 1.0 if share is None else math.sqrt(freedom / chi_squared_quantile(share, freedom))
        spread = found.error * math.sqrt(n) * scale * _WIDER
        enough = (
            _shows_same(found.value, spread, margin, tail) if same else _shows_apart(found.value, spread, tail / tests)
        )
        ends.append(_smallest(enough))
    if ends[-1] is None:
        return None
    return max(ends[0] or least, least), max(ends[-1], least)


Enough = Callable[[int, float], bool]
"""Whether this many cases are enough, with Student's t of this many degrees of freedom."""


def _shows_apart(value: float, spread: float, tail: float) -> Enough:
    """Whether n cases show a difference of `value` with enough power."""

    def enough(n: int, freedom: float) -> bool:
        needed = t_quantile(1 - tail, freedom) + t_quantile(_POWER, freedom)
        return abs(value) >= needed * spread / math.sqrt(n)

    return enough


def _shows_same(value: float, spread: float, margin: float, tail: float) -> Enough:
    """Whether the interval of n cases lies within the margin with enough power."""

    def enough(n: int, freedom: float) -> bool:
        error, t = spread / math.sqrt(n), t_quantile(1 - tail, freedom)
        t += unseen_skewness(freedom + 1) * (1 + 2 * t * t) / 6  # the interval is `Difference.wide`
        inside = [t_below((margin + side * abs(value)) / error - t, freedom) for side in (-1, 1)]
        return sum(inside) - 1 >= _POWER

    return enough


def _smallest(enough: Enough) -> int | None:
    """The smallest number from 3 on that is enough, or None; of more than 100, within 3."""
    high = 3
    while not enough(high, math.inf):
        high *= 2
        if high > _MOST_NEEDED:
            return None
    low = max(high // 2, 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, math.inf) else (middle, high)
    # The normal distribution asks for about z² ÷ 2 cases too few.
    if high > 100:
        return high + 3
    while not enough(high, high - 1.0):
        high += 1
    return high
