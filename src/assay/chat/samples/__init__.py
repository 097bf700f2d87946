"""Bundled conversations: two made-up assistants, one careful and one hasty, on the same scenarios."""

from __future__ import annotations

from importlib.resources import as_file, files

from assay.chat.formats import read_transcripts
from assay.chat.transcript import Transcript


def transcripts() -> list[Transcript]:
    """The bundled transcripts."""
    with as_file(files(__name__) / "conversations.jsonl") as path:
        return read_transcripts(path)
