"""The objects that a graph can reach: what its nodes hold, and what the code of its nodes names.

A compiled graph does not list its models. They are found in its nodes, in the variables of enclosing functions, and
among the global names that the functions of its nodes use; whatever else a module contains belongs to something else.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

# Their functions and classes hold no models of the user's; only their instances do.
_LIBRARIES = frozenset(
    {"langchain", "langchain_core", "langchain_openai", "langgraph", "langsmith", "pydantic", "pydantic_core", "openai",
     "httpx", "anyio", "opentelemetry", "assay"}
)  # fmt: skip
_PLAIN = (str, bytes, int, float, complex, type(None), CodeType, FrameType, BuiltinFunctionType)


def reached(root: Any) -> Iterator[Any]:
    """Every object that is reached from an object, itself included, each once."""
    waiting = [root]
    seen: dict[int, Any] = {}  # with the objects, so that no id is used again
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _PLAIN):
            continue
        seen[id(one)] = one
        yield one
        waiting += _next(one)


def _next(one: Any) -> list[Any]:
    if isinstance(one, ModuleType):  # the names that are used of it come with the function that uses them
        return []
    if isinstance(one, FunctionType):
        return _of_function(one)
    if isinstance(one, type):
        return [] if _is_of_library(one.__module__) else [*vars(one).values(), *one.__mro__[1:]]
    return gc.get_referents(one)


def _of_function(function: FunctionType) -> list[Any]:
    """What a function's own variables, defaults and wrapped functions hold, and the global names in its code."""
    found = [function.__closure__, function.__defaults__, function.__kwdefaults__, vars(function)]
    if _is_of_library(function.__module__):
        return found
    names = set(_names(function.__code__))
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    # `models.llm` of an imported module: the attribute's name stands in the code, too.
    parts = [
        vars(module)[name] for module in used if isinstance(module, ModuleType) for name in names & vars(module).keys()
    ]
    return [*found, *used, *parts]


def _names(code: CodeType) -> Iterator[str]:
    """The global names and attributes in a function's code and in the functions inside it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _is_of_library(module: str | None) -> bool:
    name = (module or "").partition(".")[0]
    return name in sys.stdlib_module_names or name in _LIBRARIES
