"""Limits on what a file may claim: compressed or nested data can ask for any amount of memory.

One setting, `ReadOptions.max_memory` or the variable ASSAY_MAX_MEMORY_MB, scales them all.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from assay.errors import SourceError, UsageError

if TYPE_CHECKING:
    from assay.events.sources import ReadOptions

MAX_MEMORY_VARIABLE = "ASSAY_MAX_MEMORY_MB"
_USUAL = 512 << 20
# A parsed JSON value takes up to this many bytes: an empty object in a list.
_BYTES_A_VALUE = 128
BYTES_A_NAME = 64
"""What a short name takes as a string of Python."""


def default_max_memory() -> int:
    """The limit that the environment sets, in bytes."""
    given = os.environ.get(MAX_MEMORY_VARIABLE, "")
    if not given:
        return _USUAL
    if not (given.isdecimal() and len(given) < 10 and int(given)):
        raise UsageError(f"{MAX_MEMORY_VARIABLE} must be a whole number, got '{given:.40}'", hint="Give megabytes")
    return int(given) << 20


def too_large(what: str, limit: int, where: str | None) -> SourceError:
    """The error for a part of a file that exceeds a limit of `limit` bytes."""
    return SourceError(
        f"{what} is larger than {limit / (1 << 20):g} MB",
        where=where,
        hint=f"If the file is to be trusted, raise {MAX_MEMORY_VARIABLE}",
    )


def has_too_many_values(text: bytes | bytearray, reading: ReadOptions) -> bool:
    """Whether JSON may have more values than fit: each has a comma before it or opens a list or an object."""
    most = reading.max_memory // _BYTES_A_VALUE
    return len(text) > most and text.count(b",") + text.count(b"[") + text.count(b"{") > most
