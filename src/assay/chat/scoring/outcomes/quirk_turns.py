"""Records of turns with a quirk, completed: what the framework did, the outcome, and the check that it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from assay.chat.scoring.answers import FailedCheck, Record
from assay.chat.scoring.outcomes.robustness import (
    DEFAULT_WORST,
    QuirkOutcome,
    did_not_occur,
    is_acceptable,
    outcome_of,
    reactions,
)
from assay.chat.transcript import ToolCall
from assay.chat.world.quirks import Quirk

_LONGEST_REASON = 300
_DEMANDS: Final[Mapping[QuirkOutcome, str]] = {
    "recovered": "recovers",
    "degraded": "recovers or tells the user",
    "failed_clearly": "recovers, tells the user or raises an error",
    "failed_silently": "neither hangs nor crashes",
    "hung": "does not crash",
    "crashed": "ends somehow",
}
"""What a scenario demands, by the worst outcome that it accepts."""


def with_outcome(
    record: Record, outcome: QuirkOutcome, worst: QuirkOutcome | None, failures: Sequence[FailedCheck] = ()
) -> tuple[Record, tuple[FailedCheck, ...]]:
    """The record of a turn with its outcome, and the check that it fails if the outcome is worse than `worst`."""
    kept = record.model_copy(update={"outcome": outcome})
    if is_acceptable(outcome, worst):
        return kept, ()
    wanted = _DEMANDS[worst or DEFAULT_WORST]
    reason = record.reason or "; ".join(str(failed) for failed in failures)
    says = f"{outcome.replace('_', ' ')}: {reason}" if reason else outcome.replace("_", " ")
    return kept, (FailedCheck(wanted, says[:_LONGEST_REASON]),)


def with_reactions(record: Record, response: str, expected: Sequence[ToolCall] | None, limit: int | None) -> Record:
    """The record of a turn with what the framework did; unchanged if the turn has no quirk."""
    if record.quirk is None:
        return record
    did = reactions(record, response=response, expected=expected, limit=limit)
    return record.model_copy(update={"did": did})


def without_quirk(record: Record) -> Record:
    """The record of an answered turn whose quirk did not occur: it says nothing about the agent."""
    acts_on = Quirk.parse(record.quirk).acts_on if record.quirk else "response"
    reason = f"the quirk {record.quirk} did not occur: the turn had no {acts_on}"
    return record.model_copy(update={"status": "skipped", "reason": reason})


def broken_turn(
    record: Record,
    response: str,
    *,
    expected: Sequence[ToolCall] | None,
    limit: int | None,
    worst: QuirkOutcome | None,
) -> tuple[Record, tuple[FailedCheck, ...]]:
    """The record of a turn that was not scored, with its outcome if a quirk broke it."""
    if record.quirk is None or record.breakdown is None or did_not_occur(record):
        return record, ()
    done = with_reactions(record, response, expected, limit)
    return with_outcome(done, outcome_of(breakdown=record.breakdown), worst)
