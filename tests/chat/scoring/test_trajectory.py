"""Expected against actual tool calls."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.chat import ToolCall, Trajectory
from assay.chat.scoring.trajectory import assign, repeated


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


A, B, C = call("a", x=1), call("b", city="Oslo"), call("c")


def test_the_same_calls_are_exact() -> None:
    t = Trajectory.match([A, B], [A, B])
    assert (t.exact, t.in_order, t.any_order, t.f1) == (True, True, True, 1.0)
    assert t.why == "The calls are exactly those expected."


def test_a_call_between_is_in_order_but_not_exact() -> None:
    t = Trajectory.match([A, B], [A, C, B])
    assert (t.exact, t.in_order, t.any_order) == (False, True, True)
    assert t.precision == pytest.approx(2 / 3)
    assert t.recall == 1.0
    assert t.f1 == pytest.approx(0.8)
    assert t.why == "c was called but not expected."


def test_another_order_is_any_order() -> None:
    t = Trajectory.match([A, B], [B, A])
    assert (t.exact, t.in_order, t.any_order, t.f1) == (False, False, True, 1.0)
    assert t.out_of_order == (0,)
    assert t.why == "call 1 came too early."


def test_a_missing_call_does_not_match_in_any_order() -> None:
    t = Trajectory.match([A, B], [A])
    assert (t.exact, t.in_order, t.any_order) == (False, False, False)
    assert t.missing == ("b",)
    assert t.why == "b was not called."


def test_a_wrong_argument_counts_in_part_and_is_named() -> None:
    t = Trajectory.match([call("a", x=1, y=2)], [call("a", x=1, y=3)])
    # The name and one of two arguments are right: 0.5 + 0.5 · 1/2.
    assert t.f1 == pytest.approx(0.75)
    assert not t.any_order
    assert t.why == "a got y=3, expected 2."


def test_a_missing_argument_is_named() -> None:
    assert Trajectory.match([A], [call("a")]).why == "a lacks the argument x (expected 1)."


def test_extra_arguments_may_be_refused() -> None:
    extra = [call("a", x=1, z=5)]
    assert Trajectory.match([A], extra).exact
    assert Trajectory.match([A], extra, extra_arguments=False).why == "a has the unexpected argument z=5."


def test_tolerances_are_by_argument() -> None:
    want, got = [call("at", lat=60.17, lon=24.94)], [call("at", lat=60.2, lon=24.94)]
    assert not Trajectory.match(want, got).exact
    assert Trajectory.match(want, got, tolerances={"lat": 0.05}).exact


def test_texts_ignore_case_and_blanks_and_true_is_not_one() -> None:
    assert Trajectory.match([call("b", city="New  York")], [call("b", city="new york ")]).exact
    assert not Trajectory.match([A], [call("a", x=True)]).exact


def test_nothing_expected_and_nothing_called_is_exact() -> None:
    t = Trajectory.match([], [])
    assert (t.exact, t.f1, t.precision, t.recall) == (True, 1.0, None, None)
    assert Trajectory.match([], [A]).f1 == 0.0


def test_a_retry_after_a_failure_is_not_a_repetition() -> None:
    failed = ToolCall(name="a", arguments={"x": 1}, error="timeout")
    assert repeated([failed, A]) == []
    assert repeated([A, B, A]) == [2]


credits = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0.0, 0.5, 0.75, 1.0]), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
)


@given(credits)
def test_the_assignment_is_the_best_of_all(credit: list[list[float]]) -> None:
    pairs = assign(credit)
    total = sum(credit[row][column] for row, column in pairs)
    rows, columns = len(credit), len(credit[0])
    short, long, flip = (rows, columns, False) if rows <= columns else (columns, rows, True)
    best = max(
        sum(credit[c][r] if flip else credit[r][c] for r, c in enumerate(chosen))
        for chosen in itertools.permutations(range(long), short)
    )
    assert total == pytest.approx(best)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
