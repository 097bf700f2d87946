"""Scoring with threads of this process. Compiled loops and NumPy release the interpreter's lock, so threads suffice.

Each side is read in its own thread, a few batches ahead, and large slices are scored in a thread pool.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from assay.events.align import EpisodeCollector, Pair, by_position
from assay.events.protocols import EventProtocol
from assay.events.stream import EventStream
from assay.events.tally import Tally
from assay.types import State

Item = TypeVar("Item")
_Scored = tuple[Pair, list[Mapping[str, State]]]

# Pairs are scored in slices of at most this many events: temporary arrays stay in cache, and all threads have work.
_SLICE = 250_000
# Smaller ones are scored at once: threads that make many short calls mostly wait for the interpreter's lock.
_WORTH_A_THREAD = 50_000
_AHEAD = 2
# Events kept of episodes that may continue. If there are more, episodes that others followed on both sides are scored.
_KEPT = 500_000


def score_streams(
    predicted: Iterable[EventStream],
    truth: Iterable[EventStream],
    protocols: Sequence[EventProtocol],
    *,
    in_order: bool = False,
    threads: int | None = None,
    whole: bool = True,
    progress: Callable[[int, int | None], None] | None = None,
) -> dict[str, Tally]:
    """A tally for each protocol, by its name. The streams are the `whole` sides, or a shard of them.

    `progress` is called with the pairs scored so far and, once everything has been read, with how many there are.
    """
    tallies = Tally.together(protocol.name for protocol in protocols)
    by_slice = [protocol for protocol in protocols if protocol.pairing == "position"]
    by_episode = [protocol for protocol in protocols if protocol.pairing == "episode"]
    episodes = EpisodeCollector() if by_episode else None

    def states(pair: Pair, chosen: Sequence[EventProtocol]) -> _Scored:
        return pair, [protocol.score(pair, in_order=in_order) for protocol in chosen]

    def count(done: _Scored, chosen: Sequence[EventProtocol]) -> None:
        pair, found = done
        for protocol, states in zip(chosen, found, strict=True):
            tallies[protocol.name].add(pair.episode, states)

    counter = _Counter(max(1, bool(by_slice) + bool(by_episode)), progress)
    workers = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        # In the order of the pairs: what a thread is scoring, or what was scored at once and waits for its turn.
        running: deque[tuple[Future[_Scored] | _Scored, Sequence[EventProtocol]]] = deque()

        def submit(pair: Pair, chosen: Sequence[EventProtocol]) -> None:
            counter.given += len(pair.truth)
            is_long = len(pair.truth) >= _WORTH_A_THREAD
            running.append((pool.submit(states, pair, chosen) if is_long else states(pair, chosen), chosen))
            # In order, and never far ahead: results that wait to be counted take memory.
            while len(running) > 2 * workers:
                finish()

        def finish() -> None:
            scored, chosen = running.popleft()
            done = scored.result() if isinstance(scored, Future) else scored
            count(done, chosen)
            counter.finished(len(done[0].truth))

        for pair in by_position(
            _ahead(predicted), _ahead(truth), keep=None if episodes is None else _KEPT, whole=whole
        ):
            for part in _slices(pair):
                submit(part, by_slice)
            if episodes is not None:
                episodes.add(pair)
                if pair.last:
                    submit(episodes.take(pair.episode), by_episode)
        if episodes is not None:
            for pair in episodes.pairs():
                submit(pair, by_episode)
        counter.complete = True
        while running:
            finish()
    return tallies


@dataclass
class _Counter:
    """Pairs scored and to be scored. If both kinds of protocols are used, each pair is scored twice."""

    times: int
    progress: Callable[[int, int | None], None] | None
    given: int = 0
    done: int = 0
    complete: bool = False
    """Whether all pairs have been given."""

    def finished(self, n: int) -> None:
        self.done += n
        if self.progress is not None:
            self.progress(self.done // self.times, self.given // self.times if self.complete else None)


def _slices(pair: Pair) -> Iterator[Pair]:
    if 0 < len(pair.truth) <= _SLICE:
        yield Pair(pair.episode, pair.predicted, pair.truth, pair.start)
        return
    for start in range(0, len(pair.truth), _SLICE):
        part = slice(start, start + _SLICE)
        yield Pair(pair.episode, pair.predicted[part], pair.truth[part], pair.start + start)


def _ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, read in a separate thread shortly before they are needed."""
    ready: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(_AHEAD)
    given_up = threading.Event()

    def put(entry: tuple[Item | None, BaseException | None]) -> bool:
        while not given_up.is_set():
            try:
                ready.put(entry, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((None, StopIteration()))
        except BaseException as error:  # passed on to the consumer, whatever it is
            put((None, error))

    threading.Thread(target=read, daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            assert item is not None
            yield item
    finally:
        given_up.set()
