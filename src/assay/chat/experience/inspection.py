"""Inspects an installed framework: which names that an assistant uses are documented, and which class stores messages.

This imports the framework, so it runs in a separate process; it has no knowledge of any particular framework.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

_MISSING = object()


def inspect_framework(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run `find_docstrings` and `find_memory_use` for a request."""
    members = [(owner, name) for owner, name in given["members"]]
    return {
        "documented": find_docstrings(given["names"], members),
        "memory": find_memory_use(given["memory"], given["names"], given["attributes"]) if given["memory"] else None,
    }


def find_docstrings(names: Iterable[str], members: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """For each name that can have a docstring, whether it has one of its own.

    Classes, functions, methods and properties can have one. Modules, constants, fields and names that the framework
    does not have are left out. Docstrings that are inherited, or generated for a dataclass, do not count.
    """
    found = {name: _has_docstring(resolve_name(name)) for name in names}
    for owner, name in members:
        found[f"{owner}.{name}"] = _has_docstring(_member(resolve_name(owner), name))
    return {name: has for name, has in sorted(found.items()) if has is not None}


def find_memory_use(memory: str, names: Sequence[str], attributes: Sequence[str]) -> str | None:
    """The name through which the assistant uses the class `memory`; None if it does not use it.

    Either the assistant imports the class, or it uses something that creates an instance: a class or function of the
    framework, or a method of such a class, whose source calls the class or whose return annotation names it.
    """
    wanted = resolve_name(memory)
    if not inspect.isclass(wanted):
        return None
    used = {name: value for name in names if (value := resolve_name(name)) is not _MISSING}
    for name, value in used.items():
        if value is wanted:
            return name
    for name, value in used.items():
        if _creates(value, wanted):
            return name
    for name, value in used.items():
        for attribute in attributes if inspect.isclass(value) else ():
            if _creates(inspect.getattr_static(value, attribute, None), wanted):
                return f"{name}.{attribute}"
    return None


def resolve_name(name: str) -> Any:
    """The object with a full name, or `_MISSING` if there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            value = getattr(value, part, _MISSING)
        return value
    return _MISSING


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        return getattr(owner, name, _MISSING)
    if inspect.isclass(owner):
        found = inspect.getattr_static(owner, name, _MISSING)
        return found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return _MISSING


def _has_docstring(value: Any) -> bool | None:
    if inspect.isclass(value):
        text = value.__doc__ or ""
        return bool(text.strip()) and not _is_generated(value, text)
    if inspect.isroutine(value) or isinstance(value, property):
        return bool((value.__doc__ or "").strip())
    return None


def _is_generated(kind: type, text: str) -> bool:
    """Whether a class's docstring is the signature that `dataclass` generates."""
    return text.startswith(f"{kind.__name__}(") and hasattr(kind, "__dataclass_fields__")


def _creates(value: Any, wanted: type) -> bool:
    value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return False
    returned = getattr(value, "__annotations__", {}).get("return") if inspect.isroutine(value) else None
    if returned is wanted or returned == wanted.__name__:
        return True
    try:
        return f"{wanted.__name__}(" in inspect.getsource(value)
    except (OSError, TypeError):
        return False
