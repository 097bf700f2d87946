"""A figure over the runs of one name: a table for the terminal, and a page with its chart."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from assay.plural import counted
from assay.report.html.elements import element, join
from assay.report.html.figures import Figures
from assay.report.html.page import Content, save, table
from assay.report.numbers import interval, number
from assay.runs.summaries import RunFigure
from assay.runs.trends import Trend

_BLOCKS = "▁▂▃▄▅▆▇█"


def trend_table(trend: Trend) -> RenderableType:
    """A line for each run, oldest first, and below it the course of each agent as blocks."""
    title = f"{trend.name} · {trend.title}" + (f", {trend.unit}" if trend.unit else "")
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    shown.add_column("run")
    for group in trend.groups:
        shown.add_column(Text(group), justify="right")
    for point in trend.points:
        by_group = {figure.group: figure for figure in point.figures}
        label = Text(f"{point.created[:16].replace('T', ' ')}  {point.run}")
        shown.add_row(label, *(Text(_value(by_group.get(group), trend.unit)) for group in trend.groups))
    shown.add_row(Text("oldest to newest", style="dim"), *(Text(_course(trend, group)) for group in trend.groups))
    return shown


def write_trend(trend: Trend, path: str | Path) -> Path:
    """Write the page: the chart, and the same figures as a table."""
    figures = Figures()
    chart = figures.add("run_history", rows=trend.rows(), title=trend.title, unit=trend.unit)
    lines = []
    for point in reversed(trend.points):
        by_group = {figure.group: figure for figure in point.figures}
        values = [_value(by_group.get(group), trend.unit) for group in trend.groups]
        lines.append([point.created[:16].replace("T", " "), point.run, *values])
    below = table(["created (UTC)", "run", *trend.groups], lines, numeric=range(2, 2 + len(trend.groups)), label="Runs")
    lead = element("p", f"{trend.title} of {counted(len(trend.points), 'run')}, with 95 % intervals.")
    content = Content(title=trend.name, lead=lead, body=join([chart, below]), charts=figures.charts)
    return save(content.as_document(), path)


def _value(figure: RunFigure | None, unit: str) -> str:
    if figure is None or figure.value is None:
        return "–"
    ends = "" if figure.low is None or figure.high is None else f" {interval(figure.low, figure.high, unit)}"
    return f"{number(figure.value, unit)}{ends}"


def _course(trend: Trend, group: str) -> str:
    """The values as blocks between the lowest and the highest; shares between 0 and 1."""
    found = [next((one.value for one in point.figures if one.group == group), None) for point in trend.points]
    known = [value for value in found if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    if not trend.unit and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    span = (high - low) or 1.0
    top = len(_BLOCKS) - 1
    return "".join(" " if value is None else _BLOCKS[round(top * (value - low) / span)] for value in found)
