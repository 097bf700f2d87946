"""Scores turns in a separate process: `python -m assay.chat.running.scoring_worker` reads pickled turns and writes what
scoring adds to them. It ends when its input does. `scoring_process.py` is the other end.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from assay.chat.domains._own import load_own_domain
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.sent_entries import Sender
from assay.chat.scoring.answering import UnscoredTurn, answer_of, answers_of
from assay.chat.scoring.answers import Answer
from assay.chat.transcript import Transcript, Turn
from assay.errors import AssayError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.scoring.answers import FailedCheck, Record
    from assay.chat.scoring.metric import Entry
    from assay.chat.scoring.outcomes.robustness import QuirkOutcome

_Model = TypeVar("_Model", Transcript, Turn)
MESSAGE_SIZE = struct.Struct("<Q")
"""Before each message, its length in bytes."""
OWN_DOMAIN = "own_domain"
"""Beside the settings of an evaluator: the path of a domain that is not installed."""


def fields_to_send(turn: UnscoredTurn) -> tuple[Any, ...]:
    """A turn's fields, without a record that scoring does not look at. Plain data are read in a fifth of the time."""
    record = turn.record if turn.record is not None and turn.record.quirk is not None else None
    fields = {**turn.transcript.__dict__, "turns": [one.__dict__ for one in turn.transcript.turns]}
    return fields, turn.at, record, turn.worst


def _sent_turn(fields: dict[str, Any], at: int, record: Record | None, worst: QuirkOutcome | None) -> UnscoredTurn:
    """The turn whose fields were sent; its values were validated there."""
    turns = [_restored(Turn, turn) for turn in fields["turns"]]
    return UnscoredTurn(_restored(Transcript, {**fields, "turns": turns}), at, record, worst)


def _restored(model: type[_Model], fields: dict[str, Any]) -> _Model:
    """A model with these values for all its fields, restored as from a pickle: nothing is validated again."""
    made = model.__new__(model)
    state = {"__dict__": fields, "__pydantic_fields_set__": set(fields)}
    made.__setstate__(state | {"__pydantic_extra__": None, "__pydantic_private__": None})
    return made


class ScoredTurn(NamedTuple):
    """What scoring adds to a turn: the rest of its answer does not have to travel back."""

    entries: Mapping[str, Entry]
    failures: tuple[FailedCheck, ...]
    record: Record | None
    """Its record, if scoring changed it: that of a turn with a quirk."""

    def answer_to(self, turn: UnscoredTurn) -> Answer:
        """The whole answer."""
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


def describe_scoring_error(error: Exception) -> str:
    """Why a turn could not be scored, in one line."""
    if isinstance(error, AssayError):
        return redacted(str(error))
    from assay.chat.running.reception import describe_error

    return describe_error(error)


def _serve(source: IO[bytes], out: IO[bytes], expected: Mapping[str, str] | None) -> None:
    if expected is not None:
        # Readers are shared by evaluators with the same words, so that the one below finds what this one loads.
        with suppress(Exception):  # reported when the settings name it
            _loaded(expected)
    settings = _read(source)
    if settings is None:
        return
    evaluator = _loaded(settings)
    sender = Sender()
    while (batch := _read(source)) is not None:
        outcomes = _outcomes(evaluator, [_sent_turn(*turn) for turn in batch])
        body = pickle.dumps(sender.message(outcomes), pickle.HIGHEST_PROTOCOL)
        out.write(MESSAGE_SIZE.pack(len(body)) + body)
        out.flush()


def _loaded(settings: Mapping[str, Any]) -> ChatbotEvaluator:
    """An evaluator that has loaded what it loads at the first answer, such as names of cities.

    The texts show their language, so that no other one is loaded, which most runs do not need.
    """
    own = settings.get(OWN_DOMAIN)
    if own is not None:
        load_own_domain(own)
    evaluator = ChatbotEvaluator(**{name: value for name, value in settings.items() if name != OWN_DOMAIN})
    evaluator.evaluate_response(
        "What is the weather like in Oslo, and should I take a coat with me?",
        "It is 3 °C in Oslo, and you should take a coat with you.",
        "warm-up",
    )
    return evaluator


def _outcomes(evaluator: ChatbotEvaluator, turns: Sequence[UnscoredTurn]) -> list[ScoredTurn | str]:
    """What scoring adds to each turn, or why it cannot be scored."""
    try:
        return [_added(answer) for answer in answers_of(turns, evaluator)]
    except Exception:
        return [_outcome(evaluator, turn) for turn in turns]  # to tell which of them


def _outcome(evaluator: ChatbotEvaluator, turn: UnscoredTurn) -> ScoredTurn | str:
    try:
        return _added(answer_of(turn.transcript, turn.at, evaluator, record=turn.record, worst=turn.worst))
    except Exception as error:
        return describe_scoring_error(error)


def _added(answer: Answer) -> ScoredTurn:
    return ScoredTurn(answer.entries, answer.failures, answer.record)


def _read(source: IO[bytes]) -> Any:
    """The next message of the parent; None at the end of the input."""
    size = source.read(MESSAGE_SIZE.size)
    return pickle.loads(source.read(MESSAGE_SIZE.unpack(size)[0])) if len(size) == MESSAGE_SIZE.size else None


def score_turns(expected: Mapping[str, str] | None = None) -> None:
    """Score until the input ends. What is `expected` of the settings, domain and language, is loaded before they come:
    while a suite is read, nothing can be scored yet.
    """
    gc.set_threshold(100_000, 20, 20)  # what is read has no cycles
    atexit.register(gc.freeze)  # at the end, Python would search everything for them
    # Our answers go to the pipe and whatever a metric prints to standard error, so that the two cannot mix.
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        _serve(sys.stdin.buffer, pipe, expected)


if __name__ == "__main__":
    from assay.chat.running import scoring_worker  # not __main__: the parent pickles its own classes

    scoring_worker.score_turns(dict(zip(("domain", "language", OWN_DOMAIN), sys.argv[1:], strict=False)) or None)
