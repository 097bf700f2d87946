"""Shards of an evaluation: which files, recordings and row groups are scored together, and what scoring one gives.

A shard is a part of both sides that shares no episode with any other shard, so that the tallies of all shards are the
tally of the whole. Nothing here depends on where shards are scored.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay import __version__
from assay.errors import AssayError
from assay.events.align import quantised_alike
from assay.events.digest import StreamDigest
from assay.events.input import Input
from assay.events.protocols import EventProtocol
from assay.events.scoring import score_streams
from assay.events.sources import Decision, Piece, ReadOptions, read_pieces
from assay.events.sources._files import size, stamp
from assay.events.sources.parquet import episode_runs
from assay.events.stream import Episode, EventStream
from assay.events.tally import Tally
from assay.types import Distribution, InOrder, Joint, Moments, Ratio

Runs = list[tuple[str, int]]
"""Episodes by name with their number of rows, in the order of a file."""
_DIGEST_BYTES = 32
_FAULTY = "Its machine may be faulty, or have another version of a package; nothing of it was counted"
# Beyond the last row of any file.
_END = 1 << 62


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of both sides that is scored as a whole."""

    name: str
    """How it is called in messages."""
    predicted: tuple[Piece, ...]
    truth: tuple[Piece, ...]

    def __add__(self, other: Shard) -> Shard:
        """Both as one; `other` follows."""
        first, last = self.name.split(" … ")[0], other.name.split(" … ")[-1]
        return Shard(f"{first} … {last}", self.predicted + other.predicted, self.truth + other.truth)

    @property
    def sides(self) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Predictions and truths."""
        return self.predicted, self.truth


@dataclass(frozen=True, slots=True)
class ShardScoring:
    """How every shard of an evaluation is scored."""

    protocols: Sequence[EventProtocol]
    readings: tuple[ReadOptions, ReadOptions]
    """How predictions and truths are read; what a row is has been decided."""
    encoding: Any
    """The encoding that both sides are converted to; None if neither consists of tokens."""
    threads: int | None
    stated: str
    """All settings, as text that is the same for the same settings."""


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard and how it is scored: all that a worker has to know."""

    shard: Shard
    scoring: ShardScoring
    whole: bool
    """Whether the shard is all there is."""

    @property
    def key(self) -> str | None:
        """Equal for equal settings and unchanged files; None if it is unknown whether a file has changed."""
        stamps = [[stamp(piece.address) for piece in side] for side in self.shard.sides]
        if any(one is None for side in stamps for one in side):
            return None
        content = (__version__, self.scoring.stated, repr(self.scoring.encoding), self.whole, self.shard.sides, stamps)
        return hashlib.sha256(repr(content).encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(eq=False)
class ShardTally:
    """What scoring one shard gives."""

    tallies: dict[str, Tally]
    """By protocol."""
    inputs: tuple[Input, Input]
    """What was read of the predictions and of the truths."""
    blocks: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))
    """Digests of the events of both sides, as `StreamDigest` has them."""


def score_shard(task: ShardTask) -> ShardTally:
    """Read and score one shard."""
    scoring = task.scoring
    inputs, digests = (Input(""), Input("")), (StreamDigest(), StreamDigest())
    readings = [replace(reading, decision=Decision(_shape(reading))) for reading in scoring.readings]
    sides = [
        _seen(digest.watch(read_pieces(pieces, reading)) if pieces else iter(()), scoring.encoding, seen)
        for pieces, reading, digest, seen in zip(task.shard.sides, readings, digests, inputs, strict=True)
    ]
    tallies = score_streams(sides[0], sides[1], scoring.protocols, threads=scoring.threads, whole=task.whole)
    for seen, reading in zip(inputs, readings, strict=True):
        decided = reading.decision or Decision()
        decided.settle()
        seen.rows, seen.doubled = decided.shape or "", set(decided.doubled)
    return ShardTally(
        {name: tally.merged() for name, tally in tallies.items()}, inputs, (digests[0].blocks, digests[1].blocks)
    )


def _shape(reading: ReadOptions) -> Any:
    return None if reading.decision is None else reading.decision.shape


def _seen(batches: Iterator[EventStream], encoding: Any, side: Input) -> Iterator[EventStream]:
    for batch in batches:
        converted = quantised_alike(batch, encoding)
        side.see(converted)
        yield converted


def checked_tally(found: object, task: ShardTask) -> ShardTally:
    """What a worker returned, if it is the tally of a shard; raises AssayError otherwise."""
    try:
        problem = _problem(found, {protocol.name for protocol in task.scoring.protocols})
    except Exception as error:  # a part of it has another type
        problem = f"{type(error).__name__} while it was checked"
    if problem is not None:
        raise AssayError(
            f"a worker returned something that is not a tally: {problem}", where=task.shard.name, hint=_FAULTY
        )
    assert isinstance(found, ShardTally)
    return found


def _problem(found: object, protocols: set[str]) -> str | None:
    """Why something is not the tally of a shard; None if it is one."""
    if type(found) is not ShardTally:
        return f"it is of type {type(found).__name__}"
    if not isinstance(found.tallies, dict) or set(found.tallies) != protocols:
        return "its protocols are not those that were asked for"
    if len(found.inputs) != 2 or not all(_is_input(side) for side in found.inputs):
        return "it does not say what was read"
    digests = [block for side in found.blocks for block in side]
    if any(bool(side) != bool(seen.events) for side, seen in zip(found.blocks, found.inputs, strict=True)):
        return "it has no digest of what was read"
    if any(type(one) is not bytes or len(one) != _DIGEST_BYTES for one in digests):
        return "a digest has another length"
    for tally in found.tallies.values():
        if type(tally) is not Tally:
            return f"a tally is of type {type(tally).__name__}"
        for episode, states in tally.states().items():
            if type(episode) is not Episode or type(episode.name) is not str or type(episode.stratum) is not str:
                return "an episode has no name"
            for name, state in states.items():
                if wrong := _wrong_state(state):
                    return f"'{str(name)[:60]}' {wrong}"
    return None


def _is_input(side: object) -> bool:
    if type(side) is not Input or type(side.rows) is not str:
        return False
    counters = (side.kinds, side.spoiled_kinds, side.problems, side.notes)
    counts = [side.events, *(n for counter in counters for n in counter.values())]
    names = [*(name for counter in counters for name in counter), *side.episodes, *side.doubled]
    return (
        all(type(counter) is Counter for counter in counters)
        and type(side.episodes) is type(side.doubled) is set
        and all(_is_whole(n) and n >= 0 for n in counts)
        and all(type(name) is str for name in names)
    )


def _is_whole(number: object) -> bool:
    """Whether it is a whole number; True and False are none, though Python counts with them."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _wrong_state(state: object) -> str | None:
    match state:
        case Ratio():
            # A distance may be greater than what it is a share of.
            fine = all(_is_whole(n) and n >= 0 for n in (state.hits, state.total))
            return None if fine else "is not a ratio of counts"
        case Moments():
            exact = all(map(_is_whole, (state.n, state.total, state.squares)))
            return None if exact and state.n >= 0 and state.squares >= 0 else "is not a sum of whole numbers"
        case Distribution():
            fine = state.values.dtype == np.float64 and state.counts.dtype == np.int64 and state.values.ndim == 1
            fine = fine and state.values.shape == state.counts.shape and not np.isnan(state.values).any()
            fine = fine and bool((np.diff(state.values) > 0).all() and (state.counts > 0).all())
            return None if fine else "is not a distribution"
        case Joint():
            arrays = (*state.columns, state.occurrences)
            fine = len({column.shape for column in arrays}) == 1 and state.occurrences.ndim == 1
            fine = fine and all(column.dtype.kind in "iu" for column in arrays) and bool((state.occurrences > 0).all())
            return None if fine else "is not a joint distribution"
        case InOrder():
            return None
    return f"is of type {type(state).__name__}"


# --- which shards there are -------------------------------------------------------------------------------------------


def shards_by_file(predicted: Sequence[Piece], truth: Sequence[Piece]) -> list[Shard]:
    """Files of the same name on both sides, suffixes aside, are a shard; so is a file that only one side has.

    If files cannot be matched by name, everything is one shard.
    """
    everything = [Shard(_label(truth[0]), tuple(predicted), tuple(truth))]
    if not all(piece.name for piece in (*predicted, *truth)):
        return everything
    found: dict[str, tuple[list[Piece], list[Piece]]] = {}
    for side, pieces in enumerate((predicted, truth)):
        for piece in pieces:
            found.setdefault(piece.name, ([], []))[side].append(piece)
    # In the order of the truth's files; those that only the predictions have come where these have them. A shard's
    # digests are added in this order.
    ordered: dict[str, None] = {}
    mine = iter(dict.fromkeys(piece.name for piece in predicted))
    for name in dict.fromkeys(piece.name for piece in truth):
        while name in found and found[name][0] and name not in ordered:
            ordered |= dict.fromkeys([next(mine)])
        ordered[name] = None
    ordered |= dict.fromkeys(mine)
    shards = [Shard(name, tuple(found[name][0]), tuple(found[name][1])) for name in ordered]
    for side, pieces in enumerate((predicted, truth)):
        if [piece for shard in shards for piece in shard.sides[side]] != list(pieces):
            return everything
    return shards


def joined_shards(shards: Sequence[Shard], first: int, last: int) -> Shard:
    """The shards from number `first` to number `last`, both included, as one."""
    whole = shards[first]
    for shard in shards[first + 1 : last + 1]:
        whole += shard
    return whole


def runs_of_shard(task: ShardTask) -> tuple[Runs, Runs] | None:
    """The episodes of both sides, if both are one Parquet file that names them."""
    if any(len(side) != 1 for side in task.shard.sides):
        return None
    readings = task.scoring.readings
    predicted = episode_runs(task.shard.predicted[0].address, readings[0])
    truth = None if predicted is None else episode_runs(task.shard.truth[0].address, readings[1])
    return None if predicted is None or truth is None else (predicted, truth)


def checked_runs(found: object, task: ShardTask) -> tuple[Runs, Runs] | None:
    """What a worker returned, if it is what `runs_of_shard` returns; raises AssayError otherwise."""
    if found is None or (
        isinstance(found, tuple)
        and len(found) == 2
        and all(type(side) is list for side in found)
        and all(type(run) is tuple and len(run) == 2 for side in found for run in side)
        and all(type(name) is str and type(rows) is int and 0 < rows < _END for side in found for name, rows in side)
    ):
        return found
    raise AssayError("a worker returned something that is not a list of episodes", where=task.shard.name, hint=_FAULTY)


def can_be_divided(shard: Shard, rows: int) -> bool:
    """Whether it is worth looking for episodes: one file on each side, not small."""
    return all(len(side) == 1 and (size(side[0].address) or 0) >= 2 * rows for side in shard.sides)


def divided_shards(shard: Shard, runs: tuple[Runs, Runs], rows: int) -> list[Shard]:
    """A shard of two Parquet files cut between episodes, into shards of at least `rows` rows on one side.

    The last shard has all rows to the end, so that no row is lost, whatever a worker has counted; shards that then
    turn out to share an episode are scored again as one.
    """
    predicted, truth = shard.predicted[0], shard.truth[0]
    found: list[Shard] = []
    before = (0, 0)
    cuts = [*common_cuts(*runs)]
    for at, cut in enumerate(cuts):
        if max(cut[0] - before[0], cut[1] - before[1]) < rows and at + 1 < len(cuts):
            continue
        ends = (_END, _END) if at + 1 == len(cuts) else cut
        parts = [
            (replace(piece, part=(begin, end)),) if begin < end else ()
            for piece, begin, end in zip((predicted, truth), before, ends, strict=True)
        ]
        found.append(Shard(f"{shard.name} rows {before[1] + 1}–{cut[1]}", *parts))
        before = cut
    return found if len(found) > 1 else [shard]


def common_cuts(predicted: Runs, truth: Runs) -> Iterator[tuple[int, int]]:
    """Numbers of rows of both sides before which every episode is complete, ascending; the last is everything."""
    sides = (predicted, truth)
    last = [{name: at for at, (name, _) in enumerate(side)} for side in sides]
    taken, needed, rows = [0, 0], [-1, -1], [0, 0]
    while taken[0] < len(predicted) or taken[1] < len(truth):
        # The next episode of the truth, or of the predictions if there is none; then all that it is entangled with.
        needed[1 if taken[1] < len(truth) else 0] = taken[1 if taken[1] < len(truth) else 0]
        while taken[0] <= needed[0] or taken[1] <= needed[1]:
            side = 0 if taken[0] <= needed[0] else 1
            name, n = sides[side][taken[side]]
            rows[side] += n
            taken[side] += 1
            for other in (0, 1):
                needed[other] = max(needed[other], last[other].get(name, -1))
        yield rows[0], rows[1]


def _label(piece: Piece) -> str:
    return piece.name or piece.address
