"""Plug-ins by name: the built-in modules of a package, and those that other distributions add by entry point.

A built-in is a module with one well-known attribute, so adding one takes a new file and no other edit. Another package
declares an entry point in the same group that points at the plug-in object. Nothing is imported before it is needed.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, EntryPoints, distributions
from typing import Generic, TypeVar

from assay.errors import UsageError, unknown_name

Plugin = TypeVar("Plugin")


class Registry(Generic[Plugin]):
    """All plug-ins of one kind, by name."""

    def __init__(self, kind: str, *, package: str, attribute: str, group: str, folders: bool = False) -> None:
        """`package` holds a module per built-in, each with `attribute`; `group` is the entry-point group.

        With `folders` only its folders are built-ins, and their names are written with hyphens.
        """
        self.kind = kind
        self.group = group
        self._package = package
        self._attribute = attribute
        self._folders = folders
        self._here: dict[str, Plugin] = {}

    def names(self) -> list[str]:
        """Every name that `get` accepts, sorted."""
        return sorted({*self._built_in, *self._added(), *self._here})

    def add(self, name: str, plugin: Plugin) -> None:
        """Let this process find a user's own plug-in under a name, in place of an installed one of that name."""
        self._here[name] = plugin

    def get(self, name: str) -> Plugin:
        """The plug-in called `name`; raises UsageError with the closest name if there is none."""
        if name in self._here:
            return self._here[name]
        module = self._built_in.get(name)
        if module is not None:
            plugin: Plugin = getattr(importlib.import_module(f"{self._package}.{module}"), self._attribute)
            return plugin
        added = self._added()
        if name not in added:
            raise unknown_name(self.kind, name, self.names())
        try:
            loaded: Plugin = added[name].load()
        except Exception as error:
            raise UsageError(
                f"the {self.kind} '{name}' could not be loaded: {error}",
                where=added[name].value,
                hint="It comes from another package; reinstall or remove that package",
            ) from error
        return loaded

    @cached_property
    def _built_in(self) -> dict[str, str]:
        """Modules by the name of their plug-in."""
        found = pkgutil.iter_modules(importlib.import_module(self._package).__path__)
        names = [module.name for module in found if not module.name.startswith("_") and module.ispkg >= self._folders]
        return {name.replace("_", "-") if self._folders else name: name for name in names}

    def _added(self) -> dict[str, EntryPoint]:
        return _declared(self.group, tuple(map(_state_of, sys.path)))


def _state_of(folder: str) -> tuple[str, int, int]:
    """A value that changes as soon as a package is installed into a folder of the import path or removed from it."""
    try:
        state = os.stat(folder or os.curdir)
    except OSError:
        return folder, 0, 0
    return folder, state.st_ino, state.st_mtime_ns


@lru_cache(maxsize=32)
def _declared(group: str, folders: tuple[tuple[str, int, int], ...]) -> dict[str, EntryPoint]:
    """The entry points of a group by name."""
    return {entry.name: entry for entry in _all_declared(folders).select(group=group)}


@lru_cache(maxsize=4)
def _all_declared(folders: tuple[tuple[str, int, int], ...]) -> EntryPoints:
    """The entry points of every group of ours.

    Finding them reads a file of every package, so it is done once for all groups; only those that name one are parsed.
    """
    seen: set[str] = set()
    found: list[EntryPoint] = []
    for package in distributions():
        # By the name of its folder if Python knows it, as its own `entry_points` does: the name in it takes long.
        name = getattr(package, "_normalized_name", None) or package.name
        if name in seen:  # another version, behind the one that is imported
            continue
        seen.add(name)
        if "[assay." in (package.read_text("entry_points.txt") or ""):
            found += package.entry_points
    return EntryPoints(found)
