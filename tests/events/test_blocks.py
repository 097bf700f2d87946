"""Blocks of states: a tally of many episodes keeps them as few arrays, and nothing about a state changes by that."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from assay.events.blocks import BlockMaker, merged_state
from assay.events.stream import Episode
from assay.events.tally import Tally
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, State

MANY = 500
KINDS = ("rows", "none", "ratio", "large", "sums", "values", "ordered")


def states_of(number: int) -> dict[str, State]:
    """States of every type; some episodes lack one, and integers have types of different sizes."""
    rng = np.random.default_rng(number)
    rows = rng.integers(-3, 10 ** (number % 11), (2, number % 5))
    found: dict[str, State] = {
        "rows": Joint.of(*rows),
        "none": Joint((np.empty(0, np.int16),), np.empty(0, np.int8)),
        "ratio": Ratio(number, 2 * number),
        "large": Ratio(2**70 + number, 2**80),
        "sums": Moments(1, number, 2**90 + number),
        "values": Distribution.of([number / 7]),
        "ordered": InOrder(np.array([float(number)])),
    }
    if number % 3 == 0:
        del found["rows"]
    return found


def episode(number: int) -> Episode:
    return Episode(f"{number * 7919 % MANY:04d}", f"s{number % 3}", first_frame_ns=number % 2 or None)


def same(one: State, other: State) -> bool:
    if isinstance(one, Joint) and isinstance(other, Joint):
        arrays = [(*state.columns, state.occurrences) for state in (one, other)]
        return one == other and [a.dtype for a in arrays[0]] == [a.dtype for a in arrays[1]]
    if isinstance(one, InOrder) and isinstance(other, InOrder):
        return np.array_equal(one.values, other.values)
    return type(one) is type(other) and one == other


@pytest.fixture(scope="module")
def many() -> Tally:
    tally = Tally()
    for number in range(MANY):
        tally.add(episode(number), states_of(number))
    assert len(tally._piles) < MANY / 2  # most are in blocks
    return tally


def test_every_state_comes_back_as_it_was(many: Tally) -> None:
    found = many.states()
    assert many.arrived == [episode(number) for number in range(MANY)]
    for number in range(MANY):
        own, back = states_of(number), found[episode(number)]
        assert list(back) == sorted(own)
        assert all(same(back[name], state) for name, state in own.items())


def test_parts_rows_and_totals_are_those_of_single_states(many: Tally) -> None:
    own = {episode(number): states_of(number) for number in range(MANY)}
    ordered = sorted(own, key=lambda one: (one.stratum, one.name))
    assert many.episodes == ordered
    for name in ("rows", "none"):
        expected = [own[one].get(name, Joint()) for one in ordered]
        parts = many.parts(name, Joint)
        assert all(map(same, parts, expected))
        assert all(same(many.part(at, name, Joint), expected[at]) for at in range(0, MANY, 17))
        rows, sizes = many.rows(name)
        assert sizes.tolist() == list(map(len, parts))
        assert rows.counts.tolist() == [n for part in parts for n in part.counts.tolist()]
        for at, column in enumerate(rows.columns):
            assert column.tolist() == [value for part in parts for value in part.column(at).tolist()]
    for name in ("rows", "ratio", "large", "sums", "values"):
        expected_total = merged_state([states[name] for states in own.values() if name in states])
        assert same(many.total(name, type(expected_total)), expected_total)  # type: ignore[type-var]
    # In the order of arrival, which is not that of the names.
    assert many.total("ordered", InOrder).values.tolist() == list(range(MANY))
    assert all(many.has(name) for name in KINDS)
    assert not many.has("nothing")
    assert many.rows("nothing")[1].tolist() == [0] * MANY


def test_an_episode_may_continue_after_many_others(many: Tally) -> None:
    twice = Tally()
    for number in (*range(MANY), *range(0, MANY, 5)):
        twice.add(episode(number), states_of(number))
    assert twice.arrived == many.arrived
    found = twice.states()
    for number in range(MANY):
        own = states_of(number)
        for name, state in own.items():
            expected = merged_state([state, state]) if number % 5 == 0 else state
            assert same(found[episode(number)][name], expected)


def test_tallies_with_blocks_are_added_merged_and_pickled(many: Tally) -> None:
    expected = many.states()
    for back in (pickle.loads(pickle.dumps(many)), many.merged(), Tally() + many):
        assert back.arrived == many.arrived
        found = back.states()
        assert all(same(found[one][name], state) for one, own in expected.items() for name, state in own.items())
    both = many + many
    assert both.total("ratio", Ratio) == many.total("ratio", Ratio) + many.total("ratio", Ratio)
    assert both.episodes == many.episodes


def test_a_merged_tally_is_another_one(many: Tally) -> None:
    merged = many.merged()
    merged.add(episode(0), {"ratio": Ratio(1, 1)})
    at = many.episodes.index(episode(0))
    assert merged.part(at, "ratio", Ratio) == Ratio(1, 1)
    assert many.part(at, "ratio", Ratio) == Ratio()


def test_cases_have_no_other_properties_of_the_episode(many: Tally) -> None:
    cases = many.by_case()
    assert len(cases) == MANY
    for number in (0, 1, MANY - 1):
        own = states_of(number)
        case = next(one for one in cases if one.name == episode(number).name)
        assert list(cases[case]) == sorted(own)
        assert all(same(cases[case][name], state) for name, state in own.items())


def test_a_state_of_another_type_is_refused() -> None:
    tally = Tally()
    for number in range(MANY):
        tally.add(episode(number), {"x": Ratio(1, 2)})
    with pytest.raises(TypeError, match="Joint"):
        tally.parts("x", Joint)
    with pytest.raises(TypeError, match="Joint"):
        tally.rows("x")
    with pytest.raises(TypeError, match="Joint"):
        tally.part(0, "x", Joint)


def test_states_that_two_protocols_share_are_kept_once() -> None:
    tallies = Tally.together(("first", "second"))
    for number in range(MANY):
        parts = [Joint.of(np.array([number, at])) for at in range(1 + (number % 50 == 0))]  # some come in two parts
        for part in parts:
            for at, tally in enumerate(tallies.values()):
                tally.add(Episode(str(number)), {"moves": part, "own": Ratio(at, 1)})
    first, second = (tally._blocks for tally in tallies.values())
    assert len(first) == len(second) > 2
    for one, other in zip(first, second, strict=True):
        assert one.columns["moves"] is other.columns["moves"]
        assert one.columns["own"] is not other.columns["own"]
    assert tallies["first"].total("moves", Joint) == tallies["second"].total("moves", Joint)


def test_states_with_different_numbers_of_columns_stay_as_they_are() -> None:
    states = [Joint.of(np.array([1, 2])), Joint.of(np.array([1]), np.array([2]))]
    block = BlockMaker().block({Episode(str(at)): {"x": state} for at, state in enumerate(states)})
    assert [state for _, by_name in block.states() for state in by_name.values()] == states
    assert block.joined("x") is None
