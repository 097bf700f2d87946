"""A process that decodes frames of one video, started by `videos`; it knows nothing of the rest of the project.

The video may be damaged or hostile, so it is decoded apart from the server, with little memory, one container, few
codecs and no way to open another file. A request is a line with a time in nanoseconds and a width; the answer is a line
with a status and a length, and then as many bytes: an image, or why there is none.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import Any

MEMORY = 3 << 30
"""Bytes of address space; a decoder of 8K video needs less than 1 GB."""
SECONDS = 8
"""A request that takes longer ends the process."""
MOST_PIXELS = 8192 * 8192
CODECS = "h264,hevc,vp8,vp9,libdav1d,av1,mpeg4,mjpeg,ffv1,png"
_NEAR_SECONDS = 2.0
_QUALITY = 4
_LARGEST_GAP_NS = 1_500_000
"""Matroska rounds times to milliseconds: a frame counts as reached up to this before its own time."""


def main() -> None:
    """Answer requests until the pipe is closed."""
    file, container = int(sys.argv[1]), sys.argv[2]
    for what, limit in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (limit, limit))
    signal.alarm(SECONDS)
    out = sys.stdout.buffer
    video: Video | None = None
    for line in sys.stdin.buffer:
        signal.alarm(SECONDS)
        status, content = "image", b""
        try:
            time_ns, width = map(int, line.split())
            video = video or Video(file, container)
            content = video.frame(time_ns, width)
        except Exception as error:  # of the decoder, for any reason; the process goes on
            status, content = "error", f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:300]
        signal.alarm(0)
        out.write(b"%s %d\n" % (status.encode(), len(content)))
        out.write(content)
        out.flush()


class Video:
    """One open video and where it was decoded to."""

    def __init__(self, file: int, container: str) -> None:
        import av

        av.logging.set_level(None)
        self._av = av
        options = {"codec_whitelist": CODECS, "protocol_whitelist": "pipe", "max_pixels": str(MOST_PIXELS)}
        self._container: Any = av.open(os.fdopen(file, "rb"), format=container, options=options)
        self._stream: Any = self._container.streams.video[0]
        self._stream.codec_context.thread_count = 1
        self._stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
        self._unit = float(self._stream.time_base or 0)
        self._frames: Any = None
        self._now: Any = None
        self._ahead: Any = None

    def frame(self, time_ns: int, width: int) -> bytes:
        """The frame that is shown at a time, at most so many pixels wide, as a JPEG image."""
        time = (time_ns + _LARGEST_GAP_NS) / 1e9
        begin = float(self._stream.start_time or 0) * self._unit
        far = self._ahead is not None and time - self._ahead.time > _NEAR_SECONDS
        if self._now is None or time < self._now.time or far:
            self._seek(time + begin)
        while self._ahead is not None and self._ahead.time <= time + begin:
            self._step()
        if self._now is None:
            raise ValueError("the video has no frame at this time")
        return self._encoded(self._now, width)

    def _seek(self, time: float) -> None:
        self._container.seek(max(0, int(time / self._unit)), stream=self._stream, backward=True)
        self._frames = self._container.decode(self._stream)
        self._now = self._ahead = None
        self._step()
        self._step()

    def _step(self) -> None:
        self._now = self._ahead if self._ahead is not None else self._now
        found = next(self._frames, None)
        while found is not None and found.time is None:
            found = next(self._frames, None)
        self._ahead = found

    def _encoded(self, frame: Any, width: int) -> bytes:
        wide = max(2, min(width, frame.width) // 2 * 2)
        tall = max(2, round(frame.height * wide / frame.width) // 2 * 2)
        encoder = self._av.CodecContext.create("mjpeg", "w")
        encoder.width, encoder.height, encoder.pix_fmt = wide, tall, "yuvj420p"
        encoder.time_base = self._stream.time_base
        encoder.qmin = encoder.qmax = _QUALITY
        picture = frame.reformat(width=wide, height=tall, format="yuvj420p")
        picture.pts = None
        return b"".join(bytes(packet) for packet in [*encoder.encode(picture), *encoder.encode(None)])


if __name__ == "__main__":
    main()
