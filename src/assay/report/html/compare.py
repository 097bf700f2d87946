"""The HTML page about a comparison: verdicts with their intervals, and where single cases changed.

Turns comparisons into rows of plain values; how a chart looks is in `charts`, how a page looks in `page.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay import __version__
from assay.compare import Comparison, ComparisonLine, Measure
from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, details, element, join, section
from assay.report.html.figures import Figures
from assay.report.html.page import Content, save, table
from assay.report.numbers import interval, number
from assay.report.verdicts import (
    counted_calls,
    headline,
    matching,
    p_value,
    signed,
    title_with_unit,
    told_apart,
    value_text,
)

_Row = dict[str, Any]

_CLASSES = {"better": "good", "worse": "bad", "inconclusive": "warn", "same": ""}
_BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best", "none": ""}
# More panels would not tell a reader more.
_PROFILES = 6


def write(comparisons: Sequence[Comparison], path: str | Path) -> Path:
    """Write the page about one comparison, or about several against one baseline."""
    return save(render(comparisons), path)


def render(comparisons: Sequence[Comparison]) -> str:
    """The page as text."""
    return content(comparisons).as_document()


def content(comparisons: Sequence[Comparison], *, changed: Markup = EMPTY) -> Content:
    """What the page shows; `changed` is shown after the verdicts."""
    comparisons = told_apart(comparisons)
    figures = Figures()
    apart = figures.add("differences", rows=_differences(comparisons))
    closing = element("p", f"assay {__version__}. The same runs, settings and seed give the same numbers.")
    cases = join(
        [
            figures.add("improvement", rows=_improvements(comparisons)),
            figures.add("profiles", rows=_profiles(comparisons)),
            *(_changes(comparison) for comparison in comparisons),
            closing,
        ]
    )
    body = [
        _notes(comparisons),
        _glance(comparisons) if len(comparisons) > 1 else EMPTY,
        section("Verdicts", join(_verdicts(one, is_folded=len(comparisons) > 1) for one in comparisons)),
        _explained(comparisons[0]),
        changed,
        section("How far apart", apart),
        section("Case by case", cases),
    ]
    first = comparisons[0]
    title = _label(first)
    if len(comparisons) > 1:
        title = f"{len(comparisons)} candidates against {first.baseline.label}"
    return Content(title=title, lead=_lead(comparisons), body=join(body), charts=figures.charts)


def _lead(comparisons: Sequence[Comparison]) -> Markup:
    """The verdicts in a sentence each; what was compared is said once if it is the same for all."""
    matched = [matching(one) for one in comparisons]
    if len(matched) > 1 and len(set(matched)) == 1:
        baseline = comparisons[0].baseline.label
        items = (
            element("li", element("b", f"{one.candidate.label}: {counted_calls(one)}."))
            if one.baseline.label == baseline
            else element("li", element("b", f"{headline(one)}."))
            for one in comparisons
        )
        return element("ul", *items) + element("p", f"Against {baseline}. {matched[0]}")
    if len(comparisons) == 1:
        return element("p", element("b", f"{counted_calls(comparisons[0]).capitalize()}."), f" {matched[0]}")
    sentences = zip(comparisons, matched, strict=True)
    return join(element("p", element("b", f"{headline(one)}."), f" {words}") for one, words in sentences)


def _label(comparison: Comparison) -> str:
    return f"{comparison.candidate.label} against {comparison.baseline.label}"


def _notes(comparisons: Sequence[Comparison]) -> Markup:
    notes = dict.fromkeys(note for comparison in comparisons for note in comparison.notes)
    return section("Read this first", element("ul", *(element("li", note) for note in notes))) if notes else EMPTY


def _verdicts(comparison: Comparison, *, is_folded: bool) -> Markup:
    """Every metric of a comparison; folded away below its heading if it is one of several."""
    rows: list[list[str]] = []
    lines = [line for line in comparison.lines if not _is_absent(line)]
    for part in dict.fromkeys(line.measure.part for line in lines):
        rows.append([element("b", part), *[""] * 5])
        rows += [_row(line) for line in lines if line.measure.part == part]
    header = ["metric", "baseline", "candidate", "difference", "p", "verdict"]
    shown = element("div", table(header, rows, numeric=(1, 2, 3, 4)), class_="verdict-table") if rows else EMPTY
    whole = shown + _left_out(comparison)
    return details(f"{_label(comparison)}: {counted_calls(comparison)}", whole) if is_folded else whole


def _left_out(comparison: Comparison) -> Markup:
    """Metrics that have no value on either side, with the reason."""
    by_reason: dict[str, list[str]] = {}
    for line in comparison.lines:
        if _is_absent(line):
            by_reason.setdefault(line.verdict.reason, []).append(title_with_unit(line.measure))
    if not by_reason:
        return EMPTY
    items = (element("li", ", ".join(titles), element("small", f": {why}")) for why, titles in by_reason.items())
    n = sum(map(len, by_reason.values()))
    return details(f"{counted(n, 'metric')} without a value", element("ul", *items), class_="why")


def _is_absent(line: ComparisonLine) -> bool:
    """Whether neither side has a value."""
    return line.baseline.value is None and line.candidate.value is None


def _glance(comparisons: Sequence[Comparison]) -> Markup:
    """Every candidate beside the others: the difference from the baseline and the call."""
    by_candidate = [{line.measure: line for line in one.lines} for one in comparisons]
    measures = dict.fromkeys(measure for lines in by_candidate for measure in lines)
    rows = []
    for measure in measures:
        lines = [found.get(measure) for found in by_candidate]
        if all(line is None or _is_absent(line) for line in lines):
            continue
        first = next(line for line in lines if line is not None)
        cells = [_glanced(line) for line in lines]
        rows.append([title_with_unit(measure), value_text(first.baseline.value, measure), *cells])
    header = ["metric", "baseline", *(one.candidate.label for one in comparisons)]
    words = element("p", f"Differences from {comparisons[0].baseline.label}, each with its verdict.", class_="muted")
    return section("At a glance", words + element("div", table(header, rows), class_="glance"))


def _glanced(line: ComparisonLine | None) -> Markup:
    if line is None or line.verdict.difference is None:
        return element("span", "–", class_="muted")
    call = line.verdict.call
    difference = signed(line.verdict.difference, line.measure.unit)
    return join([difference, element("small", call, class_=_CLASSES.get(call, "muted"))])


def _explained(comparison: Comparison) -> Markup:
    """What the calls mean."""
    return element(
        "p",
        *("A difference is ", element("b", "same"), " if its whole interval lies within the margin, "),
        *(element("b", "better"), " or ", element("b", "worse")),
        f" if p, after Holm's correction for the number of metrics, is at most {1 - comparison.level:.2g}, and ",
        element("b", "inconclusive"),
        " otherwise, with the number of cases that would decide it in 80 % of all repetitions if the difference seen "
        "is the true one; from few cases, it is a range.",
        class_="muted",
    )


def _row(line: ComparisonLine) -> list[str]:
    measure, verdict = line.measure, line.verdict
    difference: list[str] = ["–"]
    if verdict.difference is not None:
        difference = [signed(verdict.difference, measure.unit)]
        if verdict.low is not None and verdict.high is not None:
            difference.append(element("small", interval(verdict.low, verdict.high, measure.unit)))
    call = element("span", verdict.call, class_=_CLASSES.get(verdict.call, "muted"))
    if verdict.n_needed is not None:
        call += element("small", f"about {verdict.needed} cases would decide")
    elif verdict.reason:
        call += element("small", verdict.reason)
    elif verdict.call == "same":
        call += element("small", f"within ±{number(line.margin, measure.unit)}")
    values = [value_text(estimate.value, measure) for estimate in (line.baseline, line.candidate)]
    name = join([title_with_unit(measure), element("small", _BETTER[measure.better])])
    return [name, *values, join(difference), p_value(line), call]


def _changes(comparison: Comparison) -> Markup:
    parts = []
    for entry in comparison.cases:
        if not entry.changes:
            continue
        unit = entry.measure.unit
        rows: list[list[str]] = [
            [
                join([change.case.name, element("small", change.case.stratum) if change.case.stratum else EMPTY]),
                number(change.baseline, unit),
                number(change.candidate, unit),
                signed(change.difference, unit),
            ]
            for change in entry.changes
        ]
        summary = f"{title_with_unit(entry.measure)}: {entry.n_changed:,} of {entry.improvement.n:,} cases changed"
        parts.append(details(summary, table(["case", "baseline", "candidate", "difference"], rows)))
    return element("h3", f"Changed most: {_label(comparison)}") + join(parts) if parts else EMPTY


def _differences(comparisons: Sequence[Comparison]) -> list[_Row]:
    """Differences with their intervals, turned so that right is better."""
    rows = []
    for comparison in comparisons:
        for line in comparison.lines:
            verdict, turn = line.verdict, 1 if line.measure.better == "higher" else -1
            if line.gain is None or verdict.low is None or verdict.high is None:
                continue
            ends = sorted((turn * verdict.low, turn * verdict.high))
            rows.append(
                {
                    "model": comparison.candidate.label,
                    "name": _short(line.measure),
                    "unit": line.measure.unit,
                    "value": line.gain,
                    "low": ends[0],
                    "high": ends[1],
                    "call": verdict.call,
                }
            )
    return rows


def _improvements(comparisons: Sequence[Comparison]) -> list[_Row]:
    return [
        {
            "model": comparison.candidate.label,
            "name": _short(entry.measure),
            "value": entry.improvement.value,
            "low": entry.improvement.low,
            "high": entry.improvement.high,
        }
        for comparison in comparisons
        for entry in comparison.cases
        if entry.improvement.value is not None
    ]


def _profiles(comparisons: Sequence[Comparison]) -> list[_Row]:
    """Profiles of the metrics that differ most clearly, of the baseline and of every candidate."""
    clear = sorted(
        (line for line in comparisons[0].lines if line.verdict.p_adjusted is not None),
        key=lambda line: line.verdict.p_adjusted or 0.0,
    )
    chosen = [line.measure for line in clear[:_PROFILES]]
    rows = []
    for index, comparison in enumerate(comparisons):
        for entry in comparison.cases:
            if entry.measure not in chosen or entry.profiles is None:
                continue
            sides = [(comparison.baseline.label, entry.profiles[0]), (comparison.candidate.label, entry.profiles[1])]
            # The baseline is drawn once: against another candidate it may have other cases, and thresholds.
            for label, profile in sides[1:] if index else sides:
                columns = (profile.thresholds, profile.share, profile.low, profile.high)
                for mark, share, low, high in zip(*(column.tolist() for column in columns), strict=True):
                    place = {"model": label, "name": title_with_unit(entry.measure), "threshold": mark}
                    rows.append({**place, "share": share, "low": low, "high": high})
    return rows


def _short(measure: Measure) -> str:
    """The title without the part in brackets, for which the axes of a chart have no room."""
    return re.sub(r" \(.*?\)", "", measure.title)


def page(comparison: Comparison) -> str:
    """The page about one comparison."""
    return render([comparison])
