"""What the terminal shows about agents, line by line."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from assay.chat.scoring.scores import Scores
from assay.report.terminal.agents import side_by_side


def printed(given: Scores, *, width: int = 80, **parts: object) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(side_by_side(given, **parts))  # type: ignore[arg-type]
    return out.getvalue().splitlines()
