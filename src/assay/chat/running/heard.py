"""The words of an answer that somebody follows while it comes: whole ones, without secrets.

A secret may come in several pieces, of which none looks like one. So a word is passed on once it is complete, and what
is passed on is always the beginning of the answer as it may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.json_safe import whole_text
from assay.redaction import redacted

# Every piece is looked at with all that came before; the rest of a longer answer is shown once it is complete.
_MOST_FOLLOWED = 20_000
_END_OF_WORD = re.compile(r".*\s", re.DOTALL)


class Heard:
    """What was passed on of one answer."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._said = ""
        self._told = ""

    def hear(self, piece: str) -> None:
        """Take a piece, and pass on the words that are complete."""
        if len(self._said) > _MOST_FOLLOWED:
            return
        self._said += whole_text(piece)
        complete = _END_OF_WORD.match(self._said) if re.search(r"\s", piece) else None
        if complete is not None:
            self._pass_on(complete[0])

    def end(self) -> None:
        """Pass on the last word."""
        if len(self._said) <= _MOST_FOLLOWED:
            self._pass_on(self._said)

    def _pass_on(self, text: str) -> None:
        shown = redacted(text)
        if shown.startswith(self._told) and len(shown) > len(self._told):  # else a secret has begun before
            self._tell(shown[len(self._told) :])
            self._told = shown
