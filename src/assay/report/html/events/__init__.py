"""The HTML page about events: the verdict in words, then a section for each protocol with charts and tables.

Turns reports into rows of plain values; how a chart looks is in `charts`, how a page looks in `page.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.events.evaluation import EventReport, ProtocolResult
from assay.report.findings import in_reading_order
from assay.report.html.elements import EMPTY, Markup, element, join, section
from assay.report.html.events.actions import MomentAddress, action_section
from assay.report.html.events.bins import bin_charts
from assay.report.html.events.pairs import pair_charts
from assay.report.html.events.sequences import sequence_charts
from assay.report.html.events.tables import figure_tables, inputs_table
from assay.report.html.events.verdict import verdict_cards
from assay.report.html.figures import Figures
from assay.report.html.page import Content, save

_CHARTS = {"owa": pair_charts, "sequence": sequence_charts, "d2e": bin_charts}
_ASKS = {
    "assay": "Both streams run freely on one clock. Keys and buttons are matched one to one within a tolerance, holds "
    "like notes, the pointer as a path; trivial baselines are scored too.",
    "owa": "The first prediction is compared with the first truth, the second with the second, and so on: one event "
    "too many or too few shifts all that follow.",
    "sequence": "Token by token at the same position: digits, types and keys, as in published tables.",
    "d2e": "Both streams run freely and are compared in bins of time over the range that both cover.",
}
"""What each built-in protocol does, in a sentence."""


def write(reports: Mapping[str, EventReport], path: str | Path) -> Path:
    """Write the page about one report, or about several models' reports on the same truth side by side."""
    return save(render(reports), path)


def page(report: EventReport) -> str:
    """The page about one report."""
    return render({"": report})


def render(reports: Mapping[str, EventReport]) -> str:
    """The page as text."""
    return content(reports).as_document()


def content(reports: Mapping[str, EventReport], *, address: MomentAddress | None = None) -> Content:
    """What the page shows; `address` says where its worst moments can be looked at more closely."""
    named = {name or "prediction": report for name, report in reports.items()}
    one = next(iter(named.values()))
    figures = Figures()
    known = {name: {key: result.details for key, result in report.protocols.items()} for name, report in named.items()}
    sections = {"Verdict": verdict_cards(named, known), "Read this first": _warnings(named)}
    for name in in_reading_order(one):
        results = {label: report.protocols[name] for label, report in named.items()}
        details = {label: known[label][name] for label in named}
        sections[one.protocols[name].label] = _protocol(name, results, details, figures, address)
    sections["What was read"] = inputs_table(named)
    kept = {title: body for title, body in sections.items() if body}
    anchors = {title: f"part-{place}" for place, title in enumerate(kept)}
    links = (element("li", element("a", title, href=f"#{anchors[title]}")) for title in kept)
    contents = element("nav", element("ul", join(links, " ")), class_="contents", aria_label="Contents")
    body = join((section(title, content, anchor=anchors[title]) for title, content in kept.items()), "\n")
    return Content(
        title=f"Desktop events: {', '.join(named)}" if len(named) > 1 else "Desktop events",
        lead=join([_lead(named)]),
        body=contents + "\n" + body,
        charts=figures.charts,
        scripts=("sort.js", "reveal.js"),
    )


def _protocol(
    name: str,
    results: Mapping[str, ProtocolResult],
    details: Mapping[str, Mapping[str, object]],
    figures: Figures,
    address: MomentAddress | None,
) -> Markup:
    """Charts first, tables below."""
    asks = element("p", _ASKS[name], class_="muted") if name in _ASKS else EMPTY
    if any(known.get("curve") for known in details.values()):
        drawn = action_section(results, details, figures, address)
    else:
        drawn = _CHARTS[name](results, figures) if name in _CHARTS else EMPTY
    return asks + drawn + element("h3", "Figures") + figure_tables(results)


def _lead(reports: Mapping[str, EventReport]) -> str:
    one = next(iter(reports.values()))
    settings = one.settings
    labels = ", ".join(one.protocols[name].label for name in in_reading_order(one))
    return (
        f"{one.truth.events:,} true events from {one.truth.source}, "
        f"{'one prediction' if len(reports) == 1 else f'{len(reports)} predictions'} of them, scored under {labels}. "
        f"Brackets are {100 * settings['level']:g}% intervals over "
        f"{'whole episodes' if settings['interval'] == 'episode' else 'events'}; interquartile means and percentiles "
        f"are resampled {settings['reps']:,} times, seed {settings['seed']}."
    )


def _warnings(reports: Mapping[str, EventReport]) -> Markup:
    """Warnings that change how to read the numbers; each sentence once, however many models share it."""
    owners: dict[str, list[str]] = {}
    for name, report in reports.items():
        for warning in report.warnings:
            owners.setdefault(warning, []).append(name)
    if not owners:
        return EMPTY
    items = []
    for warning, names in owners.items():
        prefix = EMPTY if len(names) == len(reports) else element("b", f"{', '.join(names)}:") + " "
        items.append(element("li", prefix, warning))
    return element("ul", *items)
