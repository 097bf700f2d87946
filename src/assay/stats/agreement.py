"""Agreement of a judge with people: Cohen's kappa, bias, and a mean corrected for the judge's known errors.

Units are resampled or linearised as wholes: answers of one scenario are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import UsageError
from assay.stats.paired import mean_replicates
from assay.types import Estimate, Floats

_NORMAL = NormalDist()


def kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    reps: int = 1000,
    level: float = 0.95,
    seed: int = 42,
) -> Estimate:
    """Cohen's kappa of two raters who say yes (1) or no (0): 1 is full agreement, 0 that of chance.

    The interval resamples `groups` (by default single ratings). Undefined if both always say the same.

    Example:
        >>> kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
        0.5

    """
    first, second = _column(a), _column(b)
    if len(first) != len(second):
        raise UsageError(f"two raters rate the same things: {len(first)} and {len(second)} ratings were given")
    cells = np.stack([first * second, first, second], axis=1)
    sums, counts = _by_group(cells, groups)
    value = None
    if len(cells):
        found = float(_kappa(cells.mean(axis=0, keepdims=True))[0])
        value = None if math.isnan(found) else found
    low = high = None
    if value is not None and len(sums) > 1:
        means = mean_replicates(sums, counts, [""] * len(sums), reps=reps, seed=seed)
        low, high = _ends(_kappa(means), level)
    method = f"percentile bootstrap, {reps} resamples, seed {seed}"
    return Estimate(value, low, high, level, method, "group" if groups else "rating", len(cells), len(sums))


def slope(
    x: ArrayLike,
    y: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    reps: int = 1000,
    level: float = 0.95,
    seed: int = 42,
) -> Estimate:
    """How much y rises with x, by least squares; the interval resamples `groups`. Undefined if x does not vary.

    Example:
        >>> slope([0, 1, 2, 3], [1, 3, 5, 7]).value
        2.0

    """
    xs, ys = _column(x), _column(y)
    xs = xs - (xs.mean() if len(xs) else 0.0)
    columns = np.stack([xs, ys, xs * xs, xs * ys], axis=1)
    sums, counts = _by_group(columns, groups)
    value = None
    if len(columns):
        found = float(_slope(columns.mean(axis=0, keepdims=True))[0])
        value = None if math.isnan(found) else found
    low = high = None
    if value is not None and len(sums) > 1:
        low, high = _ends(_slope(mean_replicates(sums, counts, [""] * len(sums), reps=reps, seed=seed)), level)
    method = f"percentile bootstrap, {reps} resamples, seed {seed}"
    return Estimate(value, low, high, level, method, "group" if groups else "value", len(columns), len(sums))


def corrected_mean(
    judged: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    groups: tuple[Sequence[str], Sequence[str]] | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean that people's labels would have, from many judgements and a few labels (prediction-powered inference).

    `judged` are the judge's scores of answers without a label; `labelled` those of answers with one, and `labels` what
    people say of these. The judge's mean error on the labelled answers corrects its mean on the others; how much the
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
        raise UsageError(f"every label needs a judgement: {len(known)} judgements and {len(truth)} labels were given")
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
        low, high = _share_ends(value, _t_quantile((1 + level) / 2, with_labels - 1) * spread)
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
    """Ends of an interval of a share, on the logit scale, which keeps its coverage near 0 and 1; plain at the edge."""
    room = value * (1 - value)
    if room <= 0:
        return max(0.0, value - reach), min(1.0, value + reach)
    centre, half = math.log(value / (1 - value)), min(reach / room, 100.0)  # beyond it, the ends are 0 and 1
    return 1 / (1 + math.exp(half - centre)), 1 / (1 + math.exp(-half - centre))


def _kappa(means: Floats) -> Floats:
    """From the shares of both yes, first yes, second yes; NaN if chance alone agrees in full."""
    both, first, second = means.T
    seen = 1 - first - second + 2 * both
    chance = first * second + (1 - first) * (1 - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(chance < 1 - 1e-12, (seen - chance) / (1 - chance), np.nan)


def _slope(means: Floats) -> Floats:
    x, y, squares, products = means.T
    room = squares - x * x
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(room > 1e-12, (products - x * y) / room, np.nan)


def _ends(replicates: Floats, level: float) -> tuple[float | None, float | None]:
    usable = replicates[~np.isnan(replicates)]
    if not len(usable):
        return None, None
    tail = 50 * (1 - level)
    low, high = np.percentile(usable, [tail, 100 - tail])
    return float(low), float(high)


def _by_group(columns: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    """Sums and counts of each group, shape (groups, columns) each."""
    if groups is None:
        return columns, np.ones_like(columns)
    names = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    rows = [names[name] for name in groups]
    sums, counts = np.zeros((2, len(names), columns.shape[1]))
    np.add.at(sums, rows, columns)
    np.add.at(counts, rows, np.ones_like(columns))
    return sums, counts


def _column(values: ArrayLike) -> Floats:
    return np.asarray(values, np.float64).ravel()


def _t_quantile(share: float, freedom: int) -> float:
    """A quantile of Student's t, by Fisher's expansion about the normal one (below 1e-3 off from 4 degrees on)."""
    z = _NORMAL.inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**at for at, term in enumerate(terms, 1))
