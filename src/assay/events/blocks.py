"""The states of some episodes as few arrays: an episode has dozens of small ones, and as objects they take three times
their size.

A block is what a tally keeps of episodes that are complete. It gives every state back as it was, types included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import is_
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import Episode
from assay.types import Distribution, Joint, Moments, Ratio, State

_Types = tuple[np.dtype[Any], ...]
_INT64 = range(-(2**63), 2**63)
# Piles that were merged for one tally and may be those of the next.
_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class JointColumn:
    """The rows of one joint distribution after the other."""

    rows: Joint
    """All rows, each column in integers that hold those of every state."""
    types: Sequence[_Types]
    """The types of the columns and of the occurrences of each state."""
    sizes: NDArray[np.int32]
    """How many rows each state has."""

    def states(self) -> Iterator[State]:
        """Each state."""
        stop = 0
        for at, size in enumerate(self.sizes.tolist()):
            start, stop = stop, stop + size
            yield self._state(at, start, stop)

    def state(self, at: int) -> State:
        """State number `at`."""
        start = int(self.sizes[:at].sum())
        return self._state(at, start, start + int(self.sizes[at]))

    def _state(self, at: int, start: int, stop: int) -> Joint:
        types = self.types[at]
        if start == stop:
            *columns, occurrences = [np.empty(0, kind) for kind in types]
        else:
            arrays = (*self.rows.columns, self.rows.occurrences)
            *columns, occurrences = [array[start:stop].astype(kind) for array, kind in zip(arrays, types, strict=True)]
        return Joint(tuple(columns), occurrences)

    def summands(self) -> Iterator[State]:
        """States with the same sum as all of them."""
        if np.count_nonzero(self.sizes) < 2:  # a sum of one is that one, with its types
            return self.states()
        return iter([Joint.of(*self.rows.columns, counts=self.rows.counts)])


@dataclass(frozen=True, slots=True)
class RatioColumn:
    """Ratios, shape (2, states): hits and totals."""

    numbers: NDArray[np.int64]

    def states(self) -> Iterator[State]:
        """Each state."""
        return map(Ratio, *self.numbers.tolist())

    def state(self, at: int) -> State:
        """State number `at`."""
        return Ratio(*self.numbers[:, at].tolist())

    def summands(self) -> Iterator[State]:
        """States with the same sum as all of them."""
        return self.states()


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """States of any other type, as they are."""

    kept: Sequence[State]

    def states(self) -> Iterator[State]:
        """Each state."""
        return iter(self.kept)

    def state(self, at: int) -> State:
        """State number `at`."""
        return self.kept[at]

    def summands(self) -> Iterator[State]:
        """States with the same sum as all of them."""
        return self.states()


StateColumn = JointColumn | RatioColumn | PlainColumn


class BlockMaker:
    """Makes blocks of states for tallies that are filled together, and keeps a column that two of them have only once.

    Protocols share states: `owa@1` and `sequence@1` count the same movements.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[Sequence[State], StateColumn]] = {}
        self._merged: dict[tuple[int, ...], tuple[Sequence[State], State]] = {}

    def merged(self, pile: list[State]) -> State:
        """All states of a pile merged into one; the same one if another tally has the same pile."""
        if len(pile) == 1:
            return pile[0]
        key = tuple(map(id, pile))
        if key not in self._merged:
            if len(self._merged) >= _REMEMBERED:
                self._merged.clear()
            self._merged[key] = pile, merged_state(pile)  # a state that is kept keeps its id
        return self._merged[key][1]

    def block(self, states: Mapping[Episode, Mapping[str, State]]) -> Block:
        """The states of episodes, in their order."""
        layouts: dict[tuple[str, ...], tuple[str, ...]] = {}
        names = [layouts.setdefault(layout, layout) for layout in map(tuple, states.values())]
        by_name: dict[str, Sequence[State]] = {}
        if len(layouts) == 1:  # as nearly always
            columns = zip(*(by_episode.values() for by_episode in states.values()), strict=True)
            by_name = dict(zip(names[0], columns, strict=True))
        else:
            for name in dict.fromkeys(chain.from_iterable(layouts)):
                by_name[name] = [by_episode[name] for by_episode in states.values() if name in by_episode]
        return Block(tuple(states), names, {name: self._column(name, found) for name, found in by_name.items()})

    def _column(self, name: str, states: Sequence[State]) -> StateColumn:
        known, column = self._last.get(name, ((), None))
        if column is None or len(known) != len(states) or not all(map(is_, known, states)):
            column = _column_of(states)
            self._last[name] = states, column
        return column


@dataclass(frozen=True, slots=True)
class Block:
    """The states of some episodes."""

    episodes: tuple[Episode, ...]
    names: Sequence[tuple[str, ...]]
    """The names of the states of each episode."""
    columns: Mapping[str, StateColumn]
    """By name: the states of those episodes that have it."""

    def states(self) -> Iterator[tuple[Episode, dict[str, State]]]:
        """The states of each episode by name."""
        waiting = {name: column.states() for name, column in self.columns.items()}
        for episode, names in zip(self.episodes, self.names, strict=True):
            yield episode, {name: next(waiting[name]) for name in names}

    def parts(self, name: str) -> list[State | None]:
        """The state called `name` of each episode; None if it has none."""
        column = self.columns.get(name)
        if column is None:
            return [None] * len(self.episodes)
        waiting = column.states()
        return [next(waiting) if name in names else None for names in self.names]

    def part(self, at: int, name: str) -> State | None:
        """The state called `name` of episode number `at`; None if it has none."""
        if name not in self.names[at]:
            return None
        return self.columns[name].state(sum(name in names for names in self.names[:at]))

    def summands(self, name: str) -> Iterator[State]:
        """States with the same sum as those called `name`, in any order."""
        column = self.columns.get(name)
        return iter(()) if column is None else column.summands()

    def joined(self, name: str) -> tuple[Joint, NDArray[np.int32]] | None:
        """The rows of the joint distributions called `name`, and how many each episode has; None if some state of that
        name is of another type.
        """
        column = self.columns.get(name)
        if column is None:
            return Joint(), np.zeros(len(self.episodes), np.int32)
        if not isinstance(column, JointColumn):
            return None
        if len(column.sizes) == len(self.episodes):
            return column.rows, column.sizes
        sizes = np.zeros(len(self.episodes), np.int32)
        sizes[[name in names for names in self.names]] = column.sizes
        return column.rows, sizes


def _column_of(states: Sequence[State]) -> StateColumn:
    found: StateColumn | None = None
    if all(type(state) is Ratio for state in states):
        found = _ratio_column(cast("Sequence[Ratio]", states))
    elif all(type(state) is Joint for state in states):
        found = _joint_column(cast("Sequence[Joint]", states))
    return PlainColumn(list(states)) if found is None else found


def _ratio_column(ratios: Sequence[Ratio]) -> RatioColumn | None:
    """The ratios as one column; None if a number is not an integer of 64 bits."""
    hits, totals = [ratio.hits for ratio in ratios], [ratio.total for ratio in ratios]
    if {*map(type, hits), *map(type, totals)} != {int}:
        return None
    if min(*hits, *totals) not in _INT64 or max(*hits, *totals) not in _INT64:
        return None
    return RatioColumn(np.array([hits, totals], np.int64))


def _joint_column(joints: Sequence[Joint]) -> JointColumn | None:
    """The distributions as one column; None if one has other arrays than a signed integer of each column for each row,
    or another number of columns.
    """
    known: dict[_Types, _Types] = {}
    types = []
    for joint in joints:
        shape = joint.occurrences.shape
        if len(shape) != 1 or any(column.shape != shape for column in joint.columns):
            return None
        kinds = (*[column.dtype for column in joint.columns], joint.occurrences.dtype)
        if kinds not in known:
            if not all(kind.kind == "i" and kind.isnative for kind in kinds):
                return None
            known[kinds] = kinds
        types.append(known[kinds])
    filled = [joint for joint in joints if len(joint.occurrences)]
    if len({len(joint.columns) for joint in filled}) > 1:
        return None
    return JointColumn(joined_rows(filled), types, np.array(Joint.sizes(joints), np.int32))


def joined_rows(parts: Sequence[Joint]) -> Joint:
    """The rows of parts that are not empty, one part after the other: not distinct and not in order."""
    if not parts:
        return Joint()
    columns = tuple(np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True))
    return Joint(columns, np.concatenate([part.occurrences for part in parts]))


def merged_state(pile: Sequence[State]) -> State:
    """All states of a pile merged into one; types that need sorting are sorted once."""
    first = pile[0]
    if len(pile) == 1:
        return first
    if isinstance(first, Joint):
        return Joint.merge(state for state in pile if isinstance(state, Joint))
    if isinstance(first, Distribution):
        return Distribution.merge(state for state in pile if isinstance(state, Distribution))
    if isinstance(first, Moments):
        found = [(state.n, state.total, state.squares) for state in pile if isinstance(state, Moments)]
        return Moments(*map(sum, zip(*found, strict=True)))
    whole: State = first
    for state in pile[1:]:
        whole = whole + state  # type: ignore[operator]
    return whole
