"""The matrix of quirks and agents for the terminal. Lays out what `quirk_matrix` counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from assay.chat.scoring.outcomes.quirk_matrix import (
    DID_NOT_OCCUR,
    UNTESTED,
    QuirkCell,
    quirk_matrix,
    quirk_summaries,
)
from assay.chat.scoring.outcomes.robustness import OUTCOMES, QuirkOutcome
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.terminal import plain
from assay.report.terminal.columns import beside, chunks

_MOST_ROWS = 45
# Words so short that five of them fit beside the full name of a scenario.
_SHORT: Mapping[QuirkOutcome, str] = {
    "recovered": "ok",
    "degraded": "told",
    "failed_clearly": "error",
    "failed_silently": "SILENT",
    "hung": "HUNG",
    "crashed": "CRASH",
}
_ABSENT = "n/a"
_STYLES = {
    "recovered": "green",
    "degraded": "yellow",
    "failed_clearly": "yellow",
    "failed_silently": "bold red",
    "hung": "bold red",
    "crashed": "bold red",
}


def quirk_tables(scores: Scores, width: int) -> Iterator[RenderableType]:
    """The sums for each agent and the matrix, worst first; nothing if no turn has a quirk."""
    rows = quirk_matrix(scores)
    if not rows:
        return
    agents = scores.agents
    for some in chunks(agents):
        shown = beside("outcome", agents, some, width, rows=[_outcome(one) for one in OUTCOMES])
        sums = quirk_summaries(rows, agents)
        for outcome in OUTCOMES:
            cells = [Text(f"{sums[at].counts[outcome]:,}", _STYLES[outcome]) for at in some]
            shown.add_row(Text(_outcome(outcome)), *cells)
        if any(one.missing for one in sums):
            cells = [Text(f"{sums[at].missing:,}", "dim") for at in some]
            shown.add_row(Text(f"{_ABSENT}: {DID_NOT_OCCUR}"), *cells)
        works = [sums[at].works for at in some]
        shown.add_row(Text("the next turn works"), *(Text(f"{hits:,}/{n:,}" if n else "–") for hits, n in works))
        yield Group(Text(f"Robustness · {counted(len(rows), 'scenario')} with a quirk, trials", style="bold"), shown)
    harmful = [row for row in rows if not (row.is_harmless or row.is_untested)]
    title = "Outcome of each quirk · worst first, ! the next turn fails too"
    for some in chunks(agents) if harmful else ():
        shown = beside("scenario", agents, some, width, rows=[row.scenario for row in harmful[:_MOST_ROWS]])
        for row in harmful[:_MOST_ROWS]:
            shown.add_row(Text(plain(row.scenario)), *(_cell(row.cells[at]) for at in some))
        yield Group(Text(title, style="bold"), shown)
    more = len(harmful) - _MOST_ROWS
    words = [f"{counted(more, 'more scenario')} on the page"] if more > 0 else []
    recovered, untested = sum(row.is_harmless for row in rows), sum(row.is_untested for row in rows)
    words += [f"{counted(recovered, 'scenario')} from which all recovered"] if recovered else []
    words += [f"{counted(untested, 'scenario')} {UNTESTED}"] if untested else []
    if words:
        yield Text(f"Not shown: {'; '.join(words)}.", "dim")


def _outcome(outcome: QuirkOutcome) -> str:
    return f"{_SHORT[outcome]}: {outcome.replace('_', ' ')}"


def _cell(cell: QuirkCell) -> Text:
    if cell.worst is None:
        return Text(_ABSENT if cell.missing else "skipped" if cell.reasons else "–", style="dim")
    return Text(_SHORT[cell.worst] + (" !" if cell.is_broken else ""), style=_STYLES[cell.worst])
