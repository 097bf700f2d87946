"""Tallies as few large arrays, for the way between processes: an episode has dozens of small ones, and pickling each by
itself takes most of the time and half of the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import Episode
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, State

Packed = tuple[list[tuple[Episode, list[tuple[str, Any]]]], dict[str, bytearray]]
"""The states of each episode without their arrays, and all arrays of each type one after the other, in that order."""


def pack_states(states: Mapping[Episode, Mapping[str, State]]) -> Packed:
    """The states of episodes, in their order."""
    arrays: dict[str, list[NDArray[Any]]] = {}
    shapes: dict[Any, Any] = {}

    def put(*columns: NDArray[Any]) -> Any:
        """The types of arrays of one length, and that length; equal ones are one object, which is pickled once."""
        kinds = []
        for column in columns:
            kinds.append(column.dtype.str)
            arrays.setdefault(kinds[-1], []).append(column)
        shape = (tuple(kinds), len(columns[0]))
        return shapes.setdefault(shape, shape)

    episodes = [
        (episode, [(name, _packed_state(state, put)) for name, state in by_name.items()])
        for episode, by_name in states.items()
    ]
    return episodes, {kind: bytearray(np.concatenate(found).data) for kind, found in arrays.items()}


def _packed_state(state: State, put: Callable[..., Any]) -> Any:
    match state:
        case Ratio():
            return (state.hits, state.total)
        case Joint():
            return ("joint", put(*state.columns, state.occurrences))
        case Moments():
            return (state.n, state.total, state.squares)
        case Distribution():
            return ("distribution", put(state.values, state.counts))
        case InOrder():
            return ("in order", put(state.values))


def unpack_states(packed: Packed) -> dict[Episode, dict[str, State]]:
    """What `pack_states` was given. Arrays are views of the large ones."""
    episodes, buffers = packed
    whole = {kind: np.frombuffer(buffer, np.dtype(kind)) for kind, buffer in buffers.items()}
    taken = dict.fromkeys(whole, 0)

    def take(shape: tuple[Sequence[str], int]) -> list[NDArray[Any]]:
        kinds, size = shape
        found = []
        for kind in kinds:
            start = taken[kind]
            taken[kind] = stop = start + size
            found.append(whole[kind][start:stop])
        return found

    return {episode: {name: _state(kept, take) for name, kept in by_name} for episode, by_name in episodes}


def _state(kept: Any, take: Callable[[Any], list[NDArray[Any]]]) -> State:
    first = kept[0]
    if first == "joint":
        *columns, occurrences = take(kept[1])
        return Joint(tuple(columns), occurrences)
    if first == "distribution":
        return Distribution(*take(kept[1]))
    if first == "in order":
        return InOrder(*take(kept[1]))
    return Ratio(*kept) if len(kept) == 2 else Moments(*kept)
