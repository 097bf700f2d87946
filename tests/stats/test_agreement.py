"""Kappa, slopes and corrected means: by hand, by law, and by how often their intervals contain the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import UsageError
from assay.stats import corrected_mean, kappa, slope


def test_kappa_by_hand() -> None:
    # 20 both yes, 5 only a, 10 only b, 15 neither: seen 0.7, chance 0.5·0.6 + 0.5·0.4 = 0.5, kappa 0.4.
    a = [1] * 25 + [0] * 25
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    found = kappa(a, b)
    assert found.value == pytest.approx(0.4)
    assert found.low is not None
    assert found.high is not None
    assert 0.05 < found.low < 0.4 < found.high < 0.7
    assert kappa(b, a).value == pytest.approx(0.4)


def test_kappa_of_full_agreement_of_chance_and_of_the_opposite() -> None:
    assert kappa([1, 0, 1, 0], [1, 0, 1, 0]).value == 1.0
    assert kappa([1, 1, 0, 0], [1, 0, 1, 0]).value == 0.0
    assert kappa([1, 0], [0, 1]).value == -1.0
    assert kappa([1, 1], [1, 1]).value is None  # nothing to agree on
    assert kappa([], []).value is None
    with pytest.raises(UsageError, match="2 and 1 ratings"):
        kappa([1, 0], [1])


def test_copies_within_a_group_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)
    a = (rng.random(40) < 0.6).astype(int)
    b = np.where(rng.random(40) < 0.8, a, 1 - a)
    single = kappa(a, b)
    copied = kappa(np.repeat(a, 5), np.repeat(b, 5), groups=[str(at) for at in range(40) for _ in range(5)])
    assert (copied.value, copied.low, copied.high) == pytest.approx((single.value, single.low, single.high))
    assert copied.n_units == 40


def test_slope_by_hand() -> None:
    # x 0, 1, 2 and y 0, 0, 3: covariance (0·0 + …) gives 1.5.
    assert slope([0, 1, 2], [0, 0, 3]).value == pytest.approx(1.5)
    assert slope([1, 1, 1], [0, 1, 2]).value is None


def test_a_corrected_mean_by_hand() -> None:
    # All labelled: the labels' own mean.
    assert corrected_mean([], [1, 0, 1, 1], [1, 0, 0, 1]).value == 0.5
    # Labels 1, 1, 0, 0 and judgements 1, 1, 1, 0: covariance 1/6. All eight judgements are 1 but one: variance 1/8.
    # λ = (1/6) ÷ ((1 + 4/4)·1/8) = 2/3, so the mean is 2/3 · 1 + (1/2 − 2/3 · 3/4) = 2/3.
    assert corrected_mean([1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]).value == pytest.approx(2 / 3)
    assert corrected_mean([1.0], [], []).value is None
    assert corrected_mean([1, 1], [1], [1]).low is None  # one label tells nothing of its spread
    with pytest.raises(UsageError, match="every label needs a judgement"):
        corrected_mean([], [1], [1, 0])


def test_a_judge_that_is_always_right_adds_its_judgements_and_a_random_one_nothing() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random(1050) < 0.7).astype(float)
    plain = corrected_mean([], truth[:50], truth[:50])
    right = corrected_mean(truth[50:], truth[:50], truth[:50])
    blind = corrected_mean(np.ones(1000), np.ones(50), truth[:50])
    widths = [(one.high or 0.0) - (one.low or 0.0) for one in (plain, right, blind)]
    assert widths[1] < 0.3 * widths[0]
    assert blind.value == pytest.approx(plain.value)
    assert widths[2] == pytest.approx(widths[0], rel=0.05)


def test_the_corrected_interval_contains_the_truth_and_the_raw_one_does_not() -> None:
    """A judge of known error rates: it calls 95 % of good answers good, and 40 % of bad ones too."""
    rng = np.random.default_rng(3)
    trials, n, many, share = 600, 60, 500, 0.7
    hits = raw = 0
    for _ in range(trials):
        truth = (rng.random(n + many) < share).astype(float)
        said = np.where(truth == 1, rng.random(n + many) < 0.95, rng.random(n + many) < 0.4).astype(float)
        found = corrected_mean(said[n:], said[:n], truth[:n])
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= share <= found.high
        half = 1.96 * math.sqrt(said.var() / len(said))
        raw += abs(said.mean() - share) <= half
    assert 0.93 <= hits / trials <= 0.97
    assert raw / trials < 0.1
