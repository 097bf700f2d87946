"""The frames of an episode: which image belongs to a moment of its timeline, from a video, image files or messages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.errors import AssayError, NotFoundError
from assay.events.actions.clock import ClockSide
from assay.events.frames import EMBEDDED, NOWHERE, FrameReferences, frame_references
from assay.events.sources import files_of
from assay.events.stream import Kind
from assay.events.timeline.episode import EpisodeTimeline
from assay.plural import counted
from assay.types import Ints
from assay.web.timeline.beside import container_of, decoded_image, head_of, image_of, opened_beside, read_image
from assay.web.timeline.videos import VideoDecoders

NARROWEST, WIDEST = 80, 1920
"""Pixels of a frame of a video, which is made smaller on the server; images are sent as they are."""
_SUFFIX = ".mcap"


@dataclass(frozen=True, slots=True)
class Frame:
    """An image, and the microseconds of the timeline during which it was on the screen."""

    content: bytes
    media_type: str
    from_us: int
    to_us: int


@dataclass(frozen=True)
class EpisodeFrames:
    """The frames of one side of an episode."""

    references: FrameReferences
    is_predicted: bool
    """Whose they are; predicted ones move with the prediction."""
    time_ns: Ints
    """When each frame was recorded, in nanoseconds after the origin of the timeline; ascending."""
    recorded_ns: Ints
    """The same on the clock of the recording."""
    videos: VideoDecoders
    end_ns: int
    """Until when the last one is shown."""

    def at(self, us: int, shift_us: int, width: int) -> Frame:
        """The frame that was on the screen at a time of the timeline; NotFoundError if there is none to show."""
        moved = shift_us if self.is_predicted else 0
        place = int(np.searchsorted(self.time_ns, 1000 * (us + moved), "right")) - 1
        if place < 0:
            raise NotFoundError("there is no frame yet at this time")
        reference = int(np.searchsorted(self.references.time_ns, self.recorded_ns[place], "right")) - 1
        content, media_type = self._image(reference, min(max(width, NARROWEST), WIDEST))
        after = int(self.time_ns[place + 1]) if place + 1 < len(self.time_ns) else self.end_ns
        return Frame(content, media_type, int(self.time_ns[place]) // 1000 - moved, after // 1000 - moved)

    def _image(self, at: int, width: int) -> tuple[bytes, str]:
        place = int(self.references.file[at])
        if place == NOWHERE:
            raise NotFoundError("the recording does not say where this frame is")
        if place == EMBEDDED:
            return _checked(decoded_image(self.references.embedded(at)))
        file = opened_beside(Path(self.references.address), self.references.files[place])
        try:
            head = head_of(file)
            container = container_of(head)
            if container is None:
                return _checked(read_image(file) if image_of(head) else head)
            time = int(self.references.pts_ns[at])
            if time < 0:
                raise NotFoundError("the recording does not say at what time of its video this frame is")
            return self.videos.decoder(os.dup(file), container).frame(time, width), "image/jpeg"
        finally:
            os.close(file)

    @cached_property
    def sentence(self) -> str:
        """What is shown, or why nothing can be; found out with the first frame."""
        try:
            self._image(0, NARROWEST)
        except AssayError as error:
            return f"Frames cannot be shown: {error}"
        return f"{counted(len(self.time_ns), 'frame')} of the {'prediction' if self.is_predicted else 'recording'}"

    @cached_property
    def are_shown(self) -> bool:
        """Whether the first frame could be read."""
        return not self.sentence.startswith("Frames cannot")


def frames_of(
    episode: EpisodeTimeline, recordings: Sequence[Path | None], videos: VideoDecoders
) -> EpisodeFrames | None:
    """The frames of the true recording, or else of the predicted one; None if neither refers to any."""
    sides = (episode.paired.true_side, episode.paired.predicted_side)
    for number, (side, path) in enumerate(zip(sides, recordings, strict=True)):
        found = None if path is None else _file_of(path, episode.name)
        if found is None or not side.frames:
            continue
        references = frame_references(found)
        if not len(references) or (references.file == NOWHERE).all():
            continue
        times, recorded = _times(side, episode.origin_ns)
        end = max(int(times[-1]) + 1_000_000, episode.span_ns)
        return EpisodeFrames(references, bool(number), times, recorded, videos, end)
    return None


def _times(side: ClockSide, origin_ns: int) -> tuple[Ints, Ints]:
    is_frame = side.stream.kind[side.at] == Kind.SCREEN
    return side.time_ns[is_frame] - origin_ns, side.stream.time_ns[side.at[is_frame]]


def _file_of(path: Path, episode: str) -> str | None:
    """The file of an episode: the recording itself, or the one of that name in a folder of recordings."""
    if not path.is_dir():
        return str(path) if path.suffix.lower() == _SUFFIX else None
    for file in files_of(str(path)):
        name = os.path.relpath(file, path).replace(os.sep, "/")
        if name.lower().endswith(_SUFFIX) and episode in (name, name[: -len(_SUFFIX)], Path(file).stem):
            return file
    return None


def _checked(content: bytes) -> tuple[bytes, str]:
    kind = image_of(content)
    if kind is None:
        raise NotFoundError("the file is neither a video (Matroska, WebM, MP4) nor an image (PNG, JPEG, WebP, AVIF)")
    return content, kind
