"""The section on users who hang up or have to approve a tool; every cell leads to its transcript."""

from __future__ import annotations

from assay.chat.scoring.outcomes.interruption_matrix import InterruptionCell, interruption_matrix
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.html.agents.matrix import CellAddress
from assay.report.html.elements import EMPTY, Markup, element, isolated
from assay.report.html.page import table
from assay.report.text import shorten

_EXPLAINED = (
    "In each of these scenarios the user hangs up in the middle of a turn, or has to approve a tool before it runs. A "
    "cell says after how many milliseconds the model's or the tool's server saw the connection closed, or whether the "
    "user's decision was kept; below it, what the rest of the conversation was like. It leads to the transcript."
)


def interruptions_section(scores: Scores, address: CellAddress) -> Markup:
    """The section; empty if there is no such scenario. Each cell links to the address of its answers."""
    rows = interruption_matrix(scores)
    if not rows:
        return EMPTY
    lines: list[list[str]] = [
        [
            element("span", isolated(row.scenario), class_="scenario-name"),
            *(_cell(cell, address(row.number, row.scenario, at)) for at, cell in enumerate(row.cells)),
        ]
        for row in rows
    ]
    whole = table(["scenario", *map(isolated, scores.agents)], lines, numeric=(), label="Hanging up and consent")
    return element("p", _EXPLAINED) + element("div", whole, class_="matrix")


def _cell(cell: InterruptionCell, address: str | None) -> Markup:
    if not cell.works[1]:
        return element("span", cell.word, class_="cell", title=shorten("; ".join(cell.reasons)))
    css = "failed" if not cell.is_kept else "some" if cell.is_broken else "all"
    mark = {"failed": "✗", "some": "!", "all": "✓"}[css]
    hint = shorten("; ".join((cell.agent, *cell.flaws, *cell.reasons)))
    shown = f"{mark} {cell.word}"
    text = (
        element("a", shown, class_=f"cell {css}", href=address, title=hint)
        if address is not None
        else element("span", shown, class_=f"cell {css}", title=hint)
    )
    return text + element("small", "; ".join(_facts(cell)))


def _facts(cell: InterruptionCell) -> list[str]:
    later = sum(one.model_calls + one.tool_calls for one in cell.hang_ups)
    found = [f"{counted(later, 'request')} came afterwards"] if later else []
    if cell.keeps_message is not None:
        found.append("the message is remembered" if cell.keeps_message else "the message is forgotten")
    found += [f"the model was sent {flaw}" for flaw in cell.flaws]
    found.append("the conversation does not go on" if cell.is_broken else "the conversation goes on")
    return found
