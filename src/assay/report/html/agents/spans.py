"""Details of a turn in a conversation with a quirk: what the framework did, its spans, and its log."""

from __future__ import annotations

from assay.chat.scoring.answers import Record
from assay.chat.scoring.outcomes.robustness import OUTCOMES, told_reactions
from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten


def quirk_trace(record: Record | None) -> Markup:
    """Outcome, spans and log of a turn; empty if it belongs to a conversation without a quirk."""
    if record is None:
        return EMPTY
    parts = []
    if record.quirk is not None:
        parts.append(element("p", "quirk ", element("code", record.quirk), class_="muted"))
    if record.outcome is not None:
        did = told_reactions(record.did, record.breakdown)
        words = f"{record.outcome.replace('_', ' ')}: {OUTCOMES[record.outcome]}. {shorten(did, 400)}".rstrip()
        parts.append(element("p", isolated(words), class_="note"))
    if record.spans:
        parts.append(details(counted(len(record.spans), "span"), _spans(record), class_="why"))
    if record.log:
        parts.append(details(f"{counted(len(record.log), 'line')} of log", _log(record), class_="why"))
    return join(parts)


def _spans(record: Record) -> Markup:
    rows: list[list[str]] = [
        [
            isolated(shorten(span.name)),
            f"{span.start:,.1f}",
            f"{span.length:,.1f}",
            element("span", isolated(shorten(span.failed)), class_="bad") if span.failed else "",
        ]
        for span in record.spans
    ]
    return table(["span", "from ms", "for ms", "error"], rows, numeric=(1, 2), label="Spans of the turn")


def _log(record: Record) -> Markup:
    return element("ul", *(element("li", element("code", isolated(shorten(line, 500)))) for line in record.log))
