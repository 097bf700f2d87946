"""Plays one conversation on one agent: each turn in its situation, inside a span, within its timeout.

Knows about agents and spans, but not about suites, scores or the store. It runs where the agent runs: in this process
or in the agent's worker.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.chat.agents import Agent
from assay.chat.agents._shared import interruption
from assay.chat.load.meters import resident_bytes
from assay.chat.running.failures import is_endpoint_failure, is_infrastructure_failure
from assay.chat.running.reception import LONGEST_REASON, Reception, describe_error, quirk_took_effect
from assay.chat.running.users.simulated_user import SimulatedUser
from assay.chat.scoring.answers import LONG_CONVERSATION, Record, SpanLine
from assay.chat.scoring.outcomes.robustness import Breakdown
from assay.chat.transcript import ToolCall
from assay.chat.world.shop import ORDERS, SHOP, shopping_as
from assay.chat.world.situation import Situation
from assay.errors import AssayError
from assay.json_safe import json_safe, whole_text
from assay.redaction import harmless_text, redacted, redacted_value

if TYPE_CHECKING:
    from assay.chat.formats.otel import TurnTrace
    from assay.chat.running.tracing import TurnSpans, TurnTracing
    from assay.chat.running.users.model_user import UserTokens
    from assay.chat.world.preferences import Preferences

_LONGEST_TEXT = 50_000
_MOST_SPAN_LINES = 60
_OUR_CODE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Job:
    """A conversation to be played."""

    agent: str
    session: str
    user: str
    messages: tuple[str, ...]
    situations: tuple[Situation, ...]
    """One for each message."""
    timeout: float
    """Seconds that one turn may take."""
    preferences: Mapping[str, Any] | None = None
    """What is known about the user before the conversation."""
    persona: Mapping[str, Any] | None = None
    """Goal, city, seed and key of a simulated user, who decides what is said in place of the messages."""
    has_shop: bool = False
    """Whether what is on order in the embedded shop is reported after each turn."""
    live: bool = False
    """Whether someone is watching: text is passed on as it comes, and spans are kept."""
    restarts: tuple[str | None, ...] = ()
    """For each message when the process is killed, 'before' or 'during' it; empty if it never is."""
    first: int = 0
    """The number of the first turn, if this is the rest of a conversation."""
    dies: bool = False
    """Whether the process ends in the middle of the turn."""
    is_disturbed: bool = False
    """Whether the user hangs up or has to approve something: the conversation then goes on after a failed turn."""

    @property
    def has_quirks(self) -> bool:
        return any(situation.quirk is not None for situation in self.situations)

    def part(self, start: int, end: int, *, dies: bool = False) -> Job:
        """Some turns of the conversation, counted from its beginning."""
        known = self.preferences if start == 0 else None
        turns = slice(start, end)
        return replace(
            self,
            messages=self.messages[turns],
            situations=self.situations[turns],
            preferences=known,
            first=start,
            dies=dies,
        )

    def parts(self) -> list[Job]:
        """The conversation in parts: one ends after each turn in which the user hangs up."""
        ends = [at + 1 for at, situation in enumerate(self.situations) if situation.hang_up is not None]
        if not ends:
            return [self]
        starts = [0, *(end for end in ends if end < len(self.messages))]
        return [self.part(start, end) for start, end in zip(starts, [*starts[1:], len(self.messages)], strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return {
            "agent": self.agent,
            "session": self.session,
            "user": self.user,
            "messages": list(self.messages),
            "situations": [situation.to_text() for situation in self.situations],
            "timeout": self.timeout,
            "preferences": None if self.preferences is None else dict(self.preferences),
            "persona": None if self.persona is None else dict(self.persona),
            "has_shop": self.has_shop,
            "live": self.live,
            "restarts": list(self.restarts),
            "first": self.first,
            "dies": self.dies,
            "is_disturbed": self.is_disturbed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """The job that `to_json` wrote."""
        situations = tuple(Situation.from_text(parts) for parts in data["situations"])
        return cls(
            **{
                **data,
                "messages": tuple(data["messages"]),
                "situations": situations,
                "restarts": tuple(data["restarts"]),
            }
        )


# It opens connections, fills caches, and imports what a framework imports late.
_WARM_UP = ("Hello!", "What's the weather in Paris?")


def warm_up_job(agent: str, timeout: float) -> Job:
    """The conversation that is played with a new process of an agent before anything is measured."""
    situations = tuple(Situation("warm-up", 0, at, session=f"{agent} warm-up") for at in range(len(_WARM_UP)))
    return Job(agent, f"{agent}-warm-up", f"{agent} warm-up", _WARM_UP, situations, timeout)


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn after it was played, before it is scored."""

    turn: int
    text: str
    record: Record
    preferences: Mapping[str, Any]
    """What is known about the user after it."""
    message: str = ""
    """What the user said, if a persona decided it."""
    infrastructure_failure: bool = False
    """Whether neither the agent nor a fault of the scenario caused its failure: then it may be retried."""
    endpoint_failure: bool = False
    """Whether an endpoint could not be reached, refused the key or has another address: before anything is measured,
    this stops a run."""

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return {
            "turn": self.turn,
            "text": self.text,
            "record": self.record.model_dump(mode="json", exclude_defaults=True),
            "preferences": dict(self.preferences),
            "message": self.message,
            "infrastructure_failure": self.infrastructure_failure,
            "endpoint_failure": self.endpoint_failure,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlayedTurn:
        """The turn that `to_json` wrote."""
        return cls(**{**data, "record": Record.model_validate(data["record"])})


async def play(
    agent: Agent,
    job: Job,
    *,
    tracing: TurnTracing,
    preferences: Preferences | None,
    hear: Callable[[str], None] | None = None,
    names_place: bool = False,
) -> AsyncIterator[PlayedTurn]:
    """Play the conversation turn by turn; it ends with the first turn that fails, unless something was to disturb it.

    `preferences` is None for an agent that has its own memory. If someone is watching, `hear` is called with each
    piece of text as it comes. With `names_place`, the error of a turn names the line of the user's own code.
    """
    if job.preferences is not None and preferences is not None:
        preferences.write(job.user, dict(job.preferences))
    user = None if job.persona is None else SimulatedUser(job.persona)
    answer: str | None = None
    for at, (message, situation) in enumerate(zip(job.messages, job.situations, strict=True), start=job.first):
        if job.restarts:
            interruption.begin_turn(dies=job.dies)
        tokens: UserTokens | None = None
        if user is not None:
            try:
                message, tokens = await user.next(answer)
            except AssayError as failure:  # no fault of the agent, and a retry may help
                record = Record(status="failed", reason=str(failure), fault=_text(situation.fault))
                yield PlayedTurn(at, "", record, {}, infrastructure_failure=True)
                return
        exchange = await _exchange(agent, job, message, situation, tracing, preferences, hear)
        record, error = _record(exchange, job, situation, tokens)
        if error is not None and names_place and (place := _place_in_own_code(error)):
            record = record.model_copy(update={"reason": f"{record.reason} ({place})"})
        answer = exchange.received.text
        yield PlayedTurn(
            at,
            redacted(whole_text(answer)),
            record,
            _known(job, preferences),
            redacted(whole_text(message)) if user is not None else "",
            error is not None and not job.has_quirks and is_infrastructure_failure(error, situation),
            endpoint_failure=error is not None and is_endpoint_failure(error, is_first=at == 0),
        )
        if error is not None and not (job.has_quirks or job.is_disturbed):
            return


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One message to the agent, and what came back."""

    received: Reception
    spans: TurnSpans
    wall: float
    """Seconds that it took."""
    error: BaseException | None
    """Why the turn failed."""
    breakdown: Breakdown | None
    """How it failed."""


async def _exchange(
    agent: Agent,
    job: Job,
    message: str,
    situation: Situation,
    tracing: TurnTracing,
    preferences: Preferences | None,
    hear: Callable[[str], None] | None,
) -> _Exchange:
    """Send a message to the agent in its situation, inside a span, and receive the answer within the timeout."""
    received = Reception(hear if job.live else None)
    error: BaseException | None = None
    breakdown: Breakdown | None = None
    attached = situation.attached() if tracing.is_active else nullcontext()
    shopping = shopping_as(job.user) if job.has_shop else nullcontext()
    with attached, shopping, tracing.turn(job.agent, job.session) as spans:
        started = received.started = time.perf_counter()
        try:
            async with asyncio.timeout(job.timeout):
                await received.turn(agent, job.session, job.user, message, situation, preferences)
        except TimeoutError as failure:
            is_ours = time.perf_counter() - started >= job.timeout
            error = _out_of_time(job.timeout) if is_ours else failure
            breakdown = "timeout" if is_ours else "exception"
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as failure:  # an agent that calls sys.exit has failed a turn, not the run
            if isinstance(failure, asyncio.CancelledError) and is_cancelled():
                raise
            error, breakdown = failure, "exception"
        wall = time.perf_counter() - started
    return _Exchange(received, spans, wall, error, breakdown)


def _known(job: Job, preferences: Preferences | None) -> dict[str, Any]:
    """What is known about the user, and what is on order in the shop."""
    known = {} if preferences is None else _flags_of(preferences, job.user)
    if job.has_shop and (preferences is not None or SHOP.knows(job.user)):
        known[ORDERS] = SHOP.bought(job.user)
    return known


def _flags_of(preferences: Preferences, user: str) -> dict[str, Any]:
    """What is known about the user, without sentences: "no longer hates the cold" contains the opposite words."""
    from assay.chat.world.preferences import flags

    known: dict[str, Any] = json_safe(flags(preferences.read(user)))
    return known


def _record(
    exchange: _Exchange, job: Job, situation: Situation, tokens: UserTokens | None
) -> tuple[Record, BaseException | None]:
    """The record of a turn, and why the turn failed: a report of it that is not usable fails it too."""
    try:
        trace = exchange.spans.read()
        added: dict[str, Any] = dict(exchange.received.seen)
        if job.has_quirks or job.live:
            added |= _watched_record(trace, exchange.spans, situation, exchange.breakdown)
        if len(job.messages) >= LONG_CONVERSATION:
            added["memory"] = resident_bytes()
        if job.restarts:
            added["user_messages"] = interruption.user_messages()
        if tokens is not None:
            added |= {"user_input_tokens": tokens.input, "user_output_tokens": tokens.output}
        record = _measured_record(trace, exchange, situation)
        return record.model_copy(update=added) if added else record, exchange.error
    except Exception as failure:  # such as text for a number of tokens
        error = exchange.error or failure
        return Record(
            status="failed",
            reason=describe_error(error),
            fault=_text(situation.fault),
            wall=exchange.wall,
            quirk=_text(situation.quirk),
            breakdown=exchange.breakdown or "exception",
        ), error


def _measured_record(trace: TurnTrace, exchange: _Exchange, situation: Situation) -> Record:
    received, error = exchange.received, exchange.error
    reply = received.reply
    own_tokens = None
    if reply is not None and reply.input_tokens is not None and reply.output_tokens is not None:
        own_tokens = reply.input_tokens + reply.output_tokens
    tool_calls = trace.tool_calls
    has_spans = bool(trace.model_calls or trace.tool_calls)
    if not has_spans and reply is not None and reply.tool_calls is not None:
        tool_calls = list(reply.tool_calls)  # without spans, there is only the agent's own report
    elif reply is not None:
        tool_calls = _with_own_errors(tool_calls, reply.tool_calls or ())
    tokens = (trace.input_tokens, trace.output_tokens)
    if not has_spans and tokens == (None, None) and reply is not None:
        tokens = (reply.input_tokens, reply.output_tokens)
    return Record(
        status="scored" if error is None else "failed",
        reason="" if error is None else describe_error(error),
        fault=_text(situation.fault),
        tool_calls=[_keepable(call) for call in tool_calls],
        model_calls=trace.model_calls,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cached_tokens=trace.cached_tokens,
        wall=exchange.wall,
        first_text=received.first_text,
        model=trace.model_seconds if has_spans else None,
        tools=trace.tool_seconds if has_spans else None,
        own_tool_calls=None if reply is None or reply.tool_calls is None else len(reply.tool_calls),
        own_tokens=own_tokens,
        wire_tokens=None if trace.wire_tokens is None else sum(trace.wire_tokens),
        wire_output_tokens=None if trace.wire_tokens is None else trace.wire_tokens[1],
        tools_offered=None if trace.tools_offered is None else list(trace.tools_offered),
        broken_streams=max(trace.broken_streams, int(reply is not None and reply.broke_off)),
        dropped_spans=trace.dropped,
    )


def _keepable(call: ToolCall) -> ToolCall:
    """A call without secrets and very long texts; most have neither."""
    given = call.model_dump()
    text = harmless_text(given)
    if text is not None and len(text) <= _LONGEST_TEXT:
        return call
    kept = redacted_value(_shortened(given))
    return call if kept == given else ToolCall.model_validate(kept)


def _with_own_errors(calls: Sequence[ToolCall], own: Sequence[ToolCall]) -> list[ToolCall]:
    """Calls by the spans, with errors that only the framework reports: the span of a cancelled tool may have none."""
    errors = {(one.name, str(one.arguments)): one.error for one in own if one.error is not None}
    return [
        call.model_copy(update={"error": error})
        if call.error is None and call.result is None and (error := errors.get((call.name, str(call.arguments))))
        else call
        for call in calls
    ]


def _watched_record(
    trace: TurnTrace, watched: TurnSpans, situation: Situation, breakdown: Breakdown | None
) -> dict[str, Any]:
    """Fields of a record in a conversation with a quirk: how the turn broke down, its requests, spans and log."""
    start = min((span.start_ns for span in trace.spans), default=0)
    spans = [
        SpanLine(
            name=_shortened(span.name),
            start=round((span.start_ns - start) / 1e6, 2),
            length=round(1000 * span.seconds, 2),
            failed=None if span.failed is None else redacted(whole_text(span.failed))[:LONGEST_REASON],
        )
        for span in trace.spans[:_MOST_SPAN_LINES]
    ]
    return {
        "quirk": _text(situation.quirk),
        "quirk_occurred": quirk_took_effect(situation),
        "breakdown": breakdown,
        "requests": watched.requests,
        "spans": spans,
        "log": [redacted(whole_text(line))[:LONGEST_REASON] for line in watched.log],
    }


def _shortened(value: Any) -> Any:
    """The value with very long texts cut, such as a tool's result of a megabyte."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value):,} characters)"
    if isinstance(value, Mapping):
        return {name: _shortened(item) for name, item in value.items()}
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _text(fault: object) -> str | None:
    return None if fault is None else str(fault)


def is_cancelled() -> bool:
    """Whether this task was cancelled from outside; otherwise a CancelledError is the agent's own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _place_in_own_code(error: BaseException) -> str:
    """File and line of the user's own code that an error comes from; empty if it comes from a package.

    The user's own code is what lies in the current folder and is not installed there.
    """
    here = Path.cwd()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        is_ours = path.is_relative_to(_OUR_CODE) or "site-packages" in path.parts
        if path.is_relative_to(here) and not is_ours:
            return f"{path.relative_to(here)}, line {frame.lineno}"
    return ""


def _out_of_time(seconds: float) -> TimeoutError:
    return TimeoutError(f"the turn took longer than {seconds:g} s")
