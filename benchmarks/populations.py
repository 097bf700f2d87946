"""Populations with a known truth, and the intervals that the package computes of samples from them.

Every population draws K episodes; a trial is the interval of one sample. Episodes differ from each other: the same
player, the same game, the same mood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from assay.stats import (
    CORRELATION,
    POSITIVE,
    SKILL,
    Resampling,
    difference,
    mean_interval,
    share_interval,
    sum_interval,
    value_intervals,
)
from assay.types import Distribution, Estimate, Floats, Ints

REPS = 1000
Ends = tuple[float, float]
Sampler = Callable[[int, np.random.Generator], Ends]
"""Draws so many episodes and gives the ends of the interval."""
_MANY = 400_000
_NODES = 2000
# Of the two distributions of a sum.
_NODES_OF_TWO = 100
_SKEWED_CHANGE = 8.0


def sizes_of(kind: str, episodes: int, rng: np.random.Generator) -> Ints:
    """How many events each episode has."""
    if kind == "equal":
        return np.full(episodes, 100)
    if kind == "unequal":
        return rng.integers(50, 151, episodes)
    return np.maximum(1, np.round(100 * rng.lognormal(0, 1, episodes))).astype(np.int64)


def strata_of(kind: str, episodes: int) -> list[str] | None:
    """The stratum of each episode: three games of very different size, pairs, or one for each episode."""
    if kind == "games":
        cut = [round(0.5 * episodes), round(0.8 * episodes)]
        return [str(int(np.searchsorted(cut, at, "right"))) for at in range(episodes)]
    if kind == "pairs":
        return [str(at // 2) for at in range(episodes)]
    return [str(at) for at in range(episodes)] if kind == "single" else None


def _plan(*, keep: bool = False) -> Resampling:
    """As users have it: the seed is the default, so all trials use the same resamples."""
    return Resampling("episode", REPS, keep=keep)


def _ends(estimate: Estimate) -> Ends:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


# --- shares and means ----------------------------------------------------------------------------------------------


def share(a: float, b: float, sizes: str = "equal", strata: str = "") -> Sampler:
    """A share of events; that of an episode has a Beta distribution with mean a ÷ (a + b)."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        n = sizes_of(sizes, episodes, rng)
        hits = rng.binomial(n, rng.beta(a, b, episodes))
        return _ends(share_interval(hits, n, _plan(), strata=strata_of(strata, episodes)))

    return sample


def mean(effect: str, sizes: str = "equal", strata: str = "") -> Sampler:
    """A mean of values whose true value is 0; `effect` is the shape of the differences between episodes."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        n = sizes_of(sizes, episodes, rng)
        sums = n * _effects(effect, episodes, rng) + np.sqrt(n) * rng.normal(0, 2, episodes)
        return _ends(mean_interval(sums, n, _plan(), strata=strata_of(strata, episodes)))

    return sample


def mean_of_strata(ratio: float) -> Sampler:
    """A mean whose true value is 0; the episodes of the smallest of three strata vary so many times as much."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        names = strata_of("games", episodes)
        spread = np.where(np.array(names) == "2", ratio, 1.0)
        return _ends(mean_interval(spread * rng.normal(0, 1, episodes), np.ones(episodes), _plan(), strata=names))

    return sample


def _effects(kind: str, episodes: int, rng: np.random.Generator) -> Floats:
    """Effects of episodes with mean 0 and standard deviation 1."""
    if kind == "symmetric":
        return rng.normal(0, 1, episodes)
    return np.asarray((rng.gamma(2.0, 1.0, episodes) - 2) / np.sqrt(2))


# --- interquartile means and percentiles of time errors --------------------------------------------------------------


def _errors(n: int, own: float, step: float, rng: np.random.Generator) -> Floats:
    """Time errors of one episode in ms, skewed, in multiples of `step`."""
    return np.asarray(np.rint((own + 30 * (rng.gamma(2.0, 1.0, n) - 2) / np.sqrt(2)) / step) * step)


def time_errors(statistic: str, effect: str = "symmetric", sizes: str = "equal", step: float = 1.0) -> Sampler:
    """A statistic of time errors; episodes differ with a standard deviation of 12 ms."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        n = sizes_of(sizes, episodes, rng)
        own = 12 * _effects(effect, episodes, rng)
        parts = [Distribution.of(_errors(m, o, step, rng)) for m, o in zip(n.tolist(), own.tolist(), strict=True)]
        return _ends(value_intervals(parts, [statistic], _plan())[statistic])

    return sample


@cache
def time_errors_truth(statistic: str, effect: str = "symmetric", step: float = 1.0) -> float:
    """The true value of that statistic, from the distribution itself.

    A percentile of rounded values jumps from step to step, so that a sample of any size can give the wrong one.
    """
    own, weight = _nodes(effect, _NODES)
    return _statistic(statistic, 12 * own, weight, step)


def _nodes(effect: str, count: int) -> tuple[Floats, Floats]:
    """Values of `_effects` and their chances."""
    if effect == "symmetric":
        return np.array([NormalDist().inv_cdf((at + 0.5) / count) for at in range(count)]), np.full(count, 1 / count)
    at = (np.arange(count) + 0.5) * (30 / count)
    return (at - 2) / np.sqrt(2), at * np.exp(-at) / (at * np.exp(-at)).sum()


def _statistic(statistic: str, own: Floats, weight: Floats, step: float) -> float:
    """The statistic of time errors if the episodes' own ones have these chances."""
    values = np.arange(-150, 500, step)
    scaled = np.maximum(((values + step / 2)[:, None] - own) * np.sqrt(2) / 30 + 2, 0)
    below = (1 - (1 + scaled) * np.exp(-scaled)) @ weight
    if statistic != "iqm":
        return float(values[np.searchsorted(below, float(statistic[1:]) / 100)])
    first, last = np.searchsorted(below, [0.25, 0.75])
    share = np.diff(below, prepend=0.0)[first : last + 1]
    return float((values[first : last + 1] * share).sum() / share.sum())


# --- functions of sums -----------------------------------------------------------------------------------------------


def _actions(episodes: int, rng: np.random.Generator) -> Floats:
    """Matched, missed, extra actions, matches of a baseline and the denominator of its F1; shape (episodes, 5)."""
    n = rng.integers(30, 150, episodes)
    found = rng.beta(8, 2, episodes)
    matched = rng.binomial(n, found)
    extra = rng.poisson(n * 0.25 * rng.gamma(3, 1 / 3, episodes))
    trivial = rng.binomial(n, rng.beta(2, 6, episodes) * (0.5 + 0.5 * found))
    return np.column_stack([matched, n - matched, extra, trivial, 2 * n]).astype(np.float64)


def _f1(sums: Floats) -> Floats:
    return np.asarray(2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2]))


def _skill(sums: Floats) -> Floats:
    baseline = 2 * sums[..., 3] / sums[..., 4]
    return np.asarray((_f1(sums) - baseline) / (1 - baseline))


def _moves(episodes: int, rng: np.random.Generator) -> Floats:
    """n, Σt, Σp, Σt², Σp², Σtp of the pointer's moves, shape (episodes, 6)."""
    truth = rng.standard_normal((episodes, 60)) * rng.gamma(4, 0.25, (episodes, 1))
    noise = rng.standard_normal((episodes, 60)) * rng.gamma(2, 0.25, (episodes, 1))
    moved = truth * rng.normal(0.9, 0.2, (episodes, 1)) + noise
    n = np.full(episodes, 60.0)
    squares = (truth**2, moved**2, truth * moved)
    return np.column_stack([n, truth.sum(axis=1), moved.sum(axis=1), *(one.sum(axis=1) for one in squares)])


def _pearson(sums: Floats) -> Floats:
    n, t, p, tt, pp, tp = np.moveaxis(sums, -1, 0)
    return np.asarray((n * tp - t * p) / np.sqrt((n * tt - t * t) * (n * pp - p * p)))


def _r2(sums: Floats) -> Floats:
    n, t, _, tt, pp, tp = np.moveaxis(sums, -1, 0)
    return np.asarray(1 - (tt - 2 * tp + pp) / (tt - t * t / n))


def _jitters(episodes: int, rng: np.random.Generator) -> Floats:
    """n, Σ and Σ² of time errors, shape (episodes, 3)."""
    values = rng.normal(0, 10, (episodes, 1)) + rng.gamma(2, 10, (episodes, 1)) * rng.standard_normal((episodes, 100))
    return np.column_stack([np.full(episodes, 100.0), values.sum(axis=1), (values**2).sum(axis=1)])


def _spread(sums: Floats) -> Floats:
    n, total, squares = np.moveaxis(sums, -1, 0)
    return np.asarray(np.sqrt(squares / n - (total / n) ** 2))


def skill() -> Sampler:
    """Skill of F1 over a baseline that finds the same episodes hard."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        table = _actions(episodes, rng)
        return _ends(sum_interval(list(table), _skill, _plan(), n=1, scale=SKILL, sizes=table[:, :3].sum(axis=1)))

    return sample


def f1() -> Sampler:
    """F1, a share of its denominator."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        matched, missed, extra, _, _ = _actions(episodes, rng).T
        return _ends(share_interval(2 * matched, 2 * matched + missed + extra, _plan()))

    return sample


_FUNCTIONS = {
    "skill": (_actions, _skill, SKILL),
    "f1": (_actions, _f1, SKILL),
    "pearson": (_moves, _pearson, CORRELATION),
    "r2": (_moves, _r2, SKILL),
    "spread": (_jitters, _spread, POSITIVE),
}


def of_sums(name: str) -> Sampler:
    """Another figure of the pointer or of timing."""
    draw, function, scale = _FUNCTIONS[name]

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        table = draw(episodes, rng)
        return _ends(sum_interval(list(table), function, _plan(), n=1, scale=scale, sizes=table[:, 0]))

    return sample


@cache
def of_sums_truth(name: str) -> float:
    """The true value of a function of sums, from very many episodes."""
    draw, function, _ = _FUNCTIONS[name]
    return float(function(draw(_MANY // 4, np.random.default_rng(0)).sum(axis=0)))


# --- paired differences ----------------------------------------------------------------------------------------------


def share_difference(sizes: str = "equal", strata: str = "") -> Sampler:
    """Two models whose shares in an episode are 0.8 and 0.85 on average; both find the same episodes hard."""

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        n, chance = sizes_of(sizes, episodes, rng), rng.beta(8, 2, episodes)
        hits = [rng.binomial(n, one) for one in (chance, 0.25 + 0.75 * chance)]
        names, plan = strata_of(strata, episodes), _plan(keep=True)
        return _difference([share_interval(one, n, plan, strata=names) for one in hits], names)

    return sample


def score_difference(repetitions: int = 3) -> Sampler:
    """Two agents on the same scenarios, repeated: a rule worth 0.4 fires more often with the second."""

    def sample(scenarios: int, rng: np.random.Generator) -> Ends:
        hard, counts, plan = rng.beta(3, 2, scenarios), np.full(scenarios, repetitions), _plan(keep=True)
        sums = [scores(hard, gain, repetitions, rng).sum(axis=1) for gain in (0.0, GAIN)]
        return _difference([mean_interval(one, counts, plan) for one in sums], None)

    return sample


def iqm_difference(*, shift: float = 7.0, skewed: float = 0.0, step: float = 1.0) -> Sampler:
    """The interquartile means of two models' time errors; both find the same episodes hard.

    Each episode is changed by `shift`, with a skewed spread of `skewed`.
    """

    def sample(episodes: int, rng: np.random.Generator) -> Ends:
        own, plan = rng.normal(0, 12, episodes), _plan(keep=True)
        changed = own + shift + skewed * _effects("skewed", episodes, rng)
        sides = [[Distribution.of(_errors(100, o, step, rng)) for o in one.tolist()] for one in (own, changed)]
        return _difference([value_intervals(parts, ["iqm"], plan)["iqm"] for parts in sides], None)

    return sample


@cache
def iqm_difference_truth(skewed: float) -> float:
    """The true difference with a skewed spread of changes: the sum of two effects has the product of their chances."""
    own, first = _nodes("symmetric", _NODES_OF_TWO)
    change, second = _nodes("skewed", _NODES_OF_TWO)
    both = 12 * own[:, None] + 7 + skewed * change
    return _statistic("iqm", both.ravel(), np.outer(first, second).ravel(), 1.0) - time_errors_truth("iqm")


def _difference(sides: Sequence[Estimate], strata: list[str] | None) -> Ends:
    a, b = sides
    resampled = a.replicates is not None and b.replicates is not None
    found = difference(
        (b.value or 0.0) - (a.value or 0.0),
        level=0.95,
        freedom=min(a.freedom or 1.0, b.freedom or 1.0),
        contributions=None if resampled else np.subtract(b.contributions, a.contributions),  # type: ignore[arg-type]
        replicates=np.subtract(b.replicates, a.replicates) if resampled else None,  # type: ignore[arg-type]
        strata=strata,
    )
    assert found is not None
    return found.low, found.high


GAIN = 0.1


def scores(hard: Floats, gain: float, repetitions: int, rng: np.random.Generator) -> Floats:
    """Scores 0–1 in steps of 0.01, shape (…, repetitions): a rule fires or does not."""
    chance = np.clip(hard + gain, 0, 1)[..., None]
    fired = rng.random((*hard.shape, repetitions)) < chance
    noise = rng.choice([-0.1, 0.0, 0.1], fired.shape)
    return np.asarray(np.round(np.where(fired, 0.9, 0.5) + noise, 2), np.float64)


@cache
def score_difference_truth(gain: float = GAIN) -> float:
    hard = np.random.default_rng(0).beta(3, 2, 2_000_000)
    return 0.4 * float((np.clip(hard + gain, 0, 1) - hard).mean())


# --- the table -------------------------------------------------------------------------------------------------------

_SHARE, _MEAN = "logit-t", "skewness-corrected t"
_SUMS, _VALUES = "skewness-corrected t on a scale", "bootstrap"
_VALUE_DIFFERENCE = "skewness-corrected t, bootstrap"

POPULATIONS: dict[str, tuple[str, Sampler, Callable[[], float]]] = {
    "share near ½": (_SHARE, share(5, 5), lambda: 0.5),
    "share near ½, unequal sizes": (_SHARE, share(5, 5, "unequal"), lambda: 0.5),
    "share near ½, very unequal sizes": (_SHARE, share(5, 5, "very unequal"), lambda: 0.5),
    "share of 0.8, unequal sizes": (_SHARE, share(8, 2, "unequal"), lambda: 0.8),
    "share near 1": (_SHARE, share(20, 1), lambda: 20 / 21),
    "share near 1, unequal sizes": (_SHARE, share(20, 1, "unequal"), lambda: 20 / 21),
    "share of 0.8, strata of 50, 30 and 20 %": (_SHARE, share(8, 2, strata="games"), lambda: 0.8),
    "share of 0.8, strata of two": (_SHARE, share(8, 2, strata="pairs"), lambda: 0.8),
    "share of 0.8, strata of one": (_SHARE, share(8, 2, strata="single"), lambda: 0.8),
    "mean, symmetric": (_MEAN, mean("symmetric"), lambda: 0.0),
    "mean, symmetric, unequal sizes": (_MEAN, mean("symmetric", "unequal"), lambda: 0.0),
    "mean, skewed": (_MEAN, mean("skewed"), lambda: 0.0),
    "mean, skewed, unequal sizes": (_MEAN, mean("skewed", "unequal"), lambda: 0.0),
    "mean, skewed, strata of two": (_MEAN, mean("skewed", strata="pairs"), lambda: 0.0),
    "mean, the smallest of three strata varies most": (_MEAN, mean_of_strata(3.0), lambda: 0.0),
    "F1": (_SHARE, f1(), lambda: of_sums_truth("f1")),
    "skill": (_SUMS, skill(), lambda: of_sums_truth("skill")),
    "R²": (_SUMS, of_sums("r2"), lambda: of_sums_truth("r2")),
    "correlation": (_SUMS, of_sums("pearson"), lambda: of_sums_truth("pearson")),
    "standard deviation": (_SUMS, of_sums("spread"), lambda: of_sums_truth("spread")),
    "IQM": (_VALUES, time_errors("iqm"), lambda: time_errors_truth("iqm")),
    "IQM, unequal sizes": (_VALUES, time_errors("iqm", sizes="unequal"), lambda: time_errors_truth("iqm")),
    "IQM, skewed": (_VALUES, time_errors("iqm", "skewed"), lambda: time_errors_truth("iqm", "skewed")),
    "IQM, steps of 10 ms": (_VALUES, time_errors("iqm", step=10.0), lambda: time_errors_truth("iqm", step=10.0)),
    "median": (_VALUES, time_errors("p50"), lambda: time_errors_truth("p50")),
    "95th percentile": (_VALUES, time_errors("p95"), lambda: time_errors_truth("p95")),
    "95th percentile, skewed": (_VALUES, time_errors("p95", "skewed"), lambda: time_errors_truth("p95", "skewed")),
    "paired difference of shares": (_MEAN, share_difference(), lambda: 0.05),
    "the same, unequal sizes": (_MEAN, share_difference("unequal"), lambda: 0.05),
    "the same, strata of 50, 30 and 20 %": (_MEAN, share_difference(strata="games"), lambda: 0.05),
    "paired difference of scores, 3 repetitions": (_MEAN, score_difference(), score_difference_truth),
    "paired difference of IQMs": (_VALUE_DIFFERENCE, iqm_difference(), lambda: 7.0),
    "the same, skewed": (
        _VALUE_DIFFERENCE,
        iqm_difference(skewed=_SKEWED_CHANGE),
        lambda: iqm_difference_truth(_SKEWED_CHANGE),
    ),
    "the same, steps of 10 ms": (_VALUE_DIFFERENCE, iqm_difference(shift=10.0, step=10.0), lambda: 10.0),
}
"""Method, sampler and truth of every line of the table of coverage."""


def coverage(name: str, episodes: int, *, trials: int, seed: int) -> float:
    """The share of trials whose interval contains the truth."""
    _, sample, truth = POPULATIONS[name]
    rng, value, held = np.random.default_rng(seed), truth(), 0
    for _ in range(trials):
        low, high = sample(episodes, rng)
        held += low <= value <= high
    return held / trials
