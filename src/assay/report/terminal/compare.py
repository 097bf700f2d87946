"""A comparison as a table for the terminal, in 80 columns.

Only lays out what is in a comparison; computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.compare import Comparison, ComparisonLine, Measure
from assay.report.numbers import number
from assay.report.verdicts import (
    empty_words,
    headline,
    is_empty,
    matching,
    p_value,
    signed,
    title_with_unit,
    told_apart,
    value_text,
)

_STYLES = {"better": "bold green", "worse": "bold red", "same": "", "inconclusive": "yellow"}
_CHANGES = 5


def comparison_table(comparisons: Sequence[Comparison]) -> RenderableType:
    """One comparison in full, or several candidates next to their baseline."""
    if any(comparison.candidate.label == comparison.baseline.label for comparison in comparisons):
        comparisons = told_apart(comparisons)  # runs of the same name
    if len({comparison.baseline.label for comparison in comparisons}) == 1 and len(comparisons) > 1:
        return _beside(comparisons)
    parts: list[RenderableType] = []
    for comparison in comparisons:
        parts += ["", _alone(comparison), *_changes(comparison)]
    return Group(*parts[1:])


def _alone(comparison: Comparison) -> RenderableType:
    grid = _grid()
    for name, justify in (("metric", "left"), ("values", "right"), ("difference", "right"), ("p", "right")):
        grid.add_column(name, justify=justify, no_wrap=name == "p")  # type: ignore[arg-type]
    grid.add_column("verdict")
    for part, lines in _parts(comparison):
        grid.add_row(Text(part, style="bold"))
        for line in lines:
            grid.add_row(_title(line.measure), _values(line), _difference(line), p_value(line), _call(line))
    empty = [line.measure for line in comparison.lines if is_empty(line)]
    head = (Text(headline(comparison), style="bold"), Text(matching(comparison), style="dim"))
    return Group(*head, grid, *_empty(empty))


def _beside(comparisons: Sequence[Comparison]) -> RenderableType:
    grid = _grid()
    grid.add_column("metric")
    grid.add_column(Text(comparisons[0].baseline.label), justify="right")
    for comparison in comparisons:
        grid.add_column(Text(comparison.candidate.label), justify="right")
    seen = dict.fromkeys((ln.measure.part, ln.measure.key) for comparison in comparisons for ln in comparison.lines)
    found = [{(ln.measure.part, ln.measure.key): ln for ln in comparison.lines} for comparison in comparisons]
    part, empty = "", []
    for key in seen:
        lines = [by_key.get(key) for by_key in found]
        one = next(line for line in lines if line is not None)
        if all(line is None or is_empty(line) for line in lines):
            empty.append(one.measure)
            continue
        if key[0] != part:
            part = key[0]
            grid.add_row(Text(part, style="bold"))
        cells = [Text("–") if line is None else _short(line) for line in lines]
        grid.add_row(_title(one.measure), Text(value_text(one.baseline.value, one.measure)), *cells)
    heads = [Text(words, style="dim") for words in dict.fromkeys(map(matching, comparisons))]
    return Group(Text(f"Against {comparisons[0].baseline.label}", style="bold"), *heads, grid, *_empty(empty))


def _empty(measures: Sequence[Measure]) -> list[Text]:
    return [Text(empty_words(measures), style="dim")] if measures else []


def _title(measure: Measure) -> Text:
    """The metric; of a log's score also that lower is better, which nobody knows beforehand."""
    text = Text(f"  {title_with_unit(measure)}")
    return text.append("\n  lower is better", style="dim") if measure.is_logged and measure.better == "lower" else text


def _short(line: ComparisonLine) -> Text:
    if line.verdict.difference is None:
        return Text("unmeasured", style="dim")
    text = Text(signed(line.verdict.difference, line.measure.unit) + "\n")
    return text.append(line.verdict.call, style=_STYLES.get(line.verdict.call, "dim"))


def _changes(comparison: Comparison) -> list[RenderableType]:
    """The cases that changed most, for the metrics that got a verdict worth looking into."""
    called = {ln.measure: ln for ln in comparison.lines if ln.verdict.call in ("better", "worse")}
    entries = [entry for entry in comparison.cases if entry.measure in called and entry.changes]
    if not entries:
        return []
    grid = _grid()
    grid.add_column("changed most")
    grid.add_column("values", justify="right")
    for entry in entries[:3]:
        better = entry.improvement.value
        ahead = "" if better is None else f"; a case is better with probability {better:.2f}"
        grid.add_row(Text(f"{entry.measure.title}: {entry.n_changed:,} of {entry.improvement.n:,}{ahead}", "bold"))
        for change in entry.changes[:_CHANGES]:
            unit = entry.measure.unit
            values = f"{number(change.baseline, unit)} → {number(change.candidate, unit)}"
            grid.add_row(Text(f"  {change.case.name}"), values)
    return ["", grid]


def _grid() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")


def _call(line: ComparisonLine) -> Text:
    verdict = line.verdict
    if verdict.call in ("unmeasured", "descriptive"):
        return Text(verdict.reason or verdict.call, style="dim italic")
    text = Text(verdict.call, style=_STYLES[verdict.call])
    if verdict.n_needed is not None:
        text.append(f"\n~{verdict.needed} cases", style="dim")
    elif verdict.reason:
        text.append(f"\n{verdict.reason}", style="dim")
    return text


def _values(line: ComparisonLine) -> str:
    return f"{value_text(line.baseline.value, line.measure)} → {value_text(line.candidate.value, line.measure)}"


def _difference(line: ComparisonLine) -> Text:
    verdict = line.verdict
    if verdict.difference is None:
        return Text("–")
    text = Text(signed(verdict.difference, line.measure.unit))
    if verdict.low is not None and verdict.high is not None:
        ends = f"{signed(verdict.low, line.measure.unit)}, {signed(verdict.high, line.measure.unit)}"
        text.append(f"\n[{ends}]", style="dim")
    return text


def _parts(comparison: Comparison) -> list[tuple[str, list[ComparisonLine]]]:
    found = [line for line in comparison.lines if not is_empty(line)]
    names = dict.fromkeys(line.measure.part for line in found)
    return [(name, [line for line in found if line.measure.part == name]) for name in names]


def tables(comparison: Comparison, *, full: bool = False) -> RenderableType:
    """The table of one comparison; which figures it has was decided when it was made."""
    return comparison_table([comparison])
