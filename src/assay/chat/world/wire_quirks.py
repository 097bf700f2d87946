"""How completions are sent, and how an endpoint with a quirk sends them: statuses, broken streams, other formats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from assay.chat.world.completion import TOKENS_PER_CHUNK, Completion
from assay.chat.world.completion_request import ApiError
from assay.chat.world.model_quirks import cut_answer, cut_arguments, cut_text
from assay.errors import missing_extra

try:
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
except ImportError as error:
    raise missing_extra("starlette", "agents", "serve the scripted model") from error

Send = Callable[[Request, Completion, Mapping[str, str]], Awaitable[Response]]
"""Sends a completion, or something else in its place."""

# The pause that status 429 asks for: long enough to be measurable, short enough for tests.
_RETRY_AFTER_MS = 50
# A model reads the prompt first: about as long as it takes to write this many tokens.
_TOKENS_OF_PAUSE = 20
_DONE = b"data: [DONE]\n\n"
# How late chunks come, and how many of them: a turn then takes a second more.
_DELAY_SECONDS, _DELAYED = 0.1, 10
# Longer than any client waits.
_FOREVER_SECONDS = 3600.0
_PAGE = "<!doctype html><title>Sign in</title><h1>Please sign in to the network</h1>"


def affects_sending(kind: str, completion: Completion) -> bool:
    """Whether a quirk can affect the sending of this completion."""
    if kind in _IN_STREAM and not completion.parsed.stream:
        return False
    is_call = bool(completion.calls) and not completion.answers_by_call
    if kind.endswith("_in_arguments"):
        return is_call
    return not is_call if kind in _IN_ANSWER else True


def text_sent(kind: str, completion: Completion) -> str | None:
    """The part of an answer's text that a quirk sends; None if it sends the whole, or something else."""
    return cut_text(completion.text or "") if kind in _IN_ANSWER and not completion.calls else None


# --- errors ---------------------------------------------------------------------------------------------------------


def rate_limited(*, retry_after: bool = True) -> ApiError:
    """Status 429, with the pause that it asks for or without."""
    headers = {"retry-after": f"{_RETRY_AFTER_MS / 1000:g}", "retry-after-ms": str(_RETRY_AFTER_MS)}
    return ApiError(
        429,
        "Rate limit reached: please try again shortly",
        kind="rate_limit_error",
        code="rate_limit_exceeded",
        headers=headers if retry_after else None,
    )


def server_error() -> ApiError:
    """Status 500."""
    return ApiError(500, "The server had an error while processing your request", kind="server_error")


def _too_long() -> ApiError:
    said = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5120 tokens."
    return ApiError(400, said, param="messages", code="context_length_exceeded")


def _unauthorised() -> ApiError:
    return ApiError(401, "Incorrect API key provided", code="invalid_api_key")


def _too_large() -> ApiError:
    return ApiError(413, "The request is too large", code="request_too_large")


def _overloaded() -> ApiError:
    return ApiError(503, "The engine is currently overloaded, please try again later", kind="server_error")


def _failing(error: Callable[[], ApiError]) -> Send:
    async def send(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
        raise error()

    return send


async def _error_as_success(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
    return JSONResponse(server_error().body, 200)


async def _page(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
    return HTMLResponse(_PAGE)


async def _reset(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
    await _break(request, reset=True)
    return Response()  # nobody receives it


async def _whole(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
    return JSONResponse(completion.body(), headers=dict(headers))


async def _break(request: Request, *, reset: bool = False) -> None:
    """Close the connection as it is."""
    await asyncio.sleep(0.02)  # what was sent before is under way
    request.scope["assay.abort"](reset)
    await asyncio.sleep(0.02)  # the server notices that the client is gone, and reports no error


# --- streams --------------------------------------------------------------------------------------------------------


async def server_sent_events(completion: Completion, speed: float = 0.0) -> AsyncIterator[bytes]:
    """The completion as server-sent events, at `speed` tokens a second after a pause for the prompt; 0 for at once."""
    if speed:
        await asyncio.sleep(_TOKENS_OF_PAUSE / speed)
    for chunk in completion.chunks():
        yield _event(chunk)
        if speed and chunk["choices"] and chunk["choices"][0]["finish_reason"] is None:
            await asyncio.sleep(TOKENS_PER_CHUNK / speed)
    yield _DONE


def _event(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def _streamed(change: Callable[[Completion, Request], AsyncIterator[bytes]]) -> Send:
    async def send(request: Request, completion: Completion, headers: Mapping[str, str]) -> Response:
        return StreamingResponse(change(completion, request), media_type="text/event-stream", headers=dict(headers))

    return send


async def _keeping_alive(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    async for event in server_sent_events(completion):
        yield b": keep-alive\n\n"
        yield event


async def _late(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    at = 0
    async for event in server_sent_events(completion):
        if at < _DELAYED:
            await asyncio.sleep(_DELAY_SECONDS)
        at += 1
        yield event


async def _byte_by_byte(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    async for event in server_sent_events(completion):
        for at in range(len(event)):
            yield event[at : at + 1]


def _beginning(completion: Completion) -> Iterator[bytes]:
    """The events of a stream up to the middle of the answer, or of the first call's arguments."""
    if completion.calls and not completion.answers_by_call:
        completion.calls = completion.calls[:1]
        function = completion.calls[0]["function"]
        function["arguments"] = cut_arguments(function["arguments"])
    else:
        cut_answer(completion)
    for chunk in completion.chunks():
        if not chunk["choices"] or chunk["choices"][0]["finish_reason"] is not None:
            return
        yield _event(chunk)


async def _broken_off(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    for event in _beginning(completion):
        yield event
    await _break(request)


async def _ended(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    for event in _beginning(completion):
        yield event


async def _with_error(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    for event in _beginning(completion):
        yield event
    yield _event(server_error().body)
    yield _DONE


async def _with_broken_event(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    for event in _beginning(completion):
        yield event
    yield b'data: {"id": "chatcmpl-\n\n'
    yield _DONE


async def _stalled(completion: Completion, request: Request) -> AsyncIterator[bytes]:
    for event in _beginning(completion):
        yield event
    await asyncio.sleep(_FOREVER_SECONDS)


_IN_STREAM: Mapping[str, Send] = {
    "keep_alive": _streamed(_keeping_alive),
    "delayed_chunks": _streamed(_late),
    "one_byte_chunks": _streamed(_byte_by_byte),
    "stream_cut_in_text": _streamed(_broken_off),
    "stream_cut_in_arguments": _streamed(_broken_off),
    "stream_ends_in_text": _streamed(_ended),
    "stream_ends_in_arguments": _streamed(_ended),
    "stream_error": _streamed(_with_error),
    "stream_not_json": _streamed(_with_broken_event),
    "stream_stalls": _streamed(_stalled),
    "ignores_stream": _whole,
}
# These happen in the middle of an answer; a message with calls is sent as it is.
_IN_ANSWER = frozenset(
    {"stream_cut_in_text", "stream_ends_in_text", "stream_error", "stream_not_json", "stream_stalls"}
)
RESPONSES: Mapping[str, Send] = {
    **_IN_STREAM,
    "context_too_long": _failing(_too_long),
    "status_401": _failing(_unauthorised),
    "status_413": _failing(_too_large),
    "status_429": _failing(lambda: rate_limited(retry_after=False)),
    "status_429_retry_after": _failing(rate_limited),
    "status_500": _failing(server_error),
    "status_503": _failing(_overloaded),
    "error_with_status_200": _error_as_success,
    "connection_reset": _reset,
    "html": _page,
}
"""What is sent in place of a regular response, by quirk."""
