"""A domain by name, or a user's own from a Python file: what `--domain` takes."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path

from assay.chat.domains import DOMAINS, Domain
from assay.errors import SourceError, UsageError, unknown_name


def domain_name(name_or_path: str) -> str:
    """The name of the domain with a name or at a path; a domain from a file can be used from here on.

    A file is Python with a `DOMAIN`; a folder has it in its `__init__.py`. It is run, like any module that is imported.
    """
    path = Path(name_or_path)
    if path.suffix == ".py" or path.is_dir() or len(path.parts) > 1:
        return _from_file(path.resolve())
    if name_or_path not in DOMAINS.names():
        error = unknown_name("domain", name_or_path, DOMAINS.names())
        raise UsageError(error.what, hint=f"{error.hint}. A domain of your own is the path of its folder")
    return name_or_path


@lru_cache(maxsize=8)
def _from_file(path: Path) -> str:
    file = path / "__init__.py" if path.is_dir() else path
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
    DOMAINS.add(domain.name, domain)
    return domain.name
