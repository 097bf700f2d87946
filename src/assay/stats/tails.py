"""Tails and quantiles of Student's t, the binomial and the chi-squared distribution, without SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
# With more degrees of freedom, Student's t is the normal distribution to six digits.
_NEARLY_NORMAL = 1e6
_STEPS = 100_000


def t_below(t: float, freedom: float) -> float:
    """The probability that Student's t is at most `t`.

    Example:
        >>> round(t_below(2.262157, 9), 6)
        0.975

    """
    if freedom > _NEARLY_NORMAL:
        return _NORMAL.cdf(t)
    if math.isinf(t):
        return float(t > 0)
    tail = _beta_below(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: float) -> float:
    """The value that Student's t stays below with probability `share`.

    Example:
        >>> round(t_quantile(0.975, 4), 3)
        2.776

    """
    if freedom > _NEARLY_NORMAL:
        return _NORMAL.inv_cdf(share)
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    # Newton's method on the logarithm of the upper tail, which is concave, from the normal quantile upwards.
    log_density = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = _NORMAL.inv_cdf(share)
    for _ in range(100):
        above = t_below(-t, freedom)
        density = math.exp(log_density - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = above / density * math.log(above / (1 - share))
        t += step
        if abs(step) < 1e-12 * max(t, 1.0):
            break
    return t


def chi_squared_quantile(share: float, freedom: float) -> float:
    """The value that chi-squared stays below with probability `share`, within 1 % from 3 degrees on (Wilson and
    Hilferty 1931).
    """
    spread = 2 / (9 * freedom)
    return float(freedom * max(1 - spread + _NORMAL.inv_cdf(share) * math.sqrt(spread), 0.0) ** 3)


def binomial_at_most(hits: int, n: int, chance: float) -> float:
    """The probability of at most `hits` in `n` trials, each a hit with the given chance."""
    if hits >= n or chance <= 0:
        return 1.0
    if chance >= 1:
        return 0.0
    return _beta_below(1 - chance, n - hits, hits + 1)


@lru_cache(maxsize=4096)
def largest_chance(hits: int, n: int, tail: float) -> float:
    """The largest chance with which at most `hits` in `n` trials still has the probability `tail` (Clopper and
    Pearson 1934).

    Example:
        >>> round(largest_chance(0, 72, 0.025), 3)
        0.05

    """
    if hits >= n:
        return 1.0
    if not hits:
        return float(1 - tail ** (1 / n))
    return _root(lambda chance: tail - binomial_at_most(hits, n, chance), hits / n, 1.0)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is 0 between `low` and `high`, by bisection."""
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_below(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + step * d)
            c = _away_from_zero(1 + step / c)
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * found / a


def _away_from_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
