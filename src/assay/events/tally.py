"""The result of scoring: named states per episode, which can be added across batches, shards and machines.

Estimates, slices and pairings are all computed from a tally, so nothing has to be scored twice or gets out of date.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from assay.events.blocks import Block, BlockMaker, joined_rows, merged_state
from assay.events.packed import Packed, pack_states, unpack_states
from assay.events.stream import Episode
from assay.types import Case, Distribution, InOrder, Ints, Joint, Moments, Ratio, State

AnyState = TypeVar("AnyState", Ratio, Moments, Distribution, Joint, InOrder)

# Batches are merged once the small ones together are as large as the merged one, so every value is sorted only a few
# times, not once for each later batch.
_SMALL = 50_000
# Episodes of a block; those that came last are not in one, since they may continue.
_IN_A_BLOCK = 64


@dataclass(eq=False)
class Tally:
    """States by episode and name."""

    _piles: dict[Episode, dict[str, list[State]]] = field(default_factory=dict)
    """The states of episodes that may continue, in several parts."""
    _loose: dict[tuple[Episode, str], int] = field(default_factory=dict)
    """Size of all states of a pile except its first."""
    _ordered: list[Episode] = field(default_factory=list)
    """The episodes in their fixed order, as far as they were known when it was last asked for."""
    _places: list[int] = field(default_factory=list)
    """The place of each of them among the episodes of all blocks, followed by those of the piles."""
    _blocks: list[Block] = field(default_factory=list)
    """The states of the other episodes."""
    _arrived: dict[Episode, Block | None] = field(default_factory=dict)
    """All episodes in the order of arrival, and the block that each is in."""
    _maker: BlockMaker = field(default_factory=BlockMaker)
    _room: int = 2 * _IN_A_BLOCK
    """How many episodes are in no block. It doubles whenever an episode comes again that is in one."""

    def __post_init__(self) -> None:
        self._arrived = dict.fromkeys(self._piles)

    @classmethod
    def together(cls, names: Iterable[str]) -> dict[str, Tally]:
        """Tallies by name that get the same episodes in the same order; states that they share are kept once."""
        maker = BlockMaker()
        return {name: cls(_maker=maker) for name in names}

    def add(self, episode: Episode, states: Mapping[str, State]) -> None:
        """Add `states` to those of `episode`."""
        piles = self._piles.get(episode)
        if piles is None:
            piles = self._begun(episode)
        if not piles:
            piles.update((name, [state]) for name, state in states.items())
            return
        for name, state in states.items():
            pile = piles.setdefault(name, [])
            pile.append(state)
            if len(pile) == 1:
                continue
            loose = self._loose.get((episode, name), 0) + _size(state)
            if isinstance(state, Ratio | Moments) or loose > max(_size(pile[0]), _SMALL):
                piles[name], loose = [merged_state(pile)], 0
            self._loose[episode, name] = loose

    def _begun(self, episode: Episode) -> dict[str, list[State]]:
        """The piles of an episode that has none."""
        block = self._arrived.setdefault(episode, None)
        self._ordered = []
        if block is not None:
            self._take_out(block)
        elif len(self._piles) >= self._room:
            self._put_away()
        return self._piles.setdefault(episode, {})

    def _put_away(self) -> None:
        """Make a block of the episodes that came first."""
        chosen = list(islice(self._piles, _IN_A_BLOCK))
        found = {
            episode: {
                name: pile[0] if len(pile) == 1 else self._maker.merged(pile)
                for name, pile in self._piles.pop(episode).items()
            }
            for episode in chosen
        }
        for key in [key for key in self._loose if key[0] in found]:
            del self._loose[key]
        block = self._maker.block(found)
        self._blocks.append(block)
        self._arrived.update(dict.fromkeys(chosen, block))

    def _take_out(self, block: Block) -> None:
        """Make piles of a block again, because one of its episodes continues."""
        self._blocks = [other for other in self._blocks if other is not block]
        self._room = max(2 * self._room, len(self._piles) + 2 * _IN_A_BLOCK)
        for episode, states in block.states():
            self._arrived[episode] = None
            self._piles[episode] = {name: [state] for name, state in states.items()}

    def extend(self, other: Tally) -> None:
        """Add all states of another tally, in the order of their arrival there."""
        for episode, states in other._each():
            self.add(episode, states)

    def merged(self) -> Tally:
        """The same tally with one state for each name of an episode, as small as it can be."""
        piles = {
            episode: {name: [merged_state(pile)] for name, pile in by_name.items()}
            for episode, by_name in self._piles.items()
        }
        whole = Tally(piles, _blocks=list(self._blocks), _room=self._room)
        whole._arrived = dict(self._arrived)
        return whole

    def __add__(self, other: Tally) -> Tally:
        """Both tallies together."""
        whole = self.merged()
        whole.extend(other)
        return whole

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as few large arrays; episodes keep their order of arrival."""
        return _unpickled, (pack_states(dict(self._each())),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.states() == other.states()

    def _each(self) -> Iterator[tuple[Episode, dict[str, State]]]:
        """The states of each episode, merged, in the order of arrival."""
        block: Block | None = None
        opened: dict[Episode, dict[str, State]] = {}
        for episode, inside in self._arrived.items():
            if inside is None:
                yield episode, {name: merged_state(pile) for name, pile in self._piles[episode].items()}
                continue
            if inside is not block:  # neighbours are in one block, unless some came again
                block, opened = inside, dict(inside.states())
            yield episode, opened[episode]

    def states(self) -> dict[Episode, dict[str, State]]:
        """All states, merged; episodes and names are sorted."""
        found = dict(self._each())
        return {episode: dict(sorted(found[episode].items())) for episode in self.episodes}

    def by_case(self) -> dict[Case, dict[str, State]]:
        """States by the name and stratum of the episode, without other properties such as its first frame."""
        whole = Tally()
        for episode, states in self._each():
            whole.add(Episode(episode.name, episode.stratum), states)
        return {Case(episode.name, episode.stratum): dict(sorted(states.items())) for episode, states in whole._each()}

    def has(self, name: str) -> bool:
        """Whether any episode has a state called `name`."""
        return any(name in block.columns for block in self._blocks) or any(
            name in piles for piles in self._piles.values()
        )

    @property
    def episodes(self) -> list[Episode]:
        """The episodes in a fixed order, independent of their order of arrival."""
        if len(self._ordered) != len(self._arrived):  # episodes are never taken away
            self._ordered = sorted(self._arrived, key=lambda episode: (episode.stratum, episode.name))
            kept = chain(*(block.episodes for block in self._blocks), self._piles)
            place = {episode: at for at, episode in enumerate(kept)}
            self._places = [place[episode] for episode in self._ordered]
        return self._ordered

    def _storage_order(self) -> list[int]:
        """The place of each of `episodes` among those of all blocks, followed by those of the piles."""
        return self._places if self.episodes else []

    @property
    def arrived(self) -> list[Episode]:
        """The episodes in the order of arrival, which the `reference` interval depends on."""
        return list(self._arrived)

    def parts(self, name: str, kind: type[AnyState]) -> list[AnyState]:
        """The state called `name` of each episode, in the order of `episodes`; empty if an episode has none."""
        places = self._storage_order()
        kept = [state for block in self._blocks for state in block.parts(name)]
        kept += self._settled(name)
        empty = kind()
        found = [empty if (state := kept[place]) is None else state for place in places]
        for other in set(map(type, found)) - {kind}:
            raise TypeError(f"expected a state of type {kind.__name__}, got {other.__name__}")
        return found  # type: ignore[return-value]

    def part(self, at: int, name: str, kind: type[AnyState]) -> AnyState:
        """The state called `name` of episode number `at` of `episodes`, without making those of all."""
        episode = self.episodes[at]
        block = self._arrived[episode]
        if block is None:
            return _of_kind(self._piles[episode].get(name, []), kind)
        state = block.part(block.episodes.index(episode), name)
        return kind() if state is None else _checked(state, kind)

    def _settled(self, name: str) -> list[State | None]:
        """The state called `name` of each episode that is in no block; None if it has none."""
        found: list[State | None] = []
        for episode, piles in self._piles.items():
            pile = piles.get(name)
            if pile is not None and len(pile) > 1:
                # Kept merged: figures ask for the same states again.
                pile = piles[name] = [merged_state(pile)]
                self._loose[episode, name] = 0
            found.append(None if pile is None else pile[0])
        return found

    def rows(self, name: str) -> tuple[Joint, Ints]:
        """The rows of the joint distributions called `name`, in the order of `episodes`, and how many each episode has.

        They are those of `parts`, one after the other, in few calls.
        """
        places = np.array(self._storage_order(), np.int64)
        joined = [block.joined(name) for block in self._blocks]
        found = [one for one in joined if one is not None]
        loose = [Joint() if state is None else state for state in self._settled(name)]
        last = [state for state in loose if isinstance(state, Joint)]
        if len(found) < len(joined) or len(last) < len(loose):
            raise TypeError(f"expected states of type Joint called '{name}'")
        sizes = np.concatenate([*(size for _, size in found), np.array(Joint.sizes(last), np.int64)]).astype(np.int64)
        filled = [part for part in (*(rows for rows, _ in found), *last) if len(part.occurrences)]
        whole = joined_rows(filled)
        starts = np.cumsum(sizes) - sizes
        sizes, starts = sizes[places], starts[places]
        if (np.diff(places) == 1).all():
            return whole, sizes
        at = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(whole))
        return Joint(tuple(column[at] for column in whole.columns), whole.occurrences[at]), sizes

    def total(self, name: str, kind: type[AnyState]) -> AnyState:
        """The state called `name` over all episodes, in the order of arrival; empty if there is none."""
        if kind is InOrder:
            found = [states[name] for _, states in self._each() if name in states]
        else:  # the order of others does not matter
            found = [state for block in self._blocks for state in block.summands(name)]
            found += [state for piles in self._piles.values() for state in piles.get(name, ())]
        return _of_kind(found, kind)


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
    return _checked(merged_state(pile), kind) if pile else kind()


def _checked(state: State, kind: type[AnyState]) -> AnyState:
    if not isinstance(state, kind):
        raise TypeError(f"expected a state of type {kind.__name__}, got {type(state).__name__}")
    return state
