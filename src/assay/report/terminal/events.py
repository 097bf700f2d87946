"""Tables for the terminal: numbers with their intervals, grouped, in 80 columns.

Only lays out what is in a report; computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.events.describe import Description
from assay.events.evaluation import EventReport, ProtocolResult
from assay.events.protocols import ProtocolMetric
from assay.events.stream import CATEGORIES
from assay.report.findings import MARKS, in_reading_order
from assay.report.numbers import interval, number
from assay.report.terminal import plain_table
from assay.types import Estimate

_STYLES = {"good": "bold green", "bad": "bold red", "note": "yellow"}


def events(reports: Mapping[str, EventReport], *, full: bool = False) -> RenderableType:
    """The verdict in words, then the protocols of one report, or of several side by side, one table each.

    `full` shows every figure; otherwise those that matter first.
    """
    tables: list[RenderableType] = []
    for label, report in reports.items():
        if found := report.verdict:
            tables += ["", _verdict(label, found)]
    for name in in_reading_order(next(iter(reports.values()))):
        results = {label: report.protocols[name] for label, report in reports.items()}
        tables += ["", _alone(next(iter(results.values())), full) if len(results) == 1 else _beside(results, full)]
    return Group(*tables[1:])


def _verdict(label: str, findings: Sequence[Mapping[str, Any]]) -> Table:
    """The findings of one report, each with a mark for its tone; lines that go on are indented."""
    title = f"Verdict on {escape(label)}" if label else "Verdict"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        style = _STYLES[finding["tone"]]
        table.add_row(Text(MARKS[finding["tone"]], style=style), Text(finding["text"]))
    return table


def description(found: Description) -> RenderableType:
    """What a source contains."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    encoding = f", {found.encoding}" if found.encoding else ", as recorded"
    table.add_row("format", f"{found.format}{encoding}")
    table.add_row("events", f"{found.events:,}")
    for name in CATEGORIES:
        table.add_row(f"  {name}", f"{found.categories[name]:,}")
    for problem, n in found.problems.most_common():
        where = ", ".join(f"{position:,}" for position in found.first_invalid[problem])
        table.add_row("  invalid", f"{n:,} {problem.sentence}; first at {where}")
    names = ", ".join(episode.name for episode in found.episodes if episode.name)
    more = ", …" if found.n_episodes > len(found.episodes) else ""
    table.add_row("episodes", Text(f"{found.n_episodes:,}: {names}{more}" if names else "not named"))
    if found.n_strata:
        table.add_row("strata", f"{found.n_strata:,}")
    if found.first_ns is not None and found.last_ns is not None:
        table.add_row(
            "time", f"{found.first_ns:,} … {found.last_ns:,} ns, {(found.last_ns - found.first_ns) / 1e9:,.2f} s"
        )
    for note, n in found.notes.most_common():
        table.add_row("note", Text(f"{n:,} {note}"))
    lines = [Text(json.dumps(event)) for event in found.first_events]
    return Group(table, *lines)


def _alone(result: ProtocolResult, full: bool) -> Table:
    table = plain_table(f"{result.label} · {_unit(result)}")
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("interval", justify="right")
    table.add_column("n", justify="right")
    for metric in _rows(table, result, full):
        estimate = result.estimates[metric.key]
        if estimate.value is None:
            table.add_row(_title(metric), "–", Text(metric.undefined, style="italic"), "0")
        else:
            value, ends = number(estimate.value, metric.unit), _interval(estimate, metric)
            table.add_row(_title(metric), value, Text(ends), f"{estimate.n:,}")
    return table


def _beside(results: Mapping[str, ProtocolResult], full: bool) -> Table:
    one = next(iter(results.values()))
    table = plain_table(f"{one.label} · {_unit(one)}")
    table.add_column("metric")
    for label in results:
        table.add_column(escape(label), justify="right")
    # Two columns of values with their intervals fit beside the names; of more, each interval stands below its value.
    between = " " if len(results) < 3 else "\n"
    for metric in _rows(table, one, full):
        cells = []
        for result in results.values():
            estimate = result.estimates[metric.key]
            cell = "–" if estimate.value is None else number(estimate.value, metric.unit)
            cells.append(f"{cell}{between}{_interval(estimate, metric)}".rstrip())
        table.add_row(_title(metric), *map(escape, cells))
    return table


def _unit(result: ProtocolResult) -> str:
    """How the intervals were computed, in words."""
    units = {e.unit: e for e in result.estimates.values() if e.low is not None}
    if not units:
        return "no intervals"
    level = next(iter(units.values())).level
    # Shares have no order, so with `reference` some intervals are still by event.
    return f"{100 * level:g}% intervals by {' and '.join(sorted(units))}"


def _rows(table: Table, result: ProtocolResult, full: bool) -> Iterator[ProtocolMetric]:
    """The metrics to show, those of one group together under its name."""
    shown = [metric for metric in result.metrics if metric.headline or (full and metric.listed)]
    for group in dict.fromkeys(metric.group for metric in shown):
        table.add_row(Text(group, style="bold"))
        yield from (metric for metric in shown if metric.group == group)


def _title(metric: ProtocolMetric) -> str:
    return f"  {metric.title} ({metric.unit})" if metric.unit else f"  {metric.title}"


def _interval(estimate: Estimate, metric: ProtocolMetric) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return interval(estimate.low, estimate.high, metric.unit)


def tables(report: EventReport, *, full: bool = False) -> RenderableType:
    """The tables of one report."""
    return events({"": report}, full=full)
