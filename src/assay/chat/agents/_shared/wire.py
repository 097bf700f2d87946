"""Reads a model's response as sent, independent of the framework: its token counts, and whether it ended.

Only the last bytes of a response are read, so that streams are passed on as they arrive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# Usage and the reason of the end come last; a chunk with both is far shorter.
_KEPT = 16_384
_USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
_END = re.compile(rb'\[DONE\]|"finish_reason"\s*:\s*"')


class Wire:
    """The end of one response."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._is_stream = "text/event-stream" in headers.get("content-type", "")
        # Compressed bytes are not read.
        self._readable = headers.get("content-encoding", "identity") == "identity"
        self._tail = bytearray()
        self._whole = False

    def add(self, piece: bytes) -> None:
        """A piece of the body has arrived."""
        if self._readable:
            self._tail += piece
            if len(self._tail) > 4 * _KEPT:
                del self._tail[:-_KEPT]

    def finish(self) -> None:
        """The server has ended the response, or the connection is lost."""
        self._whole = True

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Tokens in and out by the response's last usage; None if it has none.

        Endpoints that send usage in every chunk send the total so far, so that only the last one counts.
        """
        found = [match.end() for match in _USAGE.finditer(self._tail)]
        if not found:
            return None
        try:
            usage, _ = json.JSONDecoder().raw_decode(bytes(self._tail[found[-1] :]).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        counts = tuple(_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        return None if None in counts else (counts[0] or 0, counts[1] or 0)

    @property
    def broke_off(self) -> bool:
        """Whether a stream ended without a reason for its end and without its end mark."""
        return self._whole and self._is_stream and self._readable and _END.search(self._tail) is None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
