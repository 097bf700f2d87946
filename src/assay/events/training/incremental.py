"""An evaluation that grows batch by batch: update, merge, compute. It uses streams and no framework.

What is kept are tallies, so memory does not grow with the data, except for protocols that need whole episodes: their
events wait until `compute`, or are scored at once if the caller says that episodes are complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.errors import UsageError
from assay.events.align import EpisodeCollector, Pair, alike, by_position
from assay.events.codecs import Codec
from assay.events.evaluation import EventReport, Scoring
from assay.events.input import Input
from assay.events.protocols import EventProtocol
from assay.events.sources import AnySource, ReadOptions, read
from assay.events.stream import EventStream
from assay.events.tally import Tally
from assay.types import State


class Evaluation:
    """Predictions and truths, scored as they come.

    The numbers of `compute` are those of `assay.events.evaluate` on the same events, bit for bit, however they were cut
    into batches and over however many processes they were spread: give each process an `Evaluation` and `merge` them.
    """

    def __init__(
        self,
        protocols: Sequence[str] = ("assay", "owa"),
        *,
        encoding: str | Codec = "hierarchical",
        strict: bool = False,
        interval: str | None = None,
        reps: int = 1000,
        level: float = 0.95,
        seed: int = 42,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """The arguments are those of `assay.events.evaluate`."""
        self.scoring = Scoring.of(
            protocols,
            encoding,
            strict=strict,
            interval=interval,
            reps=reps,
            level=level,
            seed=seed,
            settings=settings,
        )
        self.reset()

    def reset(self) -> None:
        """Forget everything that was scored."""
        self.predicted = Input("predictions of a running evaluation")
        """What was seen of the predictions so far."""
        self.truth = Input("truths of a running evaluation")
        """What was seen of the truths so far."""
        self._tallies = {protocol.name: Tally() for protocol in self.scoring.protocols}
        self._positions: Counter[str] = Counter()  # truths seen so far, by episode
        self._waiting: list[Pair] = []  # for protocols that need whole episodes

    def update(self, predicted: AnySource, truth: AnySource, *, complete: bool = False) -> None:
        """Score a batch: two streams, token texts or lists of events, prediction i of an episode for truth i.

        An episode may continue in later batches, in order. With `complete` it does not: protocols that need whole
        episodes score it now, and its events are not kept. A name that comes again after that is another part of the
        episode.
        """
        sides = [list(read(side, ReadOptions(self.scoring.encoder))) for side in (predicted, truth)]
        ours, theirs = (list(side) for side in alike(iter(sides[0]), iter(sides[1])))
        for batches, seen in ((ours, self.predicted), (theirs, self.truth)):
            for batch in batches:
                seen.see(batch)
        pairs = []
        for pair in by_position(ours, theirs):
            name = pair.episode.name
            pairs.append(replace(pair, start=self._positions[name] + pair.start))
        for pair in pairs:
            self._positions[pair.episode.name] += len(pair.truth)
        self._score(pairs, "position")
        if not complete:
            self._waiting += pairs if self._by("episode") else []
            return
        self._score(_whole(pairs), "episode")

    def update_rows(
        self,
        predicted: EventStream,
        truth: EventStream,
        lengths: Sequence[int] | Any,
        *,
        beside: Mapping[str, Sequence[Mapping[str, State]]] | None = None,
    ) -> None:
        """Score rows that are complete in themselves, each on its own: the next `lengths[i]` events are row i.

        Rows of one episode add up to it. Positions count from the beginning of a row. `beside` has additional states of
        each row, by protocol, which the events do not contain.
        """
        ends = np.cumsum(np.asarray(lengths, np.int64))
        total = int(ends[-1]) if len(ends) else 0
        if not len(predicted) == len(truth) == total:
            raise UsageError(
                f"the rows have {total} events, the predictions {len(predicted)} and the truths {len(truth)}",
                hint="Give one prediction for each truth",
            )
        self.predicted.see(predicted)
        self.truth.see(truth)
        pairs = [
            Pair(truth.episodes[int(truth.episode[end - n])], predicted[end - n : end], truth[end - n : end])
            for n, end in zip(np.asarray(lengths).tolist(), ends.tolist(), strict=True)
            if n
        ]
        self._score(pairs, "position")
        self._score(pairs, "episode")
        filled = [at for at, n in enumerate(np.asarray(lengths).tolist()) if n]
        for name, states in (beside or {}).items():
            for at, pair in zip(filled, pairs, strict=True):
                self._tallies[name].add(pair.episode, states[at])

    def merge(self, other: Evaluation) -> None:
        """Add what another evaluation has scored; episodes of the same name continue where this one's end."""
        if other.scoring.stated != self.scoring.stated:
            raise UsageError(
                "these evaluations score in different ways and cannot be merged",
                hint="Give all of them the same protocols, encoding and settings",
            )
        self.predicted += other.predicted
        self.truth += other.truth
        self._tallies = {name: tally + other._tallies[name] for name, tally in self._tallies.items()}
        self._positions += other._positions
        self._waiting += other._waiting

    def __add__(self, other: Evaluation) -> Evaluation:
        whole = Evaluation.__new__(Evaluation)
        whole.scoring = self.scoring
        whole.reset()
        for part in (self, other):
            whole.merge(part)
        return whole

    def compute(self) -> EventReport:
        """The report on everything so far. More may be added afterwards."""
        tallies = dict(self._tallies)
        for protocol in self._by("episode"):
            tallies[protocol.name] = tallies[protocol.name] + self._tally(protocol, _whole(self._waiting))
        return self.scoring.report(tallies, self.predicted, self.truth)

    def _by(self, pairing: str) -> list[EventProtocol]:
        return [protocol for protocol in self.scoring.protocols if protocol.pairing == pairing]

    def _score(self, pairs: Iterable[Pair], pairing: str) -> None:
        kept = list(pairs)
        for protocol in self._by(pairing):
            self._tally(protocol, kept, self._tallies[protocol.name])

    def _tally(self, protocol: EventProtocol, pairs: Iterable[Pair], tally: Tally | None = None) -> Tally:
        """Score the pairs with the protocol, into `tally` or into a new one."""
        counted = Tally() if tally is None else tally
        for pair in pairs:
            counted.add(pair.episode, protocol.score(pair, in_order=self.scoring.in_order))
        return counted


def _whole(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs of each episode as one."""
    collector = EpisodeCollector()
    for pair in pairs:
        collector.add(pair)
    return list(collector.pairs())
