"""Agreement of a judge with human raters: Cohen's kappa, bias, and a mean corrected for the judge's known errors.

Intervals are over whole groups, because answers of one scenario are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import UsageError
from assay.stats.jackknife import CORRELATION, PLAIN, Scale
from assay.stats.plan import Resampling
from assay.stats.sums import sum_interval
from assay.stats.tails import t_quantile
from assay.types import Estimate, Floats

_NORMAL = NormalDist()


def kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two raters who say yes (1) or no (0): 1 is full agreement, 0 that of chance.

    The interval is over `groups` (by default single ratings). Undefined if both always say the same.

    Example:
        >>> kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
        0.5

    """
    first, second = _column(a), _column(b)
    if len(first) != len(second):
        raise UsageError(f"both raters must rate the same items: {len(first)} and {len(second)} ratings were given")
    cells = np.stack([first * second, first, second, np.ones(len(first))], axis=1)
    return _interval(cells, _kappa, groups, "rating", level, CORRELATION)


def slope(
    x: ArrayLike,
    y: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
) -> Estimate:
    """How much y rises with x, by least squares; the interval is over `groups`. Undefined if x does not vary.

    Example:
        >>> slope([0, 1, 2, 3], [1, 3, 5, 7]).value
        2.0

    """
    xs, ys = _column(x), _column(y)
    xs = xs - (xs.mean() if len(xs) else 0.0)
    columns = np.stack([xs, ys, xs * xs, xs * ys, np.ones(len(xs))], axis=1)
    return _interval(columns, _slope, groups, "value", level, PLAIN)


def _interval(
    columns: Floats,
    function: Callable[[Floats], Floats],
    groups: Sequence[str] | None,
    unit: str,
    level: float,
    scale: Scale,
) -> Estimate:
    """A function of the sums of columns, the last of which is 1 for each row."""
    sums = _by_group(columns, groups)
    plan, name = Resampling("episode", level=level), unit if groups is None else "group"
    return sum_interval(list(sums), function, plan, n=len(columns), scale=scale, sizes=sums[:, -1], unit=name)


def corrected_mean(
    judged: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    groups: tuple[Sequence[str], Sequence[str]] | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean that human labels would have, from many judgements and a few labels (prediction-powered inference).

    `judged` are the judge's scores of answers without a label; `labelled` those of answers with one, and `labels` the
    human labels of these. The judge's mean error on the labelled answers corrects its mean on the others; how much the
    judge counts (λ of PPI++) is chosen from the data, so that a bad judge does no harm. `groups` are the groups of the
    answers without and with a label. The interval is a t interval on the logit scale, from the linearised error over
    groups; it needs two groups with labels.

    Angelopoulos, Duchi, Zrnic: PPI++, efficient prediction-powered inference (2023).

    Example:
        >>> corrected_mean([], [1, 1, 1, 0], [1, 1, 0, 0]).value  # every answer has a label
        0.5

    """
    free, known, truth = _column(judged), _column(labelled), _column(labels)
    if len(known) != len(truth):
        raise UsageError(f"every label needs a judgement: the judgements are {len(known)}, and the labels {len(truth)}")
    n, many = len(truth), len(free)
    if not n:
        return Estimate(None, method="prediction-powered inference", n=0)
    of_free, of_known = groups if groups is not None else (
        [f"free {at}" for at in range(many)],
        [f"known {at}" for at in range(n)],
    )  # fmt: skip
    weight = _power(free, known, truth)
    errors = truth - weight * known
    value = float(errors.mean() + (weight * free.mean() if many else 0.0))
    names = {name: at for at, name in enumerate(dict.fromkeys([*of_known, *of_free]))}
    influence = np.zeros(len(names))
    np.add.at(influence, [names[name] for name in of_known], (errors - errors.mean()) / n)
    if many:
        np.add.at(influence, [names[name] for name in of_free], weight * (free - free.mean()) / many)
    with_labels = len(set(of_known))
    low = high = None
    if with_labels > 1:
        spread = math.sqrt(with_labels / (with_labels - 1) * float(influence @ influence))
        low, high = _share_ends(value, t_quantile((1 + level) / 2, with_labels - 1) * spread)
    method = f"prediction-powered inference, weight of the judge {weight:.2f}, t interval over groups, logit scale"
    return Estimate(value, low, high, level, method, "group" if groups else "answer", n + many, len(names))


def _power(free: Floats, known: Floats, truth: Floats) -> float:
    """How much the judge counts: the least variance, between not at all and in full; 0 if there is nothing to add."""
    if len(truth) < 2 or not len(free):
        return 0.0
    every = np.concatenate([free, known])
    variance = float(every.var(ddof=1))
    if not variance:
        return 0.0
    covariance = float(np.cov(truth, known)[0, 1])
    return min(1.0, max(0.0, covariance / ((1 + len(truth) / len(free)) * variance)))


def _share_ends(value: float, reach: float) -> tuple[float, float]:
    """Ends of an interval of a share, on the logit scale, which keeps its coverage near 0 and 1; linear at 0 and 1."""
    room = value * (1 - value)
    if room <= 0:
        return max(0.0, value - reach), min(1.0, value + reach)
    centre, half = math.log(value / (1 - value)), min(reach / room, 100.0)  # beyond it, the ends are 0 and 1
    return 1 / (1 + math.exp(half - centre)), 1 / (1 + math.exp(-half - centre))


def _kappa(sums: Floats) -> Floats:
    """From the numbers of both yes, first yes, second yes, and all; NaN if chance alone agrees in full."""
    both, first, second = np.moveaxis(sums[..., :3] / sums[..., 3:], -1, 0)
    seen = 1 - first - second + 2 * both
    chance = first * second + (1 - first) * (1 - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(chance < 1 - 1e-12, (seen - chance) / (1 - chance), np.nan)


def _slope(sums: Floats) -> Floats:
    x, y, squares, products = np.moveaxis(sums[..., :4] / sums[..., 4:], -1, 0)
    room = squares - x * x
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(room > 1e-12, (products - x * y) / room, np.nan)


def _by_group(columns: Floats, groups: Sequence[str] | None) -> Floats:
    """Sums of each group, shape (groups, columns)."""
    if groups is None:
        return columns
    names = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, [names[name] for name in groups], columns)
    return sums


def _column(values: ArrayLike) -> Floats:
    return np.asarray(values, np.float64).ravel()
