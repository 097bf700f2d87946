"""`assay chat score` of a large file: scored, written and stored a part at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli._engines import opened_engine
from assay.cli._output import announce, note
from assay.errors import AssayError, SourceError, UsageError
from assay.outputs import replacing
from assay.shown import escaped

if TYPE_CHECKING:
    from assay.chat.scoring.scores import Scores
    from assay.chat.scoring.streaming import ScoredChunk
    from assay.chat.transcript import Transcript
    from assay.runs.recorder import StreamRecorder

NO_ANSWERS_HINT = "A turn needs a 'user' or an 'assistant' side"
_LARGE = 8_000_000
_SECONDS_BETWEEN_NOTES = 5.0
# How many transcripts of a large file are looked at for states that their domain does not have.
_LOOKED_AT = 200


def is_streamed(path: Path, *, form: str, asked: bool) -> bool:
    """Whether a file is scored a part at a time: it is large or that was asked for, and each line is a transcript."""
    from assay.chat.formats import can_stream

    try:
        large = path.is_file() and path.stat().st_size >= _LARGE
    except OSError:
        return False
    return (large or (asked and path.is_file())) and can_stream(path, format=form)


class StreamedFile:
    """A file to be scored a part at a time, and how."""

    def __init__(
        self,
        path: Path,
        *,
        form: str,
        agent: str | None,
        domain: str | None,
        metrics: Sequence[str] | None,
        seed: int,
        workers: int | None,
        engine: str = "local",
        address: str | None = None,
        allow_missing: bool = False,
    ) -> None:
        self.path = path
        self.metrics = metrics
        self.seed = seed
        self._form = form
        self._agent = agent
        self._domain = domain
        self._workers = workers
        self._engine = engine
        self._address = address
        self._allow_missing = allow_missing
        self._noted = self._started = time.monotonic()

    def score(self, recorder: StreamRecorder | None, *, json_out: str | None, store: str | None) -> Scores:
        """Score the file; each answer goes to the store and to the JSON as soon as it is scored."""
        from assay.chat.formats.own_states import notes_on_states
        from assay.chat.formats.unanswered import Unanswered
        from assay.chat.scoring.streaming import score_stream

        unanswered = Unanswered()
        with ExitStack() as stack:
            engine = keeper = None
            if self._engine != "local":
                if recorder is not None:
                    from assay.runs.finished_shards import ChunksInStore
                    from assay.store import open_store

                    keeper = ChunksInStore(stack.enter_context(open_store(store)))
                engine = stack.enter_context(opened_engine(self._engine, self._address, self._workers))
            writer = None if json_out is None else stack.enter_context(_json_answers(json_out))

            def each(chunk: ScoredChunk) -> None:
                if recorder is not None:
                    recorder.keep(chunk.answers)
                if writer is not None:
                    writer.add(chunk.texts)
                unanswered.merge(chunk.unanswered)

            scores = score_stream(
                self.path,
                form=self._form,
                agent=self._agent,
                domain=self._domain,
                metrics=self.metrics,
                seed=self.seed,
                workers=self._workers,
                each=each,
                answers=recorder is not None,
                texts=writer is not None,
                progress=self._progress,
                engine=engine,
                keeper=keeper,
                allow_missing=self._allow_missing,
            )
            if not scores.answer_count:
                raise SourceError("has no answers to score", where=str(self.path), hint=NO_ANSWERS_HINT)
            if recorder is not None and scores.table is not None:
                recorder.finish(scores.table, missing=scores.inputs["transcripts"].get("missing_transcripts"))
            if writer is not None:
                writer.close(scores)
            for sentence in (*unanswered.notes(), *notes_on_states(self._first_transcripts())):
                note(sentence)
            if keeper is not None:
                keeper.forget()
                if keeper.reused:
                    note(f"{keeper.reused:,} shards were finished by an earlier command and not scored again")
            if missing := scores.inputs.get("transcripts", {}).get("missing"):
                named = scores.inputs["transcripts"]["missing_transcripts"]
                first = "; ".join(list(named.values())[:3])
                note(f"{missing:,} transcripts could not be read and are left out: {escaped(first)}")
        return scores

    def _first_transcripts(self) -> Iterator[Transcript]:
        """The first transcripts of the file that can be read: they show how its truths are written."""
        from assay.chat.domains._own import domain_name
        from assay.chat.formats import numbered_lines, parse_line

        domain = None if self._domain is None else domain_name(self._domain)
        for number, line in islice(numbered_lines(self.path), _LOOKED_AT):
            with suppress(AssayError):
                where = f"{self.path}:{number}"
                yield parse_line(line, where, form=self._form, agent=self._agent, number=number, domain=domain)

    def _progress(self, transcripts: int) -> None:
        if time.monotonic() - self._noted >= _SECONDS_BETWEEN_NOTES:
            self._noted = time.monotonic()
            rate = transcripts / (self._noted - self._started)
            note(f"{transcripts:,} transcripts are scored, {rate:,.0f}/s")


class _JsonAnswers:
    """Writes the JSON of a result whose answers come one after another."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._separator = b'{\n"answers": [\n'

    def add(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._write(self._separator + escaped(text).encode("utf-8", "backslashreplace"))
            self._separator = b",\n"

    def close(self, scores: Scores) -> None:
        """What is known only at the end: the summary follows the answers."""
        import json

        rest = json.dumps(scores.summary_json(), indent=2, ensure_ascii=False)
        self._write(b"\n]," + escaped(rest).removeprefix("{").encode("utf-8", "backslashreplace") + b"\n")


@contextmanager
def _json_answers(target: str) -> Iterator[_JsonAnswers]:
    """A writer of JSON to a file or, for '-', to standard output; an incomplete file is not left behind."""
    if target == "-":
        sys.stdout.flush()
        binary = getattr(sys.stdout, "buffer", None)
        yield _JsonAnswers((lambda text: sys.stdout.write(text.decode())) if binary is None else binary.write)
        sys.stdout.flush()
        return
    try:
        with replacing(target) as path, path.open("wb") as file:
            yield _JsonAnswers(file.write)
    except OSError as error:
        raise UsageError(f"cannot write the file: {error.strerror or error}", where=target) from error
    announce(f"Written: {target}")


@contextmanager
def keeping(
    stream: StreamedFile, store: str | None, *, name: str = "", tags: Sequence[str] = ()
) -> Iterator[StreamRecorder | None]:
    """A recorder that stores the answers of a file as they are scored; an unfinished run is deleted.

    If a store that was asked for cannot be opened, that is an error; if the default store cannot, a note says so.
    """
    from assay.chat.scoring.streaming import unscored
    from assay.runs.from_results import recorded_run
    from assay.runs.machine import command_line
    from assay.runs.recorder import StreamRecorder
    from assay.store import VARIABLE, open_store

    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_store(store))
            result = unscored(stream.path, stream.metrics, stream.seed)
            recorder = StreamRecorder(opened, recorded_run(result, command=command_line(), name=name, tags=tags))
        except AssayError as error:
            if store or os.environ.get(VARIABLE):
                raise
            note(f"the run was not stored: {error}")
            recorder = None
        try:
            yield recorder
        except BaseException:
            if recorder is not None:
                recorder.discard()
            raise
