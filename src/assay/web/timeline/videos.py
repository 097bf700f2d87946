"""Frames of videos, each video decoded by a process of its own: one that hangs or dies takes nobody down."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from assay.errors import NotFoundError, missing_extra
from assay.web.timeline.video_worker import SECONDS

_KEPT = 2
_LARGEST = 32 << 20
_WORKER = Path(__file__).with_name("video_worker.py")


class VideoDecoder:
    """One video. It is decoded onwards while it is asked for later frames, so playing costs less than jumping."""

    def __init__(self, file: int, container: str) -> None:
        """Takes over the descriptor `file`."""
        if find_spec("av") is None:
            os.close(file)
            raise missing_extra("av", "video", "show the frames of a video")
        self._lock = threading.Lock()
        # By path and without site-wide settings: it needs PyAV and nothing of ours.
        command = [sys.executable, str(_WORKER), str(file), container]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(file,)
            )
        finally:
            os.close(file)

    def frame(self, time_ns: int, width: int) -> bytes:
        """The frame at a time of the video as a JPEG image; NotFoundError if it cannot be decoded."""
        with self._lock:
            try:
                return self._asked(time_ns, width)
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                self.close()
                raise NotFoundError("the video cannot be decoded: its decoder stopped") from error

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _asked(self, time_ns: int, width: int) -> bytes:
        assert self._process.stdin is not None
        self._process.stdin.write(b"%d %d\n" % (time_ns, width))
        self._process.stdin.flush()
        deadline = time.monotonic() + SECONDS + 1
        head = b""
        while not head.endswith(b"\n"):
            head += self._read(1, deadline)
        status, _, length = head.partition(b" ")
        if not 0 <= int(length) <= _LARGEST:
            raise ValueError("an answer of a decoder is too long")
        content = b""
        while len(content) < int(length):
            content += self._read(int(length) - len(content), deadline)
        if status != b"image":
            raise NotFoundError(f"the video cannot be decoded: {content.decode('utf-8', 'replace')}")
        return content

    def _read(self, most: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            if not waiting.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
        found = os.read(self._process.stdout.fileno(), most)
        if not found:
            raise EOFError
        return found

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close() if pipe is not None else None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)


class VideoDecoders:
    """The decoders of the videos that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[int, int, int], VideoDecoder] = OrderedDict()

    def decoder(self, file: int, container: str) -> VideoDecoder:
        """The decoder of an open file; takes over the descriptor."""
        found = os.fstat(file)
        key = (found.st_dev, found.st_ino, found.st_mtime_ns)
        with self._lock:
            known = self._open.get(key)
            if known is not None and known.is_alive:
                os.close(file)
                self._open.move_to_end(key)
                return known
            if known is not None:
                known.close()
            self._open[key] = made = VideoDecoder(file, container)
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)[1].close()
            return made

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
