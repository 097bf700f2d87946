"""A domain by name, or a user's own from a folder: what `--domain` takes. Only a user names a path, never a suite."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from assay.chat.domains import DOMAINS, Domain
from assay.errors import SourceError, UsageError, unknown_name

_INIT = "__init__.py"
_PATHS: dict[str, Path] = {}
"""Where the domains come from that this process loaded from a path."""


def domain_name(name_or_path: str | Path) -> str:
    """The name of the domain with a name or at a path; a domain from a file can be used from here on.

    A file is Python with a `DOMAIN`; a folder has it in its `__init__.py`. It is run, like any module that is imported.
    """
    path = Path(name_or_path)
    if path.suffix == ".py" or path.is_dir() or "/" in str(name_or_path):
        return load_own_domain(path)
    name = str(name_or_path)
    if name not in DOMAINS.names():
        error = unknown_name("domain", name, DOMAINS.names())
        raise UsageError(error.what, hint=f"{error.hint}. A domain of your own is the path of its folder")
    return name


def load_own_domain(path: str | Path) -> str:
    """The name of the domain at a path. This process now has it under that name, in place of an installed one."""
    resolved = Path(path).resolve()
    domain = _from_file(resolved)
    DOMAINS.add(domain.name, domain)
    _PATHS[domain.name] = resolved
    return domain.name


def own_domain_path(name: str) -> str | None:
    """Where a domain of the user's own was loaded from; None for one that is installed."""
    path = _PATHS.get(name)
    return None if path is None else str(path)


def own_domain_digest(name: str) -> str | None:
    """SHA-256 of the code and the words of a domain of the user's own; None for one that is installed."""
    path = _PATHS.get(name)
    if path is None:
        return None
    files = sorted(file for file in path.rglob("*") if file.suffix in (".py", ".toml")) if path.is_dir() else [path]
    content = hashlib.sha256()
    for file in files:
        content.update(f"{file.relative_to(path)}\n".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


@lru_cache(maxsize=8)
def _from_file(path: Path) -> Domain:
    file = path / _INIT if path.is_dir() else path
    where = str(file)
    # A unique name, so that no installed module is hidden; `files(__package__)` works in it.
    module_name = f"assay_domain_{re.sub(r'[^0-9A-Za-z_]', '_', file.parent.name)}"
    spec = importlib.util.spec_from_file_location(module_name, file, submodule_search_locations=[str(file.parent)])
    if not file.is_file() or spec is None or spec.loader is None:
        raise SourceError("is not a Python file", where=where, hint="Give the folder of a domain")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SourceError(f"cannot be imported: {type(error).__name__}: {error}", where=where) from error
    domain = getattr(module, "DOMAIN", None)
    if not isinstance(domain, Domain):
        hint = 'Add DOMAIN = Domain("name", files(__package__), read_truth)'
        raise SourceError("has no DOMAIN", where=where, hint=hint)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", domain.name):
        hint = "Use letters, digits, - and _"
        raise SourceError(f"'{domain.name:.60}' is not a name for a domain", where=where, hint=hint)
    # A copy of another domain may still name the files of that one: a folder with files of its own is read.
    has_files = file.name == _INIT and any(file.parent.glob("*.toml"))
    return replace(domain, folder=file.parent) if has_files else domain
