"""Any Python callable as an agent: the way to try something of one's own, and the double that stands in for an agent.

The function may be plain, async or a generator; it takes the message, and what else its parameters name.
"""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import importlib
import inspect
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.agents._shared.histories import Histories
from assay.chat.transcript import ToolCall
from assay.errors import UsageError

Value = TypeVar("Value")

_OFFERED = ("message", "history", "session", "user")
"""What a function can ask for by the names of its parameters."""
_END = object()


class FunctionAgent:
    """An agent made of a function.

    Its parameters say what it is given: `message`, `history` (earlier messages as `{"role": …, "content": …}`),
    `session` and `user`, by name; where the names are others, the first is the message and the second the history.
    It returns the text, a dict with `text` and maybe `tool_calls`, `input_tokens` and `output_tokens`, or a `Reply`;
    or it yields pieces of text, and may end with one of those.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self._arguments = _arguments(function, name)
        self._histories = Histories()

    @classmethod
    def from_spec(cls, spec: str, *, name: str | None = None) -> FunctionAgent:
        """The agent of the function that `module:attribute` points at."""
        found = load(spec)
        if not callable(found) or isinstance(found, type):
            kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
            raise UsageError(f"'{spec}' is {kind}, not a function", hint="Point at a function or at a callable object")
        return cls(name or spec, found)

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        given = {"message": message, "history": self._histories.read(session), "session": session, "user": user}
        positional, named = self._arguments
        call = _Call(
            self._function, [given[name] for name in positional], {key: given[name] for key, name in named.items()}
        )
        pieces: list[str] = []
        reply: Reply | None = None
        async with aclosing(call.parts()) as parts:
            async for part in parts:
                if reply is not None:
                    raise UsageError(f"the agent '{self.name}' went on after its answer was complete")
                if isinstance(part, str) and call.in_pieces:
                    pieces.append(part)
                    yield part
                else:
                    reply = _reply(part, self.name)
        reply = reply or Reply("".join(pieces))
        self._histories.add(session, message, reply.text)
        yield reply

    def kind(self) -> AgentKind:
        """What the registry would hold of it."""

        @asynccontextmanager
        async def opened(setup: Setup) -> AsyncIterator[Agent]:
            yield self

        return AgentKind(self.name, self.name, opened, uses_setup=False)


def kind_of(spec: str, name: str) -> AgentKind:
    """The agent that `module:attribute` points at: a function, an `AgentKind`, or an object with the agent's method.

    Nothing is imported before it is opened.
    """

    def opened(setup: Setup) -> AbstractAsyncContextManager[Agent]:
        found = load(spec)
        if isinstance(found, AgentKind):
            return found.open(setup)
        if not isinstance(found, type) and callable(getattr(found, "answer", None)):
            return _as_it_is(found)
        return FunctionAgent.from_spec(spec, name=name).kind().open(setup)

    return AgentKind(name, name, opened, modules=(spec.partition(":")[0],), uses_setup=False)


@asynccontextmanager
async def _as_it_is(agent: Agent) -> AsyncIterator[Agent]:
    yield agent


# --- what a function takes -------------------------------------------------------------------------------------------


def _arguments(function: Callable[..., Any], name: str) -> tuple[list[str], dict[str, str]]:
    """What a function is given: by position, and by name."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some that are written in C do not tell
        return ["message"], {}
    positional: list[str] = []
    named: dict[str, str] = {}
    unnamed = iter(("message", "history"))
    for parameter in parameters:
        required = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= {offer: offer for offer in _OFFERED if offer not in {*named.values(), *positional}}
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional += [] if positional or named else ["message"]
        elif parameter.name in _OFFERED and parameter.kind is not parameter.POSITIONAL_ONLY:
            named[parameter.name] = parameter.name
        elif required or not (positional or named):
            offer = next((one for one in unnamed if one not in named), None)
            if offer is None or parameter.kind is parameter.KEYWORD_ONLY:
                raise UsageError(
                    f"the function of the agent '{name}' wants '{parameter.name}', which is not known here",
                    hint=f"Give it a default. Known: {', '.join(_OFFERED)}",
                )
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(offer)
            else:
                named[parameter.name] = offer
    if "message" not in {*positional, *named.values()}:
        raise UsageError(
            f"the function of the agent '{name}' does not take the message", hint="Give it a parameter called 'message'"
        )
    return positional, named


# --- how it is called ------------------------------------------------------------------------------------------------


class _Call:
    """One call of a function, whatever way it gives its answer."""

    def __init__(self, function: Callable[..., Any], positional: list[Any], named: Mapping[str, Any]) -> None:
        self._function = function
        self._positional = positional
        self._named = named
        self.in_pieces = False
        """Whether the answer comes in pieces; known when the first part is."""

    async def parts(self) -> AsyncGenerator[Any, None]:
        """What the function gives."""
        found = await self._called()
        self.in_pieces = True
        if isinstance(found, AsyncGenerator):
            async with aclosing(found):
                async for part in found:
                    yield part
        elif isinstance(found, AsyncIterator):
            async for part in found:
                yield part
        elif isinstance(found, Iterator):
            while (part := await in_thread(lambda: next(found, _END))) is not _END:
                yield part
        else:
            self.in_pieces = False
            yield found

    async def _called(self) -> Any:
        called = getattr(self._function, "__call__", None)  # noqa: B004, an object may be callable by an async method
        async_ones = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        if any(test(one) for test in async_ones for one in (self._function, called)):
            found = self._function(*self._positional, **self._named)
        else:
            found = await in_thread(lambda: self._function(*self._positional, **self._named))
        return await found if inspect.isawaitable(found) else found


async def in_thread(function: Callable[[], Value]) -> Value:
    """Call something that may block.

    In a thread of its own that keeps nothing alive: one that never comes back must not hold up the others, nor the end
    of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Value] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Value | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: Value | None = None
        error: BaseException | None = None
        try:
            value = context.run(function)
        except StopIteration as stop:  # which no future can carry
            error = RuntimeError(f"the function raised StopIteration: {stop}")
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            return  # the loop has closed meanwhile, and nobody waits

    threading.Thread(target=run, daemon=True, name="assay agent").start()
    return await future


# --- what it gives ---------------------------------------------------------------------------------------------------


class _Answer(BaseModel):
    """An answer as a dict."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    tool_calls: list[dict[str, Any] | ToolCall] | None = None
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)


def _reply(given: object, name: str) -> Reply:
    """What a function gave as its answer."""
    if isinstance(given, Reply):
        return given
    if isinstance(given, str):
        return Reply(given)
    if not isinstance(given, Mapping):
        raise UsageError(
            f"the agent '{name}' gave {'nothing' if given is None else f'a {type(given).__name__}'} for an answer",
            hint="Return a text, a dict with 'text', or a Reply",
        )
    try:
        answer = _Answer.model_validate(dict(given))
        calls = answer.tool_calls
        return Reply(
            answer.text,
            None if calls is None else tuple(_tool_call(call) for call in calls),
            answer.input_tokens,
            answer.output_tokens,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the answer"
        known = [*_Answer.model_fields, *ToolCall.model_fields]
        near = difflib.get_close_matches(str(first["loc"][-1]) if first["loc"] else "", known, n=1)
        hint = f"Did you mean '{near[0]}'?" if near and first["type"] == "extra_forbidden" else None
        raise UsageError(f"the agent '{name}' gave a wrong answer: {field}: {first['msg']}", hint=hint) from None


def _tool_call(call: dict[str, Any] | ToolCall) -> ToolCall:
    """A call of a tool, as data that can be kept."""
    return call if isinstance(call, ToolCall) else ToolCall.model_validate(call)


# --- where it is -----------------------------------------------------------------------------------------------------


def load(spec: str) -> Any:
    """What `module:attribute` points at, imported; the current folder is searched too."""
    module_name, mark, path = spec.partition(":")
    if not mark or not all(part.isidentifier() for part in (*module_name.split("."), *path.split("."))):
        raise UsageError(f"'{spec}' points at nothing", hint="Write module:attribute, such as my_bot:answer")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UsageError(f"'{module_name}' needs the module '{error.name}', which is not installed") from error
        raise UsageError(
            f"there is no module '{error.name}'", hint="It must be installed, or lie in the current folder"
        ) from error
    except Exception as error:
        raise UsageError(f"'{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f"Did you mean '{near[0]}'?" if near else None
            raise UsageError(f"'{module_name}' has no '{path}'", hint=hint)
        found = getattr(found, part)
    return found
