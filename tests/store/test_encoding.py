"""States survive their encoding, and bytes from strangers do no harm."""

from __future__ import annotations

import contextlib
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.errors import StoreError
from assay.store.encoding import Decoder, decode_states, encode_states
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, State

whole = st.integers(-(2**200), 2**200)
reals = st.floats(allow_nan=False)
columns = st.integers(0, 30).flatmap(
    lambda n: st.lists(hnp.arrays(np.int64, n, elements=st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=4)
)
states: st.SearchStrategy[State] = st.one_of(
    st.builds(Ratio, whole, whole),
    st.builds(Moments, whole, whole, whole),
    st.builds(Distribution.of, st.lists(reals, max_size=40)),
    st.builds(lambda parts: Joint.of(*parts), columns),
    st.builds(lambda values: InOrder(np.array(values, np.float64)), st.lists(st.floats(), max_size=40)),
)


def same(one: State, other: State) -> bool:
    if isinstance(one, InOrder) and isinstance(other, InOrder):
        return one.values.tobytes() == other.values.tobytes()
    return one == other


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=20), states, max_size=6))
@pytest.mark.slow
def test_states_come_back_as_they_were(given_states: dict[str, State]) -> None:
    back = decode_states(encode_states(given_states))
    assert list(back) == list(given_states)
    for name, state in given_states.items():
        assert type(back[name]) is type(state)
        assert same(back[name], state)


def test_merging_what_came_back_gives_what_merging_gave() -> None:
    one, two = Distribution.of([1, 2, 2]), Distribution.of([2, 5])
    back = [decode_states(encode_states({"x": part}))["x"] for part in (one, two)]
    assert isinstance(back[0], Distribution)
    assert isinstance(back[1], Distribution)
    assert back[0] + back[1] == one + two


def test_many_repeated_values_take_little_room() -> None:
    rows = np.random.default_rng(1).integers(0, 5, 100_000)
    assert len(encode_states({"errors": Joint.of(rows, rows)})) < 100


@given(st.binary(max_size=300))
def test_bytes_from_a_stranger_are_refused_in_words(raw: bytes) -> None:
    for blob in (raw, b"A\x01\x00" + raw, b"A\x01\x01" + zlib.compress(raw)):
        try:
            decode_states(blob)
        except StoreError:
            continue


@given(st.data())
def test_a_damaged_tally_is_refused_or_still_a_tally(data: st.DataObject) -> None:
    blob = bytearray(encode_states({"a": Distribution.of([1, 2, 3]), "b": Joint.of(np.arange(5)), "c": Ratio(1, 2)}))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(StoreError):
        decode_states(bytes(blob[: data.draw(st.integers(0, len(blob)))]))


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"A",
        b"\x80\x04\x95",  # how a pickle starts
        b"A\x07\x00",
        b"A\x01\x09",
        b"A\x01\x00\xff\xff\xff\xff",
        b"A\x01\x00" + b"\xff" * 12,
        b"A\x01\x00\x04\x01aQ\x00",
        b"A\x01\x00\x04\x01aD\x7f",
        encode_states({"a": Ratio(1, 2)}) + b"more",
        encode_states({"a": Ratio(1, 2)})[:-1],
    ],
)
def test_bytes_that_are_not_a_tally_are_an_error(blob: bytes) -> None:
    with pytest.raises(StoreError):
        decode_states(blob)


def test_a_small_blob_cannot_unpack_to_a_huge_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.store.encoding._LARGEST", 1000)
    with pytest.raises(StoreError, match="too large"):
        decode_states(b"A\x01\x01" + zlib.compress(bytes(1_000_000)))


def test_equal_small_states_are_shared_and_cannot_be_written_to() -> None:
    decoder = Decoder()
    one, two = (decoder.decode(encode_states({"x": Distribution.of([0.5])}))["x"] for _ in range(2))
    assert one is two
    assert isinstance(one, Distribution)
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 1
