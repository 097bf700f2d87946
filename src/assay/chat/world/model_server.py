"""An OpenAI-compatible chat-completions server around the scripted model, for loopback.

It handles requests; `completion_request.py` validates them, the scripted model decides what is said, and
`completion.py` writes it. It is a stand-in for a real model, and its list of models says so.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.chat.world import model_quirks, wire_quirks
from assay.chat.world.calls import CallLog, held
from assay.chat.world.completion import MODEL, Completion, digest_of
from assay.chat.world.completion_request import ApiError, CompletionRequest
from assay.chat.world.scripted import ModelOutput, ScriptedModel, Skill
from assay.chat.world.scripted.planning import Toolbox, ToolUse
from assay.chat.world.situation import Situation
from assay.chat.world.wanted_calls import WantedCall
from assay.errors import missing_extra

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise missing_extra("starlette", "agents", "serve the scripted model") from error

__all__ = ["MODEL", "OWNER", "model_app"]

OWNER = "assay (scripted stand-in)"

_MAX_BODY_BYTES = 4_000_000
# How many turns have a count of hits; the oldest are dropped first.
_MAX_COUNTED = 10_000
_CREATED = 1_767_225_600


Watch = Callable[[str, bytes], None]
"""Called with the session and the body of every request, as they arrive."""


def model_app(
    seed: int, skill: Skill, watch: Watch | None = None, speed: float = 0.0, calls: CallLog | None = None
) -> Starlette:
    """The server: `POST /v1/chat/completions` and `GET /v1/models`. It accepts any key and stores none.

    `speed` is the pace of its streams in tokens a second; 0 sends them at once. `calls` keeps the requests of watched
    conversations.
    """
    service = _Service(seed, skill, watch, speed, calls)
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
    def __init__(self, seed: int, skill: Skill, watch: Watch | None, speed: float, calls: CallLog | None) -> None:
        self.calls = calls or CallLog()
        self.watch = watch
        self.speed = speed
        self.scripted = ScriptedModel(seed, skill)
        self.fingerprint = f"fp_{digest_of(seed, skill)[:10]}"
        self.seed = seed
        self.hits = _Hits()

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
        if self.watch is not None:
            self.watch(situation.session, raw)
        call = self.calls.add(situation, "model", raw)
        turn = request.headers.get("baggage", "")
        self._fail(situation, turn)
        parsed = CompletionRequest(raw)
        created = int(situation.now.timestamp()) if situation.now is not None else int(time.time())
        output = self._output(parsed, situation)
        call.beyond = output.text if output.is_beyond else None
        completion = Completion(
            output,
            parsed,
            digest_of(self.seed, raw.decode("utf-8", "replace")),
            created,
            self.fingerprint,
        )
        call.answer = output.words if completion.calls else output.words or completion.text
        call.is_structured = output.words is not None
        sent_whole = completion.text
        headers = {"x-request-id": f"req_{completion.id.removeprefix('chatcmpl-')}"}
        quirk = situation.quirk
        if quirk is not None and quirk.alters_arguments and not completion.answers_by_call:
            call.meant = tuple(_meant(one, parsed.tools) for one in output.calls)
        if quirk is not None and self._has(quirk.kind, completion) and self.hits.take(turn, quirk.times):
            call.misbehaved = True
            if quirk.kind in wire_quirks.RESPONSES:
                call.changed = wire_quirks.text_sent(quirk.kind, completion)
                return await wire_quirks.RESPONSES[quirk.kind](request, completion, headers)
            model_quirks.misbehave(quirk.kind, completion)
            if call.answer is not None and completion.text != sent_whole:
                call.changed = completion.text or ""
        if parsed.stream and situation.hang_up == "text" and completion.text and not completion.calls:
            call.whole_text = completion.text
            events = [event async for event in wire_quirks.server_sent_events(completion)]
            return StreamingResponse(
                held(call, events, len(events) // 2), media_type="text/event-stream", headers=headers
            )
        if parsed.stream:
            return StreamingResponse(
                wire_quirks.server_sent_events(completion, situation.speed or self.speed),
                media_type="text/event-stream",
                headers=headers,
            )
        return JSONResponse(completion.body(), headers=headers)

    def _fail(self, situation: Situation, turn: str) -> None:
        """Raise the error of the situation's fault, up to as many times as the fault says."""
        fault = situation.fault
        if fault is not None and fault.kind.startswith("model_") and self.hits.take(turn, fault.times):
            raise wire_quirks.rate_limited() if fault.kind == "model_rate_limited" else wire_quirks.server_error()

    def _output(self, parsed: CompletionRequest, situation: Situation) -> ModelOutput:
        messages = parsed.messages
        if situation.quirk is not None and situation.quirk.kind == "same_call_forever":
            # As if nothing had been answered since the user's message.
            last = max(at for at, message in enumerate(messages) if message["role"] == "user")
            messages = messages[: last + 1]
        return self.scripted.respond(
            messages,
            parsed.tools,
            situation,
            tool_choice=parsed.tool_choice,
            parallel=parsed.parallel,
            answer_schema=parsed.answer_schema,
        )

    def _has(self, quirk: str, completion: Completion) -> bool:
        """Whether the quirk can affect this response."""
        return (
            wire_quirks.affects_sending(quirk, completion)
            if quirk in wire_quirks.RESPONSES
            else model_quirks.affects_message(quirk, completion)
        )


def _meant(call: ToolUse, tools: Sequence[Mapping[str, Any]]) -> WantedCall:
    """A call as the model means it, without arguments that make no difference: those that its tool does not have, and
    those with the value that it gives them by default.
    """
    properties = Toolbox(tools).parameters.get(call.name, {}).get("properties")
    if not isinstance(properties, Mapping):
        return WantedCall(call.name, call.arguments)
    told = {name: value for name, value in call.arguments.items() if name in properties}
    return WantedCall(call.name, {name: value for name, value in told.items() if _default(properties[name]) != value})


def _default(schema: Any) -> Any:
    """The default of an argument; if it has none, a value that no other is equal to."""
    return schema["default"] if isinstance(schema, Mapping) and "default" in schema else object()


class _Hits:
    """How many requests of a turn a fault or a quirk has hit. The whole baggage identifies the turn."""

    def __init__(self) -> None:
        self._hits: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, turn: str, times: int | None) -> bool:
        """Count a hit; False if there were `times` already."""
        if times is None:
            return True
        with self._lock:
            hits = self._hits.get(turn, 0)
            if hits >= times:
                return False
            self._hits[turn] = hits + 1
            self._hits.move_to_end(turn)
            while len(self._hits) > _MAX_COUNTED:
                self._hits.popitem(last=False)
        return True


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY_BYTES:
            raise ApiError(413, f"The body is larger than {_MAX_BODY_BYTES} bytes", code="request_too_large")
        parts.append(part)
    return b"".join(parts)
