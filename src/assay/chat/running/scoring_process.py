"""Scores turns off the event loop: in a thread of this process, or, in a long run, in a separate process.

The embedded services answer from this process, so scoring here would slow them down while agents are being timed.
`scoring_worker.py` is the other process.
"""

from __future__ import annotations

import asyncio
import pickle
import subprocess
from collections import deque
from collections.abc import Awaitable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.processes.ahead import start_scoring
from assay.chat.running.processes.forking import Forked
from assay.chat.running.scoring_worker import MESSAGE_SIZE, OWN_DOMAIN, ScoredTurn, fields_to_send
from assay.chat.running.sent_entries import Receiver, ScoringOutcome
from assay.chat.scoring.answering import UnscoredTurn, answer_of
from assay.chat.scoring.answers import Answer
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Record
    from assay.chat.scoring.outcomes.robustness import QuirkOutcome
    from assay.chat.transcript import Transcript

# Conversations that may wait to be scored: enough to keep both processes busy, and scored within half a second.
_WAITING = 256
# Turns are collected for this many seconds, or until there are so many, because a message costs more than a short turn.
_COLLECTED_FOR = 0.02
_MANY = 64
# Starting the process takes about a second of processor time; fewer turns are scored here meanwhile.
FEWEST_TURNS = 300
_SECONDS_TO_CLOSE = 5.0
_LARGEST_MESSAGE = 64 * 2**20


class Scorer(Protocol):
    """Scores the turns of a run."""

    at_once: int
    """How many conversations may wait for their scores before no further one is started."""

    def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Awaitable[Answer]:
        """Turn `at` of a transcript, scored; raises what a metric raises. The rest is as in `answer_of`."""
        ...

    def release(self) -> None:
        """Nothing more will be scored: a process may end, without being waited for."""

    async def close(self) -> None: ...


_Batch = list[tuple[UnscoredTurn, "asyncio.Future[Answer]"]]


class LocalScorer:
    """Scores in a thread of this process."""

    def __init__(self, evaluator: ChatbotEvaluator, *, at_once: int = 1) -> None:
        self.at_once = at_once
        self._evaluator = evaluator

    async def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Answer:
        return await asyncio.to_thread(answer_of, transcript, at, self._evaluator, record=record, worst=worst)

    def release(self) -> None:
        """Nothing to end."""

    async def close(self) -> None:
        """Nothing to close."""


class ProcessScorer:
    """Scores in a separate process, with registered metrics. If that process ends, the rest is scored here."""

    at_once = _WAITING

    def __init__(
        self,
        settings: Mapping[str, Any],
        process: subprocess.Popen[bytes] | Forked | None = None,
        *,
        own_domain: str | None = None,
    ) -> None:
        """`settings` are the arguments of `ChatbotEvaluator`, as plain data; `process` was started ahead, if given.
        `own_domain` is the path of a domain that is not installed.
        """
        self._settings = dict(settings)
        self._own_domain = own_domain
        self._process = process
        self._input: asyncio.WriteTransport | None = None
        self._output = asyncio.StreamReader(limit=_LARGEST_MESSAGE)
        self._ended = False
        self._waiting: _Batch = []
        self._timer: asyncio.TimerHandle | None = None
        self._receiver = Receiver()
        self._sent: deque[_Batch] = deque()
        """Batches whose answers have not come back yet, oldest first."""
        self._receiving: asyncio.Task[None] | None = None

    @cached_property
    def _here(self) -> LocalScorer:
        return LocalScorer(ChatbotEvaluator(**self._settings))

    async def start(self) -> None:
        """Start the process if it is not running yet; it gets ready while agents are being opened."""
        if self._process is None:
            self._process = start_scoring()
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._output), self._process.stdout)
        self._send({**self._settings, OWN_DOMAIN: self._own_domain})
        self._receiving = asyncio.create_task(self._receive())

    def score(
        self, transcript: Transcript, at: int, *, record: Record | None = None, worst: QuirkOutcome | None = None
    ) -> Awaitable[Answer]:
        if self._ended or self._input is None:
            return self._here.score(transcript, at, record=record, worst=worst)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((UnscoredTurn(transcript, at, record, worst), answer))
        if len(self._waiting) >= _MANY:
            self._send_waiting()
        elif self._timer is None:
            self._timer = loop.call_later(_COLLECTED_FOR, self._send_waiting)
        return answer

    def release(self) -> None:
        if self._input is not None:
            self._input.close()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.gather(self._receiving, return_exceptions=True)
        self.release()
        if self._input is not None and self._process is not None:
            try:
                await asyncio.to_thread(self._process.wait, _SECONDS_TO_CLOSE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _send_waiting(self) -> None:
        """Send what waits, all of it at once. How much may wait is bounded, so the pipe's buffer is too."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting or self._ended:
            return
        batch, self._waiting = self._waiting, []
        self._sent.append(batch)
        self._send([fields_to_send(turn) for turn, _ in batch])

    def _send(self, message: Any) -> None:
        assert self._input is not None
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._input.write(MESSAGE_SIZE.pack(len(body)) + body)

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
                        future.set_result(ScoredTurn(*outcome).answer_to(turn))
        except (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError):
            self._ended = True
            left = [*(one for batch in self._sent for one in batch), *self._waiting]
            self._sent.clear()
            self._waiting = []
            await self._score_here(left)

    async def _received(self) -> list[ScoringOutcome]:
        """Fields of what scoring adds to each turn, or what went wrong, in the order in which turns were sent."""
        (size,) = MESSAGE_SIZE.unpack(await self._output.readexactly(MESSAGE_SIZE.size))
        return self._receiver.outcomes(pickle.loads(await self._output.readexactly(size)))

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
