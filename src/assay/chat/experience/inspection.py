"""What an installed framework says of the names that an assistant uses: whether they are documented, who keeps memory.

This imports the framework, so it runs in a process of its own; it must not know which framework it looks at.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

_NOTHING = object()


def look(given: Mapping[str, Any]) -> dict[str, Any]:
    """All that is asked of the framework: see `documented` and `who_keeps_memory`."""
    members = [(owner, name) for owner, name in given["members"]]
    return {
        "documented": documented(given["names"], members),
        "memory": who_keeps_memory(given["memory"], given["names"], given["attributes"]) if given["memory"] else None,
    }


def documented(names: Iterable[str], members: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """For each name that can have a docstring, whether it has one of its own.

    Classes, functions, methods and properties can. Modules, constants and fields cannot, and are left out; so is what
    the framework does not have under that name. A docstring that is inherited, or that Python writes for a dataclass,
    is not the name's own.
    """
    found = {name: _has_docstring(find(name)) for name in names}
    for owner, name in members:
        found[f"{owner}.{name}"] = _has_docstring(_member(find(owner), name))
    return {name: has for name, has in sorted(found.items()) if has is not None}


def who_keeps_memory(memory: str, names: Sequence[str], attributes: Sequence[str]) -> str | None:
    """Through which name the assistant comes to use the class `memory`; None where it does not.

    Either the assistant imports the class, or it uses something that makes one: a class or function of the framework,
    or a method of such a class, whose source calls it or which says that it returns it.
    """
    wanted = find(memory)
    if not inspect.isclass(wanted):
        return None
    used = {name: thing for name in names if (thing := find(name)) is not _NOTHING}
    for name, thing in used.items():
        if thing is wanted:
            return name
    for name, thing in used.items():
        if _makes(thing, wanted):
            return name
    for name, thing in used.items():
        for attribute in attributes if inspect.isclass(thing) else ():
            if _makes(inspect.getattr_static(thing, attribute, None), wanted):
                return f"{name}.{attribute}"
    return None


def find(name: str) -> Any:
    """What a full name stands for; a mark of its own where there is nothing."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part, _NOTHING)
        return thing
    return _NOTHING


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        return getattr(owner, name, _NOTHING)
    if inspect.isclass(owner):
        found = inspect.getattr_static(owner, name, _NOTHING)
        return found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return _NOTHING


def _has_docstring(thing: Any) -> bool | None:
    if inspect.isclass(thing):
        text = thing.__doc__ or ""
        return bool(text.strip()) and not _is_generated(thing, text)
    if inspect.isroutine(thing) or isinstance(thing, property):
        return bool((thing.__doc__ or "").strip())
    return None


def _is_generated(kind: type, text: str) -> bool:
    """Whether a class's docstring is the signature that a dataclass without one is given."""
    return text.startswith(f"{kind.__name__}(") and hasattr(kind, "__dataclass_fields__")


def _makes(thing: Any, wanted: type) -> bool:
    thing = thing.__func__ if isinstance(thing, staticmethod | classmethod) else thing
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return False
    returned = getattr(thing, "__annotations__", {}).get("return") if inspect.isroutine(thing) else None
    if returned is wanted or returned == wanted.__name__:
        return True
    try:
        return f"{wanted.__name__}(" in inspect.getsource(thing)
    except (OSError, TypeError):
        return False
