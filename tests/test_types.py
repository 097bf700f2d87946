"""Mergeable states: `a + b` is associative, has an identity, loses nothing, and any split gives the same sum."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.types import Distribution, InOrder, Joint, Moments, Ratio

ratios = st.builds(Ratio, st.integers(0, 10**30), st.integers(0, 10**30))
int64s = st.one_of(st.integers(0, 1000), st.integers(0, 2**63 - 1), st.sampled_from([2**62, 2**62 - 1, 2**21, 2**42]))
floats = st.one_of(
    st.integers(-20, 20).map(lambda unit: unit / 8), st.floats(allow_nan=False, allow_infinity=False), st.just(-0.0)
)
narrow = st.integers(-5, 5)
wide = st.one_of(narrow, st.integers(-(2**62), 2**62))  # two such columns need far more than 63 bits together
rows_of_narrow = st.lists(st.tuples(narrow, narrow, narrow), max_size=40)
rows_of_wide = st.lists(st.tuples(wide, wide, wide), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=4)


def pieces(items: list[Any], at: list[int]) -> list[list[Any]]:
    edges = [0, *sorted(min(cut, len(items)) for cut in at), len(items)]
    return [items[a:b] for a, b in itertools.pairwise(edges)]


def array(items: list[int]) -> NDArray[np.int64]:
    return np.array(items, np.int64)


def joint(rows: list[tuple[int, ...]]) -> Joint:
    return Joint.of(*(array(list(column)) for column in zip(*rows, strict=True))) if rows else Joint()


def rows_of(found: Joint) -> list[tuple[int, ...]]:
    """The distinct rows, in order."""
    width = len(found.columns)
    return list(zip(*(found.column(at).tolist() for at in range(width)), strict=True))


# --- Ratio and Moments -----------------------------------------------------------------------------------------------


@given(ratios, ratios, ratios)
def test_ratios_add_up(a: Ratio, b: Ratio, c: Ratio) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Ratio() == a
    assert pickle.loads(pickle.dumps(a)) == a


def test_a_ratio_of_nothing_is_undefined() -> None:
    assert Ratio(0, 0).value is None
    assert Ratio(0, 5).value == 0.0
    assert Ratio(3, 4).value == 0.75


@given(st.lists(int64s, max_size=40))
def test_moments_are_exact_for_integers_of_any_size(x: list[int]) -> None:
    assert Moments.of(array(x)) == Moments(len(x), sum(x), sum(value * value for value in x))


@given(st.lists(int64s, max_size=40), cuts)
def test_moments_of_parts_are_those_of_the_whole(x: list[int], at: list[int]) -> None:
    parts = [Moments.of(array(piece)) for piece in pieces(x, at)]
    assert sum(parts, Moments()) == Moments.of(array(x))
    assert sum(reversed(parts), Moments()) == Moments.of(array(x))


@given(st.lists(int64s, min_size=1, max_size=20))
def test_squared_deviations_are_right_to_the_last_bit(x: list[int]) -> None:
    mean = Fraction(sum(x), len(x))
    exact = sum((value - mean) ** 2 for value in x)
    assert Moments.of(array(x)).sum_of_squared_deviations == float(exact)


def test_moments_of_many_large_values_do_not_overflow() -> None:
    # Four million values just below 2**62: floats and 64-bit sums would both be wrong here, even limb by limb.
    n, value = 2**22 + 3, 2**62 - 1
    found = Moments.of(np.full(n, value, np.int64))
    assert (found.n, found.total, found.squares) == (n, n * value, n * value * value)
    assert found.sum_of_squared_deviations == 0.0


def test_the_deviation_of_no_values_is_zero() -> None:
    assert Moments().sum_of_squared_deviations == 0.0


# --- Distribution ----------------------------------------------------------------------------------------------------


@given(st.lists(floats, max_size=40), cuts)
def test_a_distribution_of_parts_is_that_of_the_whole_bit_for_bit(x: list[float], at: list[int]) -> None:
    whole = Distribution.of(x)
    parts = [Distribution.of(piece) for piece in pieces(x, at)]
    for found in (sum(parts, Distribution()), sum(reversed(parts), Distribution()), Distribution.merge(parts)):
        assert found == whole
        assert found.values.tobytes() == whole.values.tobytes()
        assert found.counts.tobytes() == whole.counts.tobytes()
    assert whole.n == len(x)
    assert np.repeat(whole.values, whole.counts).tolist() == sorted(x)


@given(st.lists(floats, max_size=20), st.lists(floats, max_size=20), st.lists(floats, max_size=20))
def test_distributions_add_up(x: list[float], y: list[float], z: list[float]) -> None:
    a, b, c = (Distribution.of(side) for side in (x, y, z))
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Distribution() == a == Distribution() + a
    assert pickle.loads(pickle.dumps(a)) == a


@given(st.lists(floats, max_size=40))
def test_a_distribution_is_ascending_without_repeats(x: list[float]) -> None:
    found = Distribution.of(x)
    assert (np.diff(found.values) > 0).all()
    assert (found.counts > 0).all()


@given(st.lists(st.tuples(floats, st.integers(0, 1000)), max_size=30))
def test_counts_are_numbers_of_repetitions(pairs: list[tuple[float, int]]) -> None:
    expanded = [value for value, times in pairs for _ in range(times)]
    assert Distribution.of([v for v, _ in pairs], [c for _, c in pairs]) == Distribution.of(expanded)


def test_minus_zero_is_zero() -> None:
    for found in (Distribution.of([-0.0, 0.0, -0.0]), Distribution.of([-0.0, 0.0], [1, 2])):
        assert found.values.tolist() == [0.0]
        assert not np.signbit(found.values).any()
        assert found.counts.tolist() == [3]


@pytest.mark.parametrize("counts", [None, [1, 1]])
def test_nan_is_refused(counts: list[int] | None) -> None:
    with pytest.raises(UsageError, match="values must not be NaN"):
        Distribution.of([1.0, float("nan")], counts)


def test_mapping_a_distribution_maps_its_values() -> None:
    # −2, −1, 1, 1 become 2, 1, 1, 1.
    found = Distribution.of([-2, -1, 1, 1]).map(np.abs)
    assert (found.values.tolist(), found.counts.tolist()) == ([1.0, 2.0], [3, 1])


def test_a_distribution_equals_only_the_same_distribution() -> None:
    assert Distribution() != Ratio()
    assert Distribution.of([1]) != Distribution.of([1, 1])


# --- Joint -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [rows_of_narrow, rows_of_wide], ids=["packed", "too wide to pack"])
@pytest.mark.slow
def test_a_joint_of_parts_is_that_of_the_whole(rows: st.SearchStrategy[list[tuple[int, int, int]]]) -> None:
    @given(rows, cuts)
    def law(x: list[tuple[int, int, int]], at: list[int]) -> None:
        whole = joint(list(x))
        parts = [joint(piece) for piece in pieces(x, at)]
        for found in (sum(parts, Joint()), sum(reversed(parts), Joint()), Joint.merge(parts)):
            assert found == whole
        counted = {row: x.count(row) for row in sorted(set(x))}
        assert rows_of(whole) == list(counted)
        assert whole.counts.tolist() == list(counted.values())
        assert whole.n == len(x)
        assert pickle.loads(pickle.dumps(whole)) == whole

    law()


@given(rows_of_wide, rows_of_narrow, rows_of_wide)
def test_joints_add_up(
    x: list[tuple[int, int, int]], y: list[tuple[int, int, int]], z: list[tuple[int, int, int]]
) -> None:
    a, b, c = joint(list(x)), joint(list(y)), joint(list(z))
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Joint() == a == Joint() + a


def test_ranges_that_just_fit_and_just_do_not_fit_into_63_bits() -> None:
    for top in (2**31 - 1, 2**31, 2**32, 2**62):
        rows = [(0, 0), (top, 0), (0, top), (top, top), (0, top)]
        found = joint([*rows])
        assert rows_of(found) == [(0, 0), (0, top), (top, 0), (top, top)]
        assert found.counts.tolist() == [1, 2, 1, 1]


def test_the_smallest_and_largest_64_bit_integers_are_counted() -> None:
    low, high = -(2**63), 2**63 - 1
    found = joint([(high, 1), (low, 2), (high, 1)])
    assert rows_of(found) == [(low, 2), (high, 1)]
    assert found.counts.tolist() == [1, 2]


def test_columns_and_rows_of_a_joint_can_be_selected() -> None:
    found = joint([(3, 1), (2, 5), (3, 1)])
    assert found.column(0).tolist() == [2, 3]
    assert found.where(found.column(1) == 1).n == 2
    assert Joint().column(7).tolist() == []
    assert Joint().where(np.empty(0, np.bool_)) == Joint()


@pytest.mark.slow
def test_many_large_parts_are_merged_in_steps() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 3_000_000, 200_000) for _ in range(9)]
    whole = np.concatenate(columns)
    assert Joint.merge(Joint.of(column, -column) for column in columns) == Joint.of(whole, -whole)
    assert Distribution.merge(map(Distribution.of, columns)) == Distribution.of(whole)


# --- InOrder ---------------------------------------------------------------------------------------------------------


@given(st.lists(floats, max_size=30), cuts)
def test_values_in_order_stay_in_order(x: list[float], at: list[int]) -> None:
    parts = [InOrder(np.array(piece, np.float64)) for piece in pieces(x, at)]
    assert sum(parts, InOrder()).values.tolist() == x


def test_values_in_order_do_not_commute() -> None:
    a, b = InOrder(np.array([1.0])), InOrder(np.array([2.0]))
    assert (a + b).values.tolist() == [1.0, 2.0]
    assert (b + a).values.tolist() == [2.0, 1.0]
    assert pickle.loads(pickle.dumps(a)).values.tolist() == [1.0]
