"""An OpenAI-compatible chat-completions server around the scripted model, for loopback.

Knows how completions are written, whole or streamed; `completion_request.py` validates requests, and the scripted model
decides what is said. It is a stand-in for a real model, and its list of models says so.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from assay.chat.world.completion_request import ApiError, CompletionRequest
from assay.chat.world.scripted import ModelOutput, ScriptedModel, Skill
from assay.chat.world.situation import Situation
from assay.chat.world.tokens import count_tokens, tokenize
from assay.errors import missing_extra

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise missing_extra("starlette", "agents", "serve the scripted model") from error

MODEL = "assay-scripted"
"""The model name in every completion, whatever model the request names."""
OWNER = "assay (scripted stand-in)"

_MAX_BODY_BYTES = 4_000_000
# How many turns have a count of fault hits; the oldest are dropped first.
_MAX_COUNTED = 10_000
# The pause that status 429 asks for: long enough to be measurable, short enough for tests.
_RETRY_AFTER_MS = 50
# Pieces of text in one chunk of a stream.
_TOKENS_PER_CHUNK = 6
_CREATED = 1_767_225_600


def model_app(seed: int, skill: Skill) -> Starlette:
    """The server: `POST /v1/chat/completions` and `GET /v1/models`. It accepts any key and stores none."""
    service = _Service(seed, skill)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.complete, methods=["POST"]),
            Route("/v1/models", service.models, methods=["GET"]),
            Route("/v1/models/{name}", service.model_card, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _on_http_error, ApiError: _on_api_error},
    )


async def _on_api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return JSONResponse(error.body, error.status, error.headers)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{error.detail}: {request.method} {request.url.path}"
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return JSONResponse(body, error.status_code, error.headers)


class _Service:
    def __init__(self, seed: int, skill: Skill) -> None:
        self.scripted = ScriptedModel(seed, skill)
        self.fingerprint = f"fp_{_digest(seed, skill)[:10]}"
        self.seed = seed
        self.faults = _FaultCounter()

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._card()]})

    async def model_card(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != MODEL:
            raise ApiError(404, f"The model '{name:.100}' does not exist", param="model", code="model_not_found")
        return JSONResponse(self._card())

    def _card(self) -> dict[str, Any]:
        return {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": OWNER}

    async def complete(self, request: Request) -> Response:
        raw = await _body(request)
        situation = Situation.from_headers(request.headers)
        self.faults.check(situation, request.headers.get("baggage", ""))
        parsed = CompletionRequest(raw)
        output = self.scripted.respond(
            parsed.messages, parsed.tools, situation, tool_choice=parsed.tool_choice, parallel=parsed.parallel
        )
        created = int(situation.now.timestamp()) if situation.now is not None else int(time.time())
        completion = _Completion(
            output, parsed, _digest(self.seed, raw.decode("utf-8", "replace")), created, self.fingerprint
        )
        headers = {"x-request-id": f"req_{completion.id.removeprefix('chatcmpl-')}"}
        if parsed.stream:
            return StreamingResponse(
                _server_sent_events(completion.chunks()), media_type="text/event-stream", headers=headers
            )
        return JSONResponse(completion.body(), headers=headers)


class _FaultCounter:
    """How many requests of a turn a fault of the model's endpoint has hit. The whole baggage identifies the turn."""

    def __init__(self) -> None:
        self._hits: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, situation: Situation, key: str) -> None:
        """Raise the error of the situation's fault, up to as many times as the fault says."""
        fault = situation.fault
        if fault is None or not fault.kind.startswith("model_"):
            return
        if fault.times is not None:
            with self._lock:
                hits = self._hits.get(key, 0)
                if hits >= fault.times:
                    return
                self._hits[key] = hits + 1
                self._hits.move_to_end(key)
                while len(self._hits) > _MAX_COUNTED:
                    self._hits.popitem(last=False)
        if fault.kind == "model_rate_limited":
            raise ApiError(
                429,
                "Rate limit reached: please try again shortly",
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers={"retry-after": f"{_RETRY_AFTER_MS / 1000:g}", "retry-after-ms": str(_RETRY_AFTER_MS)},
            )
        raise ApiError(500, "The server had an error while processing your request", kind="server_error")


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY_BYTES:
            raise ApiError(413, f"The body is larger than {_MAX_BODY_BYTES} bytes", code="request_too_large")
        parts.append(part)
    return b"".join(parts)


# --- the completion ---------------------------------------------------------------------------------------------------


class _Completion:
    """The model's output in the protocol's format, whole or streamed; cut off at the request's token limit."""

    def __init__(
        self, output: ModelOutput, parsed: CompletionRequest, digest: str, created: int, fingerprint: str
    ) -> None:
        self.id = f"chatcmpl-{digest[:29]}"
        self.parsed = parsed
        self.created = created
        self.fingerprint = fingerprint
        self.text = output.text
        self.calls: list[dict[str, Any]] = [
            {
                "id": f"call_{_digest(digest, at)[:24]}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for at, call in enumerate(output.calls)
        ]
        self.finish_reason = "tool_calls" if self.calls else "stop"
        if self.text is not None:
            ends = [at for stop in parsed.stop if (at := self.text.find(stop)) >= 0]
            self.text = self.text[: min(ends)] if ends else self.text
        self._cut(parsed.max_tokens)

    def _cut(self, limit: int | None) -> None:
        if limit is None:
            return
        if self.text is not None and count_tokens(self.text) > limit:
            self.text, self.finish_reason = "".join(tokenize(self.text)[:limit]), "length"
        if self.calls and self.completion_tokens > limit:
            # A truncated call could not be parsed.
            self.text, self.calls, self.finish_reason = "", [], "length"

    @property
    def completion_tokens(self) -> int:
        written = [call["function"] for call in self.calls]
        return count_tokens(self.text or "") + sum(
            count_tokens(one["name"]) + count_tokens(one["arguments"]) for one in written
        )

    @property
    def usage(self) -> dict[str, Any]:
        prompt, completion = self.parsed.prompt_tokens, self.completion_tokens
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text, "refusal": None}
        if self.calls:
            message["tool_calls"] = self.calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        return {**self._common_fields("chat.completion"), "choices": [choice], "usage": self.usage}

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The streamed form: the role, the text or the calls, the finish reason, and the usage if requested."""
        yield self._chunk({"role": "assistant", "content": None if self.calls else ""})
        parts = tokenize(self.text or "")
        for at in range(0, len(parts), _TOKENS_PER_CHUNK):
            yield self._chunk({"content": "".join(parts[at : at + _TOKENS_PER_CHUNK])})
        for index, call in enumerate(self.calls):
            function = call["function"]
            yield self._call_chunk(index, {**call, "function": {"name": function["name"], "arguments": ""}})
            written = tokenize(function["arguments"])
            for at in range(0, len(written), _TOKENS_PER_CHUNK):
                yield self._call_chunk(
                    index, {"function": {"arguments": "".join(written[at : at + _TOKENS_PER_CHUNK])}}
                )
        yield self._chunk({}, self.finish_reason)
        if self.parsed.include_usage:
            yield {**self._common_fields("chat.completion.chunk"), "choices": [], "usage": self.usage}

    def _call_chunk(self, index: int, call: Mapping[str, Any]) -> dict[str, Any]:
        return self._chunk({"tool_calls": [{"index": index, **call}]})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = {**self._common_fields("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if self.parsed.include_usage else chunk

    def _common_fields(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": MODEL,
            "system_fingerprint": self.fingerprint,
        }


async def _server_sent_events(chunks: Iterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """The chunks as server-sent events."""
    for chunk in chunks:
        yield f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _digest(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
