"""Agents for tests on clusters, imported on the nodes. What they do is said by files in a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def answers(message: str) -> str:
    """Answers at once, with what depends on the message alone."""
    return f"I heard: {message}"


def waits(message: str) -> str:
    """Says where it runs, and answers once it may."""
    folder = Path(os.environ["ASSAY_TEST_FOLDER"])
    (folder / f"started-{os.getppid()}-{os.getpid()}-{time.monotonic_ns()}").touch()
    while not (folder / "release").exists():
        time.sleep(0.02)
    return answers(message)


def exits(message: str) -> Any:
    """Ends its process."""
    os._exit(7)
