"""Any HTTP endpoint as an agent: one with OpenAI's chat-completions API, or any that takes and returns JSON.

Responses are untrusted: their size and duration are limited, redirects are not followed, and nothing is evaluated.
Secrets come from environment variables, by name, and never appear in settings or errors.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.agents._shared.histories import Message, SessionHistories
from assay.chat.agents._shared.json_paths import PLACEHOLDER_PATTERN, count_at, filled, value_at, what_is_there
from assay.chat.agents.function import UnfitObjectError
from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.transcript import ToolCall, load_json
from assay.chat.world.situation import inject
from assay.chat.yamlfile import refusal
from assay.errors import SourceError, missing_extra
from assay.loopback import leads_here
from assay.redaction import hide

if TYPE_CHECKING:
    import httpx

_MAX_SHOWN = 200
"""Most characters of a response body in an error message."""
_PLACEHOLDERS = ("message", "session", "user", "history", "messages")
"""What a request can contain; `messages` is the history followed by the current message."""
_LIST_PLACEHOLDERS = ("history", "messages")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "params", "kwargs")
"""What other services call the arguments of a call."""
_NOT_THERE = (400, 404, 405, 422)
"""Statuses of an address, or of a model, that the service does not have."""


# --- settings --------------------------------------------------------------------------------------------------------


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or an unmatched bracket
        whole = False
    if not whole or not url.isprintable() or " " in url:
        raise refusal("is not an http(s) URL", hint="Write the whole URL, such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise refusal("contains a user name or a password", hint="Put secrets in an environment variable and name that")
    return url


def _check_variable(name: str) -> str:
    # Capitals only, and not repeated in the message: the text may be the secret itself.
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise refusal("must be the name of an environment variable, in capitals", hint="Never put a secret in a file")
    return name


def _check_header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise refusal(f"'{name:.60}' is not a valid header name")
    return name


def _check_template(request: JsonValue) -> JsonValue:
    found = set()
    for text in _texts(request):
        for match in PLACEHOLDER_PATTERN.finditer(text):
            name = match.group(1)
            if name not in _PLACEHOLDERS:
                near = difflib.get_close_matches(name, _PLACEHOLDERS, n=1)
                known = ", ".join(f"{{{one}}}" for one in _PLACEHOLDERS)
                guess = f"Did you mean {{{near[0]}}}? " if near else ""
                raise refusal(f"has an unknown placeholder {{{name}}}", hint=f"{guess}Known: {known}")
            if name in _LIST_PLACEHOLDERS and match.group() != text:
                raise refusal(f"has {{{name}}} inside a longer text", hint="It is a list and must be the whole value")
            found.add(name)
    if found.isdisjoint(("message", "messages")):
        raise refusal("does not contain the user's message", hint="Add {message} or {messages}")
    return request


def _texts(data: JsonValue) -> list[str]:
    if isinstance(data, str):
        return [data]
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for value in inside for text in _texts(value)]


EndpointUrl = Annotated[str, AfterValidator(_check_url)]
EnvironmentVariable = Annotated[str, AfterValidator(_check_variable)]
HeaderName = Annotated[str, AfterValidator(_check_header)]
RequestTemplate = Annotated[dict[str, JsonValue], AfterValidator(_check_template)]


class ToolCallsPath(BaseModel):
    """Where tool calls are in a response, and the names of their fields; each may be a path."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    path: str
    optional: bool = False
    """Whether a response without the path says that no tool was called; by default it is an error."""
    name: str = "name"
    arguments: str = "arguments"
    result: str = "result"
    error: str = "error"


class Endpoint(BaseModel):
    """The URL of an endpoint and the format of its requests. Contains names of environment variables, no secrets."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    url: EndpointUrl
    form: Literal["openai", "json"] = "openai"
    model: str | None = None
    """The model to request with the form `openai`; by default "none", for a service that has one model of its own."""
    key_env: EnvironmentVariable | None = None
    """The environment variable with the key, which is sent as a bearer token."""
    headers_env: dict[HeaderName, EnvironmentVariable] = Field(default_factory=dict)
    """Further headers, each with the environment variable that has its value."""
    request: RequestTemplate = Field(default={"message": "{message}", "session": "{session}", "user": "{user}"})
    """The request body with the form `json`."""
    answer: str = "answer"
    """The path to the text in a response with the form `json`: `reply.text`, `choices.0.message.content`."""
    tool_calls: ToolCallsPath | None = None
    stream: bool = False
    """Whether to request a streamed response."""
    timeout: float = Field(default=60.0, gt=0, le=3600)
    """Timeout of one turn, in seconds."""
    max_bytes: int = Field(default=4 * 2**20, gt=0)
    """Most bytes of a response."""

    @model_validator(mode="after")
    def _check_options(self) -> Endpoint:
        wrong = {"openai": ("request", "answer"), "json": ("model", "stream")}[self.form]
        for name in wrong:
            if name in self.model_fields_set and getattr(self, name) not in (None, False):
                raise refusal(f"'{name}' cannot be used with the form {self.form}", at=(name,))
        if self.stream and self.tool_calls:
            raise refusal(
                "'tool_calls' cannot be used with 'stream'", hint="Leave one of the two out", at=("tool_calls",)
            )
        return self

    @property
    def display_url(self) -> str:
        """The URL for error messages, without its query, which may contain secrets."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return leads_here(self.url)

    def secrets(self) -> dict[str, str]:
        """The headers that contain secrets."""
        names = {**({"Authorization": self.key_env} if self.key_env else {}), **self.headers_env}
        for name in names.values():
            if not os.environ.get(name):
                raise UnfitObjectError(
                    f"the environment variable {name} is not set", hint=f"{self.display_url} needs it"
                )
        found = {header: os.environ[name] for header, name in names.items()}
        hide(*found.values())
        if self.key_env:
            found["Authorization"] = f"Bearer {os.environ[self.key_env]}"
        return found


# --- the agent -------------------------------------------------------------------------------------------------------


class HttpAgent:
    """An agent behind an HTTP endpoint, with its own tools; each request contains the conversation so far."""

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient, *, model: str, max_tokens: int) -> None:
        self._endpoint = endpoint
        self._client = client
        self._model = endpoint.model or model
        self._max_tokens = max_tokens
        self._histories = SessionHistories()
        self._secrets = [value.removeprefix("Bearer ") for value in endpoint.secrets().values()]

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        talk = self._openai if self._endpoint.form == "openai" else self._json
        until = asyncio.get_running_loop().time() + self._endpoint.timeout
        async with aclosing(talk(session, user, message, self._histories.read(session))) as parts:
            while True:
                try:
                    # Around each step rather than the whole loop, so that the consumer's time does not count.
                    async with asyncio.timeout_at(until):
                        part = await anext(parts, None)
                except TimeoutError as error:
                    raise self._error(f"did not answer within {self._endpoint.timeout:g} s") from error
                if part is None:
                    return
                if isinstance(part, Reply):
                    self._histories.add(session, message, part.text)
                yield part

    async def _openai(
        self, session: str, user: str, message: str, history: list[Message]
    ) -> AsyncGenerator[str | Reply, None]:
        address = self._endpoint.url
        if not urlsplit(address).path.endswith("/chat/completions"):
            parts = urlsplit(address)
            address = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions"))
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [*history, {"role": "user", "content": message}],
            "max_tokens": self._max_tokens,
        }
        if self._endpoint.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        async with self._post(address, body) as response:
            if "text/event-stream" in response.headers.get("content-type", ""):
                pieces: list[str] = []
                usage: Any = None
                ended = False
                async for event in self._events(response):
                    usage = event.get("usage") or usage
                    ended = ended or event.get("done") is True or bool(value_at(event, "choices.0.finish_reason"))
                    piece = value_at(event, "choices.0.delta.content")
                    if isinstance(piece, str) and piece:
                        pieces.append(piece)
                        yield piece
                if not pieces:
                    raise self._error("sent no text")
                text, calls = "".join(pieces), None
            else:
                ended = True
                data = await self._data(response)
                text = self._text(data, "choices.0.message.content")
                usage, calls = value_at(data, "usage"), self._calls(data)
        yield Reply(
            text, calls, count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens"), broke_off=not ended
        )

    async def _json(
        self, session: str, user: str, message: str, history: list[Message]
    ) -> AsyncGenerator[str | Reply, None]:
        values: dict[str, Any] = {
            "message": message,
            "session": session,
            "user": user,
            "history": history,
            "messages": [*history, {"role": "user", "content": message}],
        }
        async with self._post(self._endpoint.url, filled(self._endpoint.request, values)) as response:
            data = await self._data(response)
        yield Reply(self._text(data, self._endpoint.answer), self._calls(data))

    # --- sending and reading ---

    @asynccontextmanager
    async def _post(self, address: str, body: JsonValue) -> AsyncIterator[httpx.Response]:
        """Send a request; raises SourceError unless the response is successful."""
        import httpx

        try:
            async with self._client.stream("POST", address, json=body) as response:
                if response.is_redirect:
                    raise self._error(f"answered with status {response.status_code}, a redirect, which is not followed")
                if not response.is_success:
                    start = await self._first_bytes(response)
                    asked = self._asked(address) if response.status_code in _NOT_THERE else None
                    raise self._error(f"answered with status {response.status_code}: {self._excerpt(start)}", asked)
                yield response
        except httpx.TimeoutException as error:
            raise self._error("did not answer in time") from error
        except httpx.HTTPError as error:
            raise self._error(f"cannot be reached: {self._excerpt(str(error) or type(error).__name__)}") from error

    async def _first_bytes(self, response: httpx.Response) -> str:
        """The first characters of a response body."""
        read = b""
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) >= 8 * _MAX_SHOWN:
                break
        return read[: 8 * _MAX_SHOWN].decode("utf-8", "replace")

    async def _bytes(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The response body; raises SourceError if it is too large."""
        read = 0
        async for chunk in response.aiter_bytes():
            read += len(chunk)
            if read > self._endpoint.max_bytes:
                raise self._error(f"sent more than {self._endpoint.max_bytes} bytes")
            yield chunk

    async def _data(self, response: httpx.Response) -> Any:
        body = b"".join([chunk async for chunk in self._bytes(response)]).decode("utf-8", "replace")
        try:
            return load_json(body)
        except (ValueError, RecursionError):
            raise self._error(f"sent a response that is not valid JSON: {self._excerpt(body)}") from None

    async def _events(self, response: httpx.Response) -> AsyncGenerator[dict[str, Any], None]:
        """The data of server-sent events; raises SourceError for an error event."""
        async for line in self._lines(response):
            name, _, value = line.partition(b":")
            if name.strip() != b"data" or not value.strip():
                continue
            if value.strip() == b"[DONE]":
                yield {"done": True}
                continue
            text = value.decode("utf-8", "replace").strip()
            try:
                event = load_json(text)
            except (ValueError, RecursionError):
                raise self._error(f"sent an event that is not valid JSON: {self._excerpt(text)}") from None
            if not isinstance(event, dict) or event.get("error"):
                raise self._error(f"sent an error: {self._excerpt(text)}")
            yield event

    async def _lines(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        waiting: list[bytes] = []
        async for chunk in self._bytes(response):
            first, *others = chunk.split(b"\n")
            waiting.append(first)
            for start in others:
                yield b"".join(waiting)
                waiting = [start]
        yield b"".join(waiting)

    # --- reading the response ---

    def _text(self, data: Any, path: str) -> str:
        found = value_at(data, path)
        if not isinstance(found, str):
            if found is None:
                raise self._nothing_at(path, "the text", data)
            raise self._error(
                f"has a {type(found).__name__} at '{path}' where the text should be: {self._excerpt(json.dumps(data))}"
            )
        return found

    def _calls(self, data: Any) -> tuple[ToolCall, ...] | None:
        where = self._endpoint.tool_calls
        if where is None:
            return None
        found = value_at(data, where.path)
        if found is None:
            above, _, last = where.path.rpartition(".")
            holder = value_at(data, above) if above else data
            # A null says that there were none.
            if where.optional or (isinstance(holder, dict) and last in holder):
                return ()
            hint = "If it is left out when no tool was called, write tool_calls: {path: …, optional: true}"
            raise self._nothing_at(where.path, "tool calls", data, hint)
        if not isinstance(found, list):
            raise self._error(f"has a {type(found).__name__} at '{where.path}' where a list of tool calls should be")
        return tuple(self._call(call, where) for call in found)

    def _call(self, call: Any, where: ToolCallsPath) -> ToolCall:
        if isinstance(call, dict) and where.name not in call and isinstance(call.get("function"), dict):
            call = {**call, **call["function"]}  # as OpenAI nests it
        name = value_at(call, where.name)
        if not isinstance(name, str):
            raise self._error(f"has a tool call without a name at '{where.path}': {self._excerpt(json.dumps(call))}")
        arguments = value_at(call, where.arguments)
        if arguments is None and isinstance(call, dict):
            other = next((key for key in _ARGUMENTS if call.get(key)), None)
            if other is not None:
                raise self._error(
                    f"has a tool call without '{where.arguments}' at '{where.path}': {self._excerpt(json.dumps(call))}",
                    f"Name the field of its arguments: tool_calls: {{path: {where.path}, arguments: {other}}}",
                )
        error = value_at(call, where.error)
        return ToolCall(
            name=name,
            arguments={str(key): value for key, value in arguments_of(arguments).items()},
            result=parsed(value_at(call, where.result)),
            error=None if error is None else error if isinstance(error, str) else json.dumps(error),
        )

    def _nothing_at(self, path: str, what: str, data: Any, hint: str | None = None) -> SourceError:
        """The error for a path that leads nowhere, with the response or, if that is long, what its path reaches."""
        whole = json.dumps(data)
        there = whole if len(whole) <= _MAX_SHOWN else what_is_there(data, path)
        return self._error(f"has nothing at '{path}' where {what} should be: {self._excerpt(there)}", hint)

    def _excerpt(self, text: str) -> str:
        """Text of a response for an error message: one short line, with our secrets masked."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 8 * _MAX_SHOWN]).split())
        return f"{line[:_MAX_SHOWN]}…" if len(line) > _MAX_SHOWN else line or "an empty body"

    def _asked(self, address: str) -> str:
        """Where a request was sent, and for which model, if what it asked for is not there."""
        where = f"It was sent to {urlunsplit(urlsplit(address)._replace(query=''))}"
        if self._endpoint.form == "json":
            return where
        unnamed = "" if self._endpoint.model else ", because no `model` is named for it in a file of agents"
        return f"{where} for the model '{self._model}'{unnamed}"

    def _error(self, what: str, hint: str | None = None) -> SourceError:
        return SourceError(what, where=self._endpoint.display_url, hint=hint)


def http_agent_kind(endpoint: Endpoint, name: str) -> AgentKind:
    """The agent behind an endpoint, as an `AgentKind`."""

    @asynccontextmanager
    async def opened(setup: Setup) -> AsyncIterator[Agent]:
        try:
            import httpx

            from assay.chat.tls import tls_context
        except ImportError as error:
            raise missing_extra("httpx", "agents", "call an HTTP endpoint") from error

        async def add_context(request: httpx.Request) -> None:
            inject(request.headers, is_embedded=False)

        # Only endpoints on this machine receive the turn's situation, and they are reached without a proxy.
        async with httpx.AsyncClient(
            headers=endpoint.secrets(),
            timeout=endpoint.timeout,
            follow_redirects=False,
            verify=tls_context(),
            trust_env=not endpoint.is_loopback,
            event_hooks={"request": [add_context]} if endpoint.is_loopback else {},
        ) as client:
            yield HttpAgent(endpoint, client, model=setup.model, max_tokens=setup.limits.max_tokens)

    return AgentKind(name, name, opened, uses_setup=False)
