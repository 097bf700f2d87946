"""An evaluation in shards on any engine, with the numbers of an evaluation in one piece, bit for bit.

Shards are added up in a fixed order, whichever finishes first. Shards that turn out to share an episode are scored
again as one. A shard that cannot be read is an error or, if that is allowed, named in the report.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.engines import Engine, FailedItem
from assay.errors import AssayError, SourceError, UsageError
from assay.events.align import check_shared, shared_encoding
from assay.events.digest import joined_digest
from assay.events.input import Input
from assay.events.progress import ProgressCallback, follow
from assay.events.shards import (
    Shard,
    ShardScoring,
    ShardTally,
    ShardTask,
    can_be_divided,
    checked_runs,
    checked_tally,
    divided_shards,
    joined_shards,
    runs_of_shard,
    score_shard,
    shards_by_file,
)
from assay.events.sources import LEFT_OUT, Decision, Piece, ReadOptions, pieces_of, read_pieces
from assay.events.stream import EventStream
from assay.events.tally import Tally
from assay.plural import counted

if TYPE_CHECKING:
    from assay.events.evaluation import Scoring

ROWS = 1_000_000
"""About how many rows of a Parquet file are a shard."""


class ShardKeeper(Protocol):
    """Keeps finished shards, so that an evaluation that was stopped does not score them again."""

    def load(self, keys: Sequence[str]) -> Mapping[str, ShardTally]:
        """Those of the shards with these keys that were kept."""

    def keep(self, key: str, found: ShardTally) -> None: ...

    def forget(self, keys: Sequence[str]) -> None:
        """These shards are not needed any more: the evaluation is complete."""


@dataclass(frozen=True)
class Sharding:
    """Where shards are scored and what happens to them."""

    engine: Engine
    allow_missing: bool = False
    """Whether shards that cannot be read are left out and counted."""
    keeper: ShardKeeper | None = None
    rows: int = ROWS


Scored = tuple[dict[str, Tally], tuple[Input, Input]]


def score_in_shards(
    addresses: tuple[str, str],
    scoring: Scoring,
    readings: Sequence[ReadOptions],
    sharding: Sharding,
    *,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Scored:
    """The tallies of two files, folders or globs, and what was read of each."""
    if scoring.in_order:
        raise UsageError(
            "the interval 'reference' depends on the order of all values and cannot be computed in shards",
            hint="Use --interval event or episode, or --engine local",
        )
    found = [pieces_of(address) for address in addresses]
    sides = (found[0][0], found[1][0])
    prepared, names = _prepared(sides, scoring, readings, sharding, threads)
    shards = shards_by_file(*sides)
    if "" in names and len(shards) > 1:  # events without an episode belong to one sequence
        shards = [joined_shards(shards, 0, len(shards) - 1)]
    evaluation = _ShardedEvaluation(sharding, prepared, follow(progress, "shards"))
    tallies, inputs = _added(evaluation.scored(_divided(shards, prepared, sharding)), scoring)
    evaluation.forget()
    for seen, (_, left_out) in zip(inputs, found, strict=True):
        seen.notes.update({LEFT_OUT: left_out} if left_out else {})
        seen.missing = dict(evaluation.missing)
    return tallies, inputs


def _prepared(
    sides: tuple[Sequence[Piece], Sequence[Piece]],
    scoring: Scoring,
    readings: Sequence[ReadOptions],
    sharding: Sharding,
    threads: int | None,
) -> tuple[ShardScoring, set[str]]:
    """How shards are scored, decided by the first events of each side as if it were read in one piece, and the
    episodes of these events.
    """
    firsts, decided = [], []
    for pieces, reading in zip(sides, readings, strict=True):
        own = replace(reading, progress=None, decision=Decision())
        firsts.append(_first_batch(pieces, own, sharding.allow_missing))
        decided.append(own)
    names = {episode.name for first in firsts if first is not None for episode, _ in first.segments()}
    stated = json.dumps(scoring.stated, sort_keys=True, default=str) + repr(
        [(dict(one.columns), one.rows, one.decision and one.decision.shape, bool(one.tokenizer)) for one in decided]
    )
    return (
        ShardScoring(
            scoring.protocols,
            (_quiet(decided[0]), _quiet(decided[1])),
            shared_encoding(*firsts),
            # A core of a cluster scores one shard; this process may use threads.
            threads if sharding.engine.name == "local" else 1,
            stated,
        ),
        names,
    )


def _quiet(reading: ReadOptions) -> ReadOptions:
    return replace(reading, decision=Decision(None if reading.decision is None else reading.decision.shape))


def _first_batch(pieces: Sequence[Piece], reading: ReadOptions, allow_missing: bool) -> EventStream | None:
    """The first events of a side; files that cannot be read are passed over if they may be missing."""
    for at in range(len(pieces)):
        try:
            batches = read_pieces(pieces[at:], reading)
            first = next(batches, None)
        except SourceError:
            if not allow_missing or at + 1 == len(pieces):
                raise
            continue
        close = getattr(batches, "close", None)
        if close is not None:
            close()
        return first
    return None


def _divided(shards: Sequence[Shard], scoring: ShardScoring, sharding: Sharding) -> list[Shard]:
    """The shards, with large Parquet files cut between episodes."""
    large = [at for at, shard in enumerate(shards) if can_be_divided(shard, sharding.rows)]
    tasks = [ShardTask(shards[at], scoring, whole=False) for at in large]
    parts: dict[int, list[Shard]] = {}
    with closing(sharding.engine.results(runs_of_shard, tasks)) as results:
        for number, runs in results:
            # A file that cannot be read is reported when it is scored.
            if not isinstance(runs, FailedItem) and (found := checked_runs(runs, tasks[number])) is not None:
                parts[large[number]] = divided_shards(shards[large[number]], found, sharding.rows)
    return [part for at, shard in enumerate(shards) for part in parts.get(at, [shard])]


class _ShardedEvaluation:
    """Scores shards, keeps what is finished, and remembers which could not be read."""

    def __init__(
        self, sharding: Sharding, scoring: ShardScoring, progress: Callable[[int, int | None], None] | None
    ) -> None:
        self._sharding = sharding
        self._scoring = scoring
        self._progress = progress
        self._keys: set[str] = set()
        self.missing: dict[str, str] = {}
        """Shards that could not be read, by name, and why."""

    def run(self, shards: Sequence[Shard], *, whole: bool) -> list[ShardTally | None]:
        """The tally of each shard; None if it is missing. `whole` if the only shard is all there is."""
        tasks = [ShardTask(shard, self._scoring, whole) for shard in shards]
        keys = [task.key if self._sharding.keeper is not None else None for task in tasks]
        self._keys.update(key for key in keys if key is not None)
        found = self._kept(tasks, keys)
        waiting = [at for at, one in enumerate(found) if one is None]
        done = len(tasks) - len(waiting)
        self._report(done, len(tasks))
        with closing(self._sharding.engine.results(score_shard, (tasks[at] for at in waiting))) as results:
            for number, result in results:
                at = waiting[number]
                if isinstance(result, FailedItem):
                    self._fail(tasks[at].shard, result.error)
                else:
                    tally = found[at] = checked_tally(result, tasks[at])
                    key = keys[at]
                    if key is not None and self._sharding.keeper is not None:
                        self._sharding.keeper.keep(key, tally)
                done += 1
                self._report(done, len(tasks))
        return found

    def _kept(self, tasks: Sequence[ShardTask], keys: Sequence[str | None]) -> list[ShardTally | None]:
        if self._sharding.keeper is None:
            return [None] * len(tasks)
        kept = self._sharding.keeper.load([key for key in keys if key is not None])
        return [
            checked_tally(kept[key], task) if key is not None and key in kept else None
            for task, key in zip(tasks, keys, strict=True)
        ]

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _fail(self, shard: Shard, error: Exception) -> None:
        """Count a shard that cannot be read as missing, if that is allowed; otherwise raise the error."""
        if isinstance(error, SourceError) and self._sharding.allow_missing:
            self.missing[shard.name] = f"{error.where}: {error.what}" if error.where else error.what
            return
        if isinstance(error, AssayError):
            if isinstance(error, SourceError) and error.hint is None:
                error.hint = "Leave such shards out with --allow-missing"
            error.where = error.where or shard.name
        raise error

    def scored(self, shards: Sequence[Shard]) -> list[tuple[Shard, ShardTally]]:
        """The shards with their tallies; those that share an episode, with all between them, are scored as one."""
        tallies = self.run(shards, whole=len(shards) == 1)
        found = [(shard, tally) for shard, tally in zip(shards, tallies, strict=True) if tally is not None]
        while len(found) > 1 and (spans := _entangled(found)):
            joined = [joined_shards([shard for shard, _ in found], *span) for span in spans]
            again = self.run(joined, whole=spans == [(0, len(found) - 1)])
            inside = {at for first, last in spans for at in range(first, last + 1)}
            kept = {at: found[at] for at in range(len(found)) if at not in inside}
            for (first, _), shard, tally in zip(spans, joined, again, strict=True):
                if tally is not None:
                    kept[first] = (shard, tally)
            found = [kept[at] for at in sorted(kept)]
        if not found:
            reason = next(iter(self.missing.values()))
            raise SourceError(f"none of the {counted(len(shards), 'shard')} can be read; the first: {reason}")
        return found

    def forget(self) -> None:
        """Nothing has to be kept any more."""
        if self._sharding.keeper is not None:
            self._sharding.keeper.forget(sorted(self._keys))


def _entangled(scored: Sequence[tuple[Shard, ShardTally]]) -> list[tuple[int, int]]:
    """Ranges of shards that belong together: they share episodes, or read rows differently, or are one episode each."""
    everything = [(0, len(scored) - 1)]
    for side in (0, 1):
        if len({found.inputs[side].rows for _, found in scored if found.inputs[side].events} - {""}) > 1:
            return everything
    names = [set[str]().union(*(found.inputs[side].episodes for _, found in scored)) for side in (0, 1)]
    if len(names[0]) == len(names[1]) == 1 and names[0] != names[1]:
        return everything
    first: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for at, (_, found) in enumerate(scored):
        before = [first.setdefault(name, at) for side in found.inputs for name in side.episodes]
        start = min(before, default=at)
        while spans and spans[-1][1] >= start:
            start = min(start, spans.pop()[0])
        spans.append((start, at))
    return [span for span in spans if span[0] < span[1]]


def _added(scored: Sequence[tuple[Shard, ShardTally]], scoring: Scoring) -> Scored:
    """The tallies of all shards together, in their order."""
    tallies = {protocol.name: Tally() for protocol in scoring.protocols}
    inputs = (Input(""), Input(""))
    for _, found in scored:
        for name, tally in found.tallies.items():
            tallies[name].extend(tally)
        for whole, side in zip(inputs, found.inputs, strict=True):
            whole.extend(side)
    if len(scored) > 1:
        check_shared(sorted(inputs[0].episodes), sorted(inputs[1].episodes))
    for at, side in enumerate(inputs):
        side.sha256 = joined_digest([block for _, found in scored for block in found.blocks[at]])
    return tallies, inputs


def named_files(sources: Sequence[Any]) -> Iterator[str]:
    """The addresses of sources; raises UsageError if one is not a file, folder or glob."""
    for source in sources:
        if isinstance(source, os.PathLike):
            yield os.fspath(source)
        elif isinstance(source, str) and source != "-" and source.strip() and "<EVENT_START>" not in source:
            yield source
        else:
            raise UsageError(
                "only files, folders and globs can be scored in shards", hint="Save the events, or use --engine local"
            )
