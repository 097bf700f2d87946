"""Turns of transcripts, scored. Knows nothing about tables and intervals, which take long to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.chat.evaluator import answer_batches, uncollected
from assay.chat.scoring.answers import Answer, FailedCheck, Record
from assay.chat.scoring.outcomes.alterations import is_undisturbed, told_alteration, told_change
from assay.chat.scoring.outcomes.quirk_turns import with_outcome
from assay.chat.scoring.outcomes.robustness import QuirkOutcome, outcome_beyond, outcome_of
from assay.chat.scoring.passing import failed_checks, meets_demands
from assay.chat.transcript import Transcript

if TYPE_CHECKING:
    from assay.chat.evaluator import ChatbotEvaluator
    from assay.chat.scoring.context import ScoringContext
    from assay.chat.scoring.metric import Entry
    from assay.chat.transcript import Turn


class UnscoredTurn(NamedTuple):
    """A turn of a transcript to be scored; the turns before it are its history.

    A turn with a quirk passes by its outcome: if it is not worse than `worst`.
    """

    transcript: Transcript
    at: int
    record: Record | None = None
    worst: QuirkOutcome | None = None

    @property
    def texts(self) -> tuple[str, str]:
        """The question and the answer."""
        turn = self.transcript.turns[self.at]
        return turn.user or "", turn.assistant or ""


def answer_of(
    transcript: Transcript,
    at: int,
    evaluator: ChatbotEvaluator,
    *,
    record: Record | None = None,
    worst: QuirkOutcome | None = None,
) -> Answer:
    """Turn `at` of a transcript, scored; see `UnscoredTurn`."""
    with uncollected():
        turn = UnscoredTurn(transcript, at, record, worst)
        context = _context_of(turn, evaluator)
        return _answer(turn, context, evaluator.entries(context))


def answers_of(turns: Sequence[UnscoredTurn], evaluator: ChatbotEvaluator) -> list[Answer]:
    """Turns scored together, which takes two thirds of the time; one that cannot be scored is an error for all."""
    found: list[Answer] = []
    for batch in answer_batches(turns, lambda turn: sum(map(len, turn.texts))):
        with uncollected():
            evaluator.read_ahead(text for turn in batch for text in turn.texts)
            contexts = [_context_of(turn, evaluator) for turn in batch]
            found += map(_answer, batch, contexts, evaluator.all_entries(contexts))
    return found


def _context_of(unscored: UnscoredTurn, evaluator: ChatbotEvaluator) -> ScoringContext:
    transcript, at = unscored.transcript, unscored.at
    turn = transcript.turns[at]
    return evaluator.context(
        turn.user or "",
        turn.assistant or "",
        transcript.agent,
        truth=turn.truth,
        history=[{"user": earlier.user, "assistant": earlier.assistant} for earlier in transcript.turns[:at]],
        preferences=transcript.preferences,
        response_time=turn.response_time,
        tool_call_count=turn.tool_call_count,
        tool_calls=_calls(turn),
        are_calls_unknown=unscored.record is not None and not unscored.record.knows_tool_calls,
        expected_calls=None if turn.expected_calls is None else [call.model_dump() for call in turn.expected_calls],
        characteristics=transcript.characteristics,
    )


def _answer(unscored: UnscoredTurn, context: ScoringContext, entries: dict[str, Entry]) -> Answer:
    transcript, at, record, worst = unscored
    turn = transcript.turns[at]
    said = turn.assistant or ""
    failures = failed_checks(turn, entries, context)
    if record is not None and record.quirk is not None:
        says_so = bool(context.errors or context.response.all("missing"))
        altered = _altered(record, said)
        failures = (*altered, *failures)  # the first says why the others fail
        # Where only the default rule is left, the model's own answer is the right one.
        is_as_meant = not altered and is_undisturbed(record, said) and meets_demands(turn, entries, context)
        outcome = outcome_of(is_right=is_as_meant or not failures, says_so=says_so)
        if record.beyond_model and record.undisturbed is not None:
            outcome = outcome_beyond(said, record.undisturbed, says_so=says_so)
        record, failures = with_outcome(record, outcome, worst, failures)
    return Answer(
        agent=transcript.agent,
        scenario=transcript.scenario,
        repetition=transcript.repetition,
        turn=at,
        query=turn.user or "",
        response=said,
        entries=entries,
        passed=not failures,
        failures=failures,
        record=record,
        truth=turn.truth,
    )


def _altered(record: Record, said: str) -> list[FailedCheck]:
    """How calls and answer are not those that the model meant."""
    told = {
        "tools get what the model meant": told_alteration(record, said),
        "passes on the model's answer": told_change(record, said),
    }
    return [FailedCheck(check, says) for check, says in told.items() if says]


def _calls(turn: Turn) -> list[dict[str, Any]] | None:
    return None if turn.tool_calls is None else [call.model_dump() for call in turn.tool_calls]
