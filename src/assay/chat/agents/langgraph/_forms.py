"""What a user's own graph is given in a turn, and how its answer is read.

It has a state with messages, or is an `@entrypoint` of LangGraph's functional API, whose function takes any one value.

A graph that takes something else is refused before it is played, with a sentence that says what it may take.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, Union

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import BaseModel

from assay.chat.agents import Reply
from assay.chat.agents.function import UnfitObjectError
from assay.chat.agents.langgraph.assistant import reply_of

Given = Literal["text", "message", "messages", "state"]
"""The message as a text, as a message, the messages of the conversation, or a state that has these as `messages`."""
_FIELD = "messages"
_BY_NAME: dict[str, Given] = {"message": "text", "messages": "messages", "state": "state"}
"""What a parameter without a type is given, by its name."""
_LISTS = (list, Sequence, Collection, Iterable)
_MAPPINGS = (dict, Mapping)
_FUNCTION = "name a function that calls the graph: NAME=module:function"


class StateForm:
    """A graph whose state has the messages of the conversation; the graph remembers them."""

    def given(self, session: str, message: str) -> Any:
        """The input of a turn."""
        return {_FIELD: [HumanMessage(message)]}

    def reply(self, session: str, message: str, value: Any) -> Reply:
        """The answer in the state that the graph ends with."""
        return reply_of(value[_FIELD])

    def forget(self, session: str) -> None:
        """Delete what is kept of a conversation."""


class EntrypointForm:
    """The function of an `@entrypoint`, which takes one value of any type and returns another.

    What it returned before is at hand if it has a parameter `previous`. Without that it remembers nothing, and one
    that takes messages is given all of the conversation, as in LangGraph's quick start.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        parameters = inspect.signature(function).parameters
        self._parameter = next(iter(parameters))
        self._remembers = "previous" in parameters
        self._type = _annotation(function, self._parameter)
        given = _BY_NAME.get(self._parameter) if self._type is Any else _given_for(self._type)
        if given is None:
            raise self._refused()
        self._given = given
        self._histories: dict[str, list[BaseMessage]] = {}

    def given(self, session: str, message: str) -> Any:
        """The input of a turn."""
        if self._given == "text":
            return message
        if self._given == "message":
            return HumanMessage(message)
        messages = [*self._histories.get(session, ()), HumanMessage(message)]
        if self._given == "messages":
            return messages
        wanted = _made_by(self._type)
        return {_FIELD: messages} if wanted is None else wanted(messages=messages)

    def reply(self, session: str, message: str, value: Any) -> Reply:
        """The answer in what the function returned: a text, a message, or messages, which may be in a state."""
        reply, messages = self._read(value)
        if not self._remembers:
            said = [*self._histories.get(session, ()), HumanMessage(message), AIMessage(reply.text)]
            has_all = len(messages) >= len(said) and any(isinstance(one, HumanMessage) for one in messages)
            self._histories[session] = messages if has_all else said
        return reply

    def forget(self, session: str) -> None:
        """Delete what is kept of a conversation."""
        self._histories.pop(session, None)

    def _read(self, value: Any) -> tuple[Reply, list[BaseMessage]]:
        """The answer, and the messages that were returned with it."""
        if isinstance(value, str):
            return Reply(value), []
        if isinstance(value, BaseMessage):
            return Reply(value.text), []
        found = value.get(_FIELD) if isinstance(value, Mapping) else getattr(value, _FIELD, value)
        if isinstance(found, list | tuple) and found:
            try:
                messages = convert_to_messages(found)
            except (ValueError, TypeError, NotImplementedError):
                messages = []
            if any(isinstance(one, AIMessage) for one in messages):
                if any(isinstance(one, HumanMessage) for one in messages):
                    return reply_of(messages), messages  # type: ignore[arg-type]  # these are all kinds of message
                last = next(one for one in reversed(messages) if isinstance(one, AIMessage))
                return Reply(last.text), messages
        keys = f" with the keys {', '.join(map(str, value))}"[:200] if isinstance(value, Mapping) and value else ""
        raise UnfitObjectError(
            f"the entrypoint '{self._name}' returned a value of type {type(value).__name__}{keys}, not an answer",
            hint=f"Return a text, a message, or a list or a dict with '{_FIELD}'; or {_FUNCTION}",
        )

    def _refused(self) -> UnfitObjectError:
        what = "which has no type" if self._type is Any else f"of type {_type_name(self._type)}"
        return UnfitObjectError(
            f"the entrypoint '{self._name}' takes '{self._parameter}', {what}, so what to give it is not known",
            hint=f"Declare it as str (the message), list[BaseMessage] (the conversation) or a dict with '{_FIELD}'; "
            f"or {_FUNCTION}",
        )


def form_of(graph: Pregel[Any, Any, Any, Any]) -> StateForm | EntrypointForm:
    """How to talk with a graph; raises UnfitObjectError if it takes no messages."""
    if isinstance(graph, CompiledStateGraph):
        taken = list(graph.builder.schemas[graph.builder.input_schema])
        if _FIELD in taken:
            return StateForm()
        what = f"has no field '{_FIELD}' in its input" + (
            f", only {', '.join(taken)}" if "__root__" not in taken else ""
        )
        raise UnfitObjectError(
            f"the state of the graph {what}", hint=f"Add '{_FIELD}', as MessagesState has it; or {_FUNCTION}"
        )
    function = _function_of(graph)
    if function is None:
        raise UnfitObjectError(
            "the graph was put together from channels, and what to give it is not known",
            hint=f"N{_FUNCTION[1:]}",
        )
    return EntrypointForm(function)


def _function_of(graph: Pregel[Any, Any, Any, Any]) -> Callable[..., Any] | None:
    """The function that was decorated with `@entrypoint`; None for any other graph."""
    if graph.input_channels != START or len(graph.nodes) != 1:
        return None
    [node] = graph.nodes.values()
    found = getattr(node.bound, "func", None) or getattr(node.bound, "afunc", None)
    return found if inspect.isroutine(found) else None


def _annotation(function: Callable[..., Any], parameter: str) -> Any:
    """The type of a parameter, `Any` if it has none or if it cannot be found out."""
    try:
        return typing.get_type_hints(function).get(parameter, Any)
    except (NameError, TypeError, AttributeError):  # a type that is imported for type checkers only
        return Any


def _given_for(wanted: Any) -> Given | None:
    """What a parameter of a type is given; None if nothing that there is fits."""
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is Annotated:
        return _given_for(arguments[0])
    if origin in (Union, types.UnionType):
        found = [given for given in map(_given_for, arguments) if given is not None]
        # A union of messages is a message; one of a message and a list of them is the conversation.
        return next((given for given in ("messages", "state", "message", "text") if given in found), None)
    plain = origin or wanted
    if plain is str:
        return "text"
    if plain in _LISTS:
        return "messages" if not arguments or arguments[0] is Any or _given_for(arguments[0]) == "message" else None
    if plain in _MAPPINGS:
        return (
            "state"
            if not arguments or arguments[1] in (Any, object) or _given_for(arguments[1]) == "messages"
            else None
        )
    if isinstance(plain, type) and issubclass(plain, BaseMessage):
        return "message"
    return "state" if _FIELD in _fields(plain) else None


def _fields(wanted: Any) -> Collection[str]:
    """The names of the fields of a TypedDict, a dataclass or a model of pydantic."""
    if typing.is_typeddict(wanted):
        return list(wanted.__annotations__)
    if _made_by(wanted) is None:
        return []
    return [one.name for one in fields(wanted)] if is_dataclass(wanted) else list(wanted.model_fields)


def _made_by(wanted: Any) -> Any:
    """The class, if a state of it has to be created; None if it is a dict."""
    is_class = isinstance(wanted, type) and (is_dataclass(wanted) or issubclass(wanted, BaseModel))
    return wanted if is_class else None


def _type_name(wanted: Any) -> str:
    """A type as it is written, with its fields if it has any."""
    name = wanted.__name__ if isinstance(wanted, type) and not typing.get_args(wanted) else str(wanted)
    known = list(_fields(wanted))
    return f"{name.removeprefix('typing.')} ({', '.join(known)})"[:200] if known else name[:200]
