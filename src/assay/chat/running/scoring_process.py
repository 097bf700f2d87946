"""Scores turns off the event loop: in a thread of this process, or, in a long run, in a separate process.

The embedded services answer from this process, so scoring here would slow them down while agents are being timed.
`python -m assay.chat.running.scoring_process` is the other process: it reads pickled turns and writes answers.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import struct
import sys
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.child import start_module
from assay.chat.running.reception import describe_error
from assay.chat.scoring.answering import answer_of
from assay.chat.scoring.answers import Answer
from assay.errors import AssayError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.scoring.answers import FailedCheck, Record
    from assay.chat.scoring.metric import Entry
    from assay.chat.scoring.robustness import QuirkOutcome
    from assay.chat.transcript import Transcript

# Conversations that may wait to be scored: enough to keep both processes busy, and scored within half a second.
_WAITING = 256
# Turns are collected for this many seconds, or until there are so many, because a message costs more than a short turn.
_COLLECTED_FOR = 0.02
_MANY = 64
# Starting the process takes about a second of processor time; fewer turns are scored here meanwhile.
FEWEST_TURNS = 300
_SIZE = struct.Struct("<Q")
_SECONDS_TO_CLOSE = 5.0


class Scorer(Protocol):
    """Scores the turns of a run."""

    at_once: int
    """How many conversations may wait for their scores before no further one is started."""

    def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Awaitable[Answer]:
        """Turn `at` of a transcript, scored; raises what a metric raises. The rest is as in `answer_of`."""
        ...

    async def close(self) -> None: ...


class _Turn(NamedTuple):
    transcript: Transcript
    at: int
    record: Record | None
    worst: QuirkOutcome | None

    def without_idle_record(self) -> _Turn:
        """The same turn, without a record that scoring does not look at."""
        return self if self.record is None or self.record.quirk is not None else self._replace(record=None)


_Batch = list[tuple[_Turn, "asyncio.Future[Answer]"]]


class _Scored(NamedTuple):
    """What scoring adds to a turn: the rest of its answer does not have to travel back."""

    entries: Mapping[str, Entry]
    failures: tuple[FailedCheck, ...]
    record: Record | None
    """Its record, if scoring changed it: that of a turn with a quirk."""

    def answer_to(self, turn: _Turn) -> Answer:
        transcript, at = turn.transcript, turn.at
        said = transcript.turns[at]
        return Answer(
            agent=transcript.agent,
            scenario=transcript.scenario,
            repetition=transcript.repetition,
            turn=at,
            query=said.user or "",
            response=said.assistant or "",
            entries=self.entries,
            passed=not self.failures,
            failures=self.failures,
            record=self.record or turn.record,
            truth=said.truth,
        )


class LocalScorer:
    """Scores in a thread of this process."""

    def __init__(self, evaluator: ChatbotEvaluator, *, at_once: int = 1) -> None:
        self.at_once = at_once
        self._evaluator = evaluator

    async def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Answer:
        return await asyncio.to_thread(answer_of, transcript, at, self._evaluator, record=record, worst=worst)

    async def close(self) -> None:
        """Nothing to close."""


class ProcessScorer:
    """Scores in a separate process, with registered metrics. If that process ends, the rest is scored here."""

    at_once = _WAITING

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings` are the arguments of `ChatbotEvaluator`, as plain data."""
        self._settings = dict(settings)
        self._process: asyncio.subprocess.Process | None = None
        self._ended = False
        self._waiting: _Batch = []
        self._timer: asyncio.TimerHandle | None = None
        self._sent: deque[_Batch] = deque()
        """Batches whose answers have not come back yet, oldest first."""
        self._receiving: asyncio.Task[None] | None = None

    @cached_property
    def _here(self) -> LocalScorer:
        return LocalScorer(ChatbotEvaluator(**self._settings))

    async def start(self) -> None:
        """Start the process, which gets ready while agents are being opened."""
        self._process = await start_module("assay.chat.running.scoring_process", stderr=asyncio.subprocess.DEVNULL)
        self._send(self._settings)
        self._receiving = asyncio.create_task(self._receive())

    def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Awaitable[Answer]:
        if self._ended or self._process is None:
            return self._here.score(transcript, at, record=record, worst=worst)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((_Turn(transcript, at, record, worst), answer))
        if len(self._waiting) >= _MANY:
            self._send_waiting()
        elif self._timer is None:
            self._timer = loop.call_later(_COLLECTED_FOR, self._send_waiting)
        return answer

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.gather(self._receiving, return_exceptions=True)
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_CLOSE)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _send_waiting(self) -> None:
        """Send what waits, all of it at once. How much may wait is bounded, so the pipe's buffer is too."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting or self._ended:
            return
        batch, self._waiting = self._waiting, []
        self._sent.append(batch)
        self._send([turn.without_idle_record() for turn, _ in batch])

    def _send(self, message: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.write(_SIZE.pack(len(body)) + body)

    async def _receive(self) -> None:
        """Pass answers on as they come back; if the process ends, score what it has not."""
        try:
            while True:
                found = await self._received()
                for (turn, future), outcome in zip(self._sent.popleft(), found, strict=True):
                    if future.done():
                        continue  # nobody waits for it any more
                    if isinstance(outcome, str):
                        future.set_exception(AssayError(outcome))
                    else:
                        future.set_result(outcome.answer_to(turn))
        except (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError):
            self._ended = True
            left = [*(one for batch in self._sent for one in batch), *self._waiting]
            self._sent.clear()
            self._waiting = []
            await self._score_here(left)

    async def _received(self) -> list[_Scored | str]:
        """What scoring adds to each turn, or descriptions of what went wrong, in the order in which turns were sent."""
        assert self._process is not None
        assert self._process.stdout is not None
        (size,) = _SIZE.unpack(await self._process.stdout.readexactly(_SIZE.size))
        found: list[_Scored | str] = pickle.loads(await self._process.stdout.readexactly(size))
        return found

    async def _score_here(self, batch: _Batch) -> None:
        for turn, future in batch:
            try:
                answer = await self._here.score(turn.transcript, turn.at, record=turn.record, worst=turn.worst)
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(answer)


def describe_scoring_error(error: Exception) -> str:
    """Why a turn could not be scored, in one line."""
    return redacted(str(error)) if isinstance(error, AssayError) else describe_error(error)


# --- the other process ------------------------------------------------------------------------------------------------


def _serve(source: IO[bytes], out: IO[bytes]) -> None:
    settings = _read(source)
    if settings is None:
        return
    evaluator = ChatbotEvaluator(**settings)
    # Loads what is loaded at the first answer, such as names of cities, before the first answer comes. The texts show
    # their language, so that no other one is loaded, which most runs do not need.
    evaluator.evaluate_response(
        "What is the weather like in Oslo, and should I take a coat with me?",
        "It is 3 °C in Oslo, and you should take a coat with you.",
        "warm-up",
    )
    while (batch := _read(source)) is not None:
        body = pickle.dumps(_shared([_outcome(evaluator, turn) for turn in batch]), pickle.HIGHEST_PROTOCOL)
        out.write(_SIZE.pack(len(body)) + body)
        out.flush()


def _shared(outcomes: Sequence[_Scored | str]) -> list[_Scored | str]:
    """The same outcomes, in which equal entries that measured nothing are one object: it is then pickled once."""
    seen: dict[tuple[str, str, float], Entry] = {}
    return [
        outcome
        if isinstance(outcome, str)
        else outcome._replace(
            entries={
                name: entry if entry["measured"] else seen.setdefault((name, entry["details"], entry["base"]), entry)
                for name, entry in outcome.entries.items()
            }
        )
        for outcome in outcomes
    ]


def _outcome(evaluator: ChatbotEvaluator, turn: _Turn) -> _Scored | str:
    try:
        answer = answer_of(turn.transcript, turn.at, evaluator, record=turn.record, worst=turn.worst)
    except Exception as error:
        return describe_scoring_error(error)
    return _Scored(answer.entries, answer.failures, answer.record)


def _read(source: IO[bytes]) -> Any:
    """The next message of the parent; None at the end of the input."""
    size = source.read(_SIZE.size)
    return pickle.loads(source.read(_SIZE.unpack(size)[0])) if len(size) == _SIZE.size else None


if __name__ == "__main__":
    from assay.chat.running.scoring_process import (
        _serve as serve,  # not of __main__: the parent pickles its own classes
    )

    gc.set_threshold(20_000, 20, 20)  # what is read has no cycles
    # Our answers go to the pipe and whatever a metric prints to standard error, so that the two cannot mix.
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, pipe)
