"""The outcome of a turn in which the model, its endpoint or a tool misbehaved, and what the framework did about it.

Pure functions of what the user got, what is true, and what was seen on the wire. Knows neither servers nor agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, get_args

from assay.chat.scoring.outcomes.alterations import altered_calls, with_arguments
from assay.plural import counted, listed, times

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Answer, Record
    from assay.chat.transcript import ToolCall

QuirkOutcome = Literal["recovered", "degraded", "failed_clearly", "failed_silently", "hung", "crashed"]
Breakdown = Literal["exception", "timeout", "crash"]
"""How a turn ended without an answer: the agent raised an exception, took too long, or its process ended."""

OUTCOMES: Final[Mapping[QuirkOutcome, str]] = {
    "recovered": "the user got the right answer",
    "degraded": "the user did not get what was asked for, and was told so",
    "failed_clearly": "the turn ended with an error",
    "failed_silently": "the user got a wrong or empty answer as if nothing had happened",
    "hung": "the turn took longer than it may",
    "crashed": "the agent's process ended",
}
"""Every outcome, best first."""
OUTCOME_VALUES: Final[Mapping[QuirkOutcome, float]] = {"recovered": 1.0, "degraded": 2 / 3, "failed_clearly": 1 / 3}
"""What an outcome is worth if agents are compared, in equal steps; silence, hanging and crashing are worth nothing.

Whether a trial passes is another question: an error that is raised passes, and is still worse than the right answer.
"""
DEFAULT_WORST: Final[QuirkOutcome] = "failed_clearly"
"""The worst outcome with which a turn passes, if its scenario names none: the user, or the caller, knows."""

EMPTY_ANSWER: Final = "gave an empty answer"
_MOST_CALLS = 2
"""Calls with other arguments that are named."""
_ORDER = {name: at for at, name in enumerate(get_args(QuirkOutcome))}
_BY_BREAKDOWN: Final[Mapping[Breakdown, QuirkOutcome]] = {
    "exception": "failed_clearly",
    "timeout": "hung",
    "crash": "crashed",
}


def outcome_of(*, breakdown: Breakdown | None = None, is_right: bool = False, says_so: bool = False) -> QuirkOutcome:
    """The outcome of a turn with a quirk.

    `is_right` says that the answer has what was asked for and nothing wrong; `says_so` that it tells the user that
    something is missing or failed. Without an answer, only how the turn broke down counts.
    """
    if breakdown is not None:
        return _BY_BREAKDOWN[breakdown]
    if is_right:
        return "recovered"
    return "degraded" if says_so else "failed_silently"


def outcome_beyond(said: str, undisturbed: str, *, says_so: bool) -> QuirkOutcome:
    """The outcome of an answered turn in which the scripted model could not help whatever the agent does.

    The right answer is then what the model says undisturbed. To say so with a part of it, or with something added, is
    no honesty of the agent.
    """
    shown, whole = " ".join(said.split()), " ".join(undisturbed.split())
    is_changed = shown in whole or whole in shown
    return outcome_of(is_right=shown == whole, says_so=says_so and not is_changed)


def severity(outcome: QuirkOutcome) -> int:
    """How bad an outcome is: 0 for recovered, 5 for crashed."""
    return _ORDER[outcome]


def is_acceptable(outcome: QuirkOutcome, worst: QuirkOutcome | None = None) -> bool:
    """Whether an outcome is at least as good as the worst one that a scenario accepts."""
    return severity(outcome) <= severity(worst or DEFAULT_WORST)


def works_afterwards(answers: Sequence[Answer]) -> bool | None:
    """Whether the turns after the one with a quirk work; None if none was played, or if the quirk did not occur.

    For the answers of one trial. A turn works if it passes; if expectations of the scenario do not apply to the agent,
    an answer without an error is enough.
    """
    last = max((at for at, answer in enumerate(answers) if answer.record and answer.record.quirk), default=None)
    if last is None or did_not_occur(answers[last].record):
        return None
    played = [answer for answer in answers[last + 1 :] if answer.status != "skipped"]
    return all(map(_works, played)) if played else None


def _works(answer: Answer) -> bool:
    left_out = answer.record is not None and answer.record.not_applicable
    return answer.passed or bool(left_out and answer.status == "scored" and answer.response.strip())


def did_not_occur(record: Record | None) -> bool:
    """Whether a turn was played without the quirk that it was to have, because there was nothing to act on."""
    return record is not None and record.quirk_occurred is False


def reactions(
    record: Record, *, response: str = "", expected: Sequence[ToolCall] | None = None, limit: int | None = None
) -> list[str]:
    """What the framework did in a turn, in words and in order, as far as spans and requests on the wire show it.

    `expected` are the calls that the scenario expects, and `limit` is the most model calls that a turn may have.
    """
    found = []
    refused = [call for call in record.tool_calls if call.error is not None]
    if refused and record.model_calls > 1:
        found.append(f"told the model that {counted(len(refused), 'call')} failed")
    again = 0 if record.requests is None else record.requests - record.model_calls
    if again > 0:
        found.append(f"repeated {counted(again, 'request')}")
    others = altered_calls(record) or _with_other_arguments(record.tool_calls, expected or ())
    if len(others) > _MOST_CALLS:
        found.append(f"ran {counted(len(others), 'call')} with other arguments")
    else:
        found += [f"ran {call.name} {with_arguments(call)}" for call in others]
    if limit is not None and record.model_calls >= limit:
        found.append(f"called the model {times(record.model_calls)}")
    if record.breakdown is not None and response:
        found.append(f"sent {counted(len(response), 'character')} of text")
    if record.breakdown == "exception":
        found.append(f"raised {record.reason.partition(':')[0]}")
    elif record.breakdown == "timeout":
        found.append("did not end in time")
    elif record.breakdown == "crash":
        found.append("ended its process")
    counted_tokens = None if record.input_tokens is None else record.input_tokens + (record.output_tokens or 0)
    if record.wire_tokens is not None and counted_tokens not in (None, record.wire_tokens):
        found.append(f"counted {counted_tokens:,} tokens where the responses have {record.wire_tokens:,}")
    if record.broken_streams and record.breakdown is None:
        found.append("took a stream that broke off for a whole answer")
    if record.breakdown is None and not response.strip():
        found.append(EMPTY_ANSWER)
    return found


def told_reactions(did: Sequence[str], breakdown: Breakdown | None) -> str:
    """What a framework did in a turn as one sentence, to its end; empty if it did nothing that is seen."""
    if not did:
        return ""
    has_ended = breakdown is not None or EMPTY_ANSWER in did
    return f"The framework {listed(did if has_ended else [*did, 'answered'])}."


def _with_other_arguments(calls: Sequence[ToolCall], expected: Sequence[ToolCall]) -> list[ToolCall]:
    """Calls that ran, of tools that were expected to be called with other values."""
    wanted = {call.name: call.arguments for call in expected}
    return [
        call
        for call in calls
        if call.error is None
        and call.name in wanted
        and any(name in call.arguments and call.arguments[name] != value for name, value in wanted[call.name].items())
    ]
