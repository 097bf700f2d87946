"""An agent that says what time it is, so that whoever reads it can tell how long its words took to arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator


def answer(message: str) -> Iterator[str]:
    """The time in ms since 1970, and after a moment the rest of a sentence."""
    time.sleep(0.2)
    yield f"{1000 * time.time():.2f} "
    time.sleep(0.2)
    yield "is what the clock says."
