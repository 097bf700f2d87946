"""Digests of inputs: the SHA-256 of what was evaluated, so that a stored run says exactly what it was made from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any

_CHUNK = 1 << 20


def digest(source: object) -> dict[str, Any]:
    """The SHA-256 of what was read: of a file's bytes, of several files' names and digests, of a text, of columns.

    What lies at an address elsewhere is not fetched a second time: its digest is None.
    """
    if isinstance(source, os.PathLike) and os.path.isfile(source):
        return {"sha256": _file_digest(os.fspath(source)), "bytes": os.stat(source).st_size}
    from assay.events.sources._rows import START
    from assay.events.stream import EventStream

    if isinstance(source, EventStream):
        return {"sha256": _stream_digest(source)}
    if isinstance(source, bytes | bytearray | memoryview):
        return {"sha256": hashlib.sha256(source).hexdigest()}
    if isinstance(source, str) and (START in source or not source.strip()):
        return {"sha256": hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()}
    if isinstance(source, str | os.PathLike):
        return _files_digest(os.fspath(source))
    if isinstance(source, Sequence):
        whole = hashlib.sha256()
        for text in source:
            raw = str(text).encode("utf-8", "surrogatepass")
            whole.update(len(raw).to_bytes(8, "little") + raw)
        return {"sha256": whole.hexdigest()}
    return {"sha256": None}


def _files_digest(address: str) -> dict[str, Any]:
    from assay.events.sources._files import find, local_path

    if local_path(address) is None:
        return {"sha256": None}
    files = find(address)
    digests = [(file.name, _file_digest(file.address)) for file in files]
    if len(digests) == 1 and not digests[0][0]:
        of_one = digests[0][1]
        return {"sha256": of_one} | ({"bytes": os.stat(files[0].address).st_size} if of_one else {})
    whole = hashlib.sha256()
    if None in dict(digests).values():
        return {"sha256": None, "files": len(files)}
    for name, of_file in digests:
        whole.update(f"{of_file}  {name}\n".encode("utf-8", "surrogatepass"))
    return {
        "sha256": whole.hexdigest(),
        "bytes": sum(os.stat(file.address).st_size for file in files),
        "files": len(files),
    }


def _file_digest(path: str) -> str | None:
    """Of a file's bytes; None for a pipe, which was read and is empty now, and for a file that is gone."""
    if not os.path.isfile(path):
        return None
    whole = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
    except OSError:
        return None
    return whole.hexdigest()


def _stream_digest(stream: Any) -> str:
    """Of every column's type and bytes, and of the episodes' names."""
    from dataclasses import fields

    import numpy as np

    whole = hashlib.sha256()
    for column in fields(stream):
        values = getattr(stream, column.name)
        if isinstance(values, np.ndarray):
            whole.update(f"{column.name} {values.dtype.str} {len(values)}\n".encode())
            whole.update(np.ascontiguousarray(values).data)
    for episode in stream.episodes:
        whole.update(repr((episode.name, episode.stratum)).encode("utf-8", "backslashreplace"))
    return whole.hexdigest()
