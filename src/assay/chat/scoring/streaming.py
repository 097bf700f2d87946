"""Scores a file of transcripts line by line, by any engine, in memory that hardly grows with the file.

Workers get lines and give scores; the parent adds them up in the order of the file, so that the result does not depend
on the number of workers, nor on the engine. Of the answers themselves only the first are kept; callers that
need all of them receive each as it is scored.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay import __version__
from assay.chat.domains._own import domain_name
from assay.chat.evaluator import uncollected
from assay.chat.formats import numbered_lines, parse_line
from assay.chat.formats.repetitions import Repetitions
from assay.chat.formats.unanswered import Unanswered
from assay.chat.scoring.answers import Answer
from assay.chat.scoring.metric import Metric
from assay.chat.scoring.scores import Evaluators, Scores, score_transcripts
from assay.chat.scoring.table import ScoreTable, encode_scores
from assay.chat.transcript import Transcript, load_json
from assay.engines import Engine, FailedItem
from assay.engines.local import LocalEngine, cores
from assay.errors import AssayError, SourceError

KEPT = 1000
"""Of a streamed file, this many answers are kept in `Scores.answers`, and the first failed ones after them."""
_FAILED_KEPT = 200
# A worker scores this many bytes or lines at a time: long enough to outweigh sending them, short enough to stop soon.
_CHUNK_BYTES = 256_000
_CHUNK_LINES = 200
# A task of a cluster takes a millisecond or more to be sent.
_CHUNK_OF_CLUSTER = 8
# Unreadable transcripts that are named, of those that are counted.
_NAMED = 100
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
    allow_missing: bool = False
    """Whether a transcript that cannot be read is left out and counted."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    first: int
    """How many transcripts come before it in the file."""
    lines: list[tuple[int, bytes, int | None]]
    """Lines with their numbers in the file, and the repetition of each; None if the line does not say of what."""


@dataclass(frozen=True, slots=True)
class _SentChunk:
    """What is remembered of a chunk that the engine was given."""

    number: int
    first: int
    transcripts: int
    key: str


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
    missing: dict[str, str] = field(default_factory=dict)
    """Transcripts that could not be read, by file and line, and why."""
    unanswered: Unanswered = field(default_factory=Unanswered)

    def leave_out(self, where: str, error: SourceError, settings: _Settings) -> None:
        """Name a transcript that could not be read or scored, if such may be missing; else it is an error."""
        if not settings.allow_missing:
            raise error
        self.missing[where] = str(error)


class ChunkKeeper(Protocol):
    """Keeps scored chunks, so that scoring that was stopped does not repeat them."""

    def has(self, key: str) -> bool: ...

    def load(self, key: str) -> ScoredChunk: ...

    def keep(self, key: str, found: ScoredChunk) -> None: ...


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
    engine: Engine | None = None,
    keeper: ChunkKeeper | None = None,
    allow_missing: bool = False,
) -> Scores:
    """Score the transcripts of a JSONL file; `each` is called with the scores of each part of it, in order.

    With `answers` and `texts`, each part has all its answers and their JSON. By default the cores decide the number of
    workers if the file is large, and a small one is scored in this process. With `allow_missing`, transcripts that
    cannot be read are left out, and `Scores.inputs` says how many and which.
    """
    chosen = None if metrics is None else tuple(metrics)
    settings = _Settings(str(path), form, agent, domain, chosen, answers, texts, allow_missing)
    used = Evaluators(settings.metrics).metrics
    whole = _WholeFile(used)
    used_engine = engine or LocalEngine(_workers(workers, path))
    try:
        with closing(_scored_chunks(settings, used_engine, keeper, len(used))) as chunks:  # stops work on any error
            for chunk in chunks:
                whole.add(chunk)
                if each is not None:
                    each(chunk)
                if progress is not None:
                    progress(whole.transcripts)
    finally:
        if engine is None:
            used_engine.close()
    if not whole.transcripts:
        raise SourceError("has no transcripts", where=str(path), hint="Write one JSON object per line")
    inputs: dict[str, dict[str, Any]] = {**_inputs(path)}
    if whole.missing:
        inputs["transcripts"] |= {"missing": whole.missing, "missing_transcripts": whole.named}
    return Scores(tuple(whole.answers), used, seed, inputs, table=whole.table)


class _WholeFile:
    """What the scored chunks of a file add up to."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.table = ScoreTable([metric.name for metric in metrics])
        self.answers: list[Answer] = []
        """The first answers, and the first failed ones after them."""
        self.transcripts = 0
        self.missing = 0
        """How many transcripts could not be read."""
        self.named: dict[str, str] = {}
        """The first of them, by file and line, and why."""
        self._failed_after = 0

    def add(self, chunk: ScoredChunk) -> None:
        for agent, scenario, repetition, passed, codes in chunk.cells:
            self.table.add(agent, scenario, repetition, passed=passed, codes=codes)
        for answer in chunk.answers:
            if len(self.answers) < KEPT:
                self.answers.append(answer)
            elif not answer.passed and self._failed_after < _FAILED_KEPT:
                self.answers.append(answer)
                self._failed_after += 1
        self.transcripts += chunk.transcripts
        self.missing += len(chunk.missing)
        self.named |= dict(list(chunk.missing.items())[: _NAMED - len(self.named)])


def unscored(path: Path, metrics: Sequence[str] | None, seed: int) -> Scores:
    """The scores of a file before anything is scored: its inputs and settings, for a run that is stored as it grows."""
    return Scores((), Evaluators(None if metrics is None else tuple(metrics)).metrics, seed, _inputs(path))


@functools.lru_cache(maxsize=4)
def _digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inputs(path: Path) -> dict[str, dict[str, Any]]:
    """The file, with its digest, as `Scores.inputs` has it."""
    status = path.stat()
    return {"transcripts": {"source": str(path), "sha256": _digest(path, status.st_size, status.st_mtime_ns)}}


def _workers(wanted: int | None, path: Path) -> int:
    if wanted is not None:
        return wanted
    return cores() if path.stat().st_size >= _WORTH_WORKERS else 1


def _chunks(path: Path, agent: str | None, times: int = 1) -> Iterator[_Chunk]:
    lines: list[tuple[int, bytes, int | None]] = []
    size = first = 0
    repetitions = Repetitions(str(path))
    for number, line in numbered_lines(path):
        lines.append((number, line, _repetition(repetitions, line, agent, number)))
        size += len(line)
        if size >= times * _CHUNK_BYTES or len(lines) >= times * _CHUNK_LINES:
            yield _Chunk(first, lines)
            first += len(lines)
            lines, size = [], 0
    if lines:
        yield _Chunk(first, lines)


def _repetition(repetitions: Repetitions, line: bytes, agent: str | None, number: int) -> int | None:
    """The repetition that a line is; None if it is not valid, which whoever scores it reports."""
    try:
        return repetitions.number_record(load_json(line.decode("utf-8")), agent, number)
    except (ValueError, RecursionError):
        return None


def _scored_chunks(
    settings: _Settings, engine: Engine, keeper: ChunkKeeper | None, metrics: int
) -> Generator[ScoredChunk, None, None]:
    """The chunks of a file, scored, in the order of the file; only a few are in memory at a time."""
    kept: dict[int, str] = {}
    """Chunks that were scored before: their numbers and keys."""
    sent: list[_SentChunk] = []

    def unscored_chunks() -> Iterator[_Chunk]:
        times = 1 if engine.name == "local" else _CHUNK_OF_CLUSTER
        for number, chunk in enumerate(_chunks(Path(settings.path), settings.agent, times)):
            key = "" if keeper is None else _key(settings, chunk)
            if keeper is not None and keeper.has(key):
                kept[number] = key
                continue
            sent.append(_SentChunk(number, chunk.first, len(chunk.lines), key))
            yield chunk

    waiting: dict[int, ScoredChunk] = {}
    expected = 0
    with closing(engine.results(functools.partial(_scored, settings), unscored_chunks())) as results:
        for at, found in results:
            number, key = sent[at].number, sent[at].key
            if isinstance(found, FailedItem):
                if isinstance(found.error, AssayError):
                    found.error.where = found.error.where or settings.path
                raise found.error
            waiting[number] = _checked(found, settings, sent[at], metrics)
            if keeper is not None:
                keeper.keep(key, waiting[number])
            while expected in waiting or expected in kept:
                yield waiting.pop(expected) if expected in waiting else _reloaded(keeper, kept.pop(expected))
                expected += 1
    while expected in kept:
        yield _reloaded(keeper, kept.pop(expected))
        expected += 1


def _reloaded(keeper: ChunkKeeper | None, key: str) -> ScoredChunk:
    assert keeper is not None
    return keeper.load(key)


def _key(settings: _Settings, chunk: _Chunk) -> str:
    """Equal for equal transcripts at the same place of a file, scored in the same way."""
    digest = hashlib.sha256(repr((__version__, settings, chunk.first)).encode("utf-8", "backslashreplace"))
    for number, line, repetition in chunk.lines:
        digest.update(b"%d %d %d " % (number, len(line), -1 if repetition is None else repetition) + line)
    return digest.hexdigest()


def _checked(found: object, settings: _Settings, sent: _SentChunk, metrics: int) -> ScoredChunk:
    """What a worker returned, if it is the scores of the chunk that it was sent; raises AssayError otherwise."""
    try:
        if type(found) is ScoredChunk and _is_whole(found, settings, sent, metrics):
            return found
    except (TypeError, ValueError, AttributeError):  # a part of it has another type
        pass
    raise AssayError(
        "a worker returned something that is not a list of scores, "
        f"for the transcripts from number {sent.first + 1} on",
        where=settings.path,
        hint="Its machine may be faulty, or have another version of a package; nothing of it was counted",
    )


def _is_whole(found: ScoredChunk, settings: _Settings, sent: _SentChunk, metrics: int) -> bool:
    cells = all(
        type(who) is type(scenario) is str
        and type(repetition) is int
        and 0 <= repetition < 2**31
        and type(passed) is bool
        and type(codes) is bytes
        and len(codes) == metrics
        and all(code <= 100 or code >= 254 for code in codes)
        for who, scenario, repetition, passed, codes in found.cells
    )
    return (
        cells
        and found.transcripts == sent.transcripts
        and len(found.missing) <= (sent.transcripts if settings.allow_missing else 0)
        and all(type(where) is type(why) is str for where, why in found.missing.items())
        and type(found.unanswered) is Unanswered
        and all(type(count) is int for count in astuple(found.unanswered))
        and all(type(answer) is Answer for answer in found.answers)
        and len(found.texts) == (len(found.cells) if settings.texts else 0)
        and all(type(text) is str for text in found.texts)
        and (len(found.answers) == len(found.cells) if settings.answers else len(found.answers) <= len(found.cells))
    )


@functools.lru_cache(maxsize=4)
def _evaluators(metrics: tuple[str, ...] | None) -> Evaluators:
    return Evaluators(metrics)


def _scored(settings: _Settings, chunk: _Chunk) -> ScoredChunk:
    # The answers of a chunk stay until it is scored, and have no cycles: collections in between would only take time.
    with uncollected():
        return _scored_lines(settings, chunk)


class _ReadLine(NamedTuple):
    """A transcript of a file."""

    at: int
    """How many come before it in the file."""
    where: str
    transcript: Transcript
    parse: Callable[[], Transcript]
    """Reads it again with its truths, which raises the error with the line and the field if it is about one."""


def _scored_lines(settings: _Settings, chunk: _Chunk) -> ScoredChunk:
    evaluators = _evaluators(settings.metrics)
    names = [metric.name for metric in evaluators.metrics]
    found = ScoredChunk(transcripts=len(chunk.lines))
    failed = 0
    for read, answers in _answers_of(_read_lines(settings, chunk, found), evaluators, settings, found):
        found.unanswered.add(read.transcript)
        for answer in answers:
            found.cells.append(
                (answer.agent, answer.scenario, answer.repetition, answer.passed, encode_scores(answer, names))
            )
            if settings.answers or read.at < KEPT:
                found.answers.append(answer)
            elif not answer.passed and failed < _FAILED_KEPT:
                found.answers.append(answer)
                failed += 1
            if settings.texts:
                found.texts.append(json.dumps(answer.to_json(), ensure_ascii=False))
    return found


def _read_lines(settings: _Settings, chunk: _Chunk, found: ScoredChunk) -> list[_ReadLine]:
    """The transcripts of a chunk; what cannot be read is an error, or is named in `found`."""
    # Each process has to load a domain from a file itself.
    domain = None if settings.domain is None else domain_name(settings.domain)
    read = []
    for at, (number, line, repetition) in enumerate(chunk.lines, chunk.first):
        where = f"{settings.path}:{number}"
        parse = functools.partial(
            parse_line,
            line,
            where,
            form=settings.form,
            agent=settings.agent,
            number=at + 1,
            domain=domain,
            repetition=repetition,
        )
        try:
            read.append(_ReadLine(at, where, parse(read_truths=False), parse))
        except SourceError as error:
            found.leave_out(where, error, settings)
    return read


def _answers_of(
    read: Sequence[_ReadLine], evaluators: Evaluators, settings: _Settings, found: ScoredChunk
) -> Iterator[tuple[_ReadLine, list[Answer]]]:
    """Each transcript with its answers, scored; one that cannot be is an error, or is named in `found`."""
    try:
        yield from zip(read, score_transcripts([one.transcript for one in read], evaluators), strict=True)
    except AssayError:
        for one in read:  # to tell which of them
            try:
                yield one, _answers_of_one(one, evaluators)
            except SourceError as error:
                found.leave_out(one.where, error, settings)


def _answers_of_one(one: _ReadLine, evaluators: Evaluators) -> list[Answer]:
    try:
        return score_transcripts([one.transcript], evaluators)[0]
    except AssayError:
        one.parse()
        raise
