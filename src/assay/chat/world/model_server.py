"""An OpenAI-compatible chat-completions server around the scripted model, for loopback.

Knows the protocol: what a request must be, how an answer is written whole and in pieces, what errors look like. What is
said is the scripted model's. It is a stand-in, and its list of models says so.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from assay.chat.transcript import load_json
from assay.chat.world.scripted import ModelOutput, ScriptedModel, Skill
from assay.chat.world.situation import Situation
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
"""The name it answers by, whatever name it is asked for."""
OWNER = "assay (scripted stand-in)"

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_MAX_BODY_BYTES = 4_000_000
# How many turns are remembered for counting a fault's hits; the oldest are forgotten first.
_MAX_COUNTED = 10_000
# What a client is asked to wait after 429: long enough to be a wait, short enough for a test.
_RETRY_AFTER_MS = 50
# A message costs this much besides its words, as with OpenAI's own models.
_TOKENS_PER_MESSAGE = 3
_MAX_CACHED_LENGTH = 10_000
# Pieces of text in one chunk of a stream.
_TOKENS_PER_CHUNK = 6
_TOKEN = re.compile(r"\s*(?:\w{1,4}|[^\w\s])|\s+")
_CREATED = 1_767_225_600


def model_app(seed: int, skill: Skill) -> Starlette:
    """The server: `POST /v1/chat/completions` and `GET /v1/models`. Any key is accepted, and none is kept."""
    service = _Service(seed, skill)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.complete, methods=["POST"]),
            Route("/v1/models", service.models, methods=["GET"]),
            Route("/v1/models/{name}", service.model_card, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _on_http_error, _ApiError: _on_api_error},
    )


def tokenize(text: str) -> list[str]:
    """The text cut into tokens: up to four letters or digits, or one other sign, with the white space before it.

    This is how usage is counted and `max_tokens` is kept. It comes near to what real tokenisers count in English, and
    is no more than that.
    """
    return _TOKEN.findall(text)


def count_tokens(text: str) -> int:
    """How many tokens a text has."""
    return _cached_count(text) if len(text) <= _MAX_CACHED_LENGTH else len(tokenize(text))


@functools.lru_cache(maxsize=4096)
def _cached_count(text: str) -> int:
    # A conversation is sent again with each of its turns.
    return len(tokenize(text))


class _ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


async def _on_api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, _ApiError)
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
            raise _ApiError(404, f"The model '{name:.100}' does not exist", param="model", code="model_not_found")
        return JSONResponse(self._card())

    def _card(self) -> dict[str, Any]:
        return {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": OWNER}

    async def complete(self, request: Request) -> Response:
        raw = await _body(request)
        situation = Situation.from_headers(request.headers)
        self.faults.check(situation, request.headers.get("baggage", ""))
        parsed = _CompletionRequest(raw)
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
    """How often a fault of the model's endpoint has hit a turn; a turn is told by all of its baggage."""

    def __init__(self) -> None:
        self._hits: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, situation: Situation, key: str) -> None:
        """Raise what the situation wants to go wrong, as often as it says."""
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
            raise _ApiError(
                429,
                "Rate limit reached: please try again shortly",
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers={"retry-after": f"{_RETRY_AFTER_MS / 1000:g}", "retry-after-ms": str(_RETRY_AFTER_MS)},
            )
        raise _ApiError(500, "The server had an error while processing your request", kind="server_error")


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY_BYTES:
            raise _ApiError(413, f"The body is larger than {_MAX_BODY_BYTES} bytes", code="request_too_large")
        parts.append(part)
    return b"".join(parts)


# --- the request ------------------------------------------------------------------------------------------------------


class _CompletionRequest:
    """A request, checked. Fields that are not known are passed over, as are those that change nothing here."""

    def __init__(self, raw: bytes) -> None:
        try:
            body = load_json(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            raise _ApiError(400, "We could not parse the JSON body of your request") from None
        if not isinstance(body, dict):
            raise _ApiError(400, "The body of the request must be a JSON object")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise _invalid("model", "you must provide a model parameter, as a string")
        self.messages = _messages(body.get("messages"))
        self.tools = _tools(body.get("tools"))
        self.tool_choice = _tool_choice(body.get("tool_choice"), self.tools)
        self.parallel = body.get("parallel_tool_calls") is not False
        self.stream = _flag(body, "stream")
        options = body.get("stream_options")
        if options is not None and not isinstance(options, dict):
            raise _invalid("stream_options", "must be an object")
        if options is not None and not self.stream:
            raise _invalid("stream_options", "is only allowed when 'stream' is true")
        self.include_usage = _flag(options or {}, "include_usage", "stream_options.include_usage")
        if _limit(body, "n") not in (None, 1):
            raise _invalid("n", "this model gives one answer only; n must be 1")
        limits = [_limit(body, name) for name in ("max_completion_tokens", "max_tokens")]
        self.max_tokens = next((limit for limit in limits if limit is not None), None)
        self.stop = _stop(body.get("stop"))
        self.raw_tools = body.get("tools")

    @functools.cached_property
    def prompt_tokens(self) -> int:
        """Tokens of all messages and of the tools' descriptions."""
        total = _TOKENS_PER_MESSAGE
        for message in self.messages:
            total += _TOKENS_PER_MESSAGE
            for name, value in message.items():
                if isinstance(value, str):
                    total += count_tokens(value)
                elif value is not None:
                    total += count_tokens(json.dumps(value, ensure_ascii=False)) if name != "role" else 0
        if self.raw_tools:
            total += count_tokens(json.dumps(self.raw_tools, ensure_ascii=False))
        return total


def _invalid(param: str, message: str, code: str | None = None) -> _ApiError:
    return _ApiError(400, f"Invalid value for '{param}': {message}", param=param, code=code)


def _flag(table: Mapping[str, Any], name: str, param: str | None = None) -> bool:
    value = table.get(name)
    if value is not None and not isinstance(value, bool):
        raise _invalid(param or name, "must be true or false")
    return bool(value)


def _limit(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise _invalid(name, "must be an integer of at least 1")
    return value


def _stop(value: Any) -> list[str]:
    if value is None:
        return []
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise _invalid("stop", "must be a string or a list of strings")
    return [one for one in stops if one]


def _messages(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise _invalid("messages", "must be a list of at least one message")
    open_calls: set[str] = set()
    for at, message in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise _invalid(where, "must be an object")
        role = message.get("role")
        if role not in _ROLES:
            raise _invalid(f"{where}.role", f"must be one of {', '.join(sorted(_ROLES))}")
        _check_content(message.get("content"), f"{where}.content", optional=role in ("assistant", "tool", "function"))
        if role == "assistant":
            open_calls |= _check_calls(message.get("tool_calls"), f"{where}.tool_calls")
        if role == "tool" and message.get("tool_call_id") not in open_calls:
            raise _invalid(where, "a message with role 'tool' must answer a preceding message with 'tool_calls'")
    return value


def _check_content(content: Any, where: str, *, optional: bool) -> None:
    if content is None and optional:
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not all(isinstance(part, (str, dict)) for part in content):
        raise _invalid(where, "must be a string or a list of parts")


def _check_calls(calls: Any, where: str) -> set[str]:
    if calls is None:
        return set()
    if not isinstance(calls, list):
        raise _invalid(where, "must be a list")
    ids = set()
    for at, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if (
            not isinstance(function, dict)
            or not isinstance(function.get("name"), str)
            or not isinstance(call.get("id"), str)
        ):
            raise _invalid(f"{where}[{at}]", "must have an id and a function with a name")
        ids.add(call["id"])
    return ids


def _tools(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _invalid("tools", "must be a list")
    for at, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _invalid(f"tools[{at}].function", "must be a function with a name")
        if not isinstance(function.get("parameters"), (dict, type(None))):
            raise _invalid(f"tools[{at}].function.parameters", "must be a JSON schema")
    return value


def _tool_choice(value: Any, tools: Sequence[Mapping[str, Any]]) -> str:
    if value is None:
        return "auto"
    if value in ("none", "auto", "required"):
        if value == "required" and not tools:
            raise _invalid("tool_choice", "is only allowed when 'tools' are given")
        return str(value)
    function = value.get("function") if isinstance(value, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _invalid("tool_choice", "must be 'none', 'auto', 'required' or name a function")
    if all(tool["function"]["name"] != name for tool in tools):
        raise _invalid("tool_choice", f"there is no tool '{name:.100}'")
    return name


# --- the answer -------------------------------------------------------------------------------------------------------


class _Completion:
    """A move as the protocol writes it, whole or in pieces; cut where the request allows no more tokens."""

    def __init__(
        self, output: ModelOutput, parsed: _CompletionRequest, digest: str, created: int, fingerprint: str
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
            # Half a call is of no use to anyone.
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
        """The answer in pieces: the role, the text or the calls, why it ends, and the usage where it is wanted."""
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
