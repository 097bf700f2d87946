"""Differences on the same resamples: their p-values, and how many cases would decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from assay.stats.paired import case_weights, cases_needed, difference, mean_replicates


def replicates_of(d: np.ndarray, reps: int = 4000) -> np.ndarray:
    weights = np.random.default_rng(5).multinomial(len(d), np.full(len(d), 1 / len(d)), size=reps)
    return np.asarray(weights @ d / len(d))


def test_the_p_value_adds_one_to_both_counts() -> None:
    # 30 of 199 lie at or below 0: 2 · 31 ÷ 200. With so many degrees of freedom the tails are the normal ones.
    replicates = np.concatenate([np.full(30, -1.0), np.full(169, 1.0)])
    found = difference(0.7, replicates, level=0.95, freedom=10**9, n=10**9)
    assert found is not None
    assert found.p == pytest.approx(0.31, abs=1e-6)


def test_the_p_value_agrees_with_the_paired_t_test_on_normal_differences() -> None:
    rng = np.random.default_rng(11)
    for n, shift in ((15, 0.5), (40, 0.3), (40, 0.8), (200, 0.25)):
        d = rng.normal(shift, 1, n)
        found = difference(float(d.mean()), replicates_of(d), level=0.95, freedom=n - 1, n=n)
        assert found is not None
        expected = scipy_stats.ttest_1samp(d, 0).pvalue
        assert np.log(found.p) == pytest.approx(np.log(expected), abs=0.45)
        assert found.error == pytest.approx(d.std(ddof=1) / np.sqrt(n), rel=0.05)


def test_few_cases_have_wider_tails() -> None:
    # 19 of 3999 lie below 0: 2 · 20 ÷ 4000 is 0.01, a normal score of 2.5758.
    replicates = np.concatenate([np.full(19, -1.0), np.full(3980, 1.0)])

    def p(freedom: int) -> float:
        found = difference(1.0, replicates, level=0.95, freedom=freedom, n=freedom + 1)
        assert found is not None
        return found.p

    assert p(9) > p(99) > 0.01
    # Student's t: a normal value of 2.576 · √(9 / 10) with 9 degrees of freedom.
    assert p(9) == pytest.approx(2 * scipy_stats.t.sf(2.5758 * np.sqrt(0.9), 9), rel=0.02)


def test_three_cases_that_all_improved_may_have_done_so_by_chance() -> None:
    d = np.zeros(50)
    d[:3] = 0.3
    found = difference(0.018, replicates_of(d), level=0.95, freedom=49, n=50, n_differing=3)
    assert found is not None
    assert found.p >= 0.25  # 2 · ½³


def test_the_difference_of_undefined_replicates_is_none() -> None:
    assert difference(0.1, np.full(10, np.nan), level=0.95, freedom=3, n=4) is None


def test_four_times_as_many_cases_halve_an_interval() -> None:
    # ±1.96 · 0.1 is twice the difference of 0.098, so with four times 25 cases the interval just excludes 0.
    assert cases_needed(0.098, 0.1, 25, margin=0.0) == 100
    # 0.196, half the interval of 25 cases, has to shrink to 0.05 − 0.001.
    assert cases_needed(0.001, 0.1, 25, margin=0.05) == pytest.approx(25 * (0.196 / 0.049) ** 2, rel=0.01)
    assert cases_needed(0.0, 0.1, 25, margin=0.0) is None
    assert cases_needed(0.1, 0.0, 25, margin=0.0) is None
    more = cases_needed(0.098, 0.1, 25, margin=0.0, tests=15)
    assert more is not None
    assert more > 200


def test_resamples_keep_the_size_of_every_stratum_for_any_chunk_size(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = list("abbbab")
    whole = np.concatenate(list(case_weights(strata, 50, np.random.default_rng(1))))
    assert whole.shape == (50, 6)
    assert (whole[:, [0, 4]].sum(axis=1) == 2).all()
    assert (whole[:, [1, 2, 3, 5]].sum(axis=1) == 4).all()
    monkeypatch.setattr("assay.stats.paired._CELLS_AT_ONCE", 60)
    assert [len(chunk) for chunk in case_weights(strata, 25, np.random.default_rng(1))] == [10, 10, 5]


def test_replicates_of_means_weight_sums_and_counts() -> None:
    sums = np.array([[1.0, 2.0], [3.0, 0.0], [0.5, 1.0]])
    counts = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0]])
    found = mean_replicates(sums, counts, [""] * 3, reps=200, seed=3)
    weights = np.concatenate(list(case_weights([""] * 3, 200, np.random.default_rng(3))))
    with np.errstate(invalid="ignore"):
        expected = (weights @ sums) / (weights @ counts)
    np.testing.assert_allclose(found, expected)
    assert np.isnan(found[:, 1]).any()  # a resample of the second case alone has nothing to measure


def test_combined_cases_vary_as_single_cases_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    strata = ["a"] * 3000 + ["b"] * 1000
    sums = np.concatenate([rng.normal(0, 1, (3000, 1)), rng.normal(5, 2, (1000, 1))])
    single = mean_replicates(sums, np.ones_like(sums), strata, reps=2000, seed=1)
    monkeypatch.setattr("assay.stats.paired._SINGLE", 800)
    together = mean_replicates(sums, np.ones_like(sums), strata, reps=2000, seed=1)
    assert together.mean() == pytest.approx(single.mean(), abs=0.003)
    assert together.std() == pytest.approx(single.std(), rel=0.1)


def test_a_difference_of_a_hundred_errors_is_clear_with_five_cases() -> None:
    d = np.array([1.00, 1.01, 0.99, 1.02, 0.98])
    found = difference(float(d.mean()), replicates_of(d), level=0.95, freedom=4, n=5)
    assert found is not None
    assert np.log(found.p) == pytest.approx(np.log(scipy_stats.ttest_1samp(d, 0).pvalue), abs=1.0)
