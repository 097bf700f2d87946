"""Scores a file of transcripts line by line, on several cores if it is large, in memory that hardly grows with it.

Workers get lines and give scores; the parent adds them up in the order of the file, so that the result does not depend
on the number of workers. Of the answers themselves only the first are kept; whoever wants all takes them as they come.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from assay.chat.domains._own import domain_name
from assay.chat.formats import numbered_lines, parse_line
from assay.chat.scoring.answers import Answer
from assay.chat.scoring.scores import Evaluators, Scores, score_transcript
from assay.chat.scoring.table import ScoreTable, encode_scores
from assay.errors import AssayError, SourceError

KEPT = 1000
"""Of a streamed file, this many answers are kept in `Scores.answers`, and the first failed ones after them."""
_FAILED_KEPT = 200
# A worker scores this many bytes or lines at a time: long enough to outweigh sending them, short enough to stop soon.
_CHUNK_BYTES = 256_000
_CHUNK_LINES = 200
# Chunks that wait for each worker.
_AHEAD = 3
# Starting a worker takes about as long as scoring this many bytes.
_WORTH_WORKERS = 4_000_000


@dataclass(frozen=True, slots=True)
class _Settings:
    """How every chunk of a file is scored."""

    path: str
    form: str
    agent: str | None
    domain: str | None
    """The name or the path of the domain of transcripts that name none."""
    metrics: tuple[str, ...] | None
    answers: bool
    """Whether all answers are wanted, not only the first."""
    texts: bool
    """Whether the JSON of all answers is wanted."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    first: int
    """How many transcripts come before it in the file."""
    lines: list[tuple[int, bytes]]
    """Lines with their numbers in the file."""


@dataclass(slots=True)
class ScoredChunk:
    """The scores of some transcripts."""

    cells: list[tuple[str, str, int, bool, bytes]] = field(default_factory=list)
    """Of each answer: agent, scenario, repetition, whether it passed, scores."""
    answers: list[Answer] = field(default_factory=list)
    """All answers if they are wanted, else those that the result keeps."""
    texts: list[str] = field(default_factory=list)
    """The JSON of each answer, if it is wanted."""
    transcripts: int = 0


def score_stream(
    path: Path,
    *,
    form: str = "auto",
    agent: str | None = None,
    domain: str | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 42,
    workers: int | None = None,
    each: Callable[[ScoredChunk], None] | None = None,
    answers: bool = False,
    texts: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scores:
    """Score the transcripts of a JSONL file; `each` is called with the scores of each part of it, in order.

    With `answers` and `texts`, each part has all its answers and their JSON. By default the cores decide the number of
    workers if the file is large, and a small one is scored in this process.
    """
    settings = _Settings(str(path), form, agent, domain, None if metrics is None else tuple(metrics), answers, texts)
    used = Evaluators(settings.metrics).metrics
    table = ScoreTable([metric.name for metric in used])
    kept: list[Answer] = []
    failed_after = done = 0
    with closing(_scored_chunks(settings, _workers(workers, path))) as chunks:  # stops the workers on any error
        for chunk in chunks:
            for who, scenario, repetition, passed, codes in chunk.cells:
                table.add(who, scenario, repetition, passed=passed, codes=codes)
            for answer in chunk.answers:
                if len(kept) < KEPT:
                    kept.append(answer)
                elif not answer.passed and failed_after < _FAILED_KEPT:
                    kept.append(answer)
                    failed_after += 1
            if each is not None:
                each(chunk)
            done += chunk.transcripts
            if progress is not None:
                progress(done)
    if not done:
        raise SourceError("has no transcripts", where=str(path), hint="Write one JSON object per line")
    return Scores(tuple(kept), used, seed, _inputs(path), table=table)


def unscored(path: Path, metrics: Sequence[str] | None, seed: int) -> Scores:
    """The scores of a file before anything is scored: its inputs and settings, for a run that is stored as it grows."""
    return Scores((), Evaluators(None if metrics is None else tuple(metrics)).metrics, seed, _inputs(path))


@functools.lru_cache(maxsize=4)
def _digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inputs(path: Path) -> dict[str, dict[str, str]]:
    """The file, with its digest, as `Scores.inputs` has it."""
    status = path.stat()
    return {"transcripts": {"source": str(path), "sha256": _digest(path, status.st_size, status.st_mtime_ns)}}


def _workers(wanted: int | None, path: Path) -> int:
    if wanted is not None:
        return wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if path.stat().st_size >= _WORTH_WORKERS else 1


def _chunks(path: Path) -> Iterator[_Chunk]:
    lines: list[tuple[int, bytes]] = []
    size = first = 0
    for number, line in numbered_lines(path):
        lines.append((number, line))
        size += len(line)
        if size >= _CHUNK_BYTES or len(lines) >= _CHUNK_LINES:
            yield _Chunk(first, lines)
            first += len(lines)
            lines, size = [], 0
    if lines:
        yield _Chunk(first, lines)


def _scored_chunks(settings: _Settings, workers: int) -> Generator[ScoredChunk, None, None]:
    """The chunks of a file, scored, in the order of the file; only a few are in memory at a time."""
    chunks = _chunks(Path(settings.path))
    if workers <= 1:
        yield from (_scored(settings, chunk) for chunk in chunks)
        return
    waiting: deque[Future[ScoredChunk]] = deque()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start_worker)
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_scored, settings, chunk))
            if len(waiting) > _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise AssayError(
            "a worker process ended while it scored transcripts",
            where=settings.path,
            hint="It may have run out of memory; try --workers 1",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    # Ctrl-C reaches every process of a terminal; the parent stops the workers, and says so once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Scoring makes many objects and hardly any cycles: searching for them only takes time.
    gc.set_threshold(100_000, 20, 20)


@functools.lru_cache(maxsize=4)
def _evaluators(metrics: tuple[str, ...] | None) -> Evaluators:
    return Evaluators(metrics)


def _scored(settings: _Settings, chunk: _Chunk) -> ScoredChunk:
    evaluators = _evaluators(settings.metrics)
    names = [metric.name for metric in evaluators.metrics]
    # Each process has to load a domain from a file itself.
    domain = None if settings.domain is None else domain_name(settings.domain)
    found = ScoredChunk(transcripts=len(chunk.lines))
    failed = 0
    for at, (number, line) in enumerate(chunk.lines, chunk.first):
        where = f"{settings.path}:{number}"
        transcript = parse_line(line, where, form=settings.form, agent=settings.agent, number=at + 1, domain=domain)
        for answer in score_transcript(transcript, evaluators):
            found.cells.append(
                (answer.agent, answer.scenario, answer.repetition, answer.passed, encode_scores(answer, names))
            )
            if settings.answers or at < KEPT:
                found.answers.append(answer)
            elif not answer.passed and failed < _FAILED_KEPT:
                found.answers.append(answer)
                failed += 1
            if settings.texts:
                found.texts.append(json.dumps(answer.to_json(), ensure_ascii=False))
    return found
