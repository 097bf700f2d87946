"""Scores turns off the event loop: in a thread of this process, or, in a long run, in a separate process.

The embedded services answer from this process, so scoring here would slow them down while agents are being timed.
`python -m assay.chat.running.scoring_process` is the other process: it reads pickled turns and writes answers.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.child import start_module
from assay.chat.running.reception import describe_error
from assay.chat.scoring.scores import answer_of
from assay.errors import AssayError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Answer, Record
    from assay.chat.scoring.metric import Entry
    from assay.chat.scoring.robustness import QuirkOutcome
    from assay.chat.transcript import Transcript

# Conversations that may wait to be scored: enough to keep both processes busy, and scored within half a second.
_WAITING = 128
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

    async def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Answer:
        """Turn `at` of a transcript, scored; raises what a metric raises. The rest is as in `answer_of`."""
        ...

    async def close(self) -> None: ...


class _Turn(NamedTuple):
    transcript: Transcript
    at: int
    record: Record | None
    worst: QuirkOutcome | None


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
        self._waiting: list[tuple[_Turn, asyncio.Future[Answer]]] = []
        self._sending: asyncio.Task[None] | None = None

    @cached_property
    def _here(self) -> LocalScorer:
        return LocalScorer(ChatbotEvaluator(**self._settings))

    async def start(self) -> None:
        """Start the process, which gets ready while agents are being opened."""
        self._process = await start_module("assay.chat.running.scoring_process", stderr=asyncio.subprocess.DEVNULL)
        await self._send(self._settings)

    async def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Answer:
        if self._ended or self._process is None:
            return await self._here.score(transcript, at, record=record, worst=worst)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((_Turn(transcript, at, record, worst), answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_waiting())
        return await answer

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_CLOSE)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _send_waiting(self) -> None:
        """Send what waits, all of it at once, until nothing does."""
        while self._waiting:
            if len(self._waiting) < _MANY:
                await asyncio.sleep(_COLLECTED_FOR)
            batch, self._waiting = self._waiting, []
            try:
                await self._send([turn for turn, _ in batch])
                found = await self._received()
            except (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError):
                self._ended = True
                await self._score_here([*batch, *self._waiting])
                self._waiting = []
                break
            for (_, future), outcome in zip(batch, found, strict=True):
                if future.done():
                    continue  # the task that waited was cancelled
                if isinstance(outcome, str):
                    future.set_exception(AssayError(outcome))
                else:
                    future.set_result(outcome)
        self._sending = None

    async def _score_here(self, batch: Sequence[tuple[_Turn, asyncio.Future[Answer]]]) -> None:
        for turn, future in batch:
            try:
                answer = await self._here.score(turn.transcript, turn.at, record=turn.record, worst=turn.worst)
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(answer)

    async def _send(self, message: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.write(_SIZE.pack(len(body)) + body)
        await self._process.stdin.drain()

    async def _received(self) -> list[Answer | str]:
        """Answers, or descriptions of what went wrong, in the order in which turns were sent."""
        assert self._process is not None
        assert self._process.stdout is not None
        (size,) = _SIZE.unpack(await self._process.stdout.readexactly(_SIZE.size))
        found: list[Answer | str] = pickle.loads(await self._process.stdout.readexactly(size))
        return found


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


def _shared(outcomes: Sequence[Answer | str]) -> list[Answer | str]:
    """The same answers, in which equal entries that measured nothing are one object: it is then pickled once."""
    seen: dict[tuple[str, str, float], Entry] = {}
    return [
        outcome
        if isinstance(outcome, str)
        else replace(
            outcome,
            entries={
                name: entry if entry["measured"] else seen.setdefault((name, entry["details"], entry["base"]), entry)
                for name, entry in outcome.entries.items()
            },
        )
        for outcome in outcomes
    ]


def _outcome(evaluator: ChatbotEvaluator, turn: _Turn) -> Answer | str:
    try:
        return answer_of(turn.transcript, turn.at, evaluator, record=turn.record, worst=turn.worst)
    except Exception as error:
        return describe_scoring_error(error)


def _read(source: IO[bytes]) -> Any:
    """The next message of the parent; None at the end of the input."""
    size = source.read(_SIZE.size)
    return pickle.loads(source.read(_SIZE.unpack(size)[0])) if len(size) == _SIZE.size else None


if __name__ == "__main__":
    from assay.chat.running.scoring_process import (
        _serve as serve,  # not of __main__: the parent pickles its own classes
    )

    # Our answers go to the pipe and whatever a metric prints to standard error, so that the two cannot mix.
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, pipe)
