"""The section on quirks: the matrix of their outcomes, worst first; every cell links to its transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.chat.scoring.outcomes.quirk_matrix import (
    DID_NOT_OCCUR,
    OUTCOME_WORDS,
    UNTESTED,
    QuirkCell,
    QuirkRow,
    quirk_matrix,
    quirk_summaries,
)
from assay.chat.scoring.outcomes.robustness import OUTCOMES, QuirkOutcome
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.html.agents.matrix import CellAddress
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten

# A mark and a class for each outcome: colour is never the only sign.
_MARKS: Mapping[QuirkOutcome, tuple[str, str]] = {
    "recovered": ("✓", "all"),
    "degraded": ("◐", "some"),
    "failed_clearly": ("!", "some"),
    "failed_silently": ("✗", "failed"),
    "hung": ("…", "failed"),
    "crashed": ("†", "failed"),
}


def quirks_section(scores: Scores, address: CellAddress) -> Markup:
    """The section; empty if no turn has a quirk. Each cell links to the address of its answers."""
    rows = quirk_matrix(scores)
    if not rows:
        return EMPTY
    explained = (
        "In each of these scenarios the model, its endpoint or a tool misbehaves in one turn, and a plain turn of the "
        "same conversation follows. A cell says what the user got; it leads to the transcript, with its spans and log."
    )
    legend = (join([_badge(outcome, OUTCOME_WORDS[outcome]), f" {words}"]) for outcome, words in OUTCOMES.items())
    text = element("p", explained) + element("p", join(legend, "; "), ".", class_="legend muted")
    text += _sums(rows, scores.agents)
    harmful = [row for row in rows if not (row.is_harmless or row.is_untested)]
    if harmful:
        text += element("h3", "Worst first") + _matrix(harmful, scores.agents, address, "Quirks, worst first")
    harmless, untested = [row for row in rows if row.is_harmless], [row for row in rows if row.is_untested]
    for some, words in ((harmless, "from which all recovered"), (untested, UNTESTED)):
        if some:
            title = f"{counted(len(some), 'scenario')} {words}"
            text += details(title, _matrix(some, scores.agents, address, title))
    return text


def _sums(rows: Sequence[QuirkRow], agents: Sequence[str]) -> Markup:
    sums = quirk_summaries(rows, agents)
    lines: list[list[str]] = [
        [_badge(outcome, outcome.replace("_", " ")), *(f"{one.counts[outcome]:,}" for one in sums)]
        for outcome in OUTCOMES
    ]
    if any(one.missing for one in sums):
        lines.append([DID_NOT_OCCUR, *(f"{one.missing:,}" for one in sums)])
    lines.append(["next turn works", *(f"{hits:,} of {n:,}" if n else "–" for hits, n in (one.works for one in sums))])
    return table(["trials", *map(isolated, agents)], lines, label="Outcomes of the quirks, in trials")


def _matrix(rows: Sequence[QuirkRow], agents: Sequence[str], address: CellAddress, title: str) -> Markup:
    lines: list[list[str]] = [
        [
            element("span", isolated(row.scenario), class_="scenario-name") + element("small", row.words),
            *(_cell(cell, address(row.number, row.scenario, at)) for at, cell in enumerate(row.cells)),
        ]
        for row in rows
    ]
    whole = table(["scenario", *map(isolated, agents)], lines, numeric=(), label=title)
    return element("div", whole, class_="matrix")


def _cell(cell: QuirkCell, address: str | None) -> Markup:
    if cell.worst is None:
        shown, why = "skipped" if cell.reasons else "–", shorten("; ".join(cell.reasons))
        if cell.missing and address is not None:
            return element("a", DID_NOT_OCCUR, class_="cell", href=address, title=why)
        return element("span", DID_NOT_OCCUR if cell.missing else shown, class_="cell", title=why)
    hint = shorten("; ".join((f"{cell.agent}: {OUTCOMES[cell.worst]}", *cell.did, *cell.reasons)))
    mark, css = _MARKS[cell.worst]
    shown = f"{mark} {OUTCOME_WORDS[cell.worst]}"
    if len(cell.outcomes) > 1:
        shown += f" {cell.outcomes.count(cell.worst)}/{len(cell.outcomes)}"
    text = (
        element("a", shown, class_=f"cell {css}", href=address, title=hint)
        if address is not None
        else element("span", shown, class_=f"cell {css}", title=hint)
    )
    small = [*cell.did[:2], *(["the next turn fails"] if cell.is_broken else [])]
    return text + (element("small", isolated(shorten("; ".join(small), 90))) if small else EMPTY)


def _badge(outcome: QuirkOutcome, words: str) -> Markup:
    mark, css = _MARKS[outcome]
    return element("span", f"{mark} {words}", class_=f"cell {css}")
