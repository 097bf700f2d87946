"""OpenTelemetry spans → tool calls, tokens, times: plain data and pure functions.

Used for exported spans (`exported.py`) and those of a running agent (`running/tracing.py`); OpenTelemetry itself is not
needed.
Attributes follow the GenAI semantic conventions; frameworks are named only where they deviate from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import ToolCall

Events = Sequence[tuple[str, Mapping[str, Any]]]

# GenAI semantic conventions: which operations are calls of a model.
_MODEL_CALLS = frozenset({"chat", "generate_content", "text_completion"})
# ADK adds the first around parallel calls that have spans of their own, and the second takes a structured answer.
_NOT_A_TOOL = frozenset({"(merged tools)", "set_model_response"})
# On a request to the model: when the client waited for bytes, as alternating starts and ends in ns since 1970.
WAITS = "assay.waits"
# The same: tokens in and out by the response itself, and whether a stream ended without an end mark.
WIRE_TOKENS = "assay.wire.tokens"
BROKE_OFF = "assay.wire.broke_off"
# The same: the names of the tools that the model was offered, of agents whose tools are their own.
TOOLS_OFFERED = "assay.wire.tools"
# The first name is that of the conventions, the second that of Pydantic AI before it followed them.
_CACHED_TOKENS = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.details.cache_read_tokens")


@dataclass(frozen=True, slots=True)
class Span:
    """A finished span. Times are integer nanoseconds since 1970, so that differences of short spans are exact."""

    name: str
    trace: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    parent: str | None = None
    events: Events = ()
    service: str | None = None
    failed: str | None = None
    """The error, if it failed."""

    @property
    def operation(self) -> str:
        """What it did, by the conventions: `chat`, `execute_tool`, …"""
        return str(self.attributes.get("gen_ai.operation.name", ""))

    @property
    def is_model_call(self) -> bool:
        """Whether it is a call of a model."""
        return self.operation in _MODEL_CALLS

    @property
    def is_tool_call(self) -> bool:
        """Whether it is a call of one tool."""
        return self.operation == "execute_tool" and self.attributes.get("gen_ai.tool.name") not in _NOT_A_TOOL

    @property
    def waits(self) -> list[tuple[int, int]]:
        """When the client waited for the bytes of a response, if recorded."""
        ends = self.attributes.get(WAITS) or ()
        return list(zip(ends[::2], ends[1::2], strict=False))

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ns - self.start_ns) / 1e9


# --- one turn -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnTrace:
    """What the spans of one turn say. Model, tool and overhead seconds add up to the whole."""

    tool_calls: list[ToolCall]
    """In the order of their start."""
    model_calls: int
    input_tokens: int | None
    """None if no model call reported it."""
    output_tokens: int | None
    cached_tokens: int | None
    """Input tokens that the provider read from its cache; None if no model call reported it."""
    seconds: float
    """The whole turn."""
    model_seconds: float
    """Time spent waiting for the model; parallel calls count once."""
    tool_seconds: float
    """Time in which a tool ran and nothing waited for the model."""
    wire_tokens: tuple[int, int] | None = None
    """In and out by the responses themselves; None if a response did not give them or was not watched."""
    broken_streams: int = 0
    """Responses whose stream ended without an end mark."""
    tools_offered: tuple[str, ...] | None = None
    """The tools that the model was offered in the turn, each once; None if that was not watched."""
    spans: tuple[Span, ...] = ()
    dropped: int = 0
    """Number of spans that were not kept; if it is not 0, the counts are lower bounds."""

    @property
    def overhead_seconds(self) -> float:
        """Time of neither model nor tools: the framework's own."""
        return self.seconds - self.model_seconds - self.tool_seconds


def read_turn(spans: Iterable[Span], *, start_ns: int, end_ns: int, dropped: int = 0) -> TurnTrace:
    """Tool calls, tokens and times of a turn that lasted from `start_ns` to `end_ns`; time outside does not count."""
    spans = tuple(sorted(spans, key=lambda span: (span.start_ns, span.end_ns)))
    models = [span for span in spans if span.is_model_call]
    tools = [span for span in spans if span.is_tool_call]
    within = _within(spans, models)
    waiting = _waiting(models, [span for span in spans if span.waits])
    working = [(span.start_ns, span.end_ns) for span in tools]
    model_ns = _covered(waiting, start_ns, end_ns)
    return TurnTrace(
        tool_calls=[ToolCall(**call_of(span)) for span in tools],
        model_calls=sum(span.id not in within for span in models),
        input_tokens=_tokens(within.get(None, ()), within, "gen_ai.usage.input_tokens"),
        output_tokens=_tokens(within.get(None, ()), within, "gen_ai.usage.output_tokens"),
        cached_tokens=_cached_tokens(within),
        seconds=(end_ns - start_ns) / 1e9,
        model_seconds=model_ns / 1e9,
        wire_tokens=_wire_tokens([span for span in spans if WAITS in span.attributes]),
        broken_streams=sum(bool(span.attributes.get(BROKE_OFF)) for span in spans),
        tools_offered=_tools_offered(spans),
        tool_seconds=(_covered([*waiting, *working], start_ns, end_ns) - model_ns) / 1e9,
        spans=spans,
        dropped=dropped,
    )


def _waiting(models: Sequence[Span], requests: Sequence[Span]) -> list[tuple[int, int]]:
    """Intervals of waiting for the model.

    Frameworks open a model's span at different points and do work of their own inside it; that is not the model's time.
    The model's time is the waiting for its bytes, if the requests record it. A span without such a request counts as
    a whole, and so does one with a failed request: the pause before a retry is not work of the framework.
    """
    found = [wait for request in requests for wait in request.waits]
    for span in models:
        inside = [request for request in requests if span.start_ns <= request.start_ns <= span.end_ns]
        if not inside or any(request.failed for request in inside):
            found.append((span.start_ns, span.end_ns))
    return found


def _covered(intervals: Iterable[tuple[int, int]], start_ns: int, end_ns: int) -> int:
    """Nanoseconds from `start_ns` to `end_ns` inside at least one interval: the length of their union."""
    total, reached = 0, start_ns
    for begin, end in sorted(intervals):
        # Comparisons in place of min and max: a stream that waited hundreds of times has as many intervals.
        begin = begin if begin > reached else reached
        end = end if end < end_ns else end_ns
        if begin < end:
            total += end - begin
            reached = end
    return total


def _within(spans: Sequence[Span], models: Sequence[Span]) -> dict[str | None, list[Span]]:
    """Model spans by the model span directly around them; None for those without one.

    If one contains another, the outer span is a wrapper (a fallback, an instrumented client) that reports the same call
    again. Only the innermost count: each is a request that was sent. A model call made by a tool counts separately,
    even if a framework runs the tool inside the model's span.
    """
    by_id = {span.id: span for span in spans if span.id}
    found: dict[str | None, list[Span]] = {}
    for span in models:
        above = by_id.get(span.parent or "")
        passed = {span.id}
        while above is not None and above.id not in passed and not (above.is_model_call or above.is_tool_call):
            passed.add(above.id)
            above = by_id.get(above.parent or "")
        wrapper = above.id if above is not None and above.is_model_call and above.id != span.id else None
        found.setdefault(wrapper, []).append(span)
    return found


def _tokens(spans: Sequence[Span], within: Mapping[str | None, Sequence[Span]], name: str) -> int | None:
    """Tokens of some spans: the sum over their innermost calls, or their own number if those report none."""
    known = []
    for span in spans:
        told = _tokens(within[span.id], within, name) if span.id in within else None
        own = span.attributes.get(name)
        if told is not None:
            known.append(told)
        elif isinstance(own, int):
            known.append(own)
    return sum(known) if known else None


def _wire_tokens(requests: Sequence[Span]) -> tuple[int, int] | None:
    """Tokens of all answered requests; a request that failed costs none."""
    told = [span.attributes.get(WIRE_TOKENS) for span in requests if span.failed is None]
    if not told or None in told:
        return None
    return sum(pair[0] for pair in told if pair), sum(pair[1] for pair in told if pair)


def _tools_offered(requests: Sequence[Span]) -> tuple[str, ...] | None:
    """The tools of all requests, each once."""
    told = [span.attributes[TOOLS_OFFERED] for span in requests if TOOLS_OFFERED in span.attributes]
    return tuple(dict.fromkeys(name for names in told for name in names)) if told else None


def _cached_tokens(within: Mapping[str | None, Sequence[Span]]) -> int | None:
    """Input tokens that were read from the provider's cache, by the first name that any span has."""
    found = (_tokens(within.get(None, ()), within, name) for name in _CACHED_TOKENS)
    return next((tokens for tokens in found if tokens is not None), None)


def call_of(span: Span) -> dict[str, Any]:
    """The tool call that a span records, as the fields of a `ToolCall`."""
    # The second names are those of ADK before it followed the conventions.
    told = span.attributes
    result = parsed(told.get("gen_ai.tool.call.result", told.get("gcp.vertex.agent.tool_response")))
    written = told.get("gen_ai.tool.call.arguments", told.get("gcp.vertex.agent.tool_call_args"))
    return {
        "name": str(told.get("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")),
        "arguments": arguments_of(written),
        "result": result,
        # The message in a result says more than the name of an exception class; ADK marks such a span as successful.
        "error": failure_in(result) or span.failed,
        "duration": span.seconds,
    }


def failure_of(attributes: Mapping[str, Any], failed: bool, message: str | None, events: Events) -> str | None:
    """The error message: that of the recorded exception, else of the status."""
    kind = attributes.get("error.type")
    if not failed and not kind:
        return None
    words = next((event.get("exception.message") for name, event in reversed(events) if name == "exception"), None)
    return str(words or message or kind or "error")
