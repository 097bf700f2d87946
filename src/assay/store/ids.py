"""Ids of new runs."""

from __future__ import annotations

import secrets
import threading
import time

# Letters of ids: Crockford's base 32, which leaves out letters that are easily confused.
LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LETTERS, _RANDOM_LETTERS = 9, 5
_clock_lock = threading.Lock()
_last_ms = 0


def new_id() -> str:
    """A new id. Ids sort by creation time: milliseconds, then random letters."""
    global _last_ms
    with _clock_lock:
        _last_ms = now = max(time.time_ns() // 1_000_000, _last_ms + 1)
    letters = []
    for _ in range(_TIME_LETTERS):
        now, digit = divmod(now, 32)
        letters.append(LETTERS[digit])
    return "".join(reversed(letters)) + "".join(secrets.choice(LETTERS) for _ in range(_RANDOM_LETTERS))
