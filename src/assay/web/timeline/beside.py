"""Opens what a recording refers to, which may be any text: only plain files in the recording's own folder.

Neither an absolute path nor a remote address, neither `..` nor a link is followed, at no place of the path; and a file
counts as an image or a video by how it begins, not by its name.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from assay.errors import NotFoundError

MOST_IMAGE_BYTES = 32 << 20
_LONGEST_NAME = 1024
_HEAD = 64
_DATA = re.compile(r"data:image/[a-z0-9.+-]{1,32};base64,", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def opened_beside(recording: Path, name: str) -> int:
    """A descriptor of the file that a recording refers to; the caller closes it. NotFoundError if it is not allowed."""
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or "\0" in name or "\\" in name or _DRIVE.match(name):
        raise _refused(name)
    parts = [part for part in parts if part != "."] if not name.startswith("/") else []
    if not parts or any(part in ("", "..") for part in parts):
        raise _refused(name)
    folder = os.open(recording.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Opening a pipe would wait for a writer.
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except (OSError, ValueError) as error:
        is_link = isinstance(error, OSError) and _is_link(recording.parent.joinpath(*parts))
        raise _refused(name) if is_link else NotFoundError(f"'{name[:200]}' is not beside the recording") from error
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _refused(name)
    return file


def image_of(content: bytes) -> str | None:
    """The media type of an image that browsers show and that cannot contain a script; None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:8] == b"ftyp" and content[8:12] in (b"avif", b"avis"):
        return "image/avif"
    return None


def container_of(head: bytes) -> str | None:
    """The container of a video by how its file begins, as decoders call it; None for anything else."""
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "matroska"
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free") and head[8:12] not in (b"avif", b"avis"):
        return "mov"
    return None


def head_of(file: int) -> bytes:
    """The first bytes of an open file; its position stays."""
    return os.pread(file, _HEAD, 0)


def read_image(file: int) -> bytes:
    """All bytes of an open image file; NotFoundError if it is too large."""
    size = os.fstat(file).st_size
    if size > MOST_IMAGE_BYTES:
        raise NotFoundError(f"the image has {size:,} bytes, more than {MOST_IMAGE_BYTES:,}")
    with open(os.dup(file), "rb") as opened:
        return opened.read(MOST_IMAGE_BYTES)


def decoded_image(uri: str) -> bytes:
    """The bytes of an image in a message; NotFoundError if the text is not one."""
    found = _DATA.match(uri)
    if found is None:
        raise NotFoundError("the image in the message is not base64")
    if len(uri) > MOST_IMAGE_BYTES * 4 // 3 + 100:
        raise NotFoundError(f"the image in the message has more than {MOST_IMAGE_BYTES:,} bytes")
    with suppress(binascii.Error, ValueError):
        return base64.b64decode(uri[found.end() :], validate=True)
    raise NotFoundError("the image in the message is not base64")


def _is_link(path: Path) -> bool:
    try:
        return any(one.is_symlink() for one in (path, *path.parents))
    except (OSError, ValueError):
        return False


def _refused(name: str) -> NotFoundError:
    return NotFoundError(
        f"'{name[:200]}' is not opened: a recording may refer only to files in its own folder, and not by links"
    )
