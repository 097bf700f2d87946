"""The matrix of scenarios and agents: scenarios in which agents differ on top, the others folded away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.report.facts import CellState, MatrixCell, MatrixRow
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten

# A mark and a word for each state: colour is never the only sign.
_MARKS: Mapping[CellState, tuple[str, str]] = {
    "all": ("✓", "all pass"),
    "some": ("◐", "some pass"),
    "none": ("✗", "none passes"),
    "failed": ("!", "failed"),
    "skipped": ("–", "skipped"),
    "absent": ("·", "not played"),
}

CellAddress = Callable[[int, str, int], str | None]
"""Where the answers in a scenario, by number and name, of an agent, by number, are shown; None if nowhere."""


def matrix_section(rows: Sequence[MatrixRow], agents: Sequence[str], address: CellAddress) -> Markup:
    """The section; each cell links to the address of its answers."""
    different = [row for row in rows if row.differs]
    alike = [row for row in rows if not row.differs]
    marks = join((join([_badge(state, mark), f" {word}"]) for state, (mark, word) in _MARKS.items()), ", ")
    text = element("p", "How many repetitions pass, of how many; a cell links to its answers.")
    text += element("p", marks, ".", class_="legend muted")
    if len(agents) == 1:
        return text + _of_one(rows, agents, address)
    if different:
        title = f"{len(different):,} scenario{'s' if len(different) > 1 else ''} where agents differ"
        text += element("h3", title) + _table(different, agents, address, title)
    else:
        text += element("p", "The agents differ in no scenario.")
    if alike:
        title = f"{len(alike):,} where all agree"
        text += details(title, _table(alike, agents, address, title))
    return text


def _of_one(rows: Sequence[MatrixRow], agents: Sequence[str], address: CellAddress) -> Markup:
    """The scenarios of a single agent: those in which something does not pass on top."""
    passing = [row for row in rows if row.cells[0].state == "all"]
    missed = [row for row in rows if row.cells[0].state != "all"]
    text = EMPTY
    if missed:
        title = f"{len(missed):,} scenario{'s' if len(missed) > 1 else ''} where not every trial passes"
        text += element("h3", title) + _table(missed, agents, address, title)
    if passing:
        title = f"{len(passing):,} where every trial passes"
        text += details(title, _table(passing, agents, address, title))
    return text


def _table(rows: Sequence[MatrixRow], agents: Sequence[str], address: CellAddress, title: str) -> Markup:
    lines: list[list[str]] = []
    kind = None
    for row in rows:
        if row.kind != kind:
            kind = row.kind
            lines.append([element("b", isolated(kind or "other"), class_="kind"), *[""] * len(agents)])
        lines.append(
            [_scenario(row), *(_cell(cell, address(row.number, row.scenario, at)) for at, cell in enumerate(row.cells))]
        )
    whole = table(["scenario", *map(isolated, agents)], lines, numeric=(), label=title)
    return element("div", whole, class_="matrix")


def _scenario(row: MatrixRow) -> Markup:
    text = element("span", isolated(row.scenario), class_="scenario-name")
    if row.faults:
        text += element("small", "fault: ", isolated(", ".join(row.faults)))
    reasons = [(cell.agent, reason) for cell in row.cells for reason in cell.reasons]
    if reasons:
        failed, skipped = (sum(getattr(cell, field) for cell in row.cells) for field in ("failed", "skipped"))
        ended = ", ".join(f"{n} {word}" for n, word in ((failed, "failed"), (skipped, "skipped")) if n) or "why"
        items = (element("li", isolated(agent), ": ", isolated(shorten(reason))) for agent, reason in reasons)
        text += details(ended, element("ul", *items))
    return text


def _cell(cell: MatrixCell, address: str | None) -> Markup:
    small = element("small", f"{cell.failed} failed") if cell.failed else EMPTY
    if cell.state == "skipped":
        small = element("small", "skipped")
    hint = shorten("; ".join((f"{cell.agent}: {state_words(cell)}", *cell.reasons)))
    if address is not None and cell.state != "absent":
        return element("a", state_mark(cell), class_=f"cell {cell.state}", href=address, title=hint) + small
    return _badge(cell.state, state_mark(cell), title=hint) + small


def _badge(state: CellState, mark: str, *, title: str | None = None) -> Markup:
    return element("span", mark, class_=f"cell {state}", title=title)


def anchor_of(scenario: int, agent: int) -> str:
    """The anchor of an agent's answers in a scenario, both by number."""
    return f"s{scenario}-a{agent}"


def state_mark(cell: MatrixCell) -> str:
    """The mark of a cell, with its counts."""
    mark, _ = _MARKS[cell.state]
    return f"{cell.passed}/{cell.trials} {mark}" if cell.trials else mark


def state_words(cell: MatrixCell) -> str:
    """The same in words, for readers who do not see the mark."""
    _, word = _MARKS[cell.state]
    return f"{word}, {cell.passed} of {cell.trials}" if cell.trials else word
