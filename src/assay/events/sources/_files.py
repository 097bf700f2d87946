"""Finding and opening files, local or at any fsspec address. Independent of formats.

Local files need nothing but Python; an address with a scheme (`memory://`, `s3://…`) needs fsspec.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

from assay.errors import AssayError, MissingExtraError, SourceError, missing_extra

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BUFFER = 1 << 20
_LONGEST_PATH = 4096  # the limit of Linux; a longer string is text, and searching for it would be slow
_QUOTED = 80
"""How many letters of a user's text an error repeats; a text may have gigabytes."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a data set."""

    address: str
    """Where it is."""
    name: str = ""
    """Its path within the folder or glob it was found by; empty if it was given directly."""


def quoted(text: str) -> str:
    """The text in quotation marks, shortened if it is long."""
    return repr(text) if len(text) <= _QUOTED else f"{text[:_QUOTED]!r}… ({len(text)} characters)"


def find_files(address: str) -> list[File]:
    """The file at `address`, or all files of the folder or glob that it names, in order of their paths.

    Hidden files, and files and folders whose name starts with an underscore, are not part of a folder. A glob or path
    without a match is an error; a folder may be empty.
    """
    path = local_path(address)
    return _find_remote(address) if path is None else _find_local(path)


def local_path(address: str) -> str | None:
    """The path of a local file, or None for an address that only fsspec can open."""
    if address.startswith("file://"):
        return address.removeprefix("file://")
    return None if _SCHEME.match(address) else os.path.expanduser(address)


def is_pipe(path: str) -> bool:
    """Whether a path is that of a pipe, as a shell gives one for `<(command)`."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _find_local(path: str) -> list[File]:
    try:
        exists, folder = os.path.exists(path), os.path.isdir(path)
    except ValueError:  # a zero byte in the path
        exists = folder = False
    if folder:
        return _listed(path, [os.path.join(at, name) for at, _, names in os.walk(path) for name in names])
    if is_pipe(path):
        raise SourceError(
            "is a pipe, which can be read only once", where=path, hint="Save what it gives as a file, and name that"
        )
    if exists:
        return [File(path)]
    if "\0" not in path and len(path) < _LONGEST_PATH and glob.has_magic(path):
        matches = glob.glob(path, recursive=True)
        if matches:
            return _listed(_fixed_part(path), [file for match in matches for file in _below(match)])
        raise SourceError(
            f"no file matches {quoted(path)}, and it is not token text (it has no <EVENT_START>)",
            hint="Check the spelling and the current folder",
        )
    raise SourceError(
        f"{quoted(path)} is neither token text (it has no <EVENT_START>) nor an existing file, folder or glob",
        hint="Check the spelling and the current folder",
    )


def _below(match: str) -> list[str]:
    return [file.address for file in _find_local(match)]


def _fixed_part(pattern: str) -> str:
    """The folder that a glob starts from: the part before its first wildcard."""
    return os.path.dirname(re.split(r"[*?\[]", pattern, maxsplit=1)[0])


def _listed(base: str, paths: Iterable[str]) -> list[File]:
    named = {path: os.path.relpath(path, base or ".").replace(os.sep, "/") for path in paths}
    return [File(path, name) for path, name in sorted(named.items(), key=lambda item: item[1]) if _is_data(name)]


def _is_data(name: str) -> bool:
    parts = [part for part in name.split("/") if part != ".."]
    return not any(part.startswith((".", "_")) for part in parts)


def _find_remote(address: str) -> list[File]:
    system, path = _system(address)
    try:
        if system.isfile(path):
            return [File(address)]
        if system.isdir(path):
            base, found = path, system.find(path)
        elif glob.has_magic(path):
            base, found = _fixed_part(path), [file for match in system.glob(path) for file in system.find(match)]
        else:
            base, found = path, []
    except Exception as error:  # each file system has its own errors
        raise _unreachable(address, error) from error
    if not found:
        raise SourceError("there is nothing at this address", where=quoted(address), hint="Check its spelling")
    return [
        File(system.unstrip_protocol(file.address), file.name)
        for file in _listed(base.rstrip("/"), dict.fromkeys(found))
    ]


def _system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise missing_extra("fsspec", "events", f"read {quoted(address)}") from error
    try:
        system, path = url_to_fs(address)
    except ImportError as error:  # fsspec knows the scheme, but its implementation is in another package
        raise MissingExtraError(f"{quoted(address)} needs another package", hint=str(error)) from error
    except Exception as error:
        raise _unreachable(address, error) from error
    return system, path


def _unreachable(address: str, error: Exception) -> AssayError:
    reason = str(error) or type(error).__name__
    return SourceError(f"the address cannot be read: {reason}", where=quoted(address))


def open_binary(address: str) -> BinaryIO:
    """The file's bytes, buffered. The caller closes it."""
    path = local_path(address)
    try:
        if path is not None:
            return open(path, "rb", buffering=_BUFFER)
        system, inside = _system(address)
        opened: BinaryIO = system.open(inside, "rb")
    except OSError as error:
        raise SourceError(f"the file cannot be opened: {error.strerror or error}", where=address) from error
    except AssayError:
        raise
    except Exception as error:
        raise _unreachable(address, error) from error
    return opened


def size(address: str) -> int | None:
    """The file's size in bytes, or None if unknown."""
    path = local_path(address)
    try:
        if path is not None:
            return os.stat(path).st_size
        system, inside = _system(address)
        found = system.size(inside)
    except Exception:  # only needed for progress; opening the file will report the error
        return None
    return int(found) if found is not None else None


def stamp(address: str) -> str | None:
    """What changes if the file does: its size and time of change, or what its file system has instead."""
    path = local_path(address)
    try:
        if path is not None:
            status = os.stat(path)
            return f"{os.path.abspath(path)} {status.st_size} {status.st_mtime_ns}"
        system, inside = _system(address)
        return f"{address} {system.ukey(inside)}"
    except Exception:  # reading the file will report the error
        return None


def path_part(address: str) -> str:
    """The address without the query of a web address, so that its suffix can be read."""
    return re.split(r"[?#]", address, maxsplit=1)[0] if address.startswith(("http://", "https://")) else address
