"""The HTML page about events: tables of every protocol, and charts derived from the tally of `owa`.

Turns reports into rows of plain values; how a chart looks is in `charts`, how a page looks in `page.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay import __version__
from assay.events.evaluation import EventReport, ProtocolResult
from assay.events.input import Input
from assay.events.protocols import ProtocolMetric
from assay.events.protocols.owa import POSITIONS, PREDICTED, signed_angle
from assay.events.stream import CATEGORIES
from assay.report.findings import MARKS, MEANINGS, in_reading_order
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section
from assay.report.html.figures import Figures
from assay.report.html.page import document, save, table
from assay.report.numbers import interval, number, spelled_out
from assay.stats import percentile
from assay.types import Distribution, Joint

Reports = Mapping[str, EventReport]
_Row = dict[str, Any]

_TIME_BINS, _ANGLE_BINS, _MOVE_BINS = 40, 24, 41
_BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best", "none": ""}


def write(reports: Reports, path: str | Path) -> Path:
    """Write the page about one report, or about several models' reports on the same truth side by side."""
    return save(render(reports), path)


def render(reports: Reports) -> str:
    """The page as text."""
    named = {name or "prediction": report for name, report in reports.items()}
    one = next(iter(named.values()))
    figures = Figures()
    sections = [_verdicts(named), _warnings(named)]
    for name in in_reading_order(one):
        sections.append(_numbers(named, name))
        if name == "owa":
            sections.append(_charts(named, figures))
    sections.append(_inputs(named))
    labels = ", ".join(result.label for result in one.protocols.values())
    lead = (
        f"{one.truth.events:,} true events from {one.truth.source}, "
        f"{'one prediction' if len(named) == 1 else f'{len(named)} predictions'} of them, scored under {labels}. "
        f"{_intervals(one)}"
    )
    return document(
        title=f"Desktop events: {', '.join(named)}" if len(named) > 1 else "Desktop events",
        lead=join([lead]),
        body=join(sections),
        charts=figures.charts,
    )


def _intervals(report: EventReport) -> str:
    settings = report.settings
    return (
        f"Brackets are {100 * settings['level']:g}% intervals: {settings['reps']:,} resamples of whole "
        f"{'episodes' if settings['interval'] == 'episode' else 'events'}, seed {settings['seed']}."
    )


def _verdicts(reports: Reports) -> Markup:
    """What each report's figures show, in words."""
    parts = []
    for name, report in reports.items():
        if found := report.verdict:
            heading = EMPTY if len(reports) == 1 else element("h3", isolated(name))
            parts.append(element("div", heading, _findings(found), class_="verdict"))
    return section("Verdict", join(parts)) if parts else EMPTY


def _findings(found: Sequence[Mapping[str, Any]]) -> Markup:
    main, *others = found
    items = [element("li", _mark(finding["tone"]), " ", finding["text"], class_="finding") for finding in others]
    first = element("p", _mark(main["tone"]), " ", main["text"], class_="sentence")
    return first + (element("ul", *items, class_="findings") if items else EMPTY)


def _mark(tone: str) -> Markup:
    """A mark with a shape of its own for each tone."""
    return element("span", MARKS[tone], class_=f"mark {tone}", role="img", aria_label=MEANINGS[tone])


def _warnings(reports: Reports) -> Markup:
    """What changes how the numbers are to be read; each sentence once, however many models share it."""
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
    return section("Read this first", element("ul", *items))


# --- tables --------------------------------------------------------------------------------------------------------


def _numbers(reports: Reports, name: str) -> Markup:
    results = {label: report.protocols[name] for label, report in reports.items()}
    one = next(iter(results.values()))
    headline = [metric for metric in one.metrics if metric.headline]
    every = details(f"All {len(one.metrics)} figures", _metric_table(results, one.metrics))
    return section(one.label, _metric_table(results, headline) + every)


def _metric_table(results: Mapping[str, ProtocolResult], metrics: Sequence[ProtocolMetric]) -> Markup:
    """Groups are rows of their own, and intervals stand below their value: so the table fits on a phone."""
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


def _inputs(reports: Reports) -> Markup:
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
    return section(
        "What was read",
        table(["", *sides], rows) + details("Settings", table(["setting", "value"], settings, numeric=())) + closing,
    )


def _refusals(side: Input) -> Markup:
    reasons = (element("small", f"{n:,} {reason}") for reason, n in side.problems.most_common())
    return join([f"{side.invalid:,}", *reasons])


# --- charts --------------------------------------------------------------------------------------------------------


def _charts(reports: Reports, figures: Figures) -> Markup:
    owa = {name: report.protocols["owa"] for name, report in reports.items()}
    times = {name: result.tally.total("times", Joint) for name, result in owa.items()}
    moves = {name: result.tally.total("moves", Joint) for name, result in owa.items()}
    displacements, limit, step = _displacements(moves)
    drawn = [
        figures.add("comparability", rows=_comparability(owa)),
        figures.add("kinds_confusion", rows=_confusion(owa)),
        figures.add("time_error_distribution", rows=_time_errors(times)),
        figures.add("signed_errors", rows=_signed_errors(owa)),
        figures.add("error_over_position", rows=_over_position(times)),
        figures.add("direction_errors", rows=_directions(moves)),
        figures.add("displacement", rows=displacements, limit=limit, step=step),
    ]
    return section("Where it goes wrong", join(drawn))


def _comparability(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        for category in CATEGORIES:
            estimate = result.estimates[f"{category}_comparable"]
            if estimate.value is not None:
                ends = {"low": estimate.low, "high": estimate.high}
                ends = {end: estimate.value if value is None else value for end, value in ends.items()}
                rows.append({"model": model, "category": category, "value": estimate.value, **ends, "n": estimate.n})
    return rows


def _confusion(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        kinds = result.tally.total("kinds", Joint)
        for truth, category in enumerate(CATEGORIES):
            chosen = kinds.where(kinds.column(0) == truth)
            for predicted, count in zip(chosen.column(1).tolist(), chosen.counts.tolist(), strict=True):
                cell = {"truth": category, "predicted": PREDICTED[predicted], "count": count}
                rows.append({"model": model, **cell, "share": count / chosen.n})
    return rows


def _time_errors(times: Mapping[str, Joint]) -> list[_Row]:
    """Shares of signed time errors in bins of equal width; what lies further out stands in the outermost bins."""
    late = {model: Distribution.of(np.abs(joint.column(2)) / 1e6, joint.counts) for model, joint in times.items()}
    widest = max((percentile(d, 98) or 0.0 for d in late.values()), default=0.0)
    width = max(_nice(2 * widest / _TIME_BINS), 1.0)
    half = max(1, math.ceil(widest / width))
    rows = []
    for model, joint in times.items():
        # Bins are centred on multiples of their width, so that an error of 0 has a bar of its own.
        bins = np.clip(np.rint(joint.column(2) / 1e6 / width), -half, half).astype(np.int64) + half
        for code, category in enumerate(CATEGORIES):
            chosen = joint.column(0) == code
            counts = np.bincount(bins[chosen], joint.counts[chosen], 2 * half + 1)
            if not counts.sum():
                continue
            rows += [
                {
                    "model": model,
                    "category": category,
                    "low_ms": (at - half - 0.5) * width,
                    "high_ms": (at - half + 0.5) * width,
                    "share": count / counts.sum(),
                }
                for at, count in enumerate(counts.tolist())
            ]
    return rows


def _nice(width: float) -> float:
    """The next larger of 1, 2, 5, 10, 20, …"""
    if width <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(width))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= width))


def _signed_errors(owa: Mapping[str, ProtocolResult]) -> list[_Row]:
    rows = []
    for model, result in owa.items():
        for metric in result.metrics:
            estimate = result.estimates[metric.key]
            if metric.better != "zero" or estimate.value is None:
                continue
            name = metric.key.split("_timestamp")[0] if "_timestamp" in metric.key else metric.key
            name = {"timestamp_signed_error_iqm_ms": "all events"}.get(name, name)
            name = name.replace("mouse_move_signed_pe_", "mouse, ").replace("_iqm", "")
            low, high = estimate.low, estimate.high
            rows.append(
                {
                    "model": model,
                    "name": name,
                    "value": estimate.value,
                    "low": estimate.value if low is None else low,
                    "high": estimate.value if high is None else high,
                    "unit": metric.unit,
                }
            )
    return rows


def _over_position(times: Mapping[str, Joint]) -> list[_Row]:
    rows = []
    for model, joint in times.items():
        for bucket in np.unique(joint.column(1)).tolist():
            chosen = joint.where(joint.column(1) == bucket)
            errors = Distribution.of(np.abs(chosen.column(2)) / 1e6, chosen.counts)
            rows.append(
                {
                    "model": model,
                    "from_position": int(POSITIONS[bucket]),
                    "to_position": _last_position(bucket),
                    "p50_ms": percentile(errors, 50),
                    "p95_ms": percentile(errors, 95),
                    "n": errors.n,
                }
            )
    return rows


def _last_position(bucket: int) -> int:
    # The last bucket has no end; it is drawn to twice its beginning.
    open_ended = bucket + 2 == len(POSITIONS)
    return int(2 * POSITIONS[bucket] if open_ended else POSITIONS[bucket + 1]) - 1


def _directions(moves: Mapping[str, Joint]) -> list[_Row]:
    """Shares of the signed angle between both movements; a predicted standstill has no direction and is left out."""
    rows = []
    width = 360 / _ANGLE_BINS
    for model, joint in moves.items():
        dx, dy, px, py = (joint.column(at) for at in range(4))
        kept = ((dx != 0) | (dy != 0)) & ((px != 0) | (py != 0))
        if not kept.any():
            continue
        angle = signed_angle(dx[kept], dy[kept], px[kept], py[kept])
        # Centred on 0, so that "straight ahead" is one bar and not split in two.
        at = np.rint(angle / width).astype(np.int64) % _ANGLE_BINS
        counts = np.bincount(at, joint.counts[kept], _ANGLE_BINS)
        for index, count in enumerate(counts.tolist()):
            centre = index * width if index <= _ANGLE_BINS // 2 else index * width - 360
            ends = {"low_deg": centre - width / 2, "high_deg": centre + width / 2}
            rows.append({"model": model, **ends, "share": count / counts.sum()})
    return rows


def _displacements(moves: Mapping[str, Joint]) -> tuple[list[_Row], float, float]:
    """Counts of true against predicted deltas on a grid; what lies further out stands at its edge."""
    sizes = [
        Distribution.of(np.abs(joint.column(at)), joint.counts)
        for joint in moves.values()
        for at in range(4)
        if joint.n
    ]
    reach = max((percentile(size, 99) or 0.0 for size in sizes), default=0.0)
    step = max(math.ceil(2 * reach / _MOVE_BINS), 1)
    half = max(math.ceil(reach / step), 1)
    rows = []
    for model, joint in moves.items():
        for axis, (truth, predicted) in (("x", (0, 2)), ("y", (1, 3))):
            cells = [
                np.clip(np.rint(joint.column(at) / step), -half, half).astype(np.int64) for at in (truth, predicted)
            ]
            grid = Joint.of(*cells, counts=joint.counts)
            for t, p, count in zip(grid.column(0).tolist(), grid.column(1).tolist(), grid.counts.tolist(), strict=True):
                rows.append({"model": model, "axis": axis, "truth": t * step, "predicted": p * step, "count": count})
    return rows, (half + 0.5) * step, float(step)


def page(report: EventReport) -> str:
    """The page about one report."""
    return render({"": report})
