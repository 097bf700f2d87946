"""The HTML report about a comparison: verdicts with their intervals, and where single cases changed.

Turns comparisons into rows of plain values; how a chart looks is in `charts`, how a page looks in `page.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay import __version__
from assay.compare import Comparison, Line, Measure
from assay.errors import UsageError
from assay.report.html.figures import Figures
from assay.report.html.page import document, escape, table
from assay.report.numbers import interval, number
from assay.report.verdicts import headline, matching, p_value, signed

Row = dict[str, Any]

_CLASSES = {"better": "good", "worse": "bad", "inconclusive": "warn", "same": ""}
_BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best", "none": ""}
# More panels than this tell a reader nothing more.
_PROFILES = 6


def write(comparisons: Sequence[Comparison], path: str | Path) -> Path:
    """Write the page about one comparison, or about several against one baseline."""
    target = Path(path)
    try:
        target.write_text(render(comparisons), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.strerror}", where=str(target)) from error
    return target


def render(comparisons: Sequence[Comparison]) -> str:
    """The page as text. Names of runs, agents and cases are untrusted and are escaped."""
    figures = Figures()
    body = [
        _notes(comparisons),
        f"<section><h2>How far apart</h2>{figures.add('differences', rows=_differences(comparisons))}</section>",
        *(_verdicts(comparison) for comparison in comparisons),
        "<section><h2>Case by case</h2>",
        figures.add("improvement", rows=_improvements(comparisons)),
        figures.add("profiles", rows=_profiles(comparisons)),
        *(_changes(comparison) for comparison in comparisons),
        f"<p>assay {escape(__version__)}. The same runs, settings and seed give the same numbers.</p></section>",
    ]
    one = comparisons[0]
    title = f"{one.candidate.label} against {one.baseline.label}"
    if len(comparisons) > 1:
        title = f"{len(comparisons)} candidates against {one.baseline.label}"
    lead = "".join(f"<p><b>{escape(headline(c))}.</b> {escape(matching(c))}</p>" for c in comparisons)
    return document(title=title, lead=lead, body="".join(body), charts=figures.charts)


def _notes(comparisons: Sequence[Comparison]) -> str:
    notes = dict.fromkeys(note for comparison in comparisons for note in comparison.notes)
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<section><h2>To be read first</h2><ul>{items}</ul></section>" if items else ""


def _verdicts(comparison: Comparison) -> str:
    rows = []
    for part in dict.fromkeys(line.measure.part for line in comparison.lines):
        rows.append([f"<b>{escape(part)}</b>", *[""] * 5])
        rows += [_row(line) for line in comparison.lines if line.measure.part == part]
    header = ["metric", "baseline", "candidate", "difference", "p", "verdict"]
    return (
        f"<section><h2>{escape(comparison.candidate.label)} against {escape(comparison.baseline.label)}</h2>"
        f"{table(header, rows, numeric=(1, 2, 3, 4))}"
        "<p>A difference is <b>same</b> where its whole interval lies within the margin, <b>better</b> or "
        "<b>worse</b> where p, after Holm's correction for the number of metrics, is at most "
        f"{1 - comparison.level:.2g}, else <b>inconclusive</b>, with the number of cases that would decide it if the "
        "difference stayed what it is.</p></section>"
    )


def _row(line: Line) -> list[str]:
    measure, verdict = line.measure, line.verdict
    difference = "–"
    if verdict.difference is not None:
        difference = signed(verdict.difference, measure.unit)
        if verdict.low is not None and verdict.high is not None:
            difference += f"<small>{interval(verdict.low, verdict.high, measure.unit)}</small>"
    call = f'<span class="{_CLASSES.get(verdict.call, "muted")}">{verdict.call}</span>'
    if verdict.n_needed is not None:
        call += f"<small>about {verdict.n_needed:,} cases would decide</small>"
    elif verdict.reason:
        call += f"<small>{escape(verdict.reason)}</small>"
    elif verdict.call == "same":
        call += f"<small>within ±{number(line.margin, measure.unit)}</small>"
    values = ["–" if e.value is None else number(e.value, measure.unit) for e in (line.baseline, line.candidate)]
    name = f"{escape(_title(measure))}<small>{escape(_BETTER[measure.better])}</small>"
    return [name, *values, difference, p_value(line), call]


def _changes(comparison: Comparison) -> str:
    parts = []
    for entry in comparison.cases:
        if not entry.changes:
            continue
        unit = entry.measure.unit
        rows = [
            [
                escape(change.case.name)
                + (f"<small>{escape(change.case.stratum)}</small>" if change.case.stratum else ""),
                number(change.baseline, unit),
                number(change.candidate, unit),
                signed(change.difference, unit),
            ]
            for change in entry.changes
        ]
        parts.append(
            f"<details><summary>{escape(_title(entry.measure))}: {entry.n_changed:,} of {entry.improvement.n:,} cases "
            f"changed</summary>{table(['case', 'baseline', 'candidate', 'difference'], rows)}</details>"
        )
    if not parts:
        return ""
    label = f"{comparison.candidate.label} against {comparison.baseline.label}"
    return f"<h3>Changed most: {escape(label)}</h3>{''.join(parts)}"


def _differences(comparisons: Sequence[Comparison]) -> list[Row]:
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


def _improvements(comparisons: Sequence[Comparison]) -> list[Row]:
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


def _profiles(comparisons: Sequence[Comparison]) -> list[Row]:
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
                    place = {"model": label, "name": _title(entry.measure), "threshold": mark}
                    rows.append({**place, "share": share, "low": low, "high": high})
    return rows


def _short(measure: Measure) -> str:
    """The title without what stands in brackets: the axes of a chart have no room for it."""
    return re.sub(r" \(.*?\)", "", measure.title)


def _title(measure: Measure) -> str:
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def page(comparison: Comparison) -> str:
    """The page about one comparison."""
    return render([comparison])
