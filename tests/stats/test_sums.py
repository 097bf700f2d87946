"""Shares, means and functions of sums: intervals are those of a slow jackknife, and never have a width of zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from assay.stats import (
    CORRELATION,
    PLAIN,
    POSITIVE,
    RATE,
    SHARE,
    SKILL,
    Resampling,
    Scale,
    curve_intervals,
    mean_interval,
    ratio_interval,
    resampled_sum_interval,
    share_interval,
    sum_interval,
)
from assay.stats.jackknife import pooled
from assay.types import Estimate, Floats, Ratio

EPISODE = Resampling("episode")


def quotient(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def slow_error(hits: Floats, totals: Floats) -> float:
    """The jackknife's standard error of a ratio, one episode left out at a time."""
    k = len(hits)
    without = np.array([np.delete(hits, at).sum() / np.delete(totals, at).sum() for at in range(k)])
    return math.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum())


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def both(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


# --- shares ----------------------------------------------------------------------------------------------------------


def test_a_share_has_a_t_interval_on_the_logit_scale() -> None:
    hits, totals = np.array([3.0, 1.0, 20.0, 4.0]), np.array([10.0, 4.0, 25.0, 8.0])
    value = 28 / 47
    freedom = 47**2 / (100 + 16 + 625 + 64) - 1  # episodes of unequal size count as fewer
    half = scipy.stats.t.ppf(0.975, freedom) * slow_error(hits, totals) / (value * (1 - value))
    expected = [1 / (1 + math.exp(-(logit(value) + side * half))) for side in (-1, 1)]
    found = ratio_interval([Ratio(int(h), int(t)) for h, t in zip(hits, totals, strict=True)], EPISODE)
    assert found.value == value
    assert both(found) == pytest.approx(expected, rel=1e-9)
    assert found == share_interval(hits, totals, EPISODE)
    assert found.method == "t interval on the logit scale, jackknife of 4 episodes"
    assert (found.unit, found.n, found.n_units) == ("episode", 47, 4)


@pytest.mark.parametrize(("hits", "expected"), [(10, (0.025**0.2, 1.0)), (0, (0.0, 1 - 0.025**0.2))])
def test_a_share_of_0_or_1_has_the_exact_bound_of_so_many_episodes(hits: int, expected: tuple[float, float]) -> None:
    found = share_interval([hits] * 5, [10] * 5, EPISODE)
    assert both(found) == pytest.approx(expected)
    assert found.method == "exact bound of what 5 episodes can have missed"


def test_episodes_with_the_same_share_do_not_give_an_interval_of_zero_width() -> None:
    found = share_interval([7, 14, 7], [10, 20, 10], EPISODE)
    assert both(found) == pytest.approx((max(0.7 - (1 - 0.025 ** (1 / 3)), 0), 1.0))


def test_strata_of_one_episode_are_pooled() -> None:
    # Without pooling, each stratum would have no spread, and the interval no width: 0.705 [0.705, 0.705].
    hits, totals = [141, 120, 150, 153], [200, 200, 200, 200]
    alone = share_interval(hits, totals, EPISODE, strata=list("abcd"))
    assert both(alone) == both(share_interval(hits, totals, EPISODE))
    assert alone.value == pytest.approx(0.705)


def test_the_spread_within_a_stratum_of_n_is_that_of_n_less_one() -> None:
    # Two strata of two episodes: the mean's variance is the sum over strata of n · s² ÷ N², s² with n − 1.
    values = np.array([1.0, 3.0, 10.0, 12.0])  # not skewed
    found = mean_interval(values, np.ones(4), EPISODE, strata=list("aabb"))
    error = math.sqrt((2 * 2.0 + 2 * 2.0) / 16)
    assert both(found) == pytest.approx(
        (6.5 - scipy.stats.t.ppf(0.975, 2) * error, 6.5 + scipy.stats.t.ppf(0.975, 2) * error), rel=1e-5
    )


def test_a_stratum_of_two_that_varies_most_leaves_few_degrees_of_freedom() -> None:
    rng = np.random.default_rng(3)
    groups = [np.array([-4.0, 4.0]), rng.normal(0, 0.1, 30)]
    values, strata = np.concatenate(groups), ["few"] * 2 + ["many"] * 30
    parts = [len(group) * group.var(ddof=1) / 32**2 for group in groups]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(group) + 1) for part, group in zip(parts, groups, strict=True)) - 2
    assert 1 < freedom < 1.1  # 30 if the two strata varied alike
    found = mean_interval(values, np.ones(32), EPISODE, strata=strata)
    t = scipy.stats.t.ppf(0.975, freedom)
    assert found.low == pytest.approx(values.mean() - t * math.sqrt(sum(parts)), rel=1e-3)
    assert found.high == pytest.approx(values.mean() + t * math.sqrt(sum(parts)), rel=1e-3)


def test_strata_of_two_show_no_skewness_so_all_episodes_together_do() -> None:
    values = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 9.0])
    pairs, alone = (mean_interval(values, np.ones(6), EPISODE, strata=strata) for strata in (list("aabbcc"), None))
    assert pairs.value == alone.value
    for found in (pairs, alone):
        assert found.low is not None
        assert found.high is not None
        assert found.high - found.value > 1.1 * (found.value - found.low)  # type: ignore[operator]


def test_lone_strata_join_each_other_or_the_largest() -> None:
    assert pooled(list("aabbc")) in (list("aabba"), list("aabbb"))
    assert pooled(list("aabc")) == ["a", "a", "(strata of one)", "(strata of one)"]
    assert pooled(list("aabb")) == list("aabb")


@pytest.mark.parametrize("hits", [[5, 0], [5]])
def test_one_episode_with_something_to_measure_has_no_interval(hits: list[int]) -> None:
    found = share_interval(hits, hits, EPISODE)
    assert (found.value, found.low, found.method) == (1.0, None, "none: one episode only")


def test_a_ratio_of_nothing_is_none() -> None:
    for unit in ("event", "episode"):
        found = ratio_interval([Ratio(), Ratio()], Resampling(unit))
        assert (found.value, found.low, found.high) == (None, None, None)
    assert ratio_interval([], Resampling("event")).value is None


def test_the_share_of_events_has_the_binomial_error() -> None:
    found = ratio_interval([Ratio(30, 100), Ratio(10, 100)], Resampling("event"))
    # 40 of 200 is 0.2 with a standard error of √(0.2 · 0.8 ÷ 199) = 0.02835, or 0.1772 on the logit scale.
    expected = [1 / (1 + math.exp(-(logit(0.2) + side * 1.972 * 0.17722))) for side in (-1, 1)]
    assert both(found) == pytest.approx(expected, abs=1e-4)
    assert (found.unit, found.n) == ("event", 200)
    assert both(ratio_interval([Ratio(8, 8)], Resampling("event"))) == pytest.approx((0.025 ** (1 / 8), 1.0))


def test_ten_times_the_events_give_the_same_interval() -> None:
    assert both(share_interval([30, 10, 25], [100, 20, 50], EPISODE)) == pytest.approx(
        both(share_interval([300, 100, 250], [1000, 200, 500], EPISODE))
    )


# --- means and functions of sums -------------------------------------------------------------------------------------


def test_a_mean_has_the_hull_of_the_t_interval_and_of_halls() -> None:
    values = np.array([1.0, 2.0, 2.5, 9.0, 3.0, 4.0])
    error, wide = values.std(ddof=1) / math.sqrt(6), scipy.stats.t.ppf(0.975, 5)
    a = min(float(scipy.stats.skew(values, bias=False)) / math.sqrt(6), 0.3)

    def hall(t: float) -> float:
        return 3 / a * (math.copysign(abs(1 + a * (t - a / 6)) ** (1 / 3), 1 + a * (t - a / 6)) - 1)

    mean = values.mean()
    found = both(mean_interval(values, np.ones(6), EPISODE))
    assert found == pytest.approx((mean - wide * error, mean - error * hall(-wide)))


@pytest.mark.parametrize("scale", [PLAIN, SHARE, CORRELATION, SKILL, POSITIVE, RATE])
def test_every_scale_inverts_itself(scale: Scale) -> None:
    x = np.array([0.05, 0.4, 0.93])
    assert scale.back(scale.forward(x)) == pytest.approx(x)
    slope = (scale.forward(x + 1e-6) - scale.forward(x - 1e-6)) / 2e-6
    assert scale.slope(x) == pytest.approx(slope, rel=1e-5)


def test_a_function_of_sums_is_jackknifed() -> None:
    parts = [np.array([4.0, 2.0]), np.array([9.0, 3.0]), np.array([2.0, 2.0]), np.array([3.0, 3.0])]
    table = np.array(parts)
    found = sum_interval(parts, quotient, EPISODE, n=7, scale=POSITIVE, sizes=table[:, 1])
    assert found.value == 1.8
    low, high = both(found)
    half = scipy.stats.t.ppf(0.975, 100 / 26 - 1) * slow_error(table[:, 0], table[:, 1]) / 1.8
    assert low <= 1.8 * math.exp(-half) * (1 + 1e-9)
    assert high >= 1.8 * math.exp(half) * (1 - 1e-9)
    assert (found.n, found.n_units, found.unit) == (7, 4, "episode")
    # Sums say nothing about single events, so there is no such interval.
    assert sum_interval(parts, quotient, Resampling("event"), n=7).low is None
    assert sum_interval([np.array([0.0, 0.0])], quotient, Resampling("event"), n=0).value is None
    assert sum_interval([], quotient, EPISODE, n=0).value is None


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (1.0, SHARE, (0.025**0.25, 1.0)),
        (1.0, SKILL, (0.025**0.25, 1.0)),
        (0.0, SKILL, (0.025**0.25 - 1, 1 - 0.025**0.25)),
        (1.0, CORRELATION, (0.025**0.25, 1.0)),
        (0.0, RATE, (0.0, 1 - 0.025**0.25)),
    ],
)
def test_a_figure_that_no_episode_changes_has_the_exact_bound(
    value: float, scale: Scale, expected: tuple[float, float]
) -> None:
    parts = [np.array([value * n, n]) for n in (3.0, 5.0, 4.0, 8.0)]
    assert both(sum_interval(parts, quotient, EPISODE, n=20, scale=scale)) == pytest.approx(expected)


def test_a_figure_without_a_range_has_no_interval_if_no_episode_changes_it() -> None:
    found = sum_interval([np.array([6.0, 3.0])] * 3, quotient, EPISODE, n=9)
    assert (found.value, found.low, found.method) == (2.0, None, "none: no episode differs")


@pytest.mark.parametrize("cases", [3, 4, 5])
def test_the_correction_of_few_cases_does_not_run_away_on_a_logarithmic_scale(cases: int) -> None:
    """Seconds of which one is twenty times the others: three of them had one up to two million times as high."""
    seconds = np.array([0.0005, 0.0004, 0.01, 0.0005, 0.0004][:cases])
    parts = [np.array([one, 1.0]) for one in seconds]
    found = sum_interval(parts, quotient, EPISODE, n=cases, scale=POSITIVE)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < seconds.mean() < found.high < 1000 * seconds.mean()


def test_the_contributions_of_two_estimates_may_be_subtracted() -> None:
    plan = Resampling("episode", keep=True)
    a, b = (share_interval(hits, [10, 10, 0, 10], plan) for hits in ([5, 6, 0, 7], [7, 8, 0, 9]))
    assert a.contributions is not None
    assert b.contributions is not None
    assert b.contributions - a.contributions == pytest.approx(np.zeros(4))  # always 0.2 better
    assert a.contributions.tolist() == pytest.approx([-1 / 30, 0, 0, 1 / 30])


def test_every_point_of_a_curve_has_the_interval_of_its_share() -> None:
    rng = np.random.default_rng(4)
    table = np.column_stack([rng.integers(0, 9, (6, 2)), np.zeros(6), rng.integers(9, 30, 6)]).astype(float)
    found = curve_intervals(list(table), lambda s: s[..., :3] / s[..., 3:], EPISODE, sizes=table[:, 3])
    for at in range(3):
        alone = share_interval(table[:, at], table[:, 3], EPISODE)
        assert (found[0][at], found[1][at], found[2][at]) == pytest.approx((alone.value, alone.low, alone.high))
    values, low, high = curve_intervals(list(table[:1]), lambda s: s[..., :3] / s[..., 3:], EPISODE)
    assert np.isnan([low, high]).all()
    assert len(values) == 3


def test_the_place_of_a_maximum_is_resampled_and_known_to_half_a_step() -> None:
    def place(sums: Floats) -> Floats:
        return np.asarray(10.0 * np.argmax(sums, axis=-1))

    agreed = resampled_sum_interval([np.array([0.0, 2.0, 1.0])] * 4, place, EPISODE, n=12, step=10.0)
    assert (agreed.value, agreed.low, agreed.high) == (10.0, 5.0, 15.0)
    parts = [np.array([0.0, 2.0, 1.0]), np.array([0.0, 1.0, 3.0]), np.array([0.0, 3.0, 1.0])]
    low, high = both(resampled_sum_interval(parts, place, EPISODE, n=12, step=10.0))
    assert low <= 5
    assert high >= 25
