"""pass@k and pass^k: shares of k-subsets, by hand and by enumeration."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.chat.scoring.answers import Answer, Record, Status
from assay.chat.scoring.scores import Scores
from assay.errors import UsageError
from assay.stats import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k


def test_by_hand() -> None:
    # 2 passes in 4 trials: of the 6 pairs 1 is all passes and 1 is all failures.
    assert pass_hat_k(2, 4, 2) == pytest.approx(1 / 6)
    assert pass_at_k(2, 4, 2) == pytest.approx(5 / 6)


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_equals_the_share_of_all_subsets(drawn: tuple[int, int, int]) -> None:
    passes, trials, k = drawn
    outcomes = [True] * passes + [False] * (trials - passes)
    subsets = list(itertools.combinations(outcomes, k))
    assert pass_hat_k(passes, trials, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))
    assert pass_at_k(passes, trials, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_fewer_trials_than_k_is_undefined() -> None:
    assert pass_hat_k(1, 1, 2) is None
    assert pass_at_k(1, 1, 2) is None


def test_means_skip_what_is_undefined_and_say_so() -> None:
    estimate = mean_pass_hat_k([(2, 2), (0, 2), (1, 1)], 2)
    assert (estimate.value, estimate.n, estimate.n_skipped, estimate.unit) == (0.5, 2, 1, "scenario")
    assert mean_pass_at_k([(1, 1)], 2).value is None


def turns(repetition: int, *ends: Status) -> list[Answer]:
    return [
        Answer(
            agent="x",
            scenario="s",
            repetition=repetition,
            turn=at,
            query="",
            response="",
            entries={},
            passed=end == "scored",
            record=Record(status=end),
        )
        for at, end in enumerate(ends)
    ]


def test_a_trial_skipped_from_its_first_turn_does_not_count_however_many_turns_it_has() -> None:
    skipped = turns(0, "skipped", "skipped", "skipped")
    assert Scores(tuple(skipped), ()).trials("x") == {}
    assert Scores(tuple(skipped), ()).passes("x")["pass^k"][1].value is None
    # Nor is the order of its turns of any matter.
    some = Scores((*reversed(skipped), *turns(1, "scored", "scored"), *turns(2, "scored", "failed", "skipped")), ())
    assert some.trials("x") == {"s": {1: True, 2: False}}
    assert some.passes("x")["pass^k"][1].value == 0.5
    assert some.trials("y") == {}


def test_impossible_counts_are_refused() -> None:
    for passes, trials, k in ((3, 2, 1), (-1, 2, 1), (1, 2, 0)):
        with pytest.raises(UsageError):
            pass_hat_k(passes, trials, k)
