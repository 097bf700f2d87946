"""The page about agents as text and as a file, of scores that no experiment was run for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.chat.scoring.scores import Scores
from assay.report.html.agents import content
from assay.report.html.page import save


def render(scores: Scores, **shown: Any) -> str:
    """The page as text; `shown` is what `content` takes."""
    return content(scores, **shown).as_document()


def write(scores: Scores, path: Path, **shown: Any) -> Path:
    """The page as a file."""
    return save(render(scores, **shown), path)
