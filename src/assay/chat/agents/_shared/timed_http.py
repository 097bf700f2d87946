"""Measures the time spent waiting for the model, at the HTTP client and so in the same way for every framework.

Each request gets a span by OpenTelemetry's HTTP conventions that also records when the client was waiting. The time
that a framework takes between two chunks of a response is thus not counted as the model's. The span also has the token
counts of the response, against which those of the framework are checked, and whether a stream broke off. Of agents with
tools of their own, it has the names of the tools too.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from assay.chat.agents._shared.wire import Wire
from assay.chat.formats.otel import BROKE_OFF, TOOLS_OFFERED, WAITS, WIRE_TOKENS


class TimedHttpClient(httpx.AsyncClient):
    """An HTTP client that records a span for each request."""

    def __init__(self, *, records_tools: bool = False, **options: Any) -> None:
        """With `records_tools`, the span names the tools that the model is offered."""
        super().__init__(**options)
        self._records_tools = records_tools

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request; its span ends with the last byte of the response."""
        timing = _Timing(request, records_tools=self._records_tools)
        try:
            with timing.waiting():
                response = await super().send(request, stream=stream, **options)
        except BaseException as error:
            timing.end(type(error).__name__)
            raise
        failed = str(response.status_code) if response.is_error else None
        if stream:
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = _TimedStream(response.stream, timing, Wire(response.headers), failed)
        else:
            wire = Wire({"content-type": response.headers.get("content-type", "")})
            wire.add(response.content)
            timing.end(failed, wire)
        return response


class TimedSyncHttpClient(httpx.Client):
    """The same for code that is not asynchronous. The tools that the model is offered are always named."""

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request; its span ends with the last byte of the response."""
        timing = _Timing(request, records_tools=True)
        try:
            with timing.waiting():
                response = super().send(request, stream=stream, **options)
        except BaseException as error:
            timing.end(type(error).__name__)
            raise
        failed = str(response.status_code) if response.is_error else None
        if stream:
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = _TimedSyncStream(response.stream, timing, Wire(response.headers), failed)
        else:
            wire = Wire({"content-type": response.headers.get("content-type", "")})
            wire.add(response.content)
            timing.end(failed, wire)
        return response


class _Timing:
    """The span of one request, and the times at which the client waited for it."""

    def __init__(self, request: httpx.Request, *, records_tools: bool) -> None:
        self._span: Span = trace.get_tracer("assay.chat.agents").start_span(
            request.method,
            kind=SpanKind.CLIENT,
            # The URL without its query, which may contain a key.
            attributes={"http.request.method": request.method, "url.full": str(request.url.copy_with(query=None))},
        )
        self._ends: list[int] = []
        if records_tools and self._span.is_recording():
            self._span.set_attribute(TOOLS_OFFERED, _tools_in(request.content))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        start = time.time_ns()
        try:
            yield
        finally:
            self._ends += (start, time.time_ns())

    def end(self, failed: str | None, wire: Wire | None = None) -> None:
        if self._span.is_recording():
            self._span.set_attribute(WAITS, self._ends)
            if wire is not None and wire.tokens is not None:
                self._span.set_attribute(WIRE_TOKENS, wire.tokens)
            if wire is not None and wire.broke_off:
                self._span.set_attribute(BROKE_OFF, True)
            if failed is not None:
                self._span.set_attribute("error.type", failed)
                self._span.set_status(Status(StatusCode.ERROR))
            self._span.end()


class _TimedStream(httpx.AsyncByteStream):
    """A response stream that records the time spent waiting for each chunk."""

    def __init__(self, pieces: httpx.AsyncByteStream, timing: _Timing, wire: Wire, failed: str | None) -> None:
        self._pieces = pieces
        self._timing = timing
        self._wire = wire
        self._failed = failed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._pieces.__aiter__()
        while True:
            try:
                with self._timing.waiting():
                    piece = await anext(pieces)
            except StopAsyncIteration:
                self._wire.finish()
                return
            except BaseException as error:
                if isinstance(error, httpx.HTTPError):
                    self._wire.finish()
                self._failed = type(error).__name__
                raise
            self._wire.add(piece)
            yield piece

    async def aclose(self) -> None:
        try:
            await self._pieces.aclose()
        finally:
            self._timing.end(self._failed, self._wire)


class _TimedSyncStream(httpx.SyncByteStream):
    """The same for code that is not asynchronous."""

    def __init__(self, pieces: httpx.SyncByteStream, timing: _Timing, wire: Wire, failed: str | None) -> None:
        self._pieces = pieces
        self._timing = timing
        self._wire = wire
        self._failed = failed

    def __iter__(self) -> Iterator[bytes]:
        pieces = iter(self._pieces)
        while True:
            try:
                with self._timing.waiting():
                    piece = next(pieces)
            except StopIteration:
                self._wire.finish()
                return
            except BaseException as error:
                if isinstance(error, httpx.HTTPError):
                    self._wire.finish()
                self._failed = type(error).__name__
                raise
            self._wire.add(piece)
            yield piece

    def close(self) -> None:
        try:
            self._pieces.close()
        finally:
            self._timing.end(self._failed, self._wire)


def _tools_in(body: bytes) -> list[str]:
    """The names of the tools in a request to a model; empty if there are none."""
    try:
        tools = json.loads(body).get("tools") or []
        names = [tool["function"]["name"] for tool in tools]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)]
