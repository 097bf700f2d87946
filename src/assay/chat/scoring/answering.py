"""One turn of a transcript, scored. Knows nothing about tables and intervals, which take long to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.chat.evaluator import uncollected
from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.outcomes.quirk_turns import with_outcome
from assay.chat.scoring.outcomes.robustness import QuirkOutcome, outcome_beyond, outcome_of
from assay.chat.scoring.passing import failed_checks

if TYPE_CHECKING:
    from assay.chat.evaluator import ChatbotEvaluator
    from assay.chat.transcript import Transcript, Turn


def answer_of(
    transcript: Transcript,
    at: int,
    evaluator: ChatbotEvaluator,
    *,
    record: Record | None = None,
    worst: QuirkOutcome | None = None,
) -> Answer:
    """Turn `at` of a transcript, scored; the turns before it are its history.

    A turn with a quirk passes by its outcome: if it is not worse than `worst`.
    """
    with uncollected():
        return _answer_of(transcript, at, evaluator, record, worst)


def _answer_of(
    transcript: Transcript, at: int, evaluator: ChatbotEvaluator, record: Record | None, worst: QuirkOutcome | None
) -> Answer:
    turn = transcript.turns[at]
    said = turn.assistant or ""
    context = evaluator.context(
        turn.user or "",
        said,
        transcript.agent,
        truth=turn.truth,
        history=[{"user": earlier.user, "assistant": earlier.assistant} for earlier in transcript.turns[:at]],
        preferences=transcript.preferences,
        response_time=turn.response_time,
        tool_call_count=turn.tool_call_count,
        tool_calls=_calls(turn),
        expected_calls=None if turn.expected_calls is None else [call.model_dump() for call in turn.expected_calls],
        characteristics=transcript.characteristics,
    )
    entries = evaluator.entries(context)
    failures = failed_checks(turn, entries, context)
    if record is not None and record.quirk is not None:
        says_so = bool(context.errors or context.response.all("missing"))
        outcome = outcome_of(is_right=not failures, says_so=says_so)
        if record.undisturbed is not None:
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


def _calls(turn: Turn) -> list[dict[str, Any]] | None:
    return None if turn.tool_calls is None else [call.model_dump() for call in turn.tool_calls]
