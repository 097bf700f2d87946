"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], *, extras: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package whose public names are in the modules that `homes` gives.

    An empty home means that the name is a module of the package itself. If it needs a missing package that an
    extra installs, the error says which command installs it; `extras` has names that need more than that package alone.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        try:
            if not homes[name]:
                return importlib.import_module(f"{package}.{name}")
            return getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            from assay.extras import explained

            missing = explained(error, extra=(extras or {}).get(name, ""), purpose=f"use {package}.{name}")
            if missing is None:
                raise
            raise missing from error

    return get, lambda: sorted(homes)
