"""Probability of improvement and performance profiles, on small inputs whose results can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from assay.errors import UsageError
from assay.stats import performance_profile, probability_of_improvement


def test_every_pair_is_compared_and_ties_count_half() -> None:
    # 1 against 1, 2, 0: ½ + 0 + 1; 3: 1 + 1 + 1; 2: 1 + ½ + 1. Together 7 of 9.
    assert probability_of_improvement([1, 3, 2], [1, 2, 0]).value == pytest.approx(7 / 9)


def test_strata_have_equal_weight_whatever_their_size() -> None:
    # In 'a' both lose, in 'b' all four win: the mean of 0 and 1.
    found = probability_of_improvement([0, 0, 5, 5, 5, 5], [1, 1, 1, 1, 1, 1], strata=list("aabbbb"))
    # No case differs from another of its stratum; six can have missed 1 − 0.025^(1/6) of all cases.
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - 0.4593, 0.5 + 0.4593), abs=1e-4)


def test_probability_of_improvement_is_the_mann_whitney_statistic() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, 40), rng.integers(0, 6, 40)
    u = scipy.stats.mannwhitneyu(x, y).statistic
    assert probability_of_improvement(x, y).value == pytest.approx(u / 1600)


def test_an_agent_is_neither_ahead_of_nor_behind_itself() -> None:
    x = np.random.default_rng(2).normal(size=30)
    found = probability_of_improvement(x, x)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.3843, 0.6157), abs=1e-4)  # 1 − 0.025^(1/30)


def test_the_interval_is_that_of_leaving_out_one_case_at_a_time() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.5, 1, 25), rng.normal(0, 1, 25)
    found = probability_of_improvement(x, y)
    without = [scipy.stats.mannwhitneyu(np.delete(x, at), np.delete(y, at)).statistic / 24**2 for at in range(25)]
    error = np.sqrt(24 / 25 * ((without - np.mean(without)) ** 2).sum())
    value = found.value or 0
    half = scipy.stats.t.ppf(0.975, 24) * error / (value * (1 - value))
    expected = [1 / (1 + np.exp(-(np.log(value / (1 - value)) + side * half))) for side in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)


def test_no_cases_give_none_and_one_case_has_no_interval() -> None:
    assert probability_of_improvement([], []).value is None
    one = probability_of_improvement([2.0], [1.0])
    assert (one.value, one.low) == (1.0, None)


def test_unequal_lengths_and_nan_are_refused() -> None:
    for x, y, strata in (([1, 2], [1], None), ([1, np.nan], [1, 2], None), ([1, 2], [1, 2], ["a"])):
        with pytest.raises(UsageError):
            probability_of_improvement(x, y, strata=strata)


def test_a_profile_is_the_share_strictly_above_each_threshold() -> None:
    profile = performance_profile([0.0, 0.5, 0.5, 1.0], [-1, 0, 0.5, 1])
    assert profile.share.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert (profile.low[0], profile.high[0]) == pytest.approx((0.025**0.25, 1.0))  # four cases, all above
    assert profile.low[1] < 0.75 < profile.high[1]


def test_a_profile_without_scores_or_with_nan_is_refused() -> None:
    for scores in ([], [np.nan]):
        with pytest.raises(UsageError):
            performance_profile(scores, [0.5])
