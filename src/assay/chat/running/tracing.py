"""Collects the OpenTelemetry spans of this process, turn by turn. The only module that sets up OpenTelemetry's SDK.

What the spans mean is read by `formats/otel.py`. OpenTelemetry takes longer to import than a thousand turns of a plain
function take to play, so for a function it is set up only if the function imports it.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from assay.chat.formats.otel import Span, TurnTrace, failure_of, read_turn
from assay.errors import MissingExtraError, UsageError, missing_extra

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace import Span as OpenSpan

# On the span of a request, by OpenTelemetry's conventions.
_HTTP_METHOD = "http.request.method"
# No turn needs this many spans; a framework that loops must not fill the memory.
_MOST_SPANS = 10_000
_MOST_LINES, _LONGEST_LINE = 50, 1000
# The part of OpenTelemetry that every instrumented package imports.
_API = "opentelemetry.trace"


class TurnSpans(Protocol):
    """The spans of one turn, which are read when it is over."""

    log: list[str]
    """Warnings and errors that were logged meanwhile, shortened."""
    requests: int
    """Requests to the model that were begun; the span of one that nobody closes never ends."""

    def read(self) -> TurnTrace: ...


class TurnTracing(Protocol):
    """The interface of collectors of spans."""

    @property
    def is_active(self) -> bool:
        """Whether OpenTelemetry is in use, so that a turn's situation has to be passed along with it."""
        ...

    def turn(self, agent: str, session: str) -> AbstractContextManager[TurnSpans]: ...


class Tracing:
    """The spans of this process, kept as long as the turn that they belong to is being watched.

    Building it sets up OpenTelemetry's SDK once per process; a provider that is already set gets one more processor.
    Nothing is exported anywhere.
    """

    is_active = True

    def __init__(self) -> None:
        self._watched = _watch()
        from opentelemetry import trace

        self._tracer = trace.get_tracer("assay")

    @contextmanager
    def turn(self, agent: str, session: str) -> Iterator[WatchedTurn]:
        """A turn of an agent: everything inside is in our span, in a separate trace."""
        from opentelemetry import context, trace

        # A separate trace even inside another span, because turns are distinguished by their traces; baggage stays.
        outside = trace.set_span_in_context(trace.INVALID_SPAN, context.get_current())
        span = self._tracer.start_span(
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


class TracingIfImported:
    """For agents that may not use OpenTelemetry: it is set up as soon as they import it, and turns have spans then."""

    def __init__(self) -> None:
        if _API not in sys.modules and not any(isinstance(finder, _SetUpOnImport) for finder in sys.meta_path):
            sys.meta_path.insert(0, _SetUpOnImport())

    @property
    def is_active(self) -> bool:
        return _API in sys.modules and _is_set_up()

    def turn(self, agent: str, session: str) -> AbstractContextManager[TurnSpans]:
        return Tracing().turn(agent, session) if self.is_active else nullcontext(_NoSpans())


class _NoSpans:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.requests = 0

    def read(self) -> TurnTrace:
        return TurnTrace([], 0, None, None, None, 0.0, 0.0, 0.0)


@cache
def _is_set_up() -> bool:
    """Set up the SDK; False if it is not installed, which is not an error for an agent that imports only the API."""
    try:
        _watch()
    except MissingExtraError:
        return False
    return True


class _SetUpOnImport(MetaPathFinder):
    """Sets up the SDK right after the API was imported, before a framework asks for its provider."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _API:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.loader is not None:
            found.loader = _ThenSetUp(found.loader)
        return found


class _ThenSetUp(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        with suppress(Exception):  # reported at the first turn
            _is_set_up()


class WatchedTurn:
    """A turn whose spans are collected. They are dropped when it is read, or with the turn."""

    def __init__(self) -> None:
        self._finished: list[ReadableSpan] = []
        self._dropped = 0
        self.log: list[str] = []
        """Warnings and errors that were logged meanwhile, shortened."""
        self.requests = 0
        """Requests to the model that were begun; the span of one that nobody closes never ends."""
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
    """Sets up the SDK; the turns that are watched now, by the number of their trace. Unread turns go by themselves."""
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    except ImportError as error:
        raise missing_extra("opentelemetry-sdk", "agents", "measure what an agent does") from error

    watched: WeakValueDictionary[int, WatchedTurn] = WeakValueDictionary()

    class Collector(SpanProcessor):
        def on_start(self, span: OpenSpan, parent_context: Context | None = None) -> None:
            turn = watched.get(span.context.trace_id) if span.context else None
            if turn is not None and _HTTP_METHOD in (span.attributes or {}):
                turn.requests += 1

        def on_end(self, span: ReadableSpan) -> None:
            turn = watched.get(span.context.trace_id) if span.context else None
            if turn is not None:
                turn.add(span)

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        # Set here and not left to the environment: a sampler or a limit set there would distort the counts.
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
        except Exception:  # a message that cannot be formatted must not end the turn
            self.handleError(record)
        if len(logging.getLogger().handlers) == 1 and logging.lastResort is not None:
            # Without this handler, Python would print it to standard error.
            logging.lastResort.handle(record)


def _live_span(span: ReadableSpan) -> Span:
    attributes = _plain(span.attributes)
    events = [(event.name, _plain(event.attributes)) for event in span.events]
    status = span.status
    failed = status.status_code.name == "ERROR"
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
        failure_of(attributes, failed, status.description, events),
    )


def _plain(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Attributes as a dictionary. `copy` is that of the SDK's own mapping, a tenth of the time of reading each."""
    if not attributes:
        return {}
    copied = attributes.copy() if hasattr(attributes, "copy") else attributes
    return copied if type(copied) is dict else dict(copied)
