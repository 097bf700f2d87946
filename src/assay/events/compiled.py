"""Numba's `njit` as this package uses it, with a cache for compiled code wherever one can be written.

Compiled code is kept next to the module that it belongs to, or else in the user's cache. If neither can be written (a
read-only installation without a home), Numba refuses to compile at all; then a temporary folder is used.

Compiled code contains what it calls and every constant, from whatever module. Numba compiles anew if a function's own
module has changed; here it does if any module of `assay.events` has, because code that is out of date gives wrong
numbers.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core import event


def _load_without_blas() -> None:
    """Load what Numba knows about arrays, without SciPy: a fifth of the time in which a command starts.

    Numba looks for a BLAS there when it is loaded. Only its convolution depends on what it finds then.
    """
    from numba.np import linalg

    if "numba.np.arraymath" in sys.modules or not hasattr(linalg, "ensure_blas"):
        return
    found = linalg.ensure_blas
    linalg.ensure_blas = _no_blas
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = found  # type: ignore[attr-defined]
    finally:
        linalg.ensure_blas = found


def _no_blas() -> None:
    raise ImportError


_load_without_blas()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As Numba's, without the code by which C would call the function: a tenth of the time of compiling.

    Nor is there code that raises an error on a division by 0: none of the loops divides by one.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        decorator: Any = numba.njit
        compiled = decorator(no_cfunc_wrapper=True, error_model="numpy", **options)(function)
        if options.get("cache"):
            file = compiled._cache._cache_file
            file._source_stamp = (file._source_stamp, sources_stamp())
        return compiled

    return decorate


@cache
def sources_stamp() -> str:
    """Names, sizes and times of all modules of `assay.events`: another one for any that has changed."""
    folder = Path(__file__).parent
    found = ((path, path.stat()) for path in sorted(folder.rglob("*.py")))
    listed = [(path.relative_to(folder).as_posix(), about.st_size, about.st_mtime_ns) for path, about in found]
    return hashlib.sha256(repr(listed).encode()).hexdigest()


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `njit`, for functions that only compiled ones call: without the code by which Python would call them.

    That is a quarter of the time of compiling, which every new installation spends once. Python must not call them:
    there is nothing to be called, and the process would crash.
    """
    return njit(no_cpython_wrapper=True, **options)


@contextmanager
def told_of_compiling(say: Callable[[], None]) -> Iterator[None]:
    """Inside, `say` is called once, just before the first function is compiled; not if all are in the cache."""

    class Listener(event.Listener):
        def __init__(self) -> None:
            self.told = False

        def on_start(self, _: object) -> None:
            if not self.told:
                self.told = True
                say()

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


_VARIABLE = "NUMBA_CACHE_DIR"


def _is_writable(folder: Path) -> bool:
    """Whether a file can be made in the folder, or in the first one above it that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _user_cache() -> Path:
    """Where Numba keeps compiled code if it cannot do so next to the module."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "numba"


def _temporary_cache() -> str:
    """A private folder: nobody else may write there, since its contents are run."""
    name = Path(tempfile.gettempdir()) / f"assay-compiled-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    try:
        name.mkdir(mode=0o700, exist_ok=True)
        found = name.lstat()
        is_ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        if stat.S_ISDIR(found.st_mode) and is_ours and _is_writable(name):
            return str(name)
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="assay-compiled-")


def cache_folder() -> Path:
    """Where compiled code is kept: the folder that Numba was told, the module's own, or the user's cache."""
    told = os.environ.get(_VARIABLE)
    beside = Path(__file__).parent / "__pycache__"
    return Path(told) if told else beside if _is_writable(beside) else _user_cache()


def _find_a_place() -> None:
    """Tell Numba where to keep compiled code, if it would find no place itself."""
    if os.environ.get(_VARIABLE) or _is_writable(Path(__file__).parent / "__pycache__") or _is_writable(_user_cache()):
        return
    os.environ[_VARIABLE] = _temporary_cache()
    config.reload_config()  # type: ignore[no-untyped-call]


_find_a_place()
