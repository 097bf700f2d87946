"""Tallies: states per episode that can be added, whatever the size and number of the parts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from assay.events.stream import Episode
from assay.events.tally import Tally
from assay.types import Distribution, InOrder, Joint, Moments, Ratio

A, B = Episode("a", "s"), Episode("b", "r")


def test_states_are_kept_by_episode() -> None:
    tally = Tally()
    tally.add(A, {"hits": Ratio(1, 2)})
    tally.add(B, {"hits": Ratio(3, 4), "more": Ratio(1, 1)})
    tally.add(A, {"hits": Ratio(1, 1)})
    assert tally.total("hits", Ratio) == Ratio(5, 7)
    assert tally.episodes == [B, A]  # by stratum, then by name
    assert tally.parts("hits", Ratio) == [Ratio(3, 4), Ratio(2, 3)]
    assert tally.parts("more", Ratio) == [Ratio(1, 1), Ratio()]


def test_unknown_states_are_empty() -> None:
    assert Tally().total("nothing", Joint) == Joint()
    assert Tally().parts("nothing", Ratio) == []
    assert Tally().episodes == []


def test_many_large_parts_are_added() -> None:
    # More than are kept apart: parts are merged along the way, and nothing is lost.
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 10**6, 30_000) for _ in range(8)]
    tally = Tally()
    for part in parts:
        tally.add(A, {"d": Distribution.of(part), "j": Joint.of(part, part % 7), "m": Moments.of(part)})
    whole = np.concatenate(parts)
    assert tally.total("d", Distribution) == Distribution.of(whole)
    assert tally.total("j", Joint) == Joint.of(whole, whole % 7)
    assert tally.total("m", Moments) == Moments.of(whole)


def test_adding_tallies_does_not_change_them() -> None:
    first, second = Tally(), Tally()
    first.add(A, {"hits": Ratio(1, 2)})
    second.add(A, {"hits": Ratio(1, 2)})
    both = first + second
    assert both.total("hits", Ratio) == Ratio(2, 4)
    assert first.total("hits", Ratio) == second.total("hits", Ratio) == Ratio(1, 2)
    both.add(A, {"hits": Ratio(5, 5)})
    assert first.total("hits", Ratio) == Ratio(1, 2)


def test_values_in_order_keep_the_order_of_arrival() -> None:
    tally = Tally()
    for value in (3.0, 1.0, 2.0):
        tally.add(A, {"x": InOrder(np.array([value]))})
    assert tally.total("x", InOrder).values.tolist() == [3.0, 1.0, 2.0]


def test_tallies_are_equal_if_their_contents_are() -> None:
    first, second = Tally(), Tally()
    first.add(A, {"hits": Ratio(1, 2)})
    first.add(A, {"hits": Ratio(1, 2)})
    second.add(A, {"hits": Ratio(2, 4)})
    assert first == second
    second.add(B, {"hits": Ratio()})
    assert first != second
    assert first != "a tally"


@pytest.mark.slow
def test_counts_of_many_parts_are_kept_as_one() -> None:
    """A training loop adds a part for each row: what has been counted may not be gone through again for each."""
    tally = Tally()
    for _ in range(20_000):
        tally.add(Episode(), {"hits": Ratio(1, 2), "rows": Joint.of(np.arange(3))})
    assert tally.total("hits", Ratio) == Ratio(20_000, 40_000)
    assert tally.total("rows", Joint).counts.tolist() == [20_000] * 3
    assert len(tally._piles[Episode()]["hits"]) == 1
    assert (tally + tally).total("hits", Ratio) == Ratio(40_000, 80_000)


def test_states_that_were_merged_for_a_figure_can_still_be_added_to() -> None:
    tally, episode = Tally(), Episode("a")
    for value in (3, 1, 3):
        tally.add(episode, {"rows": Joint.of(np.array([value]))})
    merged = Joint.of(np.array([1, 3, 3]))
    assert tally.parts("rows", Joint) == [merged]
    assert tally.parts("rows", Joint)[0] is tally.parts("rows", Joint)[0]
    tally.add(episode, {"rows": Joint.of(np.array([7]))})
    assert tally.parts("rows", Joint) == [merged + Joint.of(np.array([7]))]


def test_a_pickled_tally_is_the_same_with_its_order_and_types() -> None:
    tally = Tally()
    for name in ("b", "a"):
        joint = Joint.of(np.array([3, 1, 3]), np.array([70_000, -2, 70_000]))
        tally.add(Episode(name), {"joint": joint, "none": Joint(), "ratio": Ratio(1, 2), "sums": Moments(1, 2**80, 3)})
        tally.add(
            Episode(name), {"values": Distribution.of([0.5, 2.5, 2.5]), "in order": InOrder(np.array([2.0, 1.0]))}
        )
    back = pickle.loads(pickle.dumps(tally))
    assert back.arrived == tally.arrived
    for episode, states in tally.states().items():
        for name, state in states.items():
            found = back.states()[episode][name]
            assert type(found) is type(state)
            if isinstance(state, InOrder):
                assert isinstance(found, InOrder)
                assert found.values.tolist() == state.values.tolist()
            else:
                assert found == state
            if isinstance(state, Joint):
                assert isinstance(found, Joint)
                assert [column.dtype for column in found.columns] == [column.dtype for column in state.columns]
