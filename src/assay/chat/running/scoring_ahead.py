"""Starts the process that scores turns, ahead of everything else if the suite is large: it imports what it needs while
this process does. So that starting it takes no time here, this module imports nothing of assay's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Bytes of a suite that has more than enough turns for a process of their own, with baselines; most have fewer.
_LARGE_SUITE = 16_000


def start_scoring() -> subprocess.Popen[bytes]:
    """The process, which waits for its settings."""
    # -P keeps the current folder off the path. In a new session, Ctrl-C at the terminal does not reach it.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "assay.chat.running.scoring_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def scoring_ahead(suite: str) -> Iterator[subprocess.Popen[bytes] | None]:
    """The process, for as long as a `with` block runs; None if the suite is not a large file."""
    path = Path(suite)
    if not (path.is_file() and path.stat().st_size >= _LARGE_SUITE):
        yield None
        return
    process = start_scoring()
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()
