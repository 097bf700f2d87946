"""Collects the OpenTelemetry spans of this process, turn by turn. The only module that sets up OpenTelemetry's SDK.

What the spans mean is read by `formats/otel.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from assay.chat.formats.otel import Span, TurnTrace, failure_of, read_turn
from assay.errors import UsageError, missing_extra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

# No turn needs this many spans; a framework that loops must not fill the memory.
_MOST_SPANS = 10_000
_MOST_LINES, _LONGEST_LINE = 50, 1000


class Tracing:
    """The spans of this process, kept for as long as someone watches the turn they belong to.

    Building it sets up OpenTelemetry's SDK once per process; a provider that is set already gets one processor more.
    Nothing is exported anywhere.
    """

    def __init__(self) -> None:
        self._watched = _watch()

    @contextmanager
    def turn(self, agent: str, session: str) -> Iterator[WatchedTurn]:
        """A turn of an agent: everything inside lies in a span of ours, in a trace of its own."""
        from opentelemetry import context, trace

        # A trace of its own even inside another span, because the trace is what tells turns apart; baggage stays.
        outside = trace.set_span_in_context(trace.INVALID_SPAN, context.get_current())
        span = trace.get_tracer("assay").start_span(
            f"turn {agent}",
            outside,
            attributes={"gen_ai.agent.name": agent, "gen_ai.conversation.id": session},
        )
        if not span.is_recording():
            raise UsageError(
                "OpenTelemetry drops the spans of this process, so tool calls and times cannot be measured",
                hint="Unset OTEL_SDK_DISABLED, or give the tracer provider a sampler that keeps every trace",
            )
        watched = WatchedTurn()
        self._watched[span.get_span_context().trace_id] = watched
        with trace.use_span(span, end_on_exit=True):
            yield watched


class WatchedTurn:
    """A turn whose spans are collected. They go when it is read, or with it."""

    def __init__(self) -> None:
        self._finished: list[ReadableSpan] = []
        self._dropped = 0
        self.log: list[str] = []
        """Warnings and errors that were logged meanwhile, shortened."""
        self._lock = threading.Lock()

    def add(self, span: ReadableSpan) -> None:
        """Keep a span that has ended; any thread may call."""
        with self._lock:
            if len(self._finished) < _MOST_SPANS or span.parent is None:
                self._finished.append(span)
            else:
                self._dropped += 1

    def add_line(self, line: str) -> None:
        """Keep a line of the log; any thread may call."""
        with self._lock:
            if len(self.log) < _MOST_LINES:
                self.log.append(line)

    def read(self) -> TurnTrace:
        """What its spans say. To be called once, when the turn is over."""
        with self._lock:
            finished, self._finished = self._finished, []
        spans = [_live_span(span) for span in finished]
        whole = next((span for span in spans if span.parent is None), None)
        if whole is None:
            raise RuntimeError("a turn is read once, after it has ended")
        return read_turn(spans, start_ns=whole.start_ns, end_ns=whole.end_ns, dropped=self._dropped)


@cache
def _watch() -> WeakValueDictionary[int, WatchedTurn]:
    """Sets up the SDK; the turns that are watched now, by the number of their trace. An unread turn goes by itself."""
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    except ImportError as error:
        raise missing_extra("opentelemetry-sdk", "agents", "measure what an agent does") from error

    watched: WeakValueDictionary[int, WatchedTurn] = WeakValueDictionary()

    class Collector(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            turn = watched.get(span.context.trace_id) if span.context else None
            if turn is not None:
                turn.add(span)

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        # Said here and not left to the environment: a sampler or a limit set there would falsify the counts.
        limits = SpanLimits(max_attribute_length=SpanLimits.UNSET, max_span_attribute_length=SpanLimits.UNSET)
        provider = TracerProvider(ALWAYS_ON, Resource({"service.name": "assay"}), span_limits=limits)
        trace.set_tracer_provider(provider)
    if not isinstance(provider, TracerProvider):
        raise UsageError(
            f"the tracer provider of this process is a {type(provider).__name__}, which collects no spans",
            hint="Set none, or one of opentelemetry.sdk.trace",
        )
    provider.add_span_processor(Collector())
    logging.getLogger().addHandler(_LogCollector(watched))
    return watched


class _LogCollector(logging.Handler):
    """Keeps warnings and errors with the turn in whose context they were logged."""

    def __init__(self, watched: Mapping[int, WatchedTurn]) -> None:
        super().__init__(logging.WARNING)
        self._watched = watched

    def emit(self, record: logging.LogRecord) -> None:
        from opentelemetry import trace

        try:
            turn = self._watched.get(trace.get_current_span().get_span_context().trace_id)
            if turn is not None:
                turn.add_line(f"{record.levelname} {record.name}: {record.getMessage()}"[:_LONGEST_LINE])
        except Exception:  # a message of a stranger's making must not end the turn
            self.handleError(record)
        if len(logging.getLogger().handlers) == 1 and logging.lastResort is not None:
            # Without this handler, Python would print it to standard error.
            logging.lastResort.handle(record)


def _live_span(span: ReadableSpan) -> Span:
    attributes = dict(span.attributes or {})
    events = [(event.name, dict(event.attributes or {})) for event in span.events]
    failed = span.status.status_code.name == "ERROR"
    assert span.context is not None
    return Span(
        span.name,
        f"{span.context.trace_id:032x}",
        span.start_time or 0,
        span.end_time or 0,
        attributes,
        f"{span.context.span_id:016x}",
        f"{span.parent.span_id:016x}" if span.parent else None,
        events,
        str(span.resource.attributes.get("service.name", "")) or None,
        failure_of(attributes, failed, span.status.description, events),
    )
