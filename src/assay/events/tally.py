"""The result of scoring: named states per episode, which can be added across batches, shards and machines.

Estimates, slices and pairings are all computed from a tally, so nothing has to be scored twice or gets out of date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.events.packed import Packed, pack_states, unpack_states
from assay.events.stream import Episode
from assay.types import Case, Distribution, InOrder, Joint, Moments, Ratio, State

AnyState = TypeVar("AnyState", Ratio, Moments, Distribution, Joint, InOrder)

# Batches are merged once the small ones together are as large as the merged one, so every value is sorted only a few
# times, not once for each later batch.
_SMALL = 50_000


@dataclass(eq=False)
class Tally:
    """States by episode and name."""

    _piles: dict[Episode, dict[str, list[State]]] = field(default_factory=dict)
    _loose: dict[tuple[Episode, str], int] = field(default_factory=dict)
    """Size of all states of a pile except its first."""
    _ordered: list[Episode] = field(default_factory=list)
    """The episodes in their fixed order, as far as they were known when it was last asked for."""
    _in_order: list[dict[str, list[State]]] = field(default_factory=list)
    """Their states, likewise: looking up thousands of episodes for every figure takes time."""

    def add(self, episode: Episode, states: Mapping[str, State]) -> None:
        """Add `states` to those of `episode`."""
        piles = self._piles.setdefault(episode, {})
        for name, state in states.items():
            pile = piles.setdefault(name, [])
            pile.append(state)
            if len(pile) == 1:
                continue
            loose = self._loose.get((episode, name), 0) + _size(state)
            if isinstance(state, Ratio | Moments) or loose > max(_size(pile[0]), _SMALL):
                piles[name], loose = [_merged(pile)], 0
            self._loose[episode, name] = loose

    def extend(self, other: Tally) -> None:
        """Add all states of another tally, in the order of their arrival there."""
        for episode, piles in other._piles.items():
            self.add(episode, {name: _merged(pile) for name, pile in piles.items()})

    def merged(self) -> Tally:
        """The same tally with one state for each name of an episode, as small as it can be."""
        whole = Tally()
        whole.extend(self)
        return whole

    def __add__(self, other: Tally) -> Tally:
        """Both tallies together."""
        whole = Tally()
        for tally in (self, other):
            for episode, piles in tally._piles.items():
                for name, pile in piles.items():
                    joined = whole._piles.setdefault(episode, {}).setdefault(name, [])
                    joined.extend(pile)
                    whole._loose[episode, name] = sum(map(_size, joined[1:]))
        return whole

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as few large arrays; episodes keep their order of arrival."""
        merged = {
            episode: {name: _merged(pile) for name, pile in piles.items()} for episode, piles in self._piles.items()
        }
        return _unpickled, (pack_states(merged),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.states() == other.states()

    def states(self) -> dict[Episode, dict[str, State]]:
        """All states, merged; episodes and names are sorted."""
        return {
            episode: {name: _merged(self._piles[episode][name]) for name in sorted(self._piles[episode])}
            for episode in self.episodes
        }

    def by_case(self) -> dict[Case, dict[str, State]]:
        """States by the name and stratum of the episode, without other properties such as its first frame."""
        whole, states = Tally(), self.states()
        for episode in self.arrived:
            whole.add(Episode(episode.name, episode.stratum), states[episode])
        merged = whole.states()
        return {Case(episode.name, episode.stratum): merged[episode] for episode in whole.arrived}

    def has(self, name: str) -> bool:
        """Whether any episode has a state called `name`."""
        return any(name in piles for piles in self._piles.values())

    @property
    def episodes(self) -> list[Episode]:
        """The episodes in a fixed order, independent of their order of arrival."""
        if len(self._ordered) != len(self._piles):  # episodes are never taken away
            self._ordered = sorted(self._piles, key=lambda episode: (episode.stratum, episode.name))
        return self._ordered

    @property
    def arrived(self) -> list[Episode]:
        """The episodes in the order of arrival, which the `reference` interval depends on."""
        return list(self._piles)

    def parts(self, name: str, kind: type[AnyState]) -> list[AnyState]:
        """The state called `name` of each episode, in the order of `episodes`; empty if an episode has none."""
        if len(self._in_order) != len(self._piles):
            self._in_order = [self._piles[episode] for episode in self.episodes]
        piles = [by_name.get(name) for by_name in self._in_order]
        found = [
            pile[0] if pile is not None and len(pile) == 1 else self._settled(at, name, kind)
            for at, pile in enumerate(piles)
        ]
        for other in set(map(type, found)) - {kind}:
            raise TypeError(f"expected a state of type {kind.__name__}, got {other.__name__}")
        return found  # type: ignore[return-value]

    def _settled(self, at: int, name: str, kind: type[AnyState]) -> State:
        """A state of the episode at this place that is in several parts, or missing."""
        by_name = self._in_order[at]
        if name not in by_name:
            return kind()
        # Kept merged: figures ask for the same states again.
        by_name[name] = [_merged(by_name[name])]
        self._loose[self._ordered[at], name] = 0
        return by_name[name][0]

    def total(self, name: str, kind: type[AnyState]) -> AnyState:
        """The state called `name` over all episodes, in the order of arrival; empty if there is none."""
        piles = [piles.get(name, []) for piles in self._piles.values()]
        return _of_kind([state for pile in piles for state in pile], kind)


def _unpickled(packed: Packed) -> Tally:
    """The tally that was pickled."""
    return Tally(
        {
            episode: {name: [state] for name, state in by_name.items()}
            for episode, by_name in unpack_states(packed).items()
        }
    )


def _size(state: State) -> int:
    return len(state) if isinstance(state, Distribution | Joint) else 1


def _of_kind(pile: list[State], kind: type[AnyState]) -> AnyState:
    return _checked(_merged(pile), kind) if pile else kind()


def _checked(state: State, kind: type[AnyState]) -> AnyState:
    if not isinstance(state, kind):
        raise TypeError(f"expected a state of type {kind.__name__}, got {type(state).__name__}")
    return state


def _merged(pile: list[State]) -> State:
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
