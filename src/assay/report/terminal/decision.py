"""The answer, costs, and frameworks and models, for the terminal. Lays out what was computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from assay.compare.costs import AgentCosts
from assay.compare.decision import Decision
from assay.report.costs import EFFECT_HEADER, cost_note, cost_table, effect_rows, has_costs
from assay.report.decision import basis_words, by_words, given_up_words, leader_words, needed_words, untested_words
from assay.report.terminal import plain, plain_table
from assay.report.terminal.columns import named
from assay.report.text import shorten

if TYPE_CHECKING:
    from assay.compare import Comparison

_HEADINGS = {"trials passed": "passed", "seconds per passed trial": "seconds"}
_STYLES = {"sure": "bold green", "once": "bold green", "open": "bold yellow", "tie": "bold yellow"}


def decision_lines(decision: Decision | None) -> Iterator[RenderableType]:
    """An answer for each priority."""
    if decision is None:
        return
    parts: list[RenderableType] = []
    for answer in decision.answers:
        head = Text(f"{answer.priority.capitalize()}: ", style="bold")
        head.append(plain(leader_words(answer, _named)), style=_STYLES[answer.sureness])
        said = (by_words(answer, _named), given_up_words(answer, _named), needed_words(answer, decision))
        parts += [head, Padding(Text(plain(" ".join(text for text in said if text))), (0, 0, 0, 2))]
    closing = [basis_words(decision), untested_words(decision)]
    yield Group(*parts, *(Text(text.replace("`", ""), style="dim") for text in closing if text))


def cost_tables(costs: Sequence[AgentCosts], width: int) -> Iterator[RenderableType]:
    """Money and seconds beside what passes."""
    if not has_costs(costs):
        return
    shown = plain_table("")
    header, rows = cost_table(costs)
    names = named(shown, "agent", width - 58, [agent for agent, *_ in rows])
    for title in header[1:]:
        shown.add_column(_HEADINGS.get(title, title), justify="right")
    for row in rows:
        shown.add_row(names[row[0]], *(Text(plain(cell.replace(" [", "\n["))) for cell in row[1:]))
    note = cost_note(costs)
    heading = Text("Cost · in total, per 1,000 turns and per passed trial; seconds per passed trial", style="bold")
    yield Group(heading, shown, *([Text(note, style="dim")] if note else []))


def effect_tables(effects: Sequence[Comparison]) -> Iterator[RenderableType]:
    """Main effects and interactions of frameworks and models."""
    if not effects:
        return
    shown = plain_table("")
    for title in EFFECT_HEADER:
        shown.add_column(title)
    for row in effect_rows(effects):
        shown.add_row(*(Text(plain(cell.replace(" [", "\n[").replace("] ", "]\n"))) for cell in row))
    yield Group(Text("Frameworks and models · paired differences", style="bold"), shown)


def _named(name: str) -> str:
    return shorten(name, 30)
