"""Tables of the page about events: figures of a protocol with their intervals, and what was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay import __version__
from assay.events.evaluation import EventReport, ProtocolResult
from assay.events.input import Input
from assay.events.protocols import ProtocolMetric
from assay.report.html.elements import Markup, details, element, join
from assay.report.html.page import table
from assay.report.numbers import interval, number, spelled_out

_BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best", "none": ""}


def figure_tables(results: Mapping[str, ProtocolResult]) -> Markup:
    """The headline figures of a protocol, and all of them folded away; results by model."""
    one = next(iter(results.values()))
    headline = [metric for metric in one.metrics if metric.headline]
    listed = [metric for metric in one.metrics if metric.listed]
    return _metric_table(results, headline) + details(f"All {len(listed)} figures", _metric_table(results, listed))


def chart_rows(results: Mapping[str, ProtocolResult], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Estimates as rows of a chart: those of `names`, which gives a figure's name by its key, by model."""
    rows = []
    for model, result in results.items():
        for key, name in names.items():
            if estimate := result.estimates.get(key):
                ends = {"low": estimate.low, "high": estimate.high, "n": estimate.n}
                rows.append({"model": model, "name": name, "value": estimate.value, **ends})
    return rows


def _metric_table(results: Mapping[str, ProtocolResult], metrics: Sequence[ProtocolMetric]) -> Markup:
    """Groups are separate rows, and intervals are below their value, so that the table fits on a phone."""
    alone = len(results) == 1
    rows: list[list[str]] = []
    for group in dict.fromkeys(metric.group for metric in metrics):
        rows.append([element("b", group), *[""] * (len(results) + alone)])
        for metric in metrics:
            if metric.group == group:
                counted = [f"{next(iter(results.values())).estimates[metric.key].n:,}"] if alone else []
                rows.append([_metric_name(metric), *(_cell(result, metric) for result in results.values()), *counted])
    return table(["metric", *results, *(["n"] if alone else [])], rows)


def _metric_name(metric: ProtocolMetric) -> Markup:
    title = f"{metric.title} ({metric.unit})" if metric.unit else metric.title
    return join([title, element("small", _BETTER[metric.better])])


def _cell(result: ProtocolResult, metric: ProtocolMetric) -> Markup:
    estimate = result.estimates[metric.key]
    if estimate.value is None:
        return join(["undefined", element("small", metric.undefined)])
    value = join([number(estimate.value, metric.unit)])
    if estimate.low is None or estimate.high is None:
        return value
    return value + element("small", interval(estimate.low, estimate.high, metric.unit))


def inputs_table(reports: Mapping[str, EventReport]) -> Markup:
    """What was read of each side, and the settings; reports by model."""
    one = next(iter(reports.values()))
    sides = {"truth": one.truth} | {name: report.predicted for name, report in reports.items()}

    def row(title: str, cell: Callable[[Input], str]) -> list[str]:
        return [title, *(cell(side) for side in sides.values())]

    def of_kind(kind: str) -> Callable[[Input], str]:
        return lambda side: f"{side.kinds[kind]:,}"

    rows = [
        row("source", lambda side: side.source),
        row("events", lambda side: f"{side.events:,}"),
        row("episodes", lambda side: f"{len(side.episodes - {''}):,}" if side.episodes - {""} else "not named"),
        *(row(kind, of_kind(kind)) for kind in ("keyboard", "mouse", "screen")),
        row("do not decode", _refusals),
    ]
    settings = [[key, str(value)] for key, value in spelled_out(one.settings).items()]
    closing = element("p", f"assay {__version__}. The same inputs, settings and seed give the same numbers.")
    return (
        table(["input", *sides], rows)
        + details("Settings", table(["setting", "value"], settings, numeric=()))
        + closing
    )


def _refusals(side: Input) -> Markup:
    reasons = (element("small", f"{n:,} {reason}") for reason, n in side.problems.most_common())
    return join([f"{side.invalid:,}", *reasons])
