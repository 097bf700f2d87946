"""Recordings that may be looked at: those in the folders that were named when the server started.

A client never sends a path. It sends the id of a recording that the server lists, or a run, whose inputs are then
looked for in the same folders. A link that leads out of a folder is not followed.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import NotFoundError
from assay.runs.folders import is_inside, name_in

MOST_LISTED = 2000
"""Recordings that are listed; the rest of very large folders is left out, and the page says so."""
_SECONDS_KEPT = 2.0


@dataclass(frozen=True, slots=True)
class Recording:
    """A file with events, or a folder of several such files as one data set."""

    id: str
    path: Path
    name: str
    """Its path within the folder that was named, with that folder's own name in front."""
    size: int
    """Bytes; of a folder, of all its files."""
    files: int = 1

    @property
    def state(self) -> tuple[str, ...]:
        """Changes if the recording does."""
        paths = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        stats = ((path, path.stat()) for path in paths if path.is_file())
        return tuple(f"{path}:{found.st_mtime_ns}:{found.st_size}" for path, found in stats)


class ServedRecordings:
    """What the folders hold; looked at anew if that was some seconds ago."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self._lock = threading.Lock()
        self._listed: list[Recording] = []
        self._looked = float("-inf")
        self.left_out = False
        """Whether there are more than are listed."""

    def listed(self) -> list[Recording]:
        """All recordings, by name."""
        with self._lock:
            if time.monotonic() - self._looked > _SECONDS_KEPT:
                self._listed, self.left_out = self._look()
                self._looked = time.monotonic()
            return self._listed

    def get(self, recording_id: str) -> Recording:
        """The recording of that id."""
        for one in self.listed():
            if one.id == recording_id:
                return one
        raise NotFoundError("there is no such recording in the served folders", hint="Choose one on the page Timeline")

    def at(self, source: str) -> Recording | None:
        """The recording at a path that a run was made from; None if it is not in a served folder, or not there."""
        if not source or "://" in source or "\0" in source:
            return None
        path = Path(os.path.expanduser(source))
        try:
            whole = path.resolve()
            if not whole.exists():
                return None
        except OSError:
            return None
        for folder in self.folders:
            if whole == folder or whole.is_relative_to(folder):
                return _recording(whole, whole.name, [whole])
        return None

    def _look(self) -> tuple[list[Recording], bool]:
        from assay.events.sources import has_known_suffix

        found: list[Recording] = []
        for folder in self.folders:
            for at, below, names in os.walk(folder):
                below[:] = sorted(name for name in below if not name.startswith((".", "_")))
                here = Path(at)
                files = []
                for name in sorted(names):
                    path = here / name
                    if name.startswith((".", "_")) or not has_known_suffix(name) or not is_inside(path, folder):
                        continue
                    files.append(path)
                    found.append(_recording(path, name_in(folder, path), [path]))
                    if len(found) >= MOST_LISTED:
                        return found, True
                if len(files) > 1:
                    found.append(_recording(here, f"{name_in(folder, here)}/", files))
        return found, False


def _recording(path: Path, name: str, files: Sequence[Path]) -> Recording:
    size = sum(file.stat().st_size for file in files if file.is_file())
    return Recording(hashlib.sha256(os.fsencode(path)).hexdigest()[:16], path, name, size, len(files))
