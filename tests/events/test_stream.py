"""Events as columns: what goes in comes out, and what is not an event keeps its place with the reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import events
from assay.errors import SourceError, UsageError
from assay.events.stream import CATEGORIES, Episode, EventStream, Kind, Problem, concatenate

KEY = {"kind": "keyboard", "ts": 5, "vk": 65, "press": True}
MOUSE = {"kind": "mouse", "ts": 7, "dx": -3, "dy": 4, "flags": 1, "data": 120}
SCREEN = {"kind": "screen", "ts": 2**62}

Event = dict[str, Any]

int32s = st.integers(-(2**31), 2**31 - 1)
times = st.integers(0, 2**63 - 1)
flags = st.integers(0, 0xFFF)
good_events = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("keyboard"), "ts": times, "vk": st.integers(0, 255), "press": st.booleans()}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("mouse"), "ts": times, "dx": int32s, "dy": int32s, "flags": flags, "data": int32s}
    ),
    st.fixed_dictionaries({"kind": st.just("screen"), "ts": times}),
)


@given(st.lists(st.one_of(good_events, st.none()), max_size=20))
def test_events_are_restored_from_columns(rows: list[Event | None]) -> None:
    stream = EventStream.from_events(rows)
    assert stream.to_events() == rows
    assert len(stream) == len(rows)
    assert stream.valid.tolist() == [row is not None for row in rows]


@given(
    st.dictionaries(
        st.sampled_from(["kind", "ts", "vk", "press", "dx", "data"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=9),
            st.sampled_from(["keyboard", "mouse"]),
        ),
    )
)
def test_any_row_becomes_a_valid_or_invalid_event(row: Event) -> None:
    stream = EventStream.from_events([KEY, row, SCREEN])
    assert len(stream) == 3
    assert stream.valid[[0, 2]].all()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (None, Problem.BAD_ROW),
        ({}, Problem.UNKNOWN_TYPE),
        (KEY | {"kind": "pedal"}, Problem.UNKNOWN_TYPE),
        (KEY | {"ts": -1}, Problem.BAD_TIME),
        (KEY | {"ts": 1.5}, Problem.BAD_TIME),
        (KEY | {"ts": float("nan")}, Problem.BAD_TIME),
        (KEY | {"ts": None}, Problem.BAD_TIME),
        (KEY | {"ts": True}, Problem.BAD_TIME),
        (KEY | {"ts": 2**63}, Problem.BAD_TIME),
        (KEY | {"vk": 256}, Problem.OUT_OF_RANGE),
        (KEY | {"vk": -1}, Problem.OUT_OF_RANGE),
        (KEY | {"vk": "A"}, Problem.BAD_ROW),
        (KEY | {"press": 1}, Problem.BAD_ROW),
        (MOUSE | {"dx": 2**31}, Problem.OUT_OF_RANGE),
        (MOUSE | {"dy": 0.5}, Problem.BAD_ROW),
        (MOUSE | {"flags": None}, Problem.BAD_ROW),
        (MOUSE | {"dx": None}, Problem.BAD_ROW),
        (MOUSE | {"flags": 0x1000}, Problem.OUT_OF_RANGE),
        (MOUSE | {"flags": -1}, Problem.OUT_OF_RANGE),
    ],
)
def test_an_invalid_row_has_a_reason(row: Event | None, problem: Problem) -> None:
    stream = EventStream.from_events([row])
    assert stream.problem.tolist() == [problem]
    assert stream.to_events() == [None]
    assert stream.problems() == {problem: 1}


def test_missing_mouse_fields_are_zero() -> None:
    assert EventStream.from_events([{"kind": "mouse", "ts": 1}]).to_events() == [
        {"kind": "mouse", "ts": 1, "dx": 0, "dy": 0, "flags": 0, "data": 0}
    ]


def test_every_event_has_a_category() -> None:
    stream = EventStream.from_events([KEY, MOUSE, MOUSE | {"flags": 0}, SCREEN])
    assert [CATEGORIES[at] for at in stream.category] == ["keyboard", "mouse_op", "mouse_nop", "screen"]
    assert [Kind(kind).topic for kind in stream.kind] == ["keyboard", "mouse/raw", "mouse/raw", "screen"]


def test_slices_share_memory_and_masks_select() -> None:
    stream = EventStream.from_events([KEY, MOUSE, SCREEN])
    assert np.shares_memory(stream[1:].dx, stream.dx)
    assert stream[stream.kind == Kind.MOUSE].to_events() == [MOUSE]


def test_segments_are_runs_of_one_episode() -> None:
    a, b = (EventStream.from_events([KEY] * n).of_episode(Episode(name)) for name, n in (("a", 2), ("b", 3)))
    mixed = concatenate([a, b, a])
    assert [(episode.name, part.start, part.stop) for episode, part in mixed.segments()] == [
        ("a", 0, 2),
        ("b", 2, 5),
        ("a", 5, 7),
    ]
    assert [episode.name for episode in mixed.episodes] == ["a", "b"]
    assert list(EventStream.allocate(0).segments()) == []


def test_padding_adds_missing_events() -> None:
    stream = EventStream.from_events([KEY]).padded(3)
    assert stream.problem.tolist() == [Problem.NONE, Problem.MISSING, Problem.MISSING]
    assert EventStream.from_events([KEY, KEY]).padded(1).to_events() == [KEY, KEY]
    assert EventStream.allocate(0).padded(2).problem.tolist() == [Problem.MISSING] * 2


@given(st.lists(st.lists(good_events, max_size=5), max_size=5))
@pytest.mark.slow
def test_concatenated_streams_have_the_events_of_their_parts(parts: list[list[Event]]) -> None:
    whole = concatenate([EventStream.from_events(part) for part in parts])
    assert whole.to_events() == [event for part in parts for event in part]


def test_notes_add_up() -> None:
    parts = [EventStream.from_events([KEY], notes=Counter({"odd": n})) for n in (1, 2)]
    assert concatenate(parts).notes == {"odd": 3}


def test_streams_of_different_encodings_cannot_be_concatenated() -> None:
    stream = EventStream.from_events([KEY])
    with pytest.raises(SourceError, match="different encodings"):
        concatenate([stream, events.codec("hierarchical").quantise(stream)])


def test_columns_of_different_lengths_are_refused() -> None:
    from dataclasses import replace

    broken = replace(EventStream.from_events([KEY, KEY]), dx=np.zeros(1, np.int32))
    with pytest.raises(UsageError, match="differ in length"):
        events.evaluate(broken, EventStream.from_events([KEY, KEY]))
