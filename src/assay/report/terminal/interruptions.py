"""Users who hang up or have to approve a tool, for the terminal. Lays out what `interruption_matrix` counts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from assay.chat.scoring.outcomes.interruption_matrix import InterruptionCell, interruption_matrix
from assay.chat.scoring.scores import Scores
from assay.report.terminal import plain
from assay.report.terminal.columns import beside, chunks


def interruption_tables(scores: Scores, width: int) -> Iterator[RenderableType]:
    """A table for every few agents; nothing if there is no such scenario."""
    rows = interruption_matrix(scores)
    if not rows:
        return
    title = "Hanging up and consent · ms until model or tool stopped, ! the rest fails"
    for some in chunks(scores.agents):
        shown = beside("scenario", scores.agents, some, width, rows=[row.scenario for row in rows])
        for row in rows:
            shown.add_row(Text(plain(row.scenario)), *(_cell(row.cells[at]) for at in some))
        yield Group(Text(title, style="bold"), shown)


def _cell(cell: InterruptionCell) -> Text:
    style = "dim" if not cell.works[1] else "bold red" if not cell.is_kept else "yellow" if cell.is_broken else "green"
    return Text(cell.word + (" !" if cell.is_broken else ""), style=style)
