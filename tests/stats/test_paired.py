"""Paired differences: intervals and p-values agree with each other, and the number of cases needed decides."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from assay.stats.paired import Changes, Difference, cases_needed, difference
from assay.types import Floats


def of_changes(d: Floats, level: float = 0.95, *, possible: float = 1.0) -> Difference:
    """The difference of two sides whose cases have the same size and change by d."""
    changes = Changes.of(np.zeros(len(d)), d, possible)
    found = difference(
        float(d.mean()), contributions=(d - d.mean()) / len(d), freedom=len(d) - 1, level=level, changes=changes
    )
    assert found is not None
    return found


def test_symmetric_changes_have_the_paired_t_test() -> None:
    d = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]) - 0.3
    found = of_changes(d)
    expected = scipy.stats.ttest_1samp(d, 0)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.error == pytest.approx(d.std(ddof=1) / np.sqrt(7))


@pytest.mark.parametrize("seed", range(12))
def test_the_p_value_is_that_of_the_interval_that_just_touches_0(seed: int) -> None:
    d = np.random.default_rng(seed).gamma(1.5, 0.1, 9) - 0.05
    p = of_changes(d).p
    inner, outer = of_changes(d, 1 - p * 1.001), of_changes(d, 1 - p * 0.999)
    assert not inner.low <= 0 <= inner.high
    assert outer.low <= 0 <= outer.high


def test_the_difference_of_resampled_figures_inverts_the_hull_of_both_intervals() -> None:
    replicates = 0.5 + 0.2 * scipy.stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    found = difference(0.5, replicates=replicates, freedom=9, level=0.95)
    assert found is not None
    half = scipy.stats.t.ppf(0.975, 9) * replicates.std()
    assert found.low <= 0.5 - half + 1e-12
    assert found.high >= 0.5 + half - 1e-12
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(2.5, 9), rel=0.02)
    assert difference(0.1, replicates=np.full(10, np.nan), level=0.95, freedom=3) is None


def test_a_difference_that_many_resamples_do_not_share_is_uncertain() -> None:
    # A fifth of the resamples jumps to the other side, although their spread is small: 2.3 standard errors from 0.
    replicates = np.concatenate([np.full(200, -0.01), np.full(800, 0.1)])
    found = difference(0.1, replicates=replicates, freedom=30, level=0.95)
    assert found is not None
    assert found.low < 0 < found.high
    assert found.p > 0.05 > 2 * scipy.stats.t.sf(0.1 / replicates.std(), 30)


def test_what_is_called_the_same_rests_on_ends_that_allow_for_a_tail_that_few_cases_lack() -> None:
    # Five symmetric changes: Johnson's correction t + a (1 + 2 t²) ÷ 6 with the largest allowance a = 0.7.
    d = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
    found = of_changes(d)
    t = scipy.stats.t.ppf(0.975, 4)
    far = found.error * (t + 0.7 * (1 + 2 * t * t) / 6)
    assert (found.high, *found.wide) == pytest.approx((t * found.error, -far, far))
    assert found.within(0.02, surely=False)
    assert not found.within(0.02, surely=True)


@pytest.mark.parametrize("n", [3, 5, 10, 30, 100])
def test_the_interval_of_the_same_contains_the_other_and_mirrors_with_the_changes(n: int) -> None:
    d = np.random.default_rng(n).gamma(1.0, 0.1, n)
    found, mirrored = of_changes(d), of_changes(-d)
    assert found.wide[0] <= found.low < found.high <= found.wide[1]
    assert mirrored.wide == pytest.approx((-found.wide[1], -found.wide[0]))
    replicates = np.random.default_rng(n).gamma(2.0, 0.1, 500)
    resampled = difference(0.2, replicates=replicates, freedom=n - 1, level=0.95)
    assert resampled is not None
    assert resampled.wide[0] <= resampled.low < resampled.high <= resampled.wide[1]


@pytest.mark.parametrize("freedom", [2.0, 9.0, 39.0, 200.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_resampled_differences_have_the_t_interval_that_is_corrected_for_skewness(freedom: float, sign: int) -> None:
    replicates = sign * np.random.default_rng(1).gamma(2.0, 0.1, 1000)
    error, a = replicates.std(), sign * 0.3  # more skewness than that is not corrected for
    found = difference(0.2, replicates=replicates, freedom=freedom, level=0.95)
    assert found is not None
    # Hall's transformation of the distance of either end, in standard errors, is Student's t.
    for end, tail in ((found.low, 0.975), (found.high, 0.025)):
        t = (0.2 - end) / error
        assert t + a * t * t / 3 + a * a * t**3 / 27 + a / 6 == pytest.approx(scipy.stats.t.ppf(tail, freedom))
    # At the end of the interval, the p-value is 5 %.
    shifted = difference(0.2 - found.low, replicates=replicates - found.low, freedom=freedom, level=0.95)
    assert shifted is not None
    assert shifted.p == pytest.approx(0.05)


def test_resamples_that_do_not_differ_are_certain() -> None:
    found = difference(0.2, replicates=np.full(10, 0.2), freedom=9, level=0.95)
    assert found is not None
    assert (found.low, found.high) == (0.2, 0.2)
    assert found.p < 1e-9


@pytest.mark.parametrize("n", [3, 10, 71, 72])
def test_if_no_case_changes_so_many_can_have_missed_a_part_of_all(n: int) -> None:
    found = of_changes(np.zeros(n))
    missed = 1 - 0.025 ** (1 / n)
    assert (found.low, found.high, found.p) == pytest.approx((-missed, missed, 1.0))
    assert (missed <= 0.05) == (n >= 72)
    assert of_changes(np.zeros(n), possible=300.0).high == pytest.approx(300 * missed)


def test_cases_that_all_change_by_the_same_differ_for_sure_if_there_are_enough() -> None:
    assert of_changes(np.full(5, 0.1)).low == 0.0  # five agree by chance with a probability of 2 · ½⁵ > 0.05
    found = of_changes(np.full(6, 0.1))
    assert found.p == 2 / 64
    assert found.low == pytest.approx(0.1 * 0.025 ** (1 / 6))


def test_three_cases_that_all_improved_may_have_done_so_by_chance() -> None:
    d = np.zeros(50)
    d[:3] = 0.3
    found = of_changes(d)
    assert found.p >= 0.25  # 2 · ½³
    assert found.low <= 0


def test_a_minority_that_changes_may_be_larger_by_chance() -> None:
    # 2 of 20 change by 0.2. A t interval ends at 0.0488, within a margin of 0.05; but up to 31.7 % of all may change.
    d = np.zeros(20)
    d[:2] = 0.2
    assert of_changes(d).high == pytest.approx(0.2 * scipy.stats.beta.ppf(0.975, 3, 18))


def test_cases_needed_have_a_power_of_80_percent() -> None:
    # A spread of 1 in a pilot of 100; the interval is 5 % wider than the plain one.
    found = Difference(0.2, 0.0, 0.4, 0.05, 0.1, 99, (0.0, 0.4))
    needed = cases_needed(found, 100, margin=0.0)
    assert needed is not None
    n = needed[0]
    assert needed == (n, n)
    assert n == pytest.approx((1.05 * (1.96 + 0.8416) / 0.2) ** 2, rel=0.03)
    more = cases_needed(found, 100, margin=0.0, tests=16)
    assert more is not None
    assert more[0] == pytest.approx((1.05 * (scipy.stats.norm.ppf(1 - 0.025 / 16) + 0.8416) / 0.2) ** 2, rel=0.03)


def test_cases_needed_to_show_that_both_are_the_same() -> None:
    # The difference seen is 0: both ends must lie within the margin, 90 % each.
    needed = cases_needed(Difference(0.0, -0.2, 0.2, 1.0, 0.1, 99, (-0.2, 0.2)), 100, margin=0.1)
    assert needed is not None
    assert needed[0] == pytest.approx((1.05 * (1.96 + 1.2816) / 0.1) ** 2, rel=0.03)
    # If no case changed, the part that can have been missed has to be smaller than the margin.
    assert cases_needed(of_changes(np.zeros(9)), 9, margin=0.05, changes=Changes(9, 0, 0, 0.0, 1.0)) == (72, 72)
    assert cases_needed(of_changes(np.zeros(9)), 9, margin=0.0) is None


def test_a_small_pilot_gives_a_range() -> None:
    needed = cases_needed(Difference(0.3, -0.1, 0.7, 0.2, 0.2, 9, (-0.1, 0.7)), 10, margin=0.0)
    assert needed is not None
    low, high = needed
    # The spread of 10 cases is known to a factor: from √(9 ÷ 14.68) to √(9 ÷ 4.17) with a chance of 80 %.
    assert 10 < low < high
    assert high / low == pytest.approx(14.68 / 4.17, rel=0.15)


def test_a_difference_that_comes_from_weights_alone_has_an_interval() -> None:
    # Each case scores the same on both sides, but one side has fewer answers of some cases.
    changes = Changes.of(np.full(8, 0.5), np.full(8, 0.5), 1.0)
    parts = np.array([0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.0])
    found = difference(0.02, contributions=parts, freedom=7, level=0.95, changes=changes)
    assert found is not None
    assert found.low < 0 < found.high
    assert found.p == 1.0
