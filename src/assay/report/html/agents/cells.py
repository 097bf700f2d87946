"""The matrix of scenarios and agents: those in which agents differ on top, those in which they agree folded away."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from assay.report.facts import Cell, Row, State
from assay.report.html.chat import name, short
from assay.report.html.page import escape, table

# A mark and a word for each state: colour never says it alone.
_MARKS: Mapping[State, tuple[str, str]] = {
    "all": ("✓", "all pass"),
    "some": ("◐", "some pass"),
    "none": ("✗", "none passes"),
    "failed": ("!", "failed"),
    "skipped": ("–", "skipped"),
    "absent": ("·", "not played"),
}


def cells(rows: Sequence[Row], agents: Sequence[str], linked: Collection[str]) -> str:
    """The section. `linked` are the anchors of the answers that the page shows."""
    apart = [row for row in rows if row.differs]
    alike = [row for row in rows if not row.differs]
    marks = ", ".join(f'<span class="cell {state}">{mark}</span> {word}' for state, (mark, word) in _MARKS.items())
    text = (
        f"<p>How many repetitions pass, of how many; a cell leads to its answers.</p>"
        f'<p class="legend muted">{marks}.</p>'
    )
    if apart:
        title = f"{len(apart):,} scenario{'s' if len(apart) > 1 else ''} where agents differ"
        text += f"<h3>{title}</h3>{_table(apart, agents, linked, title)}"
    else:
        text += "<p>The agents differ in no scenario.</p>"
    if alike:
        title = f"{len(alike):,} where all agree"
        text += f"<details><summary>{title}</summary>{_table(alike, agents, linked, title)}</details>"
    return text


def _table(rows: Sequence[Row], agents: Sequence[str], linked: Collection[str], title: str) -> str:
    lines = []
    kind = None
    for row in rows:
        if row.kind != kind:
            kind = row.kind
            lines.append([f'<b class="kind">{name(kind or "other")}</b>', *[""] * len(agents)])
        lines.append([_scenario(row), *(_cell(row, at, cell, linked) for at, cell in enumerate(row.cells))])
    whole = table(["scenario", *map(name, agents)], lines, numeric=(), label=title)
    return f'<div class="matrix">{whole}</div>'


def _scenario(row: Row) -> str:
    text = f'<span class="scenario-name">{name(row.scenario)}</span>'
    if row.faults:
        text += f"<small>fault: {name(', '.join(row.faults))}</small>"
    reasons = [(cell.agent, reason) for cell in row.cells for reason in cell.reasons]
    if reasons:
        failed, skipped = (sum(getattr(cell, field) for cell in row.cells) for field in ("failed", "skipped"))
        ended = ", ".join(f"{n} {word}" for n, word in ((failed, "failed"), (skipped, "skipped")) if n) or "why"
        items = "".join(f"<li>{name(agent)}: <bdi>{escape(short(reason))}</bdi></li>" for agent, reason in reasons)
        text += f"<details><summary>{ended}</summary><ul>{items}</ul></details>"
    return text


def _cell(row: Row, at: int, cell: Cell, linked: Collection[str]) -> str:
    text = state_mark(cell)
    small = f"<small>{cell.failed} failed</small>" if cell.failed else ""
    if cell.state == "skipped":
        small = "<small>skipped</small>"
    hint = escape(short("; ".join((f"{cell.agent}: {state_words(cell)}", *cell.reasons))))
    anchor = anchor_of(row, at)
    if anchor in linked:
        return f'<a class="cell {cell.state}" href="#{anchor}" title="{hint}">{text}</a>{small}'
    return f'<span class="cell {cell.state}" title="{hint}">{text}</span>{small}'


def anchor_of(row: Row, agent: int) -> str:
    """Where the answers of an agent in a scenario are."""
    return f"s{row.number}-a{agent}"


def state_mark(cell: Cell) -> str:
    """The mark of a cell, with its counts."""
    mark, _ = _MARKS[cell.state]
    return f"{cell.passed}/{cell.trials} {mark}" if cell.trials else mark


def state_words(cell: Cell) -> str:
    """The same in words, for those who do not see the mark."""
    _, word = _MARKS[cell.state]
    return f"{word}, {cell.passed} of {cell.trials}" if cell.trials else word
