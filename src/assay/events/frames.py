"""What the screen messages of a recording refer to: a place in a video, an image file, or an image in the message.

References come from a file that anyone may have written. Here they are only read; who opens what they name decides what
may be opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.events.messages import frame_pts_ns
from assay.events.sources._recorded import parsed
from assay.events.sources.mcap import screen_messages
from assay.types import Ints

NOWHERE, EMBEDDED = -1, -2
"""Instead of a file: no reference, or an image in the message itself."""
_DATA = "data:"


@dataclass(frozen=True, slots=True)
class FrameReferences:
    """The frames of a recording in order of time; all columns of shape (n,)."""

    address: str
    """The recording."""
    time_ns: Ints
    """When each message was recorded."""
    pts_ns: Ints
    """The frame's time in its video; -1 for an image."""
    file: NDArray[np.int32]
    """Which of `files`, or NOWHERE or EMBEDDED."""
    files: tuple[str, ...]
    """Names of files as the recording has them, which is to say: any text."""

    def __len__(self) -> int:
        return len(self.time_ns)

    def embedded(self, at: int) -> str:
        """The image in a message, as a data URI."""
        time = int(self.time_ns[at])
        same = int((self.time_ns[:at] == time).sum())
        found = [raw for _, raw in screen_messages(self.address, time)]
        return _uri(parsed(found[same])) if same < len(found) else ""


def frame_references(address: str) -> FrameReferences:
    """The references of an OWAMcap recording; raises SourceError if it cannot be read."""
    times: list[int] = []
    pts: list[int] = []
    places: list[int] = []
    files: dict[str, int] = {}
    for time, raw in screen_messages(address):
        message = parsed(raw)
        uri, at = _uri(message), frame_pts_ns(message)
        times.append(time)
        pts.append(-1 if at is None or not 0 <= at < 2**62 else at)
        if uri.startswith(_DATA):
            places.append(EMBEDDED)
        else:
            places.append(files.setdefault(uri, len(files)) if uri else NOWHERE)
    return FrameReferences(
        address,
        np.array(times, np.uint64).astype(np.int64),
        np.array(pts, np.int64),
        np.array(places, np.int32),
        tuple(files),
    )


def _uri(message: object) -> str:
    """`media_ref.uri`, or `path` in older recordings; empty if there is none."""
    if not isinstance(message, Mapping):
        return ""
    reference = message.get("media_ref")
    uri = reference.get("uri") if isinstance(reference, Mapping) else message.get("path")
    return uri if isinstance(uri, str) else ""
