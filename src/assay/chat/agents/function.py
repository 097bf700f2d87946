"""Any Python callable as an agent: the easiest way to evaluate your own code, and a test double for an agent.

The function may be synchronous, async or a generator; it takes the message and whatever else its parameters name.
"""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import importlib
import inspect
import itertools
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.agents._shared.histories import SessionHistories
from assay.chat.formats.payload import arguments_of
from assay.chat.transcript import ToolCall
from assay.errors import UsageError

Value = TypeVar("Value")


class UnknownFunctionError(UsageError):
    """A module or an attribute that does not exist, most often a misspelt name."""


class UnfitObjectError(UsageError):
    """An agent that cannot be played as it was named: of another type, in a file that is not Python, with parameters
    that nobody gives, or with a model that cannot be redirected.
    """


_PARAMETERS = ("message", "history", "session", "user")
"""The values that a function can ask for by the names of its parameters."""
_END = object()
_OF_OPENAI = ("function", "id", "type", "index")
"""Fields of a tool call as OpenAI writes it, of which only the first is read."""


class FunctionAgent:
    """An agent that calls a function.

    The names of its parameters select its arguments: `message`, `history` (earlier messages as
    `{"role": …, "content": …}`), `session` and `user`. If the names are different, the first parameter is the message
    and the second the history. It returns the text, a dict with `text` and optionally `tool_calls`, `input_tokens` and
    `output_tokens`, or a `Reply`; or it yields chunks of text, and may yield one of these at the end.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self._arguments = _arguments(function, name)
        called = getattr(function, "__call__", None)  # noqa: B004, an object may be callable by an async method
        async_ones = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        self._is_async = any(test(one) for test in async_ones for one in (function, called))
        self._histories = SessionHistories()

    @classmethod
    def from_spec(cls, spec: str, *, name: str | None = None) -> FunctionAgent:
        """An agent that calls the function at `module:attribute`."""
        found = load_attribute(spec)
        if not callable(found) or isinstance(found, type):
            kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
            raise UnfitObjectError(
                f"'{spec}' is {kind}, not a function", hint="Point at a function or at a callable object"
            )
        return cls(name or spec, found)

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        values = {"message": message, "history": self._histories.read(session), "session": session, "user": user}
        positional, named = self._arguments
        call = _Call(
            self._function,
            [values[name] for name in positional],
            {key: values[name] for key, name in named.items()},
            is_async=self._is_async,
        )
        pieces: list[str] = []
        reply: Reply | None = None
        async with aclosing(call.parts()) as parts:
            async for part in parts:
                if reply is not None:
                    raise UsageError(f"the agent '{self.name}' yielded more after its complete answer")
                if isinstance(part, str) and call.is_streamed:
                    pieces.append(part)
                    yield part
                else:
                    reply = _to_reply(part, self.name)
        reply = reply or Reply("".join(pieces))
        self._histories.add(session, message, reply.text)
        yield reply

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete the history of a conversation."""
        self._histories.forget(session)

    def kind(self) -> AgentKind:
        """The agent as an `AgentKind`, the form in which the registry holds agents."""

        @asynccontextmanager
        async def opened(setup: Setup) -> AsyncIterator[Agent]:
            yield self

        return AgentKind(self.name, self.name, opened, uses_setup=False)


def function_agent_kind(spec: str, name: str) -> AgentKind:
    """The agent at `module:attribute`: a function, an `AgentKind`, or an object with an `answer` method.

    The module is imported when the agent is opened.
    """

    def opened(setup: Setup) -> AbstractAsyncContextManager[Agent]:
        found = load_attribute(spec)
        if isinstance(found, AgentKind):
            return found.open(setup)
        if not isinstance(found, type) and callable(getattr(found, "answer", None)):
            return _already_open(found)
        return FunctionAgent.from_spec(spec, name=name).kind().open(setup)

    return AgentKind(name, name, opened, modules=(spec.partition(":")[0],), uses_setup=False)


@asynccontextmanager
async def _already_open(agent: Agent) -> AsyncIterator[Agent]:
    yield agent


# --- arguments of the function ---------------------------------------------------------------------------------------


def _arguments(function: Callable[..., Any], name: str) -> tuple[list[str], dict[str, str]]:
    """Names of the values to pass by position, and by parameter name."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have no signature
        return ["message"], {}
    positional: list[str] = []
    named: dict[str, str] = {}
    unnamed = iter(("message", "history"))
    for parameter in parameters:
        required = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= {
                value_name: value_name for value_name in _PARAMETERS if value_name not in {*named.values(), *positional}
            }
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional += [] if positional or named else ["message"]
        elif parameter.name in _PARAMETERS and parameter.kind is not parameter.POSITIONAL_ONLY:
            named[parameter.name] = parameter.name
        elif required or not (positional or named):
            value_name = next((one for one in unnamed if one not in named), None)
            if value_name is None or parameter.kind is parameter.KEYWORD_ONLY:
                raise UnfitObjectError(
                    f"the function of the agent '{name}' has an unknown parameter '{parameter.name}'",
                    hint=f"Give it a default. Known: {', '.join(_PARAMETERS)}",
                )
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value_name)
            else:
                named[parameter.name] = value_name
    if "message" not in {*positional, *named.values()}:
        raise UnfitObjectError(
            f"the function of the agent '{name}' has no parameter for the message", hint="Add a parameter 'message'"
        )
    return positional, named


# --- calling the function --------------------------------------------------------------------------------------------


class _Call:
    """One call of a function, whether it returns its answer or yields it."""

    def __init__(
        self, function: Callable[..., Any], positional: list[Any], named: Mapping[str, Any], *, is_async: bool
    ) -> None:
        self._function = function
        self._is_async = is_async
        self._positional = positional
        self._named = named
        self.is_streamed = False
        """Whether the function yields its answer in chunks; set before the first part is yielded."""

    async def parts(self) -> AsyncGenerator[Any, None]:
        """What the function returns or yields."""
        found = await self._result()
        self.is_streamed = True
        if isinstance(found, AsyncGenerator):
            async with aclosing(found):
                async for part in found:
                    yield part
        elif isinstance(found, AsyncIterator):
            async for part in found:
                yield part
        elif isinstance(found, Iterator):
            while (part := await run_in_thread(lambda: next(found, _END))) is not _END:
                yield part
        else:
            self.is_streamed = False
            yield found

    async def _result(self) -> Any:
        if self._is_async:
            found = self._function(*self._positional, **self._named)
        else:
            found = await run_in_thread(lambda: self._function(*self._positional, **self._named))
        return await found if inspect.isawaitable(found) else found


async def run_in_thread(function: Callable[[], Value]) -> Value:
    """Call a function that may block, in a daemon thread that runs nothing else meanwhile.

    A function that never returns thus neither delays the others nor keeps the process alive.
    """
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    call = _ThreadCall(lambda: context.run(function))
    thread = _Thread.idle()
    thread.run(call)
    # To wait for a moment is cheaper than to be woken up by the event loop, if the thread was quick before.
    if thread.was_quick and call.ended.acquire(timeout=_MOMENT):
        if next(_quick_calls) % _MOST_IN_A_ROW == 0:
            await asyncio.sleep(0)  # a function may yield without end, and its time must run out
        return cast("Value", call.result())
    future: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    def tell() -> None:
        with suppress(RuntimeError):  # the loop has been closed, so nothing awaits the result
            loop.call_soon_threadsafe(settle)

    if call.will_tell(tell):
        await future
    return cast("Value", call.result())


# Seconds for which the event loop may wait for a thread, and how often before it does something else.
_MOMENT = 0.0005
_MOST_IN_A_ROW = 16
_quick_calls = itertools.count(1)


class _ThreadCall:
    """A call in another thread, and what came of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._value: Any = None
        self._error: BaseException | None = None
        self._tell: Callable[[], None] | None = None
        self._has_ended = False
        self._state = threading.Lock()
        self.ended = threading.Lock()
        """Can be acquired once the call has ended."""
        self.ended.acquire()

    def run(self) -> None:
        """Call the function, in the other thread."""
        try:
            self._value = self._function()
        except StopIteration as stop:  # a coroutine cannot raise StopIteration
            self._error = RuntimeError(f"the function raised StopIteration: {stop}")
        except BaseException as raised:
            self._error = raised

    def end(self) -> None:
        """Report that it has ended."""
        with self._state:
            self._has_ended = True
            tell = self._tell
        self.ended.release()
        if tell is not None:
            tell()

    def will_tell(self, tell: Callable[[], None]) -> bool:
        """Whether `tell` will be called, by the other thread; not if the call has ended."""
        with self._state:
            self._tell = tell
            return not self._has_ended

    def result(self) -> Any:
        """What the function returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._value


class _Thread:
    """A daemon thread that calls one function after the other; starting a thread for each takes longer than a call."""

    _idle: ClassVar[list[_Thread]] = []
    _most_idle: ClassVar[int] = 32

    def __init__(self) -> None:
        self.was_quick = False
        """Whether its last call took no longer than the event loop may wait."""
        self._calls: SimpleQueue[_ThreadCall] = SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="assay agent").start()

    @classmethod
    def idle(cls) -> _Thread:
        """A thread that runs nothing, started if there is none."""
        try:
            return cls._idle.pop()
        except IndexError:
            return cls()

    def run(self, call: _ThreadCall) -> None:
        """Run a call, and then report that it has ended."""
        self._calls.put(call)

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            started = time.perf_counter()
            call.run()
            self.was_quick = time.perf_counter() - started < _MOMENT
            is_kept = len(self._idle) < self._most_idle
            if is_kept:  # before it reports, so that the next call finds it
                self._idle.append(self)
            call.end()
            del call  # it refers to the result
            if not is_kept:
                return


# --- the answer of the function --------------------------------------------------------------------------------------


class _Answer(BaseModel):
    """An answer as a dict."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    text: str
    tool_calls: list[dict[str, Any] | ToolCall] | None = None
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)


def _to_reply(returned: object, name: str) -> Reply:
    """The function's answer as a `Reply`."""
    if isinstance(returned, Reply):
        return returned
    if isinstance(returned, str):
        return Reply(returned)
    if not isinstance(returned, Mapping):
        raise UsageError(
            f"the agent '{name}' returned {'nothing' if returned is None else type(returned).__name__}, not an answer",
            hint="Return a text, a dict with 'text', or a Reply",
        )
    try:
        answer = _Answer.model_validate(dict(returned))
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
        raise UsageError(f"the agent '{name}' returned an invalid answer: {field}: {first['msg']}", hint=hint) from None


def _tool_call(call: dict[str, Any] | ToolCall) -> ToolCall:
    """A tool call given as a dict, flat or as OpenAI nests it, or as a `ToolCall`, which stores only JSON values."""
    if isinstance(call, ToolCall):
        return call
    nested = call.get("function")
    if "name" not in call and isinstance(nested, Mapping):
        beside = {key: value for key, value in call.items() if key not in _OF_OPENAI}
        call = {**beside, **nested}
    if isinstance(call.get("arguments"), str):
        call = {**call, "arguments": arguments_of(call["arguments"])}
    return ToolCall.model_validate(call)


# --- loading the function --------------------------------------------------------------------------------------------


def load_attribute(spec: str) -> Any:
    """Import the object at `module:attribute`; the current folder is searched too."""
    module_name, mark, path = spec.partition(":")
    if not mark or not all(part.isidentifier() for part in (*module_name.split("."), *path.split("."))):
        raise UsageError(
            f"'{spec}' is not of the form module:attribute", hint="Write module:attribute, such as my_bot:answer"
        )
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UsageError(f"'{module_name}' needs the module '{error.name}', which is not installed") from error
        near = difflib.get_close_matches(error.name, _modules_here(), n=1)
        guess = f"Did you mean '{near[0]}'? " if near else ""
        raise UnknownFunctionError(
            f"there is no module '{error.name}'", hint=f"{guess}It must be installed, or be in the current folder"
        ) from error
    except SyntaxError as error:
        raise UnfitObjectError(f"'{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    except Exception as error:
        raise UsageError(f"'{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f"Did you mean '{near[0]}'?" if near else _hidden_by(found, module_name)
            raise UnknownFunctionError(f"'{module_name}' has no '{path}'", hint=hint)
        found = getattr(found, part)
    return found


def _hidden_by(found: Any, module_name: str) -> str | None:
    """What to do if another module, such as one of Python's own, was imported instead of a file here of that name."""
    here = Path.cwd().joinpath(*module_name.split("."))
    file = getattr(found, "__file__", None)
    if not (here.with_suffix(".py").is_file() or (here / "__init__.py").is_file()):
        return None
    if file is not None and Path(file).is_relative_to(Path.cwd()):
        return None
    return f"Another module of this name was imported, {file or 'a part of Python'}. Rename your own"


def _modules_here() -> list[str]:
    """Names of modules in the current folder."""
    here = Path.cwd()
    return [one.stem for one in (*here.glob("*.py"), *(init.parent for init in here.glob("*/__init__.py")))]


def module_source(module_name: str) -> Path | None:
    """The file of a module, or the folder of a package, where `load_attribute` would find it; None if it is not there.

    Nothing is imported: a module of the user's may run its agent when it is.
    """
    for folder in dict.fromkeys((*sys.path, os.getcwd())):
        place = Path(folder or os.getcwd()).joinpath(*module_name.split("."))
        if (place / "__init__.py").is_file():
            return place
        if place.with_suffix(".py").is_file():
            return place.with_suffix(".py")
    return None
