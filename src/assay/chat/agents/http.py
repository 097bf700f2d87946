"""Any HTTP endpoint as an agent: one that speaks OpenAI's chat completions, or any that takes and gives JSON.

What comes back is a stranger's: it is read up to a size and a time, never followed elsewhere, and never evaluated.
Secrets come from environment variables, by name, and are in no error and in no setting.
"""

from __future__ import annotations

import asyncio
import difflib
import ipaddress
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.agents._shared.histories import Histories, Message
from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.transcript import ToolCall, load_json
from assay.chat.world.situation import inject
from assay.chat.yamlfile import refusal
from assay.errors import SourceError, UsageError, missing_extra
from assay.redaction import hide

if TYPE_CHECKING:
    import httpx

_SHOWN = 200
"""Characters of a body that an error shows."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")
_OFFERED = ("message", "session", "user", "history", "messages")
"""What a request can hold; `messages` is the history with this message at its end."""
_WHOLE_ONLY = ("history", "messages")


# --- settings --------------------------------------------------------------------------------------------------------


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or a bracket that is none
        whole = False
    if not whole or not url.isprintable() or " " in url:
        raise refusal("is no http(s) address", hint="Write it whole, such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise refusal("has a name or a password in it", hint="Put secrets in an environment variable and name it")
    return url


def _variable(name: str) -> str:
    # Capitals only: what is no name may be the secret itself, and must get neither further nor into a message.
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise refusal("must be the name of an environment variable, in capitals", hint="Never put a secret in a file")
    return name


def _header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise refusal(f"'{name:.60}' is no name of a header")
    return name


def _template(request: JsonValue) -> JsonValue:
    found = set()
    for text in _texts(request):
        for match in _PLACEHOLDER.finditer(text):
            name = match.group(1)
            if name not in _OFFERED:
                near = difflib.get_close_matches(name, _OFFERED, n=1)
                known = ", ".join(f"{{{one}}}" for one in _OFFERED)
                guess = f"Did you mean {{{near[0]}}}? " if near else ""
                raise refusal(f"has {{{name}}}, which is not known", hint=f"{guess}Known: {known}")
            if name in _WHOLE_ONLY and match.group() != text:
                raise refusal(f"has {{{name}}} inside a longer text", hint="It is a list, and stands alone")
            found.add(name)
    if found.isdisjoint(("message", "messages")):
        raise refusal("never says what the user said", hint="Put {message} or {messages} into it")
    return request


def _texts(data: JsonValue) -> list[str]:
    if isinstance(data, str):
        return [data]
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for value in inside for text in _texts(value)]


Address = Annotated[str, AfterValidator(_address)]
Variable = Annotated[str, AfterValidator(_variable)]
HeaderName = Annotated[str, AfterValidator(_header)]
Template = Annotated[dict[str, JsonValue], AfterValidator(_template)]


class CallsPath(BaseModel):
    """Where tool calls stand in a reply, and the names of their fields; each may be a path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    name: str = "name"
    arguments: str = "arguments"
    result: str = "result"
    error: str = "error"


class Endpoint(BaseModel):
    """An address and how to talk to it. Holds no secrets, only where they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Address
    form: Literal["openai", "json"] = "openai"
    model: str | None = None
    """The model to ask for, by the form `openai`; the run's own where it is not said."""
    key_env: Variable | None = None
    """The environment variable that holds the key, which is sent as a bearer token."""
    headers_env: dict[HeaderName, Variable] = Field(default_factory=dict)
    """Further headers, each with the environment variable that holds its value."""
    request: Template = Field(default={"message": "{message}", "session": "{session}", "user": "{user}"})
    """What is sent by the form `json`."""
    answer: str = "answer"
    """The way to the text in what comes back by the form `json`: `reply.text`, `choices.0.message.content`."""
    tool_calls: CallsPath | None = None
    stream: bool = False
    """Whether the text is asked for in pieces."""
    timeout: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that one turn may take."""
    max_bytes: int = Field(default=4 * 2**20, gt=0)
    """How large an answer may be."""

    @model_validator(mode="after")
    def _fits(self) -> Endpoint:
        wrong = {"openai": ("request", "answer"), "json": ("model", "stream")}[self.form]
        for name in wrong:
            if name in self.model_fields_set and getattr(self, name) not in (None, False):
                raise refusal(f"'{name}' has no meaning with the form {self.form}", at=(name,))
        if self.stream and self.tool_calls:
            raise refusal(
                "'tool_calls' are not read from a stream", hint="Leave one of the two out", at=("tool_calls",)
            )
        return self

    @property
    def shown(self) -> str:
        """The address as errors name it: without what may be secret in it."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def secrets(self) -> dict[str, str]:
        """The headers that hold secrets."""
        names = {**({"Authorization": self.key_env} if self.key_env else {}), **self.headers_env}
        for name in names.values():
            if not os.environ.get(name):
                raise UsageError(f"the environment variable {name} is not set", hint=f"{self.shown} needs it")
        found = {header: os.environ[name] for header, name in names.items()}
        hide(*found.values())
        if self.key_env:
            found["Authorization"] = f"Bearer {os.environ[self.key_env]}"
        return found


# --- the agent -------------------------------------------------------------------------------------------------------


class HttpAgent:
    """An agent that lives behind an address and has its own tools there; the conversation so far is sent along."""

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient, *, model: str, max_tokens: int) -> None:
        self._endpoint = endpoint
        self._client = client
        self._model = endpoint.model or model
        self._max_tokens = max_tokens
        self._histories = Histories()
        self._secrets = [value.removeprefix("Bearer ") for value in endpoint.secrets().values()]

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        talk = self._openai if self._endpoint.form == "openai" else self._json
        until = asyncio.get_running_loop().time() + self._endpoint.timeout
        async with aclosing(talk(session, user, message, self._histories.read(session))) as parts:
            while True:
                try:
                    # Around each step and not around the loop: whoever listens may take their time.
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
        async with self._asked(address, body) as response:
            if "text/event-stream" in response.headers.get("content-type", ""):
                pieces: list[str] = []
                usage: Any = None
                async for event in self._events(response):
                    usage = event.get("usage") or usage
                    piece = _at(event, "choices.0.delta.content")
                    if isinstance(piece, str) and piece:
                        pieces.append(piece)
                        yield piece
                if not pieces:
                    raise self._error("sent no text")
                text, calls = "".join(pieces), None
            else:
                data = await self._data(response)
                text = self._text(data, "choices.0.message.content")
                usage, calls = _at(data, "usage"), self._calls(data)
        yield Reply(text, calls, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))

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
        async with self._asked(self._endpoint.url, _filled(self._endpoint.request, values)) as response:
            data = await self._data(response)
        yield Reply(self._text(data, self._endpoint.answer), self._calls(data))

    # --- sending and reading ---

    @asynccontextmanager
    async def _asked(self, address: str, body: JsonValue) -> AsyncIterator[httpx.Response]:
        """The response to a request, if it is one that may be read."""
        import httpx

        try:
            async with self._client.stream("POST", address, json=body) as response:
                if response.is_redirect:
                    raise self._error(f"answered with status {response.status_code}, a redirect, which is not followed")
                if not response.is_success:
                    start = await self._start(response)
                    raise self._error(f"answered with status {response.status_code}: {self._words(start)}")
                yield response
        except httpx.TimeoutException as error:
            raise self._error("did not answer in time") from error
        except httpx.HTTPError as error:
            raise self._error(f"cannot be reached: {self._words(str(error) or type(error).__name__)}") from error

    async def _start(self, response: httpx.Response) -> str:
        """The first characters of a body, however long it is."""
        read = b""
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) >= 8 * _SHOWN:
                break
        return read[: 8 * _SHOWN].decode("utf-8", "replace")

    async def _bytes(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """A body, as long as it is within its size."""
        read = 0
        async for chunk in response.aiter_bytes():
            read += len(chunk)
            if read > self._endpoint.max_bytes:
                raise self._error(f"gave more than {self._endpoint.max_bytes} bytes")
            yield chunk

    async def _data(self, response: httpx.Response) -> Any:
        body = b"".join([chunk async for chunk in self._bytes(response)]).decode("utf-8", "replace")
        try:
            return load_json(body)
        except (ValueError, RecursionError):
            raise self._error(f"gave no JSON: {self._words(body)}") from None

    async def _events(self, response: httpx.Response) -> AsyncGenerator[dict[str, Any], None]:
        """The data of server-sent events; an error among them ends the turn."""
        async for line in self._lines(response):
            name, _, value = line.partition(b":")
            if name.strip() != b"data" or value.strip() in (b"", b"[DONE]"):
                continue
            text = value.decode("utf-8", "replace").strip()
            try:
                event = load_json(text)
            except (ValueError, RecursionError):
                raise self._error(f"sent an event that is no JSON: {self._words(text)}") from None
            if not isinstance(event, dict) or event.get("error"):
                raise self._error(f"sent an error: {self._words(text)}")
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

    # --- what the data says ---

    def _text(self, data: Any, path: str) -> str:
        found = _at(data, path)
        if not isinstance(found, str):
            kind = "nothing" if found is None else f"a {type(found).__name__}"
            raise self._error(f"has {kind} at '{path}' where the text should be: {self._words(json.dumps(data))}")
        return found

    def _calls(self, data: Any) -> tuple[ToolCall, ...] | None:
        where = self._endpoint.tool_calls
        if where is None:
            return None
        found = _at(data, where.path)
        if found is None:
            return ()
        if not isinstance(found, list):
            raise self._error(f"has a {type(found).__name__} at '{where.path}' where a list of tool calls should be")
        return tuple(self._call(call, where) for call in found)

    def _call(self, call: Any, where: CallsPath) -> ToolCall:
        name = _at(call, where.name)
        if not isinstance(name, str):
            raise self._error(f"has a tool call without a name at '{where.path}': {self._words(json.dumps(call))}")
        error = _at(call, where.error)
        return ToolCall(
            name=name,
            arguments={str(key): value for key, value in arguments_of(_at(call, where.arguments)).items()},
            result=parsed(_at(call, where.result)),
            error=None if error is None else error if isinstance(error, str) else json.dumps(error),
        )

    def _words(self, text: str) -> str:
        """A stranger's text in an error: one line, short, and without our secrets should it repeat them."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 8 * _SHOWN]).split())
        return f"{line[:_SHOWN]}…" if len(line) > _SHOWN else line or "an empty body"

    def _error(self, what: str) -> SourceError:
        return SourceError(what, where=self._endpoint.shown)


def kind_of(endpoint: Endpoint, name: str) -> AgentKind:
    """The agent behind an address."""

    @asynccontextmanager
    async def opened(setup: Setup) -> AsyncIterator[Agent]:
        try:
            import httpx
        except ImportError as error:
            raise missing_extra("httpx", "agents", "reach an address") from error

        async def add_context(request: httpx.Request) -> None:
            inject(request.headers)

        # What happens on this machine may know which turn it belongs to, and needs no proxy; nobody else is told.
        async with httpx.AsyncClient(
            headers=endpoint.secrets(),
            timeout=endpoint.timeout,
            follow_redirects=False,
            trust_env=not endpoint.is_loopback,
            event_hooks={"request": [add_context]} if endpoint.is_loopback else {},
        ) as client:
            yield HttpAgent(endpoint, client, model=setup.model, max_tokens=setup.limits.max_tokens)

    return AgentKind(name, name, opened, uses_setup=False)


def _filled(template: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    """A template with its placeholders filled, once: what is filled in is never looked at again."""
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole:
            return values[whole.group(1)]
        return _PLACEHOLDER.sub(lambda match: str(values[match.group(1)]), template)
    if isinstance(template, list):
        return [_filled(item, values) for item in template]
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    return template


def _at(data: Any, path: str) -> Any:
    """What stands at a path of keys and indices; None where nothing does."""
    for step in path.split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and step.isascii() and step.isdecimal():
            data = data[int(step)] if len(step) < 10 and int(step) < len(data) else None
        else:
            return None
    return data


def _count(usage: Any, name: str) -> int | None:
    found = _at(usage, name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
