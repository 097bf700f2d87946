"""Tables for the terminal: numbers with their intervals, grouped, in 80 columns.

Only lays out what is in a report; computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.events.evaluation import EventReport, ProtocolResult
from assay.events.protocols import Metric
from assay.report.numbers import interval, number
from assay.types import Estimate


def events(reports: Mapping[str, EventReport], *, full: bool = False) -> RenderableType:
    """The protocols of one report, or of several side by side, one table each.

    `full` shows every figure; otherwise those that matter first.
    """
    first = next(iter(reports.values()))
    tables: list[RenderableType] = []
    for name in first.protocols:
        results = {label: report.protocols[name] for label, report in reports.items()}
        tables.append(_alone(next(iter(results.values())), full) if len(results) == 1 else _beside(results, full))
    return Group(*tables)


def _alone(result: ProtocolResult, full: bool) -> Table:
    table = _table(f"{result.label} · {_unit(result)}")
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("interval", justify="right")
    table.add_column("n", justify="right")
    for metric in _grouped(table, result, full):
        estimate = result.estimates[metric.key]
        if estimate.value is None:
            table.add_row(_title(metric), "–", Text(metric.undefined, style="dim italic"), "0")
        else:
            table.add_row(_title(metric), number(estimate.value, metric.unit), _interval(estimate, metric), f"{estimate.n:,}")
    return table


def _beside(results: Mapping[str, ProtocolResult], full: bool) -> Table:
    one = next(iter(results.values()))
    table = _table(f"{one.label} · {_unit(one)}")
    table.add_column("metric")
    for label in results:
        table.add_column(escape(label), justify="right")
    for metric in _grouped(table, one, full):
        cells = []
        for result in results.values():
            estimate = result.estimates[metric.key]
            cell = "–" if estimate.value is None else number(estimate.value, metric.unit)
            cells.append(f"{cell} {_interval(estimate, metric)}".rstrip())
        table.add_row(_title(metric), *map(escape, cells))
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")


def _unit(result: ProtocolResult) -> str:
    """What the intervals rest on, in words."""
    units = {e.unit: e for e in result.estimates.values() if e.low is not None}
    if not units:
        return "no intervals"
    unit, estimate = next(iter(units.items()))
    return f"{estimate.level:.0%} intervals, resampled by {unit}"


def _grouped(table: Table, result: ProtocolResult, full: bool) -> list[Metric]:
    """The metrics to show, those of one group together; the table gets a rule after each group."""
    shown = [metric for metric in result.metrics if full or metric.headline]
    groups = list(dict.fromkeys(metric.group for metric in shown))
    return [metric for group in groups for metric in shown if metric.group == group]


def _title(metric: Metric) -> str:
    return f"{metric.title} ({metric.unit})" if metric.unit else metric.title


def _interval(estimate: Estimate, metric: Metric) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return interval(estimate.low, estimate.high, metric.unit)
