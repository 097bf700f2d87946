"""Tails and quantiles agree with SciPy's."""

from __future__ import annotations

import pytest
import scipy

from assay.stats.tails import binomial_at_most, chi_squared_quantile, largest_chance, t_below, t_quantile


@pytest.mark.parametrize("freedom", [1, 1.3, 2, 4.5, 9, 40, 3000, 2e6])
def test_students_t(freedom: float) -> None:
    for share in (0.001, 0.3, 0.5, 0.8, 0.975, 0.99999):
        assert t_quantile(share, freedom) == pytest.approx(scipy.stats.t.ppf(share, freedom), rel=1e-5, abs=1e-5)
    for t in (-40, -2, 0, 0.1, 3):
        assert t_below(t, freedom) == pytest.approx(scipy.stats.t.cdf(t, freedom), abs=1e-7)


@pytest.mark.parametrize("n", [1, 5, 20, 5000])
def test_the_binomial_distribution(n: int) -> None:
    for hits in {0, n // 3, n - 1}:
        for chance in (0.01, 0.4, 0.99):
            assert binomial_at_most(hits, n, chance) == pytest.approx(scipy.stats.binom.cdf(hits, n, chance), abs=1e-9)
        assert largest_chance(hits, n, 0.025) == pytest.approx(
            scipy.stats.beta.ppf(0.975, hits + 1, n - hits), abs=1e-9
        )
    assert binomial_at_most(n, n, 0.5) == largest_chance(n, n, 0.025) == 1.0


def test_chi_squared_within_two_percent() -> None:
    for freedom in (3, 4, 9, 38):
        for share in (0.1, 0.9):
            expected = scipy.stats.chi2.ppf(share, freedom)
            assert chi_squared_quantile(share, freedom) == pytest.approx(expected, rel=0.02)
