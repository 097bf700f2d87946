"""Requests to the model are recorded as spans with the time spent waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest
from tests.chat.agents.http_server import Server, send, serving

from assay.chat.agents._shared.timed_http import TimedHttpClient
from assay.chat.formats.otel import Span, TurnTrace
from assay.chat.running.tracing import Tracing

PAUSE = 0.1


@contextmanager
def slow() -> Iterator[Server]:
    """A server that pauses before its response and in the middle of it."""

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        time.sleep(PAUSE)
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"one")
        handler.wfile.flush()
        time.sleep(PAUSE)
        handler.wfile.write(b"two")

    with serving(respond) as server:
        yield server


@asynccontextmanager
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with TimedHttpClient(trust_env=False) as opened:
        yield opened


def only(trace: TurnTrace) -> Span:
    (span,) = [span for span in trace.spans if span.waits]
    return span


def test_waiting_counts_as_model_time_and_consuming_does_not(tracing: Tracing) -> None:
    async def play(url: str) -> bytes:
        got = b""
        async with client() as http, http.stream("POST", url, json={}) as response:
            async for piece in response.aiter_bytes():
                got += piece
                # The consumer works longer than the server pauses, so the second chunk has arrived by then.
                time.sleep(2 * PAUSE)
        return got

    with slow() as server, tracing.turn("a", "s") as turn:
        assert asyncio.run(play(server.url)) == b"onetwo"
    trace = turn.read()
    assert trace.model_seconds == pytest.approx(PAUSE, abs=0.7 * PAUSE)
    assert trace.overhead_seconds > 3 * PAUSE
    assert only(trace).failed is None


def test_pauses_before_and_within_the_response_count(tracing: Tracing) -> None:
    async def play(url: str) -> str:
        async with client() as http:
            return (await http.post(url, json={})).text

    with slow() as server, tracing.turn("a", "s") as turn:
        assert asyncio.run(play(server.url)) == "onetwo"
    assert turn.read().model_seconds >= 2 * PAUSE


def test_error_status_fails_the_span(tracing: Tracing) -> None:
    async def play(url: str) -> int:
        async with client() as http, http.stream("POST", f"{url}/v1?key=secret", json={}) as response:
            await response.aread()
            return response.status_code

    with (
        serving(lambda handler, body: send(handler, b"{}", status=503)) as server,
        tracing.turn("a", "s") as turn,
    ):
        assert asyncio.run(play(server.url)) == 503
    span = only(turn.read())
    assert span.failed == "503"
    assert "secret" not in repr(span)


def test_connection_error_fails_the_span(tracing: Tracing) -> None:
    async def play(url: str) -> None:
        async with client() as http:
            await http.post(url, json={})

    with serving(lambda handler, body: None) as server:
        url = server.url
    with tracing.turn("a", "s") as turn, pytest.raises(httpx.ConnectError):
        asyncio.run(play(url))
    assert only(turn.read()).failed == "ConnectError"


def test_cancelled_request_ends_the_span(tracing: Tracing) -> None:
    async def play(url: str) -> None:
        async with client() as http, http.stream("POST", url, json={}) as response, asyncio.timeout(PAUSE / 2):
            async for _ in response.aiter_bytes():
                pass

    with slow() as server, tracing.turn("a", "s") as turn, pytest.raises(TimeoutError):
        asyncio.run(play(server.url))
    assert only(turn.read()).failed == "CancelledError"  # only spans that have ended are read


def test_unread_response_ends_the_span(tracing: Tracing) -> None:
    async def play(url: str) -> None:
        async with client() as http, http.stream("POST", url, json={}):
            pass

    with slow() as server, tracing.turn("a", "s") as turn:
        asyncio.run(play(server.url))
    assert only(turn.read()).failed is None
